"""Pointer models for aspect-based sentiment analysis; importing this package registers them with the Auto classes.

What they save can be loaded without this package: `register_for_auto_class` has the code copied beside the weights.
"""

from transformers import AutoConfig, AutoModel, AutoModelForSeq2SeqLM
from transformers.pipelines import PIPELINE_REGISTRY

from .configuration_generative_absa import PointerABSAConfig
from .grammar_generative_absa import TASKS, Grammar, GrammarLogitsProcessor, Parsed, WordTuple
from .modeling_generative_absa import PointerABSAModel, PointerForABSA
from .pipeline_generative_absa import TASK, AspectOpinionPipeline
from .words_generative_absa import encode_words, split_words

AutoConfig.register(PointerABSAConfig.model_type, PointerABSAConfig)
AutoModel.register(PointerABSAConfig, PointerABSAModel)
AutoModelForSeq2SeqLM.register(PointerABSAConfig, PointerForABSA)
PointerABSAConfig.register_for_auto_class()
PointerABSAModel.register_for_auto_class("AutoModel")
PointerForABSA.register_for_auto_class("AutoModelForSeq2SeqLM")
PIPELINE_REGISTRY.register_pipeline(TASK, AspectOpinionPipeline, pt_model=AutoModelForSeq2SeqLM, type="text")

__all__ = [
    "TASKS",
    "AspectOpinionPipeline",
    "Grammar",
    "GrammarLogitsProcessor",
    "Parsed",
    "PointerABSAConfig",
    "PointerABSAModel",
    "PointerForABSA",
    "WordTuple",
    "encode_words",
    "split_words",
]
