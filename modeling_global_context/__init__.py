"""Taggers with a global context for Transformers; importing this package registers them with the Auto classes.

What they save can be loaded without this package: `register_for_auto_class` has the code copied beside the weights.
"""

from transformers import AutoConfig, AutoModel, AutoModelForTokenClassification
from transformers.pipelines import PIPELINE_REGISTRY

from .configuration_global_context import GlobalContextConfig
from .modeling_global_context import GlobalContextForTokenClassification, GlobalContextModel
from .pipeline_global_context import TASK, AspectTermSentimentPipeline, TaggingPipeline, encode_words, split_words
from .tags_global_context import check_well_formed, convert, labels_of, scheme_of, spans_of, tags_of

AutoConfig.register(GlobalContextConfig.model_type, GlobalContextConfig)
AutoModel.register(GlobalContextConfig, GlobalContextModel)
AutoModelForTokenClassification.register(GlobalContextConfig, GlobalContextForTokenClassification)
GlobalContextConfig.register_for_auto_class()
GlobalContextModel.register_for_auto_class("AutoModel")
GlobalContextForTokenClassification.register_for_auto_class("AutoModelForTokenClassification")
PIPELINE_REGISTRY.register_pipeline(
    TASK, AspectTermSentimentPipeline, pt_model=AutoModelForTokenClassification, type="text"
)

__all__ = [
    "AspectTermSentimentPipeline",
    "GlobalContextConfig",
    "GlobalContextForTokenClassification",
    "GlobalContextModel",
    "TaggingPipeline",
    "check_well_formed",
    "convert",
    "encode_words",
    "labels_of",
    "scheme_of",
    "spans_of",
    "split_words",
    "tags_of",
]
