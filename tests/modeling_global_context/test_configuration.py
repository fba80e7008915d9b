"""Fields of the configuration: what they decide, and what contradicts what."""

import pytest
from huggingface_hub.errors import StrictDataclassError
from transformers import BartConfig, BertConfig

from modeling_global_context import GlobalContextConfig, labels_of


def test_an_encoder_may_be_given_as_a_dict():
    config = GlobalContextConfig(encoder_config={"model_type": "bert", "hidden_size": 48})
    assert isinstance(config.encoder_config, BertConfig)
    assert config.input_size == 48


@pytest.mark.parametrize(
    ("changes", "width"),
    [
        ({}, 12),
        ({"context_fusion": "concat"}, 24),
        ({"use_bilstm": False}, 16),
        ({"use_bilstm": False, "context_fusion": "concat"}, 32),
        ({"interaction": "none"}, 12),
        ({"interaction": "attention"}, 12),
    ],
    ids=str,
)
def test_width_of_what_the_classifier_sees(make_model, changes, width):
    model = make_model(**changes)
    assert model.config.hidden_size == model.classifier.in_features == width


@pytest.mark.parametrize("scheme", ["BIEOS", "BIO"])
def test_the_scheme_follows_from_the_labels(make_config, scheme):
    assert make_config(labels=labels_of(scheme, ["POS"])).tag_scheme == scheme
    assert make_config(labels=["NN", "VB"]).tag_scheme == "plain"


def test_settings_of_the_paper_are_the_defaults():
    config = GlobalContextConfig(encoder_config=BertConfig())
    assert (config.lstm_size, config.interaction, config.context_direction) == (600, "context", "cross")
    assert (config.gate_dropout, config.context_dropout, config.encoder_dropout) == (0.5, 0.1, 0.0)
    assert config.polarities == {"POS": "positive", "NEG": "negative", "NEU": "neutral"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"lstm_size": 13}, "lstm_size=13"),
        ({"lstm_size": 0}, "lstm_size=0"),
        ({"num_lstm_layers": 0}, "num_lstm_layers=0"),
        ({"interaction": "attention", "num_attention_heads": 5}, "num_attention_heads=5"),
        ({"use_bilstm": False, "encoder": None, "embedding_size": 5}, "size 5"),
        ({"interaction": "none", "context_gates": False}, "context_gates=False has no effect"),
        ({"interaction": "attention", "context_direction": "same"}, "context_direction='same' has no effect"),
        ({"context_source": "first"}, "use_bilstm=False"),
        ({"context_source": "first", "use_bilstm": False, "context_direction": "same"}, "leave it out"),
        ({"crf_constraints": True}, "crf=True"),
        ({"gate_dropout": 1.0}, "gate_dropout=1.0"),
        ({"attention_dropout": -0.1}, "attention_dropout=-0.1"),
        ({"initializer_range": -1.0}, "initializer_range=-1.0"),
        ({"calibration_temperature": 0.0}, "calibration_temperature=0.0"),
        ({"vocab_size": 10}, "vocab_size=10"),
        ({"embedding_size": 10}, "embedding_size=10"),
        ({"encoder": BartConfig()}, "bart"),
        ({"encoder": BertConfig(is_decoder=True)}, "decoder"),
        ({"labels": ["O", "B-POS", "NOUN"]}, "NOUN"),
        ({"labels": ["O", "S-POS", "S-good"], "polarities": {"POS": "good"}}, "give 'good' twice"),
        ({"labels": ["O", "S-none"]}, "give 'none' twice"),
        ({"interaction": "convolution"}, "interaction"),
        ({"word_splitting": "german"}, "word_splitting"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_contradictions_are_refused(make_config, changes, said):
    with pytest.raises(StrictDataclassError) as refused:
        make_config(**changes)
    assert said in f"{refused.value} {refused.value.__cause__}"


def test_a_model_of_nothing_is_refused(make_model):
    with pytest.raises(ValueError, match="encoder_config and vocab_size are None"):
        make_model(None, vocab_size=None)
