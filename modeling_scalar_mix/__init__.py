"""A scalar mix of an encoder's layers for Transformers; importing this package registers it with the Auto classes.

What it saves can be loaded without this package: `register_for_auto_class` has the code copied beside the weights.
"""

from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification

from .configuration_scalar_mix import ScalarMixConfig
from .modeling_scalar_mix import ScalarMixForSequenceClassification, ScalarMixModel

AutoConfig.register(ScalarMixConfig.model_type, ScalarMixConfig)
AutoModel.register(ScalarMixConfig, ScalarMixModel)
AutoModelForSequenceClassification.register(ScalarMixConfig, ScalarMixForSequenceClassification)
ScalarMixConfig.register_for_auto_class()
ScalarMixModel.register_for_auto_class("AutoModel")
ScalarMixForSequenceClassification.register_for_auto_class("AutoModelForSequenceClassification")

__all__ = ["ScalarMixConfig", "ScalarMixForSequenceClassification", "ScalarMixModel"]
