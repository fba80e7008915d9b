"""CG-BERT and QACG-BERT for Transformers; importing this package registers both with the Auto classes.

What they save can be loaded without this package: `register_for_auto_class` has the code copied beside the weights.
"""

from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification
from transformers.pipelines import PIPELINE_REGISTRY

from .configuration_qacg_bert import CGBertConfig, QACGBertConfig
from .modeling_qacg_bert import (
    CGBertForSequenceClassification,
    CGBertModel,
    QACGBertForSequenceClassification,
    QACGBertModel,
)
from .pipeline_qacg_bert import TASK, AspectSentimentPipeline
from .processing_qacg_bert import Contexts, encode, encode_together, written_aspect, written_target, written_text

for _config, _model, _classifier in (
    (QACGBertConfig, QACGBertModel, QACGBertForSequenceClassification),
    (CGBertConfig, CGBertModel, CGBertForSequenceClassification),
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
    "Contexts",
    "QACGBertConfig",
    "QACGBertForSequenceClassification",
    "QACGBertModel",
    "encode",
    "encode_together",
    "written_aspect",
    "written_target",
    "written_text",
]
