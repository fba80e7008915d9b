"""Fixtures of the pointer models' tests: tiny models, whose weights are large enough for differences to show."""

import ast
import importlib.util
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch
from transformers import BartConfig, BertConfig, PreTrainedConfig, T5Config

from modeling_generative_absa import PointerABSAConfig, PointerForABSA, WordTuple

VOCABULARY = 60
ENCODER = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 24}
BACKBONES = {
    "bert": BertConfig(
        **ENCODER,
        vocab_size=VOCABULARY,
        max_position_embeddings=40,
        initializer_range=0.3,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    ),
    "bart": BartConfig(
        vocab_size=VOCABULARY,
        d_model=16,
        encoder_layers=1,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=24,
        decoder_ffn_dim=24,
        max_position_embeddings=90,
        init_std=0.3,
        dropout=0.0,
    ),
    "t5": T5Config(
        vocab_size=VOCABULARY, d_model=16, d_kv=8, d_ff=24, num_layers=1, num_decoder_layers=2, num_heads=2,
        dropout_rate=0.0,
    ),
}  # fmt: skip
POLARITIES = {"POS": "positive", "NEG": "negative", "NEU": "neutral", "CON": "conflict"}
WORD_IDS = [[-1, 0, 0, 1, 2, 3, 3, 4, -1], [-1, 0, 1, 1, 2, -1, 9, 9, 9], [-1, 0, 1, 2, 3, 4, 5, 5, -1]]
LENGTHS = [9, 6, 9]


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Tensors this small are several times slower on two threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def naive() -> ModuleType:
    """naive.py beside this file."""
    spec = importlib.util.spec_from_file_location("naive_pointers", Path(__file__).with_name("naive.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def make_config() -> Callable[..., PointerABSAConfig]:
    """A tiny configuration over a tiny backbone, with changes."""

    def make(backbone: str | PreTrainedConfig | None = "bert", **changes) -> PointerABSAConfig:
        config = BACKBONES[backbone] if isinstance(backbone, str) else backbone
        fields = {"max_words": 10, "max_tuples": 3, "initializer_range": 0.3, "mlp_dropout": 0.0}
        if config is not None and not config.is_encoder_decoder:
            fields |= {"decoder_dropout": 0.0, "decoder_heads": 2}
        return PointerABSAConfig(backbone_config=config, **{**fields, **changes})

    return make


@pytest.fixture(scope="session")
def make_model(make_config) -> Callable[..., PointerForABSA]:
    """A tiny model in evaluation mode, always with the same weights, biases included."""

    def make(*arguments, **changes) -> PointerForABSA:
        torch.manual_seed(9)  # sequences of several lengths
        model = PointerForABSA(make_config(*arguments, **changes))
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if "bias" in name:
                    parameter.normal_(std=0.3)
        return model.eval()

    return make


@pytest.fixture(scope="session")
def make_batch() -> Callable[..., dict[str, torch.Tensor]]:
    """Three sentences, the second shorter, of 5, 3 and 6 words; with whatever stands at padding."""

    def make() -> dict[str, torch.Tensor]:
        generator = torch.Generator().manual_seed(1)
        return {
            "input_ids": torch.randint(5, VOCABULARY, (3, 9), generator=generator),
            "attention_mask": (torch.arange(9) < torch.tensor(LENGTHS)[:, None]).long(),
            "word_ids": torch.tensor(WORD_IDS),
        }

    return make


@pytest.fixture(scope="session")
def aste_v2(shared_dir: Path) -> Callable[[str, str], list[tuple[list[str], list[WordTuple]]]]:
    """Words and tuples of a split of ASTE-Data-V2."""

    def read(domain: str, split: str) -> list[tuple[list[str], list[WordTuple]]]:
        rows = []
        path = shared_dir / "data" / "aste_v2" / domain / f"{split}_triplets.txt"
        for line in path.read_text(encoding="utf-8").splitlines():
            text, _, triplets = line.rpartition("####")
            tuples = [
                WordTuple((a[0], a[-1] + 1), (o[0], o[-1] + 1), POLARITIES[label])
                for a, o, label in ast.literal_eval(triplets)
            ]
            rows.append((text.split(), tuples))
        return rows

    return read


@pytest.fixture(scope="session")
def bartabsa(shared_dir: Path) -> Callable[[str], list[dict]]:
    """Rows of a file of BARTABSA's data: words, and spans [start, end) with labels of aspects and opinions."""

    def read(name: str) -> list[dict]:
        rows = []
        for row in json.loads((shared_dir / "data" / "bartabsa" / name).read_text(encoding="utf-8")):
            found = {"words": row["words"]}
            for kind in ("aspects", "opinions"):
                found[kind] = [
                    ((one["from"], one["to"]), POLARITIES.get(one.get("polarity"))) for one in row[kind] if one["term"]
                ]
            rows.append(found)
        return rows

    return read
