"""AF-LSTM and its baselines for Transformers; importing this package registers them with the Auto classes.

What they save can be loaded without this package: `register_for_auto_class` has the code copied beside the weights.
"""

from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification

from .configuration_af_lstm import AFLstmConfig
from .modeling_af_lstm import AFLstmForSequenceClassification, AFLstmModel

AutoConfig.register(AFLstmConfig.model_type, AFLstmConfig)
AutoModel.register(AFLstmConfig, AFLstmModel)
AutoModelForSequenceClassification.register(AFLstmConfig, AFLstmForSequenceClassification)
AFLstmConfig.register_for_auto_class()
AFLstmModel.register_for_auto_class("AutoModel")
AFLstmForSequenceClassification.register_for_auto_class("AutoModelForSequenceClassification")

__all__ = ["AFLstmConfig", "AFLstmForSequenceClassification", "AFLstmModel"]
