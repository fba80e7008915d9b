"""Fields that contradict one another are refused, with their values."""

import pytest
from huggingface_hub.errors import StrictDataclassError
from transformers import BartConfig, BertConfig, DistilBertConfig

from modeling_scalar_mix import ScalarMixConfig, ScalarMixModel


def test_sizes_are_the_encoders():
    config = ScalarMixConfig(encoder_config={"model_type": "distilbert", "dim": 24, "n_layers": 3})
    assert isinstance(config.encoder_config, DistilBertConfig)
    assert (config.hidden_size, config.num_layers, config.max_position_embeddings) == (24, 4, 512)
    assert config.get_text_config() is config.encoder_config


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"encoder_config": BartConfig()}, "encoder_config is of a decoder (bart)"),
        ({"encoder_config": BertConfig(is_decoder=True)}, "encoder_config is of a decoder (bert)"),
        ({"mix": "first"}, "mix"),
        ({"mix": "uniform", "mix_l2": 0.1}, "mix_l2=0.1 has no effect with mix='uniform'"),
        ({"mix_l2": -1.0}, "mix_l2=-1.0: a weight"),
        ({"dense_size": 0}, "dense_size=0: at least 1"),
        ({"dropout": 1.0}, "dropout=1.0: a rate"),
        ({"initializer_range": -0.1}, "initializer_range=-0.1"),
        ({"calibration_temperature": 0.0}, "calibration_temperature=0.0: a finite number above 0"),
        ({"aspects": ["food", " "]}, "a name is empty"),
        ({"targets": ["A", "A"]}, "a name occurs twice"),
    ],
)
def test_what_contradicts_itself_is_refused(fields: dict, message: str):
    with pytest.raises(StrictDataclassError) as refused:
        ScalarMixConfig(**{"encoder_config": BertConfig(), **fields})
    assert message in f"{refused.value} {refused.value.__cause__}"


def test_a_model_needs_an_encoder():
    with pytest.raises(ValueError, match="encoder_config is None: give that of an encoder"):
        ScalarMixModel(ScalarMixConfig())
