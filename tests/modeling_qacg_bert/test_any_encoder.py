"""QACG and CG around any encoder: on BERT the older models, elsewhere the encoder's own where guidance is off."""

import copy
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from huggingface_hub.errors import StrictDataclassClassValidationError
from safetensors.torch import load_file, save_file
from transformers import (
    AlbertConfig,
    AutoConfig,
    AutoModel,
    AutoTokenizer,
    BertConfig,
    DebertaV2Config,
    DistilBertConfig,
    ElectraConfig,
    EuroBertConfig,
    GPT2Config,
    MobileBertConfig,
    ModernBertConfig,
    MPNetConfig,
    PreTrainedConfig,
    RobertaConfig,
    RobertaForMaskedLM,
    XLMRobertaConfig,
)
from transformers import modeling_flash_attention_utils as flash
from transformers.utils import logging

from absa.models import build_config
from modeling_qacg_bert import (
    AspectSentimentPipeline,
    CGBertConfig,
    CGBertModel,
    CGConfig,
    CGForSequenceClassification,
    CGModel,
    QACGBertConfig,
    QACGBertModel,
    QACGConfig,
    QACGForSequenceClassification,
    QACGModel,
)
from modeling_qacg_bert.attention_qacg_bert import softmax_attention_sdpa
from modeling_qacg_bert.encoders_qacg import PREFIX, RUNNERS, guided_name, layers_of, within_window

SIZES = {
    "vocab_size": 60,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
    "initializer_range": 0.3,
    "pad_token_id": 0,
}
BERT = {**SIZES, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
MODERN = {"embedding_dropout": 0.0, "mlp_dropout": 0.0, "attention_dropout": 0.0}
DEBERTA = {**BERT, "relative_attention": True, "pos_att_type": ["c2p", "p2c"]}
ENCODERS = {
    "bert": BertConfig(**BERT),
    "roberta": RobertaConfig(**BERT),
    "xlm-roberta": XLMRobertaConfig(**BERT),
    "electra": ElectraConfig(**BERT, embedding_size=16),
    "distilbert": DistilBertConfig(
        vocab_size=60,
        dim=32,
        n_layers=3,
        n_heads=4,
        hidden_dim=48,
        max_position_embeddings=64,
        initializer_range=0.3,
        dropout=0.0,
        attention_dropout=0.0,
    ),
    "modernbert": ModernBertConfig(**SIZES, **MODERN, local_attention=8, global_attn_every_n_layers=2),
    "mpnet": MPNetConfig(**BERT),
    "deberta-v2": DebertaV2Config(**DEBERTA),
    "deberta-v2-buckets": DebertaV2Config(
        **DEBERTA,
        position_buckets=8,
        max_relative_positions=16,
        share_att_key=True,
        norm_rel_ebd="layer_norm",
        conv_kernel_size=3,
        position_biased_input=False,
        type_vocab_size=0,
    ),
}
NOT_BERTS = {"context_matrix", "context_query", "context_key", "query_gate", "key_gate"}


LIKE_OTHERS = ("electra", "xlm-roberta")  # BERT's and RoBERTa's attention


@pytest.fixture(
    params=[pytest.param(name, marks=[pytest.mark.slow] if name in LIKE_OTHERS else []) for name in ENCODERS]
)
def encoder(request) -> PreTrainedConfig:
    return copy.deepcopy(ENCODERS[request.param])


@pytest.fixture(scope="module")
def batch() -> dict[str, torch.Tensor]:
    """Three texts of 13, 7 and 9 tokens."""
    generator = torch.Generator().manual_seed(0)
    mask = torch.ones(3, 13, dtype=torch.long)
    mask[1, 7:] = mask[2, 9:] = 0
    ids = torch.randint(5, 60, (3, 13), generator=generator)
    return {"input_ids": ids.where(mask.bool(), 0), "attention_mask": mask}


def make(model_class: type, encoder: PreTrainedConfig, **fields):
    torch.manual_seed(0)
    config = model_class.config_class(encoder_config=encoder, context_initializer_range=0.3, **fields)
    return model_class(config).double().eval()


def name_in_general(name: str) -> str:
    """What a parameter of QACGBertModel or CGBertModel is called here."""
    parts = name.split(".")
    if NOT_BERTS & set(parts):
        return ".".join(["guidance", parts[2], *parts[5:]])
    return name if name.startswith("context_embeddings") else f"encoder.{name}"


def make_pair(older: type, newer: type, bert: dict, fields: dict):
    """A model around BERT of either kind with the same weights, and what the older's are called in the newer."""
    torch.manual_seed(0)
    reference = older(older.config_class(**bert, **fields, context_initializer_range=0.3)).double().eval()
    model = make(newer, BertConfig(**bert), **fields)
    names = {name: name_in_general(name) for name in reference.state_dict()}
    model.load_state_dict({names[name]: tensor for name, tensor in reference.state_dict().items()})
    return reference, model, names


@pytest.mark.parametrize("contexts", [[0, 3, 5], [[0, 1, 2], [3, 4, 5], [6, 7, 0]]], ids=["one", "several"])
@pytest.mark.parametrize("backend", ["eager", "sdpa"])
@pytest.mark.parametrize(
    ("older", "newer", "fields"),
    [
        (QACGBertModel, QACGModel, {}),
        (QACGBertModel, QACGModel, {"quasi_form": "centred"}),
        (QACGBertModel, QACGModel, {"quasi_form": "normalised"}),
        (QACGBertModel, QACGModel, {"quasi_form": "softmax", "num_context_layers": 2, "quasi_attention_scale": 0.7}),
        (QACGBertModel, QACGModel, {"context_projection": "hidden", "gate_bias": True, "key_gate_scale": 0.4}),
        (CGBertModel, CGModel, {"num_context_layers": 2}),
        (CGBertModel, CGModel, {"context_projection": "hidden", "gate_bias": True}),
    ],
)
def test_on_bert_these_are_the_older_models(older, newer, fields, backend, contexts, batch):
    reference, model, names = make_pair(older, newer, BERT, fields)
    model.set_attn_implementation(backend)
    outputs = []
    for one in (reference, model):
        output = one(**batch, context_ids=torch.tensor(contexts))
        weights = torch.linspace(-1, 1, output.last_hidden_state.numel(), dtype=torch.float64)
        is_token = batch["attention_mask"].view(3, *[1] * (output.last_hidden_state.dim() - 3), 13, 1)
        ((output.last_hidden_state * is_token).flatten() @ weights + output.pooler_output.sum()).backward()
        outputs.append((output.last_hidden_state * is_token, output.pooler_output))
    torch.testing.assert_close(outputs[1], outputs[0])
    found = dict(model.named_parameters())
    for name, parameter in reference.named_parameters():
        torch.testing.assert_close(found[names[name]].grad, parameter.grad, msg=lambda m, n=name: f"{n}: {m}")
    told = {"context_ids": torch.tensor(contexts), "output_attentions": True, "output_hidden_states": True}
    with torch.no_grad():
        expected, shown = reference(**batch, **told), model(**batch, **told)
    assert shown.keys() == expected.keys()
    for field in ("hidden_states", "attentions", "self_attentions", "quasi_attentions", "quasi_gates"):
        for one, other in zip(shown.get(field, ()), expected.get(field, ()), strict=True):
            assert one.shape == other.shape, field
            is_token = batch["attention_mask"].view(3, *[1] * (other.dim() - 3), 13, 1)  # of queries
            torch.testing.assert_close(one * is_token, other * is_token)
    assert model.encoder.config._attn_implementation == PREFIX + backend


@pytest.mark.parametrize(("older", "newer"), [(QACGBertModel, QACGModel), (CGBertModel, CGModel)])
def test_in_training_weights_are_dropped_together(older, newer, batch):
    outputs = []
    for model in make_pair(older, newer, {**BERT, "attention_probs_dropout_prob": 0.3}, {})[:2]:
        torch.manual_seed(1)
        outputs.append(model.train()(**batch, context_ids=torch.tensor([0, 3, 5])).pooler_output)
    torch.testing.assert_close(outputs[1], outputs[0])
    assert not torch.equal(outputs[1], model.eval()(**batch, context_ids=torch.tensor([0, 3, 5])).pooler_output)


@pytest.mark.parametrize("num_context_layers", [None, 2])
def test_what_the_first_guided_layer_reads(encoder, num_context_layers, batch):
    model = make(QACGModel, encoder, num_context_layers=num_context_layers)
    contexts = torch.tensor([[0, 1], [2, 3], [4, 5]])
    with torch.no_grad():
        given = model(**batch, context_ids=contexts, output_shared_states=True)
        expected = model(**batch, context_ids=contexts, output_hidden_states=True).hidden_states
    torch.testing.assert_close(given.shared_states, expected[model.config.num_shared_layers])
    assert given.shared_states.shape[0] == 3
    assert given.hidden_states is None


@pytest.mark.parametrize("model_class", [QACGModel, CGModel])
def test_without_guidance_it_is_the_encoder(encoder, model_class, batch):
    """α = 0 takes away the quasi-attention, which is all that QACG adds; CG's gates are 0 where their weights are."""
    model = make(model_class, encoder)
    unguided = copy.deepcopy(model)
    if model_class is QACGModel:
        unguided.config.quasi_attention_scale = 0.0
    for name, parameter in unguided.guidance.named_parameters():
        if model_class is CGModel and "_gate." in name:
            torch.nn.init.zeros_(parameter)
    own = AutoModel.from_config(copy.deepcopy(encoder)).double().eval()
    own.load_state_dict(model.encoder.state_dict())
    is_token, contexts = batch["attention_mask"][..., None], torch.tensor([0, 1, 2])
    with torch.no_grad():
        expected = own(**batch, output_hidden_states=True)
        found = unguided(**batch, context_ids=contexts, output_hidden_states=True)
        guided = model(**batch, context_ids=contexts).last_hidden_state
    assert len(found.hidden_states) == len(expected.hidden_states) == 4
    for one, other in zip(found.hidden_states, expected.hidden_states, strict=True):
        torch.testing.assert_close(one * is_token, other * is_token, rtol=0, atol=1e-12)
    assert ((guided - expected.last_hidden_state) * is_token).abs().max() > 0.1
    if type(own).__name__ not in RUNNERS:
        own.set_attn_implementation("eager")
    with torch.no_grad():  # in float32, in which ModernBERT computes this softmax anyhow
        expected = own.float()(**batch, output_attentions=True).attentions
        found = unguided.float()(**batch, context_ids=contexts, output_attentions=True).attentions
    assert len(found) == len(expected) == 3
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one * is_token[:, None], other * is_token[:, None], rtol=0, atol=1e-4)


@pytest.mark.parametrize("model_class", [QACGModel, CGModel])
def test_weights_to_show_change_no_output(encoder, model_class, batch):
    """Above shared layers there are those of each text and context."""
    model = make(model_class, encoder, num_context_layers=2)
    contexts = torch.tensor([[0, 1], [2, 3], [4, 5]])
    with torch.no_grad():
        plain = model(**batch, context_ids=contexts)
        shown = model(**batch, context_ids=contexts, output_attentions=True)
    assert plain.attentions is None
    torch.testing.assert_close(shown.pooler_output, plain.pooler_output)
    assert [weights.shape for weights in shown.attentions] == [(3, 4, 13, 13), *[(3, 2, 4, 13, 13)] * 2]
    softmax = shown.attentions if model_class is CGModel else shown.self_attentions
    is_token = batch["attention_mask"][:, None, None].bool()
    of_tokens = softmax[-1].sum(-1)[is_token.expand(-1, 2, 4, -1)]
    torch.testing.assert_close(of_tokens, torch.ones_like(of_tokens))
    if model_class is QACGModel:
        quasi = zip(
            shown.attentions[1:], shown.self_attentions, shown.quasi_attentions, shown.quasi_gates, strict=True
        )
        for acting, own, quasi_attention, gate in quasi:
            assert gate.shape == (3, 2, 4, 13, 1)
            torch.testing.assert_close(acting, own + gate * quasi_attention)
            assert not quasi_attention.masked_select(~is_token[..., None, :]).any()  # 0 at padded keys
            assert quasi_attention.masked_select(is_token[..., None, :]).all() or "modern" in encoder.model_type


@pytest.mark.parametrize("model_class", [QACGModel, CGModel])
@pytest.mark.parametrize("num_context_layers", [1, 2, None])
def test_several_contexts_are_each_for_itself(encoder, model_class, num_context_layers, batch):
    model = make(model_class, encoder, num_context_layers=num_context_layers)
    contexts = torch.tensor([[0, 1], [2, 3], [4, 5]])
    is_token = batch["attention_mask"][..., None]
    with torch.no_grad():
        together = model(**batch, context_ids=contexts)
        assert together.last_hidden_state.shape == (3, 2, 13, 32)
        for number in range(2):
            alone = model(**batch, context_ids=contexts[:, number])
            found = together.last_hidden_state[:, number] * is_token
            torch.testing.assert_close(found, alone.last_hidden_state * is_token)
            torch.testing.assert_close(together.pooler_output[:, number], alone.pooler_output)
        of_one_text = model(batch["input_ids"][1:2, :7], context_ids=contexts[1:2])
    torch.testing.assert_close(of_one_text.last_hidden_state, together.last_hidden_state[1:2, :, :7])


@pytest.mark.parametrize("model_class", [QACGModel, CGModel])
def test_every_parameter_learns_with_checkpointing_too(encoder, model_class, batch):
    model = make(model_class, encoder, num_context_layers=2).train()
    copied = copy.deepcopy(model)  # its layers are guided by its own parameters
    calls = []
    copied.guidance["1"].register_forward_hook(lambda *called: calls.append(called))
    if model.encoder.supports_gradient_checkpointing:
        copied.gradient_checkpointing_enable()
    else:
        with pytest.raises(ValueError, match="is not compatible with gradient checkpointing"):
            copied.gradient_checkpointing_enable()
    for one in (model, copied):
        outputs = one(**batch, context_ids=torch.tensor([[0, 1], [2, 3], [4, 5]]))
        is_token = batch["attention_mask"][:, None, :, None]
        ((outputs.last_hidden_state**3 * is_token).sum() + outputs.pooler_output.sum()).backward()
    gradients = dict(copied.named_parameters())
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0, name
        torch.testing.assert_close(gradients[name].grad, parameter.grad)
    assert len(calls) == (2 if model.encoder.supports_gradient_checkpointing else 1)  # once more for the gradients


def test_an_encoder_is_loaded_whole_and_the_rest_is_new(encoder, batch, tmp_path: Path):
    torch.manual_seed(1)
    own = AutoModel.from_config(encoder)
    own.save_pretrained(tmp_path / "encoder")
    model, loading = QACGForSequenceClassification.from_pretrained(
        tmp_path / "encoder", num_labels=3, num_context_layers=2, output_loading_info=True
    )
    of_encoder = model.model.encoder.state_dict()
    assert all(torch.equal(of_encoder[name], tensor) for name, tensor in own.state_dict().items())
    new = {name.removeprefix("model.").split(".")[0] for name in loading["missing_keys"]}
    assert new - {"own_pooler"} == {"context_embeddings", "guidance", "classifier"}
    assert model.model.guidance["1"].context_query.weight.std() < 0.002  # not as the encoder's, of 0.3
    model.save_pretrained(tmp_path / "model")
    again = QACGForSequenceClassification.from_pretrained(tmp_path / "model")
    with torch.no_grad():
        logits = [one.eval()(**batch, context_ids=torch.tensor([0, 1, 2])).logits for one in (model, again)]
    assert torch.equal(*logits)
    fewer = QACGForSequenceClassification.from_pretrained(tmp_path / "model", num_context_layers=1)
    expected = model.model.guidance["2"].state_dict()
    assert all(torch.equal(expected[name], weight) for name, weight in fewer.model.guidance["2"].state_dict().items())


def test_a_pooler_that_the_encoder_lacks_is_new(tmp_path: Path):
    torch.manual_seed(1)
    masked = RobertaForMaskedLM(copy.deepcopy(ENCODERS["roberta"]))
    masked.save_pretrained(tmp_path)
    model, loading = QACGForSequenceClassification.from_pretrained(tmp_path, output_loading_info=True)
    pooler = {f"model.encoder.pooler.dense.{name}" for name in ("weight", "bias")}
    assert pooler <= loading["missing_keys"]
    of_encoder = model.model.encoder.state_dict()
    assert of_encoder.keys() - masked.roberta.state_dict().keys() == {"pooler.dense.weight", "pooler.dense.bias"}
    assert all(torch.equal(of_encoder[name], tensor) for name, tensor in masked.roberta.state_dict().items())
    weights = load_file(tmp_path / "model.safetensors")
    del weights["roberta.encoder.layer.1.output.dense.bias"]
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match=r"lacks 1 weights of its encoder, .*: encoder\.layer\.1"):
        QACGForSequenceClassification.from_pretrained(tmp_path)


def test_what_is_new_is_told(tmp_path: Path, caplog):
    AutoModel.from_config(copy.deepcopy(ENCODERS["distilbert"])).save_pretrained(tmp_path)
    logging.enable_propagation()
    QACGForSequenceClassification.from_pretrained(tmp_path, num_labels=3)
    logging.disable_propagation()
    (told,) = (message for message in caplog.messages if "Train them first" in message)
    assert told.startswith(f"QACGForSequenceClassification has weights that {tmp_path} lacks. Train them first: ")
    assert "classifier.weight" in told
    assert "model.guidance.{...}.context_query.weight" in told
    assert "encoder" not in told


@pytest.mark.parametrize("contexts", [[0, 3, 5], [[0, 1], [2, 3], [4, 5]]], ids=["one", "several"])
@pytest.mark.parametrize("name", ["bert", "distilbert", "modernbert"])
def test_flash_attention(name: str, contexts: list, batch, monkeypatch):
    """All of it but its kernel, which needs a GPU."""
    model = make(QACGModel, copy.deepcopy(ENCODERS[name]), num_context_layers=2)
    backend, lengths = model.encoder.config._attn_implementation, []
    with torch.no_grad():
        expected = model(**batch, context_ids=torch.tensor(contexts)).pooler_output

    def kernel(q, k, v, cu_seqlens_q, window_size=(-1, -1), **_):
        """Of texts of all lengths behind one another, (tokens, h, d)."""
        lengths.append(len(cu_seqlens_q) - 1)
        found = []
        for row in zip(*(states.tensor_split(cu_seqlens_q[1:-1].tolist()) for states in (q, k, v)), strict=True):
            states = [states[None].transpose(1, 2) for states in row]
            mask = within_window(None, states[0], None if window_size == (-1, -1) else window_size[0] + 1)
            found.append(softmax_attention_sdpa(*states, mask, 0.0)[0][0].transpose(0, 1))
        return torch.cat(found)

    def load(implementation: str, *args, **kwargs):
        assert implementation == "flash_attention_2"
        return None, kernel, None, flash._pad_input, flash._unpad_input

    monkeypatch.setattr(flash, "_lazy_imports", load)
    monkeypatch.setattr(flash, "_loaded_implementation", None)
    model.encoder.set_attn_implementation(guided_name("flash_attention_2"))
    with torch.no_grad():
        found = model(**batch, context_ids=torch.tensor(contexts)).pooler_output
    torch.testing.assert_close(found, expected)
    assert lengths == [3, *[torch.tensor(contexts).numel()] * 2]
    model.encoder.set_attn_implementation(backend)  # and back
    with torch.no_grad():
        torch.testing.assert_close(model(**batch, context_ids=torch.tensor(contexts)).pooler_output, expected)


@pytest.mark.slow
@pytest.mark.parametrize("contexts", [[0, 3, 5], [[0, 1], [2, 3], [4, 5]]], ids=["one", "several"])
@pytest.mark.parametrize("name", ["roberta", "modernbert"])
def test_flex_attention(name: str, contexts: list, batch):
    """In inference, which is what PyTorch compiles it for on a CPU."""
    torch.compiler.reset()
    model = make(QACGModel, copy.deepcopy(ENCODERS[name]), num_context_layers=2).float()
    given = []
    for backend in ("sdpa", "flex_attention"):
        model.set_attn_implementation(backend)
        with torch.no_grad():
            given.append(model(**batch, context_ids=torch.tensor(contexts)).pooler_output)
        assert model.encoder.config._attn_implementation == PREFIX + backend
    torch.testing.assert_close(given[1], given[0], rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", ["bert", "modernbert"])
def test_positions_of_ones_own_are_those_of_each_context(name: str, batch):
    model = make(QACGModel, copy.deepcopy(ENCODERS[name]), num_context_layers=2)
    positions = torch.arange(13).expand(3, -1) * torch.tensor([[1], [2], [3]])
    with torch.no_grad():
        given = model(
            **batch, position_ids=positions, context_ids=torch.tensor([[0, 1], [2, 3], [4, 5]])
        ).pooler_output
        for row in range(3):
            alone = {field: value[row : row + 1] for field, value in batch.items()}
            for number in range(2):
                own = torch.tensor([2 * row + number])
                expected = model(**alone, position_ids=positions[row : row + 1], context_ids=own).pooler_output
                torch.testing.assert_close(given[row, number], expected[0])


def test_another_backend_is_guided_too(batch):
    model = make(QACGModel, BertConfig(**BERT))
    given = []
    for backend in ("sdpa", "eager"):
        model.set_attn_implementation(backend)
        with torch.no_grad():
            given.append(model(**batch, context_ids=torch.tensor([0, 1, 2])))
        assert model.encoder.config._attn_implementation == PREFIX + backend
    torch.testing.assert_close(given[0].pooler_output, given[1].pooler_output)
    model.encoder.set_attn_implementation("sdpa")  # not through the model
    with torch.no_grad():
        again = model(**batch, context_ids=torch.tensor([0, 1, 2]))
    torch.testing.assert_close(again.pooler_output, given[0].pooler_output)


def test_local_layers_look_no_further_with_guidance():
    """ModernBERT's sliding window holds for the quasi-attention as well."""
    encoder = copy.deepcopy(ENCODERS["modernbert"])
    encoder.layer_types = ["sliding_attention"] * 3
    encoder.local_attention = encoder.sliding_window = 2  # a word to each side, a layer
    model = make(QACGModel, encoder, num_context_layers=1)
    ids = torch.arange(5, 25)[None]
    changed = ids.clone()
    changed[0, -1] = 50
    with torch.no_grad():
        one, other = (model(given, context_ids=torch.tensor([0])).last_hidden_state for given in (ids, changed))
    far = slice(0, 20 - 1 - 3 * encoder.sliding_window)
    torch.testing.assert_close(one[:, far], other[:, far])
    assert (one[:, -2] - other[:, -2]).abs().max() > 1e-3


def test_positions_that_padding_takes_are_none_of_a_text():
    assert QACGConfig(encoder_config=RobertaConfig(max_position_embeddings=514)).max_position_embeddings == 512
    assert QACGConfig(encoder_config=MPNetConfig()).max_position_embeddings == 512 - 2
    assert QACGConfig(encoder_config=MPNetConfig(pad_token_id=0)).max_position_embeddings == 512 - 2  # it is 1 there
    assert CGConfig(encoder_config=BertConfig()).max_position_embeddings == 512


def test_what_is_no_batch_of_texts(encoder):
    model = make(QACGModel, encoder)
    ids, contexts = torch.tensor([[5, 6]]), torch.tensor([0])
    with pytest.raises(ValueError, match=r"attention_mask has shape \(1, 3\): pass one number for each token"):
        model(ids, attention_mask=torch.ones(1, 3), context_ids=contexts)
    most = model.config.max_position_embeddings
    with pytest.raises(ValueError, match=rf"{most + 1} tokens, but max_position_embeddings={most}: truncate the text"):
        model(torch.full((1, most + 1), 5), context_ids=contexts)
    with torch.no_grad():
        assert model(torch.full((1, most), 5), context_ids=contexts).last_hidden_state.isfinite().all()


def test_what_cannot_be_guided(tmp_path: Path):
    with pytest.raises(ValueError, match="encoder_config is None: give that of an encoder"):
        QACGModel(QACGConfig())
    with pytest.raises(ValueError, match="a AlbertModel has no list of 3 layers: give another encoder"):
        make(QACGModel, AlbertConfig(**{**SIZES, "embedding_size": 16}))
    for guided in (QACGConfig(encoder_config=BertConfig(**SIZES)), QACGBertConfig(**SIZES)):
        with pytest.raises(StrictDataclassClassValidationError, match="has context guidance: load it as a qacg"):
            CGConfig(encoder_config=guided)
    make(QACGForSequenceClassification, BertConfig(**SIZES)).save_pretrained(tmp_path / "qacg")
    with pytest.raises(StrictDataclassClassValidationError, match="has context guidance: load it as a qacg"):
        CGForSequenceClassification.from_pretrained(tmp_path / "qacg")
    with pytest.raises(ValueError, match=r"gives no cg: .*has context guidance: load it as a qacg"):
        build_config("cg", str(tmp_path / "qacg"), {})
    with pytest.raises(ValueError, match="a EuroBertModel shares keys among its heads"):
        make(QACGModel, EuroBertConfig(**SIZES, num_key_value_heads=2))
    with pytest.raises(StrictDataclassClassValidationError, match="is of a decoder"):
        CGConfig(encoder_config=BertConfig(is_decoder=True))
    with pytest.raises(StrictDataclassClassValidationError, match="num_context_layers=4: give 1 to"):
        CGConfig(encoder_config=BertConfig(**BERT), num_context_layers=4)
    with pytest.raises(ValueError, match="of a MobileBertModel reads states of 8 numbers, its layers give 32"):
        make(QACGModel, MobileBertConfig(**SIZES, embedding_size=16, intra_bottleneck_size=8))
    with pytest.raises(ValueError, match="a GPT2Model reads from left to right: give an encoder"):
        make(QACGModel, GPT2Config(n_layer=1, n_head=2, n_embd=8, vocab_size=10))
    model = make(CGForSequenceClassification, BertConfig(**BERT), num_labels=2)
    with pytest.raises(ValueError, match=r"labels has shape \(1, 2\): pass one for each context of each text"):
        model(torch.tensor([[5, 6]]), context_ids=torch.tensor([0]), labels=torch.tensor([[0, 1]]))
    with pytest.raises(ValueError, match="context_ids is missing"):
        model(torch.tensor([[5, 6]]))
    with pytest.raises(ValueError, match="exactly one of input_ids"):
        model(context_ids=torch.tensor([0]))


def test_configurations_hold_contexts_as_the_older_do():
    config = QACGConfig(encoder_config=BertConfig(**BERT), targets=["a", "b"], aspects=["c", "d", "e"])
    assert config.num_contexts == 6
    assert QACGBertConfig(targets=["a"], aspects=["c"]).num_contexts == CGBertConfig(aspects=["c"]).num_contexts == 1
    assert AutoConfig.for_model("cg").num_contexts == 8


@pytest.mark.slow
@pytest.mark.parametrize("name", ["distilbert", "modernbert", "mpnet", "deberta-v2-buckets"])
def test_onnx(name: str, tmp_path: Path):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install 'qacg-bert[onnx]'")
    from absa.onnx import export, largest_difference

    model = make(QACGForSequenceClassification, copy.deepcopy(ENCODERS[name]), num_context_layers=2).float()
    export(model, tmp_path / "model.onnx")
    assert largest_difference(model, tmp_path / "model.onnx") < 1e-4


def test_answers_are_explained_by_attention(encoder, tiny_bert: Path):
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    encoder.vocab_size = len(tokenizer)
    model = make(QACGForSequenceClassification, encoder, num_context_layers=2, aspects=["price"], num_labels=2).float()
    pipe = AspectSentimentPipeline(model=model, tokenizer=tokenizer)
    ((answer,), (plain,)) = (pipe("it is dear", return_all=True, explain=explain) for explain in ("attention", False))
    assert answer["probabilities"] == pytest.approx(plain["probabilities"], abs=1e-5)
    assert [word["word"] for word in answer["words"]] == ["it", "is", "dear"]
    for word in answer["words"]:
        assert torch.tensor(word["attention"]).shape == torch.tensor(word["quasi_term"]).shape == (3, 4)
        assert not any(word["quasi_term"][0])  # in the layer that contexts share
        assert all(word["quasi_term"][1])


LOCAL = copy.deepcopy(ENCODERS["modernbert"])
LOCAL.num_hidden_layers, LOCAL.layer_types = 2, ["full_attention", "sliding_attention"]
KINDS = {**ENCODERS, "modernbert-local": LOCAL}
PROJECTIONS = {  # of a layer's queries, keys, values and of what was attended
    "distilbert": [f"attention.{name}_lin" for name in ("q", "k", "v", "out")],
    "modernbert": ["attn.Wqkv"] * 3 + ["attn.Wo"],
    "mpnet": [f"attention.attn.{name}" for name in "qkvo"],
    "deberta-v2": [*(f"attention.self.{name}_proj" for name in ("query", "key", "value")), "attention.output.dense"],
}
OF_BERT = [*(f"attention.self.{name}" for name in ("query", "key", "value")), "attention.output.dense"]


def in_last_layer(encoder: torch.nn.Module) -> list[torch.nn.Module]:
    """The modules of `PROJECTIONS`."""
    names = PROJECTIONS.get(encoder.config.model_type, OF_BERT)
    return [layers_of(encoder)[-1].get_submodule(name) for name in names]


def seen(module: torch.nn.Module, call: Callable) -> tuple[torch.Tensor, torch.Tensor]:
    """What a module reads and gives of the first text in a call."""
    kept = []
    hook = module.register_forward_hook(lambda module, args, output: kept.append((args[0][0], output[0])))
    call()
    hook.remove()
    return kept[0]


def scores_without_positions(own: torch.nn.Module, tokens: torch.Tensor) -> Callable:
    return lambda head, query, key, i, j: query @ key / len(query) ** 0.5


def scores_of_mpnet(own: torch.nn.Module, tokens: torch.Tensor) -> Callable:
    bias = own.encoder.compute_position_bias(tokens[None])[0]
    return lambda head, query, key, i, j: query @ key / len(query) ** 0.5 + bias[head, i, j]


def scores_of_deberta(own: torch.nn.Module, tokens: torch.Tensor) -> Callable:
    """Content to content, content to position and position to content (He et al. 2021, eq. 4): all of the mix."""
    module, relative = layers_of(own)[-1].attention.self, own.encoder.get_rel_embedding()
    farthest = len(relative) // 2
    of_keys, of_queries = (
        projection(relative).unflatten(-1, (own.config.num_attention_heads, -1))
        for projection in (module.pos_key_proj, module.pos_query_proj)
    )

    def score(head: int, query: torch.Tensor, key: torch.Tensor, i: int, j: int) -> torch.Tensor:
        place = min(max(i - j + farthest, 0), 2 * farthest - 1)
        positions = query @ of_keys[place, head] + key @ of_queries[place, head]
        root = torch.tensor(3.0 * len(query)).sqrt().item()  # in float32, as Transformers takes it
        return (query @ key + positions) / root

    return score


SCORES = {"mpnet": scores_of_mpnet, "deberta-v2": scores_of_deberta}


def check_by_loops(naive, model_class: type, encoder: PreTrainedConfig, **fields):
    """What the last layer's output projection reads, and gradients: layers below are the encoder's own."""
    model = make(model_class, copy.deepcopy(encoder), num_context_layers=1, **fields)
    own = AutoModel.from_config(copy.deepcopy(encoder), attn_implementation="eager").double().eval()
    own.load_state_dict(model.encoder.state_dict())
    ids = torch.randint(5, 60, (1, 11), generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        softmax = own(ids, output_attentions=True).attentions[-1][0]
        found = [seen(module, lambda: own(ids)) for module in in_last_layer(own)[:3]]
        tokens, projected = found[0][0], [output for _, output in found]
        if encoder.model_type == "modernbert":
            projected = projected[0].chunk(3, dim=-1)
        scores = SCORES.get(encoder.model_type, scores_without_positions)
        score = scores(own, tokens) if model_class is CGModel else None
    by_loops = naive.NaiveGuidance(model.config, dict(model.named_parameters()), encoder.num_hidden_layers - 1)

    def attended() -> torch.Tensor:
        return seen(in_last_layer(model.encoder)[3], lambda: model(ids, context_ids=torch.tensor([3])))[0]

    def expected() -> torch.Tensor:
        return by_loops.attended(model.context_embeddings.weight[3], tokens, projected, softmax, score)

    outputs, gradients = [], []
    for compute in (attended, expected):
        model.zero_grad()
        outputs.append(compute())
        (outputs[-1] * torch.linspace(-1, 1, outputs[-1].numel(), dtype=torch.double).view(11, -1)).sum().backward()
        learned = {name: one.grad for name, one in model.named_parameters() if not name.startswith("encoder.")}
        gradients.append({name: grad.clone() for name, grad in learned.items() if grad is not None})
    # ModernBERT computes its softmax and its rotations in float32.
    close = {"rtol": 1e-4, "atol": 1e-5} if encoder.model_type == "modernbert" else {"rtol": 1e-8, "atol": 1e-10}
    torch.testing.assert_close(*outputs, **close)
    assert gradients[0].keys() == gradients[1].keys() >= {"context_embeddings.weight"}
    for name, gradient in gradients[1].items():
        assert gradient.abs().max() > 0, name
        torch.testing.assert_close(gradients[0][name], gradient, **close, msg=lambda m, n=name: f"{n}: {m}")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in LIKE_OTHERS else []) for name in KINDS]
)
def test_quasi_attention_by_loops(naive, name: str):
    check_by_loops(naive, QACGModel, KINDS[name], quasi_attention_scale=0.7, key_gate_scale=0.4)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["centred", "normalised", "softmax"])
@pytest.mark.parametrize("name", ["modernbert-local", "mpnet"])
def test_other_forms_by_loops(naive, name: str, form: str):
    check_by_loops(naive, QACGModel, KINDS[name], quasi_form=form, context_projection="hidden", gate_bias=True)


@pytest.mark.parametrize("name", ["roberta", "modernbert", "modernbert-local", "mpnet", "deberta-v2"])
def test_mixed_queries_and_keys_by_loops(naive, name: str):
    check_by_loops(naive, CGModel, KINDS[name])
