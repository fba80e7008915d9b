"""Fields of the configuration: what they decide, and what contradicts what."""

import pytest
from huggingface_hub.errors import StrictDataclassError

from modeling_af_lstm import AFLstmConfig

ARCHITECTURES = ["af_lstm", "lstm", "td_lstm", "at_lstm", "atae_lstm", "nbow", "majority"]


def test_settings_of_the_paper_are_the_defaults():
    config = AFLstmConfig()
    assert (config.architecture, config.association, config.association_backend) == ("af_lstm", "conv", "fft")
    assert (config.embedding_size, config.hidden_size, config.has_projection) == (300, 300, False)
    assert (config.dropout, config.use_last_state, config.trainable_embeddings) == (0.5, False, False)


@pytest.mark.parametrize(
    ("architecture", "width"), [*((name, 4) for name in ARCHITECTURES[:5] if name != "td_lstm"), ("td_lstm", 8)]
)
def test_vectors_are_projected_where_sizes_differ(make_model, architecture, width):
    model = make_model(architecture, hidden_size=4)
    assert model.encoder.embedding_projection.weight.shape == (4, 5)
    assert model.config.representation_size == model.classifier.in_features == width
    assert not hasattr(make_model(architecture).encoder, "embedding_projection")


def test_an_lstm_may_read_the_vectors_as_they_are(make_model):
    model = make_model("lstm", hidden_size=4, embedding_projection=False)
    assert model.encoder.lstm.input_size == 5
    assert not hasattr(model.encoder, "embedding_projection")


@pytest.mark.parametrize(
    ("architecture", "changes", "said"),
    [
        ("lstm", {"association": "mul"}, "association='mul' has no effect with architecture='lstm'"),
        ("at_lstm", {"association_backend": "direct"}, "association_backend='direct' has no effect"),
        ("atae_lstm", {"normalization": "unit"}, "normalization='unit' has no effect"),
        ("at_lstm", {"use_last_state": True}, "use_last_state=True has no effect"),
        ("nbow", {"hidden_size": 5}, "hidden_size=5 has no effect"),
        ("nbow", {"embedding_projection": True}, "embedding_projection=True has no effect"),
        ("nbow", {"dropout_place": "states"}, "dropout_place='states' has no effect"),
        ("majority", {"dropout": 0.1}, "dropout=0.1 has no effect"),
        ("majority", {"embedding_size": 5}, "embedding_size=5 has no effect"),
        ("majority", {"trainable_embeddings": True}, "trainable_embeddings=True has no effect"),
        ("af_lstm", {"association": "mul", "association_backend": "direct"}, "with association='mul'"),
        ("af_lstm", {"hidden_size": 4, "embedding_projection": False}, "embedding_size=5 and hidden_size=4"),
        ("at_lstm", {"auxiliary_sentence": False}, "auxiliary_sentence=False with architecture='at_lstm'"),
        ("af_lstm", {"hidden_size": 0}, "hidden_size=0"),
        ("nbow", {"embedding_size": 0}, "embedding_size=0"),
        ("lstm", {"dropout": 1.0}, "dropout=1.0"),
        ("lstm", {"calibration_temperature": 0.0}, "calibration_temperature=0.0"),
        ("lstm", {"aspects": ["food", "food"]}, "occurs twice"),
        ("lstm", {"targets": [" "]}, "a name is empty"),
        ("bilstm", {}, "architecture"),
        ("af_lstm", {"association": "sum"}, "association"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_contradictions_are_refused(make_config, architecture, changes, said):
    with pytest.raises(StrictDataclassError) as refused:
        make_config(architecture, **changes)
    assert said in f"{refused.value} {refused.value.__cause__}"
