"""CG-BERT and QACG-BERT for Transformers, and the same around any encoder; importing this package registers all with
the Auto classes.

What they save can be loaded without this package: `register_for_auto_class` has the code copied beside the weights.
"""

from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification
from transformers.pipelines import PIPELINE_REGISTRY

from .configuration_qacg import CGConfig, QACGConfig
from .configuration_qacg_bert import CGBertConfig, QACGBertConfig
from .contexts_qacg_bert import with_fixed_contexts
from .encoding_qacg_bert import encode, encode_contexts, encode_together
from .modeling_qacg import CGForSequenceClassification, CGModel, QACGForSequenceClassification, QACGModel
from .modeling_qacg_bert import (
    CGBertForSequenceClassification,
    CGBertModel,
    QACGBertForSequenceClassification,
    QACGBertModel,
)
from .pipeline_qacg_bert import TASK, AspectSentimentPipeline
from .processing_qacg_bert import Contexts, written_aspect, written_target, written_text

for _config, _model, _classifier in (
    (QACGBertConfig, QACGBertModel, QACGBertForSequenceClassification),
    (CGBertConfig, CGBertModel, CGBertForSequenceClassification),
    (QACGConfig, QACGModel, QACGForSequenceClassification),
    (CGConfig, CGModel, CGForSequenceClassification),
):
    AutoConfig.register(_config.model_type, _config)
    AutoModel.register(_config, _model)
    AutoModelForSequenceClassification.register(_config, _classifier)
    _config.register_for_auto_class()
    _model.register_for_auto_class("AutoModel")
    _classifier.register_for_auto_class("AutoModelForSequenceClassification")
PIPELINE_REGISTRY.register_pipeline(
    TASK, AspectSentimentPipeline, pt_model=AutoModelForSequenceClassification, type="text"
)

__all__ = [
    "AspectSentimentPipeline",
    "CGBertConfig",
    "CGBertForSequenceClassification",
    "CGBertModel",
    "CGConfig",
    "CGForSequenceClassification",
    "CGModel",
    "Contexts",
    "QACGBertConfig",
    "QACGBertForSequenceClassification",
    "QACGBertModel",
    "QACGConfig",
    "QACGForSequenceClassification",
    "QACGModel",
    "encode",
    "encode_contexts",
    "encode_together",
    "with_fixed_contexts",
    "written_aspect",
    "written_target",
    "written_text",
]
