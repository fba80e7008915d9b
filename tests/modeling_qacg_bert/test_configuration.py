"""The configurations: what follows from what, what is refused, and what survives JSON."""

import math

import pytest
from huggingface_hub.errors import StrictDataclassError
from transformers import AutoConfig, BertConfig

from modeling_qacg_bert import CGBertConfig, QACGBertConfig

TARGETS = ["LOCATION1", "LOCATION2"]
ASPECTS = ["general", "price", "transit-location", "safety"]


@pytest.mark.parametrize("config_class", [QACGBertConfig, CGBertConfig])
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"num_contexts": 3, "targets": TARGETS, "aspects": ASPECTS}, "num_contexts=3, but .* make 8 contexts"),
        ({"num_contexts": 0}, "num_contexts=0: at least 1"),
        ({"targets": TARGETS}, r"targets=\['LOCATION1', 'LOCATION2'\] without aspects"),
        ({"aspects": ["price", "price"]}, r"aspects=\['price', 'price'\]: a name occurs twice"),
        ({"targets": ["a", " "], "aspects": ["price"]}, r"targets=\['a', ' '\]: a name is empty"),
        ({"num_context_layers": 0}, "num_context_layers=0: give 1 to num_hidden_layers=12, or None for all"),
        ({"num_context_layers": 13}, "num_context_layers=13: give 1 to num_hidden_layers=12"),
        ({"context_initializer_range": -0.1}, "context_initializer_range=-0.1"),
        ({"gate_initializer_range": -1}, "gate_initializer_range=-1"),
        ({"gate_initializer_range": math.nan}, "gate_initializer_range=nan"),
        ({"context_initializer_range": math.inf}, "context_initializer_range=inf"),
        ({"context_initializer_range": "small"}, "context_initializer_range"),
        ({"context_projection": "heads"}, "context_projection.*heads"),
        ({"gate_bias": "yes"}, "gate_bias"),
        ({"is_decoder": True}, "is_decoder=True"),
        ({"hidden_size": 30, "num_attention_heads": 4}, "hidden_size=30 is not a multiple of num_attention_heads=4"),
    ],
)
def test_values_that_are_refused(config_class, fields, message):
    with pytest.raises(StrictDataclassError, match=f"(?s){message}"):
        config_class(**fields)


def test_defaults():
    config = QACGBertConfig()
    assert (config.model_type, CGBertConfig().model_type) == ("qacg_bert", "cg_bert")
    assert (config.quasi_attention_scale, config.query_gate_scale, config.key_gate_scale) == (1.0, 1.0, 1.0)
    assert (config.num_contexts, config.context_projection, config.gate_bias) == (8, "head", False)
    assert config.context_initializer_range == 1e-3


@pytest.mark.parametrize(
    ("names", "num_contexts"),
    [
        ({"targets": TARGETS, "aspects": ASPECTS}, 8),
        ({"targets": ["LOCATION1"], "aspects": ASPECTS}, 4),
        ({"aspects": [*ASPECTS, "food"]}, 5),
        ({"targets": [], "aspects": ["price"]}, 1),
        ({"num_contexts": 11}, 11),
    ],
)
def test_number_of_contexts(names, num_contexts):
    assert QACGBertConfig(**names).num_contexts == num_contexts


def test_number_of_shared_layers():
    assert QACGBertConfig().num_shared_layers == 0
    assert QACGBertConfig(num_context_layers=12).num_shared_layers == 0
    assert CGBertConfig(num_context_layers=2, num_hidden_layers=6).num_shared_layers == 4


def test_the_other_reading_of_the_initial_size_is_one_argument_away():
    assert QACGBertConfig(context_initializer_range=math.exp(-3)).context_initializer_range == math.exp(-3)


@pytest.mark.parametrize("config_class", [QACGBertConfig, CGBertConfig])
def test_json_keeps_everything(config_class, tmp_path):
    scales = {"quasi_attention_scale": 0.5, "query_gate_scale": 2.0, "key_gate_scale": 3}
    config = config_class(
        targets=["A", "B", "C"],
        aspects=ASPECTS,
        auxiliary_sentence=False,
        context_projection="hidden",
        gate_bias=True,
        context_initializer_range=math.exp(-3),
        id2label={0: "none", 1: "positive", 2: "negative"},
        hidden_dropout_prob=0.3,
        **(scales if config_class is QACGBertConfig else {}),
    )
    config.save_pretrained(tmp_path)
    loaded = AutoConfig.from_pretrained(tmp_path)
    assert type(loaded) is config_class
    assert loaded.to_dict() == {**config.to_dict(), "_name_or_path": str(tmp_path)}
    assert loaded.targets == ["A", "B", "C"]
    assert loaded.num_contexts == 12
    if config_class is QACGBertConfig:
        assert {name: getattr(loaded, name) for name in scales} == scales


@pytest.mark.parametrize("config_class", [QACGBertConfig, CGBertConfig])
def test_from_the_folder_of_a_bert(config_class, tmp_path):
    BertConfig(hidden_size=32, num_attention_heads=4, layer_norm_eps=1e-7).save_pretrained(tmp_path)
    config = config_class.from_pretrained(tmp_path)
    assert config.model_type == config.to_dict()["model_type"] == config_class.model_type
    assert (config.hidden_size, config.layer_norm_eps, config.num_contexts) == (32, 1e-7, 8)


def test_contexts_named_at_loading_decide_their_number(tmp_path):
    BertConfig(hidden_size=32, num_attention_heads=4).save_pretrained(tmp_path)
    assert QACGBertConfig.from_pretrained(tmp_path, aspects=["food", "price", "service"]).num_contexts == 3
    with pytest.raises(StrictDataclassError, match="num_contexts=4, but"):
        QACGBertConfig.from_pretrained(tmp_path, aspects=["food", "price", "service"], num_contexts=4)
