"""What every family of models keeps to. A new family is one more line of `FAMILIES`."""

import ast
import importlib
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from accelerate import FullyShardedDataParallelPlugin
from datasets import Dataset
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.functional import pad
from transformers import (
    AutoConfig,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
    Pipeline,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    TextClassificationPipeline,
    Trainer,
    TrainingArguments,
)
from transformers.dynamic_module_utils import get_relative_import_files

import absa
from absa.hub import PublishArguments, stage_model
from absa.models import takes
from absa.opinions import Opinion
from absa.tasks.classification import describe
from modeling_generative_absa import AspectOpinionPipeline
from modeling_global_context import AspectTermSentimentPipeline, TaggingPipeline, labels_of
from modeling_qacg_bert import AspectSentimentPipeline, Contexts

ROOT = Path(__file__).resolve().parents[1]
TINY_BERT = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
    # Weights large enough for differences to show.
    "initializer_range": 0.2,
}
TEXTS = ["LOCATION1 is safe but dear", "LOCATION2 and LOCATION1 is far", "nothing"]
CONTEXTS = Contexts(("LOCATION1", "LOCATION2"), ("general", "price", "transit-location", "safety"))
LABELS = ["none", "positive", "negative"]


@dataclass(frozen=True)
class Family:
    """A model_type, the folder of its code, and a tiny model of it.

    Args:
        config: fields of the tiny model's configuration, with those that a data set decides. The tests set the size of
            the vocabulary.
        auto_class: the Auto class of the task.
        pipelines: of a checkpoint: the class by the name of the task, and parameters of a call for as many answers as
            there can be.
        check_opinions: fails for opinions that cannot be what the tiny model says of `TEXTS`.
        parameters: such ones of `absa.load`; None for those of the first pipeline.
        inputs: of the pipelines.
        unlearned: ends of the names of parameters that no output depends on.
        imports: what a file of the folder imports beside torch, transformers and the standard library.
        at_import: what a file calls or decorates with when it is imported, beside what is allowed to all.
        padding_sides: on which padding may stand.
        first_position: the number of a text's first position.
        not_saved: files of the folder that no checkpoint needs.
        module: with the model's class, where it is not the folder's own.
        name: of these tests; the model_type, where a family has one line only.
    """

    model_type: str
    package: str
    config: dict[str, Any]
    auto_class: type
    pipelines: dict[str, tuple[type[Pipeline], dict[str, Any]]]
    check_opinions: Callable[[list[list[Opinion]]], None]
    parameters: dict[str, Any] | None = None
    inputs: list[str] | list[dict[str, str]] = field(default_factory=lambda: TEXTS)
    unlearned: tuple[str, ...] = ()
    imports: dict[str, set[str]] = field(default_factory=dict)
    at_import: dict[str, set[str]] = field(default_factory=dict)
    padding_sides: tuple[str, ...] = ("right", "left")
    first_position: int = 0
    not_saved: tuple[str, ...] = ()
    module: str = ""
    name: str = ""

    @property
    def code(self) -> list[Path]:
        """What a checkpoint carries: the file with the model's class, and all that it imports."""
        file = ROOT / self.package / f"{self.module or self.package}.py"
        return sorted({file, *map(Path, get_relative_import_files(file))})

    @property
    def own_pipelines(self) -> dict[str, type[Pipeline]]:
        """Those that a checkpoint carries; the others are of Transformers."""
        return {
            task: kind for task, (kind, _) in self.pipelines.items() if not kind.__module__.startswith("transformers.")
        }

    @property
    def of_load(self) -> dict[str, Any]:
        """Parameters of a call of what `absa.load` gives."""
        _, of_first = next(iter(self.pipelines.values()))
        return of_first if self.parameters is None else self.parameters


def check_opinions_of_contexts(opinions: list[list[Opinion]]):
    assert [len(of_text) for of_text in opinions] == [4, 8, 0]
    for opinion in opinions[0]:
        assert (opinion.text_id, opinion.target) == (0, "LOCATION1")
        assert opinion.aspect in CONTEXTS.aspects
        assert list(opinion.probabilities) == LABELS
        assert opinion.score == max(opinion.probabilities.values()) == opinion.probabilities[opinion.label]


def check_opinions_of_places(opinions: list[list[Opinion]]):
    found = [[(one.text_id, one.target, one.target_start, one.aspect) for one in of_text] for of_text in opinions]
    assert found == [[(0, "LOCATION1", 0, None), (0, "safe", 13, None)], [(1, "LOCATION1", 14, None)], []]
    for opinion in chain(*opinions):
        assert list(opinion.probabilities) == LABELS
        assert opinion.score == max(opinion.probabilities.values()) == opinion.probabilities[opinion.label]


def check_opinions_of_terms(opinions: list[list[Opinion]]):
    assert sum(map(len, opinions)) > 2
    for number, of_text in enumerate(opinions):
        for opinion in of_text:
            assert opinion.text_id == number
            assert TEXTS[number][opinion.target_start : opinion.target_end] == opinion.target != ""
            assert opinion.aspect is None
            assert list(opinion.probabilities) == ["good", "negative", "none"]
            probabilities = {label: opinion.probabilities[label] for label in ("good", "negative")}
            assert opinion.score == max(probabilities.values()) == probabilities[opinion.label]


def check_opinions_of_tuples(opinions: list[list[Opinion]]):
    assert sum(map(len, opinions)) > 2
    for number, of_text in enumerate(opinions):
        for opinion in of_text:
            assert opinion.text_id == number
            assert TEXTS[number][opinion.target_start : opinion.target_end] == opinion.target != ""
            if opinion.opinion is not None:
                assert TEXTS[number][opinion.opinion_start : opinion.opinion_end] == opinion.opinion != ""
            assert list(opinion.probabilities) == ["positive", "negative", "neutral"]
            assert opinion.probabilities[opinion.label] == max(opinion.probabilities.values()) >= opinion.score


TRITON, CAPTUM = "triton_qacg_bert.py", "relevance_qacg_bert.py"
KERNELS = {"re.sub", "_forward.register_autograd", "_jit", "torch.library.custom_op"}
KERNELS |= {"_forward.register_fake", "_backward.register_fake"}
QACG = {
    "package": "modeling_qacg_bert",
    "config": {**TINY_BERT, **describe(CONTEXTS, LABELS), "context_initializer_range": 0.2},
    "auto_class": AutoModelForSequenceClassification,
    "pipelines": {"aspect-sentiment": (AspectSentimentPipeline, {"return_all": True})},
    "check_opinions": check_opinions_of_contexts,
    "imports": {TRITON: {"triton"}, CAPTUM: {"captum"}},
    "at_import": {TRITON: KERNELS},
}
GUIDED = {**describe(CONTEXTS, LABELS), "context_initializer_range": 0.2, "num_context_layers": 1}
LAYER_TYPES = ["full_attention", "sliding_attention"]  # the second is guided
ENCODERS = [
    *({"model_type": kind, **TINY_BERT, "pad_token_id": 0} for kind in ("bert", "roberta", "xlm-roberta", "mpnet")),
    {"model_type": "electra", **TINY_BERT, "embedding_size": 16},
    {"model_type": "distilbert", "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, "initializer_range": 0.2},
    {
        "model_type": "modernbert",
        **TINY_BERT,
        "pad_token_id": 0,
        "local_attention": 8,
        "global_attn_every_n_layers": 2,
    },
    {"model_type": "deberta-v2", **TINY_BERT, "relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
]
TAGS = labels_of("BIEOS", ["POS", "NEG"])
TINY_TAGGER = {"lstm_size": 12, "id2label": dict(enumerate(TAGS)), "polarities": {"POS": "good", "NEG": "negative"}}
TINY_TAGGER |= {"label2id": {label: number for number, label in enumerate(TAGS)}, "initializer_range": 0.3}
TAGGER = {
    "model_type": "global_context",
    "package": "modeling_global_context",
    "auto_class": AutoModelForTokenClassification,
    "pipelines": {
        "aspect-term-sentiment": (AspectTermSentimentPipeline, {}),
        "token-classification": (TaggingPipeline, {"aggregation_strategy": "first"}),
        "ner": (TaggingPipeline, {"aggregation_strategy": "simple"}),
    },
    "check_opinions": check_opinions_of_terms,
    # To add a number to all scores before a softmax changes nothing.
    "unlearned": ("attention.self.key.bias",),
    "imports": {"pipeline_global_context.py": {"regex"}},  # which Transformers needs too
    "at_import": {"pipeline_global_context.py": {"regex.compile"}},
}
AF_LSTM = {
    "model_type": "af_lstm",
    "package": "modeling_af_lstm",
    "auto_class": AutoModelForSequenceClassification,
    "pipelines": {"text-classification": (TextClassificationPipeline, {"top_k": None})},
    "inputs": [{"text": text, "text_pair": "is"} for text in TEXTS[:2]],
}
TINY_BART = {"model_type": "bart", "d_model": 32, "encoder_layers": 1, "decoder_layers": 2, "dropout": 0.0}
TINY_BART |= {"encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48}
TINY_BART |= {"max_position_embeddings": 64, "init_std": 0.2}
TINY_POINTER = {"max_words": 12, "max_tuples": 3, "initializer_range": 0.2, "alpha": 1.0, "pointer_mlp": False}
POINTER = {
    "model_type": "pointer_absa",
    "package": "modeling_generative_absa",
    "auto_class": AutoModelForSeq2SeqLM,
    "pipelines": {"aspect-opinion-extraction": (AspectOpinionPipeline, {})},
    "check_opinions": check_opinions_of_tuples,
    "unlearned": ("attention.self.key.bias", "k_proj.bias"),  # as of taggers
    "imports": {"words_generative_absa.py": {"regex"}},
    "at_import": {"grammar_generative_absa.py": {"Task"}, "words_generative_absa.py": {"regex.compile"}},
    # Tuples as text are for any model that generates text.
    "not_saved": ("text_generative_absa.py", "text_decoding_generative_absa.py"),
}
TINY_LSTM = {"embedding_size": 12, "hidden_size": 10, "trainable_embeddings": True}
FAMILIES = [
    Family("qacg_bert", **QACG),
    Family("cg_bert", **QACG),
    *(
        Family(
            kind,
            **{**QACG, "config": {**GUIDED, "encoder_config": encoder}},
            # A key's share in all scores of a softmax, and words that are at the place of a text's start.
            unlearned=("key.bias", "k_lin.bias", "k.bias", "key_proj.bias"),
            module="modeling_qacg",
            first_position={"roberta": 1, "xlm-roberta": 1, "mpnet": 2}.get(encoder["model_type"], 0),
            name=f"{kind}-{encoder['model_type']}",
        )
        for kind in ("cg", "qacg")
        for encoder in ENCODERS
    ),
    Family(**TAGGER, config={**TINY_TAGGER, "encoder_config": {"model_type": "bert", **TINY_BERT}}),
    Family(**TAGGER, config={**TINY_TAGGER, "embedding_size": 10, "crf": True}, name="global_context-words-crf"),
    Family(
        **AF_LSTM,
        config={**TINY_LSTM, **describe(CONTEXTS, LABELS), "use_last_state": True},
        check_opinions=check_opinions_of_contexts,
        parameters={"return_all": True},
    ),
    Family(
        **AF_LSTM,
        config={**TINY_LSTM, **describe(None, LABELS, none_label=None), "architecture": "atae_lstm"},
        check_opinions=check_opinions_of_places,
        parameters={"targets": ["safe", "LOCATION1"]},
        unlearned=("attention.aspect.weight",),  # whose part in the scores of all words is the same
        name="af_lstm-open-atae",
    ),
    Family(**POINTER, config={**TINY_POINTER, "backbone_config": {"model_type": "bert", **TINY_BERT}}),
    Family(
        **POINTER,
        config={**TINY_POINTER, "tasks": ["aesc"], "backbone_config": TINY_BART},
        padding_sides=("right",),  # BART counts positions from the left
        name="pointer_absa-encoder-decoder",
    ),
    Family(
        **{**AF_LSTM, "model_type": "scalar_mix", "package": "modeling_scalar_mix"},
        config={
            **describe(CONTEXTS, LABELS),
            "dense_size": 10,
            "mix_l2": 0.1,
            "special_token_ids": [2, 3],
            "encoder_config": {"model_type": "bert", **TINY_BERT},
        },
        check_opinions=check_opinions_of_contexts,
        parameters={"return_all": True},
    ),
]

# Builtins, modules and attributes that open files or sockets, start processes or run text as code.
FORBIDDEN_NAMES = {"open", "exec", "eval", "compile", "__import__", "input", "breakpoint", "globals"}
FORBIDDEN_MODULES = {
    *("os", "io", "sys", "pathlib", "shutil", "tempfile", "glob", "subprocess", "multiprocessing", "socket", "ssl"),
    *("http", "urllib", "ftplib", "smtplib", "asyncio", "ctypes", "importlib", "pickle", "marshal", "runpy", "code"),
    *("builtins", "webbrowser", "signal", "threading", "codeop", "pty", "select", "sqlite3", "zipfile", "tarfile"),
}
FORBIDDEN_ATTRIBUTES = {
    *("read_text", "read_bytes", "write_text", "write_bytes", "system", "popen", "urlopen", "load", "load_file"),
    *("torch_load", "hub", "load_state_dict_from_url", "save", "save_file"),
}
AT_IMPORT = {
    *("re.compile", "TypeVar", "dataclass", "strict", "can_return_tuple", "property", "classmethod", "staticmethod"),
    *("torch.no_grad", "contextmanager"),
}


BY_NAME = {family.name or family.model_type: family for family in FAMILIES}
FIRST_OF_A_TASK = {family.auto_class: name for name, family in reversed(BY_NAME.items())}.values()
FIRST_OF_A_CLASS = {(family.package, family.module): name for name, family in reversed(BY_NAME.items())}.values()
WAYS_TO_SAVE = ("save_pretrained", "trainer", "pipeline")
LIKE_OTHERS = {"qacg-electra", "qacg-xlm-roberta", "qacg-distilbert"}  # in what these tests ask
LIKE_OTHERS |= {name for name in BY_NAME if name.startswith("cg-")} - {"cg-bert"}


@pytest.fixture(
    params=[
        pytest.param(family, id=name, marks=[pytest.mark.slow] if name in LIKE_OTHERS else [])
        for name, family in BY_NAME.items()
    ],
    scope="module",
)
def family(request: pytest.FixtureRequest) -> Family:
    return request.param


@pytest.fixture(scope="module")
def tokenizer(tiny_bert: Path) -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained(tiny_bert)


@pytest.fixture
def model(family: Family, tokenizer) -> PreTrainedModel:
    """A model with a head in evaluation mode, always with the same weights, biases included."""
    torch.manual_seed(0)
    config = AutoConfig.for_model(family.model_type, calibration_temperature=1.5, **family.config)
    config.get_text_config(encoder=True).vocab_size = len(tokenizer)
    model = family.auto_class.from_config(config, attn_implementation="eager")
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "bias" in name:
                parameter.normal_(std=0.1)
    return model.eval()


@torch.no_grad()
def make_batch(model: PreTrainedModel, batch_size: int = 3, length: int = 7) -> dict[str, torch.Tensor]:
    """Random inputs, all those that the model takes, and labels."""
    generator = torch.Generator().manual_seed(1)

    def draw(low: int, high: int, *shape: int) -> torch.Tensor:
        return torch.randint(low, high, shape, generator=generator)

    batch = {
        "input_ids": draw(5, model.config.get_text_config(encoder=True).vocab_size, batch_size, length),
        "attention_mask": torch.ones(batch_size, length, dtype=torch.long),
        "token_type_ids": draw(0, 2, batch_size, length),
        "context_ids": draw(0, len(CONTEXTS), batch_size),
        "word_ids": torch.arange(length).expand(batch_size, -1) - 1,
    }
    batch["token_type_ids"][:, 0] = getattr(model.config, "target_token_type", 0)
    batch["token_type_ids"][:, -1] = 1
    batch = {name: value for name, value in batch.items() if takes(model, name)}
    if takes(model, "decoder_input_ids"):
        batch["decoder_input_ids"] = draw(0, model.config.vocab_size, batch_size, length - 2)
    logits = model(**batch).logits  # of each text, of each of its tokens, or of each index that is generated
    possible = (logits > torch.finfo(logits.dtype).min).flatten(0, -2).float()
    labels = torch.multinomial(possible, 1, generator=generator).view(logits.shape[:-1])
    return {**batch, "labels": labels}


def test_configuration_survives_a_round_trip(model, tmp_path: Path):
    model.config.save_pretrained(tmp_path)
    loaded = AutoConfig.from_pretrained(tmp_path)
    assert type(loaded) is type(model.config)
    assert loaded.to_diff_dict() == model.config.to_diff_dict()
    assert loaded.id2label == model.config.id2label


def test_classifier_survives_a_round_trip(family: Family, model, tmp_path: Path):
    model.save_pretrained(tmp_path)
    loaded = family.auto_class.from_pretrained(tmp_path)
    assert type(loaded) is type(model)
    expected = model.state_dict()
    assert loaded.state_dict().keys() == expected.keys()
    for name, tensor in loaded.state_dict().items():
        assert torch.equal(tensor, expected[name]), name


@pytest.mark.parametrize("side", ["right", "left"])
@torch.no_grad()
def test_padding_changes_no_state_of_a_token(family: Family, model, side: str):
    if side not in family.padding_sides:
        pytest.skip("not a side for this model")
    batch = make_batch(model)
    del batch["labels"]
    expected = model.base_model(**batch).last_hidden_state
    widths, tokens = ((0, 4), slice(0, 7)) if side == "right" else ((4, 0), slice(4, None))
    of_text = {name for name, value in batch.items() if value.shape[1:] == (7,)}
    padded = {name: pad(value, widths) if name in of_text else value for name, value in batch.items()}
    padded["input_ids"][padded["attention_mask"] == 0] = 9  # whatever stands there
    if takes(model.base_model, "position_ids"):
        padded["position_ids"] = (padded["attention_mask"].cumsum(-1) - 1).clamp(min=0) + family.first_position
    if takes(model, "decoder_input_ids"):  # states and logits are of what is generated, where nothing is padded
        tokens = slice(None)
    torch.testing.assert_close(model.base_model(**padded).last_hidden_state[:, tokens], expected)
    expected = model(**batch).logits
    if side == "right":
        padded.pop("position_ids", None)  # as they are without padding
    if expected.dim() > 2:  # of tokens
        torch.testing.assert_close(model(**padded).logits[:, tokens], expected)
    elif side == "right":
        torch.testing.assert_close(model(**padded).logits, expected)


@torch.no_grad()
def test_the_order_of_a_batch_changes_no_answer(model):
    batch = make_batch(model, batch_size=4)
    order = torch.tensor([2, 0, 3, 1])
    shuffled = {name: value[order] for name, value in batch.items()}
    torch.testing.assert_close(model(**shuffled).logits, model(**batch).logits[order])
    alone = {name: value[:1] for name, value in batch.items()}
    torch.testing.assert_close(model(**alone).logits, model(**batch).logits[:1])


def test_every_parameter_gets_a_gradient(family: Family, model):
    model(**make_batch(model)).loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert name.endswith(family.unlearned) or parameter.grad.abs().max() > 0, name


@pytest.fixture(scope="module")
def mesh() -> Iterator[DeviceMesh]:
    """Of this process alone."""
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    yield init_device_mesh("cpu", (1,))
    torch.distributed.destroy_process_group()


def test_sharded_as_accelerate_does_it_gives_the_same_gradients(model, mesh, repo_root: Path):
    """What FSDP takes for a unit is put together for its own call, and is in pieces for whoever reads it otherwise."""
    if model.can_generate():
        pytest.skip("no generator is trained under FSDP")
    batch = make_batch(model)
    expected = model(**batch).loss
    expected.backward()
    gradients = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()
    launch = yaml.safe_load((repo_root / "configuration" / "accelerate" / "fsdp.yaml").read_text())["fsdp_config"]
    named = launch.get("fsdp_transformer_layer_cls_to_wrap")
    plugin = FullyShardedDataParallelPlugin(
        fsdp_version=2, auto_wrap_policy=launch["fsdp_auto_wrap_policy"], transformer_cls_names_to_wrap=named
    )
    plugin.set_auto_wrap_policy(model)  # refuses names of layers that the model has not
    units = [part for part in model.modules() if type(part).__name__ in plugin.transformer_cls_names_to_wrap]
    for unit in [*units, model]:
        fully_shard(unit, mesh=mesh)
    loss = model(**batch).loss
    loss.backward()
    torch.testing.assert_close(loss, expected)
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad.full_tensor(), gradients[name], msg=lambda m, n=name: f"{n}: {m}")


def test_answers_are_opinions(family: Family, model, tokenizer, tmp_path: Path):
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    family.check_opinions(absa.load(str(tmp_path))(TEXTS, **family.of_load))


def assert_same_answers(given: list[list[dict]], expected: list[list[dict]]):
    assert [len(answers) for answers in given] == [len(answers) for answers in expected]
    for one, other in zip(chain(*given), chain(*expected), strict=True):
        assert one.keys() == other.keys()
        for key, value in other.items():
            is_approximate = isinstance(value, dict | float | np.floating)
            assert one[key] == (pytest.approx(value, abs=1e-6) if is_approximate else value), key


@pytest.mark.parametrize(
    ("family", "written_by"),
    [
        pytest.param(
            family,
            written_by,
            id=f"{written_by}-{name}",
            marks=() if written_by == WAYS_TO_SAVE[0] and name in FIRST_OF_A_TASK else pytest.mark.slow,
        )
        for name, family in BY_NAME.items()
        for written_by in (WAYS_TO_SAVE if name in FIRST_OF_A_CLASS else WAYS_TO_SAVE[:1])
    ],
    indirect=["family"],
)
def test_a_stranger_gets_what_was_saved(family: Family, model, tokenizer, written_by: str, stranger, tmp_path: Path):
    """Another process and folder, an empty cache of code, no package of ours."""
    checkpoint = tmp_path / "saved"
    if written_by == "trainer":
        rows = Dataset.from_dict({name: value.tolist() for name, value in make_batch(model, 4).items()})
        options = {"max_steps": 2, "save_steps": 2, "use_cpu": True, "report_to": [], "disable_tqdm": True}
        Trainer(
            model, TrainingArguments(checkpoint, **options), train_dataset=rows, processing_class=tokenizer
        ).train()
        checkpoint /= "checkpoint-2"
        model.eval()
    pipes = {task: found(model=model, tokenizer=tokenizer) for task, (found, _) in family.pipelines.items()}
    if written_by == "pipeline":
        next(iter(pipes.values())).save_pretrained(checkpoint)
    elif written_by == "save_pretrained":
        model.save_pretrained(checkpoint)
        tokenizer.save_pretrained(checkpoint)
    batch = make_batch(model)
    del batch["labels"]
    parameters = {task: of_call for task, (_, of_call) in family.pipelines.items()}
    report, tensors = stranger(checkpoint, batch, family.auto_class, parameters, family.inputs)
    classes = [type(one).__name__ for one in (model.config, model, model.base_model)]
    assert report["classes"] == classes + 2 * [type(pipe).__name__ for pipe in pipes.values()]
    of_transformers = {"transformers"} if family.own_pipelines.keys() < family.pipelines.keys() else set()
    assert report["packages"] == sorted({"transformers_modules"} | of_transformers)
    # Bit by bit it is compared with what the same file gives here: the last bits of a product depend on where in
    # memory a weight begins, which is another place for a weight that was trained than for one that was loaded.
    loaded = type(model).from_pretrained(checkpoint, attn_implementation="eager")
    with torch.no_grad():
        expected = {f"headless.{name}": value for name, value in loaded.base_model(**batch).items()}
        expected["logits"] = loaded(**batch).logits
        assert tensors.keys() == expected.keys()
        for name, tensor in expected.items():
            assert torch.equal(tensors[name], tensor), name
        torch.testing.assert_close(tensors["logits"], model(**batch).logits)
    assert report["answers"] == report["answers_of_what_was_saved_again"]
    for task, answers in report["answers"].items():
        assert sum(map(len, answers)) > 2
        assert_same_answers(answers, pipes[task](family.inputs, **parameters[task]))


def test_a_saved_model_carries_all_its_code(family: Family, model, tmp_path: Path):
    model.save_pretrained(tmp_path)
    names = [file.name for file in family.code]
    others = ["config.json", "model.safetensors", *(["generation_config.json"] if model.can_generate() else [])]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*others, *names])
    for file in family.code:
        assert (tmp_path / file.name).read_bytes() == file.read_bytes()
    config = json.loads((tmp_path / "config.json").read_text())
    # For all heads: with only the saved one, AutoModel could not load it.
    assert {auto: value.rpartition(".")[2] for auto, value in config["auto_map"].items()} == {
        "AutoConfig": type(model.config).__name__,
        "AutoModel": type(model.base_model).__name__,
        family.auto_class.__name__: type(model).__name__,
    }
    assert config["custom_pipelines"].keys() == family.own_pipelines.keys()
    for task, pipeline in config["custom_pipelines"].items():
        module, _, class_name = pipeline["impl"].partition(".")
        expected = family.own_pipelines[task]
        assert getattr(importlib.import_module(f"{family.package}.{module}"), class_name) is expected


def test_each_file_is_of_a_family():
    for package in {family.package for family in FAMILIES}:
        needed = {path for family in FAMILIES if family.package == package for path in family.code}
        others = {name for family in FAMILIES if family.package == package for name in family.not_saved}
        unused = set((ROOT / package).glob("*.py")) - needed - {ROOT / package / "__init__.py"}
        assert {path.name for path in unused} == others


def test_what_is_staged_for_the_hub_is_the_model(family: Family, model, tokenizer, tmp_path: Path):
    for name in ("checkpoint", "staged"):
        (tmp_path / name).mkdir()
    model.save_pretrained(tmp_path / "checkpoint")
    tokenizer.save_pretrained(tmp_path / "checkpoint")
    stage_model(tmp_path / "checkpoint", tmp_path / "staged", PublishArguments("model", "checkpoint", "alice/model"))
    assert {file.name for file in family.code} <= {path.name for path in (tmp_path / "staged").iterdir()}
    assert "alice/model" in (tmp_path / "staged" / "README.md").read_text()
    opinions = [absa.load(str(tmp_path / name))(TEXTS, **family.of_load) for name in ("checkpoint", "staged")]
    assert opinions[0] == opinions[1]


def test_a_headless_model_names_all_classes_and_no_pipeline(model, tmp_path: Path):
    model.save_pretrained(tmp_path / "classifier")
    model.base_model.save_pretrained(tmp_path / "headless")  # with the configuration that the classifier has too
    classifier, headless = (
        json.loads((tmp_path / name / "config.json").read_text()) for name in ("classifier", "headless")
    )
    assert headless["auto_map"] == classifier["auto_map"]
    assert headless["custom_pipelines"] == {}


def calls_at_import(node: ast.AST):
    """Calls that happen when a module is imported: in its own body, in those of classes, and decorators."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            for default in [*child.args.defaults, *(d for d in child.args.kw_defaults if d is not None)]:
                yield from calls_at_import(ast.Expr(default))
            continue
        if isinstance(child, ast.Call):
            yield child
        yield from calls_at_import(child)


def is_optional_import(statement: ast.stmt) -> bool:
    """Imports of what may be absent, the form in which Transformers lets it be absent."""
    return (
        isinstance(statement, ast.Try)
        and all(isinstance(inner, ast.Import | ast.ImportFrom) for inner in statement.body)
        and [ast.unparse(handler.type) for handler in statement.handlers] == ["ImportError"]
        and all(isinstance(inner, ast.Assign) for inner in statement.handlers[0].body)
        and not statement.orelse
        and not statement.finalbody
    )


CODE = {file.name: (family, file) for family in FAMILIES for file in family.code}


@pytest.mark.parametrize("name", CODE)
def test_saved_code_imports_little_and_opens_starts_or_evaluates_nothing(name: str):
    """A stranger runs this code: what it does can be seen."""
    family, file = CODE[name]
    allowed = {"torch", "transformers"} | family.imports.get(name, set()) | sys.stdlib_module_names - FORBIDDEN_MODULES
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert {alias.name.split(".")[0] for alias in node.names} <= allowed, f"line {node.lineno}"
        if isinstance(node, ast.ImportFrom):
            # Of relative imports Transformers copies what it finds by this form only.
            is_sibling = node.level == 1 and f"{node.module}.py" in CODE
            assert is_sibling or (node.level == 0 and node.module.split(".")[0] in allowed), f"line {node.lineno}"
        if isinstance(node, ast.Name):
            assert node.id not in FORBIDDEN_NAMES, f"line {node.lineno}: {node.id}"
        if isinstance(node, ast.Attribute) and ast.unparse(node) != "tl.load":  # of a GPU's memory
            assert node.attr not in FORBIDDEN_ATTRIBUTES, f"line {node.lineno}: .{node.attr}"
            is_private = node.attr.startswith("__") and node.attr not in {"__init__", "__name__", "__post_init__"}
            assert not is_private, f"line {node.lineno}: .{node.attr}"


@pytest.mark.parametrize("name", CODE)
def test_saved_code_does_nothing_when_it_is_imported(name: str):
    family, file = CODE[name]
    module = ast.parse(file.read_text(encoding="utf-8"))
    definitions = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)
    for statement in module.body:
        is_docstring_or_call = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant | ast.Call)
        assert is_docstring_or_call or is_optional_import(statement) or isinstance(statement, definitions), (
            f"line {statement.lineno}"
        )
    allowed = AT_IMPORT | family.at_import.get(name, set())
    for call in calls_at_import(module):
        assert ast.unparse(call.func) in allowed, f"line {call.lineno}: {ast.unparse(call.func)}"
    for node in ast.walk(module):
        for decorator in getattr(node, "decorator_list", []):
            applied = ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)
            assert applied in allowed, f"line {decorator.lineno}: @{applied}"
