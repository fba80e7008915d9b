"""Against BARTABSA's own code: its targets, and the logits and the loss of its pointers.

Its pointer counts pieces, `<s>` first; its toy tokenizer makes pieces of four characters.
"""

import json
from collections import Counter
from hashlib import sha256
from pathlib import Path

import pytest
import torch
from torch import nn
from transformers import BartConfig
from transformers.modeling_outputs import BaseModelOutput, BaseModelOutputWithPastAndCrossAttentions

from modeling_generative_absa import Grammar, PointerABSAConfig, PointerForABSA, WordTuple

SHORT = {"POS": "positive", "NEG": "negative", "NEU": "neutral"}
SETTINGS = {"max_words": 200, "max_tuples": 16, "max_span": None, "no_repeats": True}


@pytest.fixture(scope="module")
def golden(shared_dir: Path):
    def read(name: str) -> dict:
        return json.loads((shared_dir / "golden" / "generative" / f"{name}.json").read_text(encoding="utf-8"))

    return read


def piece_indices(words: list[str], shift: int) -> list[int]:
    """The reference's index of each word."""
    indices, pieces = [], 0
    for word in words:
        indices.append(shift + 1 + pieces)
        pieces += -(-len(word) // 4)
    return indices


def in_reference(indices: list[int], words: list[str], grammar: Grammar, classes: dict[int, int], shift: int):
    """Our indices in the reference's space."""
    of_words = piece_indices(words, shift)
    return [
        of_words[index - grammar.first_word] if index >= grammar.first_word else classes.get(index, index)
        for index in indices
    ]


def triplets_of(row: dict) -> list[WordTuple]:
    return [
        WordTuple(aspect, opinion, label)
        for (aspect, label), (opinion, _) in zip(row["aspects"], row["opinions"], strict=True)
    ]


def target_of(words: list[str], tuples: list[WordTuple], order: str) -> list[int]:
    """With exact repeats, which the reference keeps, and the model does not."""
    grammar = Grammar(tasks=("aste",), labels=tuple(SHORT.values()), order=order, **SETTINGS)
    prompt, indices = grammar.encode("aste", tuples)
    times = Counter(tuples)
    written = []
    for one, position in zip(*grammar.parse(prompt + indices)[:2], strict=True):
        written += (prompt + indices)[position : position + 5] * times[one]
    return in_reference([*prompt, *written, 1], words, grammar, {}, 5)


@pytest.mark.parametrize("order", ["aspect_first", "opinion_first"])
def test_targets_of_peng(golden, bartabsa, order):
    expected = golden("pointer_peng")
    for row in expected["synthetic"]:
        tuples = [WordTuple(tuple(a), tuple(o), SHORT[label]) for a, o, label in row["triplets"]]
        assert target_of(row["words"], tuples, order) == row[order]["tgt"]
    for name, rows in expected["files"].items() if order == "aspect_first" else ():
        data = bartabsa(name)
        for row in rows:
            found = data[row["row"]]
            assert target_of(found["words"], triplets_of(found), order) == row["tgt"]


def test_every_target_of_pengb(golden, bartabsa):
    for name, expected in golden("pointer_peng_checksums").items():
        data = bartabsa(f"{name}_convert.json")
        targets = [target_of(row["words"], triplets_of(row), "aspect_first") for row in data]
        assert len(targets) == expected["rows"]
        assert sum(map(sum, targets)) == expected["sum_tgt"]
        assert max(map(len, targets)) == expected["max_tgt"]
        assert sha256(json.dumps(targets).encode()).hexdigest() == expected["sha256"], name


def test_targets_of_fan(golden, bartabsa):
    """Which close each opinion with a tag, where ours has none."""
    grammar = Grammar(tasks=("aoe",), labels=(), order="aspect_first", **SETTINGS)
    for name, rows in golden("pointer_fan")["files"].items():
        data = bartabsa(name)
        for row in rows:
            found = data[row["row"]]
            ((given, _),) = found["aspects"]
            prompt, indices = grammar.encode("aoe", [WordTuple(given, span) for span, _ in found["opinions"]], given)
            ours = in_reference(indices[:-1], found["words"], grammar, {}, 3)
            tagged = [index for pair in zip(ours[::2], ours[1::2], strict=True) for index in (*pair, 2)]
            assert [*in_reference(prompt, found["words"], grammar, {}, 3), *tagged, 1] == row["tgt"]


def test_targets_of_wang(golden, bartabsa):
    """Which write the task's token twice; its neutral and conflict have changed places."""
    labels = ("positive", "negative", "neutral", "conflict")
    grammar = Grammar(tasks=("ote", "aesc"), labels=labels, order="aspect_first", **SETTINGS)
    expected = golden("pointer_wang")
    assert expected["classes"] == {"OE": 2, "AESC": 3, "POS": 4, "NEG": 5, "NEU": 6, "CON": 7}
    for name, rows in expected["files"].items():
        data = bartabsa(name)
        for row in rows:
            found = data[row["row"]]
            of_task = {
                "aesc": [WordTuple(target=span, label=label) for span, label in found["aspects"] if label],
                "oe": [WordTuple(opinion=span) for span, _ in found["opinions"]],
            }
            for theirs, tuples in of_task.items():
                prompt, indices = grammar.encode({"oe": "ote"}.get(theirs, theirs), tuples)
                ours = [*prompt, prompt[1], *indices]
                assert in_reference(ours, found["words"], grammar, {}, 8) == row[theirs]


class MeanDecoder(nn.Module):
    """The reference's stand-in: h_t = tanh(mean over s <= t of E[token_s] A)."""

    def __init__(self, a: torch.Tensor):
        super().__init__()
        self.a = a

    def forward(self, inputs_embeds: torch.Tensor, **_) -> BaseModelOutputWithPastAndCrossAttentions:
        counts = torch.arange(1, inputs_embeds.shape[1] + 1)[:, None]
        states = torch.tanh((inputs_embeds @ self.a).cumsum(1) / counts)
        self.read = inputs_embeds
        return BaseModelOutputWithPastAndCrossAttentions(last_hidden_state=states)


class FixedEncoder(nn.Module):
    def __init__(self, states: torch.Tensor):
        super().__init__()
        self.states = states

    def forward(self, **_) -> BaseModelOutput:
        return BaseModelOutput(last_hidden_state=self.states)


@pytest.mark.parametrize("number", range(8))
def test_pointer_head(golden, number):
    """Of a sentence whose every piece is a word, `<s>` among them, since the reference may point at it."""
    given = golden("pointer_head")
    case = given["cases"][number]
    table = torch.tensor(given["embedding"])
    config = PointerABSAConfig(
        backbone_config=BartConfig(
            vocab_size=16, d_model=4, encoder_layers=1, decoder_layers=1, encoder_attention_heads=1,
            decoder_attention_heads=1, encoder_ffn_dim=4, decoder_ffn_dim=4,
        ),
        max_words=6,
        pointer_mlp="mlp" in case,
        alpha=1.0 if case["name"] == "pointer_only" else 0.5,
    )  # fmt: skip
    model = PointerForABSA(config).eval()
    model.model.backbone.encoder = FixedEncoder(torch.tensor(given["encoder_output"]))
    model.model.backbone.decoder = decoder = MeanDecoder(torch.tensor(given["A"]))
    with torch.no_grad():
        model.get_input_embeddings().weight.copy_(table)
        model.model.embeddings.classes.weight.copy_(table[[0, given["eos_token_id"], *given["label_token_ids"]]])
        if "mlp" in case:
            first, _, _, second = model.model.pointer.mlp
            for parameter, value in zip(
                (first.weight, first.bias, second.weight, second.bias), case["mlp"], strict=True
            ):
                parameter.copy_(torch.tensor(value))
    source = torch.tensor(given["src_tokens"])
    is_piece = (source != 1) & (source != given["eos_token_id"])
    targets = torch.tensor(case["tgt_tokens"])
    is_padding = (targets == 1).cumsum(1) > 1
    outputs = model(
        input_ids=source,
        attention_mask=(source != 1).long(),
        word_ids=torch.arange(6).expand(2, -1).where(is_piece, -1),
        labels=targets[:, 1:].masked_fill(is_padding[:, 1:], -100),
    )
    real = ~is_padding[:, 1:]  # where a loss is
    tokens = torch.tensor(case["decoder_input_token_ids"])
    torch.testing.assert_close(decoder.read[real], table[tokens][real])
    theirs = [[[float("-inf") if x is None else x for x in step] for step in row] for row in case["logits"]]
    ours = outputs.logits.masked_fill(outputs.logits == torch.finfo(torch.float32).min, float("-inf"))
    torch.testing.assert_close(ours[real], torch.tensor(theirs)[real], rtol=0, atol=1e-5)
    assert outputs.loss.item() == pytest.approx(case["loss"], abs=1e-5)
