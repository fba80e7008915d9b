"""Fields of the configuration: what they decide, and what contradicts what."""

import pytest
from huggingface_hub.errors import StrictDataclassError
from transformers import AutoConfig, BartConfig, BertConfig, ElectraConfig, T5Config

from modeling_generative_absa import TASKS, PointerABSAConfig


def test_a_backbone_may_be_given_as_a_dict():
    config = PointerABSAConfig(backbone_config={"model_type": "bert", "hidden_size": 48})
    assert isinstance(config.backbone_config, BertConfig)
    assert config.hidden_size == 48


@pytest.mark.parametrize(
    ("backbone", "expected"),
    [
        (BertConfig(hidden_size=384, num_attention_heads=12), ("mean", 2, 6, 384)),
        (BartConfig(d_model=768, decoder_layers=5), ("first", 5, 12, 768)),
        (T5Config(d_model=512, num_decoder_layers=7), ("first", 7, 8, 512)),
    ],
    ids=["bert", "bart", "t5"],
)
def test_defaults_by_kind_of_backbone(backbone, expected):
    config = PointerABSAConfig(backbone_config=backbone)
    assert (config.pooling, config.num_hidden_layers, config.num_attention_heads, config.hidden_size) == expected
    assert (config.alpha, config.mlp_dropout, config.max_tuples, config.labels) == (
        *(0.5, 0.3, 16),
        ["positive", "negative", "neutral"],
    )


@pytest.mark.parametrize(
    ("tasks", "first_word", "most"),
    [(["aste"], 5, 82), (["ate"], 2, 82), (["alsc"], 5, 82), (["aesc", "ote"], 7, 83), ([*TASKS], 12, 83)],
    ids=str,
)
def test_the_index_space_follows_from_the_tasks(tasks, first_word, most):
    config = PointerABSAConfig(tasks=tasks, max_words=30)
    assert (config.grammar.first_word, config.vocab_size) == (first_word, first_word + 30)
    assert config.max_target_length == most
    for token in ("bos", "decoder_start"):
        assert getattr(config, f"{token}_token_id") == 0
    assert config.eos_token_id == config.pad_token_id == 1


def test_labels_are_those_of_the_head():
    labels = {0: "positive", 1: "conflict"}
    config = PointerABSAConfig(id2label=labels, label2id={"positive": 0, "conflict": 1})
    assert config.labels == config.grammar.classes == ["positive", "conflict"]
    assert PointerABSAConfig(tasks=["aope", "ate"]).grammar.classes == ["aope", "ate"]


def test_everything_is_saved(tmp_path):
    config = PointerABSAConfig(backbone_config=BertConfig(), tasks=["aesc", "ote"], max_span=4, order="opinion_first")
    config.save_pretrained(tmp_path)
    loaded = AutoConfig.from_pretrained(tmp_path)
    assert loaded.to_diff_dict() == config.to_diff_dict()
    assert loaded.grammar == config.grammar


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tasks": []}, "tasks=[]"),
        ({"tasks": ["aste", "aste"]}, "each once"),
        ({"tasks": ["absa"]}, "one or several of ate, ote"),
        ({"id2label": {0: "good", 1: "good"}}, "a name of its own"),
        ({"backbone": "bart", "decoder_layers": 3}, "decoder_layers=3 has no effect with a bart"),
        ({"backbone": "t5", "decoder_input": "tokens"}, "decoder_input='tokens' has no effect"),
        ({"backbone": BertConfig(is_decoder=True)}, "of a decoder (bert)"),
        ({"decoder_heads": 3}, "decoder_heads=3 does not divide"),
        ({"max_words": 0}, "max_words=0"),
        ({"max_span": 0}, "max_span=0"),
        ({"decoder_layers": 0}, "decoder_layers=0"),
        ({"mlp_dropout": 1.0}, "mlp_dropout=1.0"),
        ({"alpha": 0.0}, "alpha=0.0"),
        ({"alpha": 1.5}, "alpha=1.5"),
        ({"initializer_range": -1.0}, "initializer_range=-1.0"),
        ({"calibration_temperature": 0.0}, "calibration_temperature=0.0"),
        ({"order": "label_first"}, "order"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_contradictions_are_refused(make_config, changes, said):
    with pytest.raises(StrictDataclassError) as refused:
        make_config(**changes)
    assert said in f"{refused.value} {refused.value.__cause__}"


def test_a_model_of_nothing_is_refused(make_model):
    with pytest.raises(ValueError, match="backbone_config is None"):
        make_model(None)


def test_embeddings_of_another_size_are_refused(make_model):
    electra = ElectraConfig(
        vocab_size=60, hidden_size=16, embedding_size=8, num_attention_heads=2, num_hidden_layers=1
    )
    with pytest.raises(ValueError, match=r"embeddings of size 8 and states of size 16"):
        make_model(electra)
