"""CG-BERT and QACG-BERT for Transformers; importing this package registers both with the Auto classes."""

from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification

from .configuration_qacg_bert import CGBertConfig, QACGBertConfig
from .modeling_qacg_bert import (
    CGBertForSequenceClassification,
    CGBertModel,
    QACGBertForSequenceClassification,
    QACGBertModel,
)
from .processing_qacg_bert import Contexts, encode, predict, written_aspect, written_target

AutoConfig.register("qacg_bert", QACGBertConfig)
AutoModel.register(QACGBertConfig, QACGBertModel)
AutoModelForSequenceClassification.register(QACGBertConfig, QACGBertForSequenceClassification)

AutoConfig.register("cg_bert", CGBertConfig)
AutoModel.register(CGBertConfig, CGBertModel)
AutoModelForSequenceClassification.register(CGBertConfig, CGBertForSequenceClassification)

__all__ = [
    "CGBertConfig",
    "CGBertForSequenceClassification",
    "CGBertModel",
    "Contexts",
    "QACGBertConfig",
    "QACGBertForSequenceClassification",
    "QACGBertModel",
    "encode",
    "predict",
    "written_aspect",
    "written_target",
]
