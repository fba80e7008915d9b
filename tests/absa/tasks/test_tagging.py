"""absa/tasks/tagging.py: sentences of tagged words become batches, and what a tagger answers becomes scores."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from transformers import AutoTokenizer, BertForTokenClassification, MPNetConfig, MPNetModel

import absa
from absa.models import build_config, load_model
from absa.tasks.arguments import TaggingArguments
from absa.tasks.collating import NO_LABEL, CollatorOfWords
from absa.tasks.tagging import Tagging
from absa.training.arguments import ModelArguments
from absa.training.run import build
from modeling_global_context import GlobalContextConfig

CUT = "nice keys and mouse"  # by the most tokens
SENTENCES = {
    "train": [
        "The screen is dear####The=O screen=T-POS is=O dear=O",
        "Bad battery life!####Bad=O battery=T-NEG life=T-NEG !=O",
        f"{'a ' * 60}{CUT}####{'a=O ' * 60}{CUT.replace(' ', '=T-POS ')}=T-POS",
    ],
    "dev": ["It is safe####It=O is=O safe=O", "A dear mouse####A=O dear=O mouse=T-NEU"],
    "test": ["Nice keys and mouse####Nice=O keys=T-POS and=O mouse=T-NEG", "\ufe0f####\ufe0f=O", "No####No=O"],
}
GOLD = ["O", "S-POS", "O", "S-NEG", "O", "O"]


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("e2e_absa")
    (folder / "laptop14").mkdir()
    for split, lines in SENTENCES.items():
        (folder / "laptop14" / f"{split}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def arguments(data_dir: Path) -> TaggingArguments:
    return TaggingArguments(data_dir=str(data_dir), data_config="laptop14")


@pytest.fixture(scope="module")
def task(arguments) -> Tagging:
    return Tagging.load(arguments)


@pytest.fixture
def tokenizer(tiny_bert: Path):
    return AutoTokenizer.from_pretrained(tiny_bert)


def predicted(task: Tagging, entries, tags: list[str], junk: int) -> tuple[np.ndarray, np.ndarray]:
    """Logits and labels of entries whose words have these tags; what no word stands for has others."""
    width = max(map(len, entries.dataset["input_ids"]))
    logits = np.full((len(entries.rows_of), width, len(task.label_names)), -100.0)
    logits[..., junk] = 5.0
    labels = np.full(logits.shape[:2], NO_LABEL)
    for number, (own, mask) in enumerate(zip(entries.rows_of, entries.dataset["word_mask"], strict=True)):
        for row, position in zip(own, np.flatnonzero(mask), strict=True):
            logits[number, position] = 0.0
            logits[number, position, task.label_names.index(tags[row])] = 4.0
            labels[number, position] = task.label_names.index(tags[row])
    return logits, labels


def test_labels_stand_at_the_first_tokens_of_words(task, arguments, tokenizer):
    entries = task.entries("test", arguments, tokenizer, None)
    assert entries.rows_of == [[0, 1, 2, 3], [5]]  # the longest first; U+FE0F has no token
    row = entries.dataset[0]
    of_words = [label for label in row["labels"] if label != NO_LABEL]
    assert [task.label_names[label] for label in of_words] == GOLD[:4]
    assert [label != NO_LABEL for label in row["labels"]] == [bool(first) for first in row["word_mask"]]
    tokens = tokenizer.convert_ids_to_tokens(row["input_ids"])
    assert [token for token, first in zip(tokens, row["word_mask"], strict=True) if first] == ["nice", "k", "and", "m"]


def test_batches_are_padded_on_the_right(task, arguments, tokenizer):
    entries = task.entries("test", arguments, tokenizer, None)
    tokenizer.padding_side = "left"
    batch = CollatorOfWords(tokenizer)([entries.dataset[0], entries.dataset[1]])
    assert {tuple(values.shape) for values in batch.values()} == {(2, len(entries.dataset[0]["input_ids"]))}
    short = len(entries.dataset[1]["input_ids"])
    for name, filling in (("attention_mask", 0), ("word_mask", 0), ("labels", NO_LABEL)):
        assert (batch[name][1, short:] == filling).all()
    assert batch["labels"][1, :short].tolist() == entries.dataset[1]["labels"]


@pytest.mark.parametrize("is_sequence", [False, True])
def test_gold_answers_score_as_gold(task, arguments, tokenizer, is_sequence: bool, tmp_path: Path):
    entries = task.entries("test", arguments, tokenizer, None)
    logits, labels = predicted(task, entries, GOLD, junk=3)
    if is_sequence:  # whose logits, marginals, may have another label on top
        logits = logits[..., ::-1]
    answers = task.answers("test", entries, (logits, labels) if is_sequence else logits)
    assert answers.are_read.tolist() == [True] * 4 + [False, True]
    scores = task.score("test", answers)
    assert scores["strict_micro_f1"] == scores["aspect_f1"] == scores["sentiment_accuracy"] == 1
    assert scores["micro_f1"] == pytest.approx(1, abs=2e-4)
    assert ("constrained_micro_f1" in scores) is not is_sequence
    task.write_answers(tmp_path, "test", answers)
    written = pd.read_parquet(tmp_path / "test_tags.parquet")
    assert [list(tags) for tags in written["predicted"]] == [list(tags) for tags in written["tags"]]
    probabilities = np.concatenate(written["probabilities"].tolist())
    expected = softmax(answers.logits, axis=-1)[np.arange(len(answers.tags)), answers.tags]
    assert probabilities.tolist() == expected.tolist()


def test_constrained_tags_are_well_formed(task, arguments, tokenizer):
    """B without E counts for nothing; the most probable well-formed tags make it S."""
    entries = task.entries("test", arguments, tokenizer, None)
    logits, _ = predicted(task, entries, GOLD, junk=0)
    logits[0][np.flatnonzero(entries.dataset[0]["word_mask"])[1], task.label_names.index("B-POS")] = 4.5
    scores = task.score("test", task.answers("test", entries, logits))
    assert (scores["count_right"], scores["inconsistent_share"]) == (1, pytest.approx(1 / 3))
    assert scores["constrained_micro_f1"] == pytest.approx(1, abs=2e-4)


def test_what_is_cut_is_outside(task, arguments, tokenizer, caplog):
    tokenizer.model_max_length = 8
    entries = task.entries("test", arguments, tokenizer, None)
    assert "test: the ends of 1 sentences are cut at 8 tokens" in caplog.text
    logits, _ = predicted(task, entries, ["S-NEG"] * 6, junk=3)
    answers = task.answers("test", entries, logits)
    assert not answers.are_read[3]
    assert task.label_names[answers.tags[3]] == "O"


CONSTRAINED = GlobalContextConfig(crf=True, crf_constraints=True)


def with_tags(task: Tagging, split: str, tags: list[list[str]]) -> Tagging:
    """Sentences of these tags and some word each."""
    rows = {"id": [f"s{number}" for number in range(len(tags))], "tags": tags}
    rows |= {"tokens": [["dear"] * len(of_sentence) for of_sentence in tags], "text": [""] * len(tags)}
    return replace(task, splits={**task.splits, split: rows})


@pytest.mark.parametrize(
    ("tags", "said"),
    [
        ("O B-POS E-NEG", "E-NEG may not follow B-POS at word 2"),
        ("I-POS E-POS", "may not start with I-POS"),
        ("O B-POS", "may not end with B-POS"),
    ],
)
def test_constraints_refuse_gold_that_they_forbid(task, arguments, tokenizer, tags: str, said: str):
    faulty = with_tags(task, "validation", [["O", "S-POS"], tags.split()])
    with pytest.raises(ValueError, match=rf"^validation, sentence s1: .*{said}; correct the tag"):
        faulty.entries("validation", arguments, tokenizer, CONSTRAINED)
    faulty.entries("validation", arguments, tokenizer, GlobalContextConfig(crf=True))


def test_constraints_leave_out_spans_that_are_cut(task, arguments, tokenizer):
    """By the most tokens, or since a word of them has no token."""
    tags = ["S-NEG", "B-POS", "I-POS", "E-POS", "O", "B-NEG", "E-NEG"]
    task = with_tags(task, "train", [tags])
    task.splits["train"]["tokens"][0][2] = "\ufe0f"
    tokenizer.model_max_length = 7  # of which five are words'
    for config in (CONSTRAINED, GlobalContextConfig(crf=True)):
        (row,) = task.entries("train", arguments, tokenizer, config).dataset
        assert sum(row["word_mask"]) == 5
        labels = [label for label, is_first in zip(row["labels"], row["word_mask"], strict=True) if is_first]
        of_words = dict(zip([0, 1, 3, 4, 5], labels, strict=True))
        expected = {number: task.label_names.index(tags[number]) for number in of_words}
        left_out = {1, 3, 5} if config.crf_constraints else set()
        assert of_words == {number: NO_LABEL if number in left_out else label for number, label in expected.items()}


def test_a_family_around_an_encoder_has_its_weights(task, arguments, tiny_bert: Path):
    config = build_config("global_context", str(tiny_bert), task.described(arguments), overrides="lstm_size=12")
    model = load_model(str(tiny_bert), config, "sdpa", auto_class=task.auto_class)
    assert (config.lstm_size, config.encoder_config.hidden_size) == (12, 32)
    assert config.labels == task.label_names
    (rate,) = {parameter.dtype for parameter in model.parameters()}
    assert str(rate) == "torch.float32"
    with pytest.raises(
        ValueError, match="model_type=qacg_bert has no model ForTokenClassification: choose one of bert, "
    ):
        load_model(str(tiny_bert), build_config("qacg_bert", str(tiny_bert), {}), "sdpa", auto_class=task.auto_class)


def test_attention_of_an_encoder_without_sdpa(task, arguments, tokenizer, tiny_bert: Path, tmp_path: Path):
    small = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 24}
    MPNetModel(MPNetConfig(vocab_size=len(tokenizer), **small)).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    for encoder, expected in ((tmp_path, "eager"), (tiny_bert, "sdpa")):
        options = {"model_name_or_path": str(encoder), "config_overrides": "lstm_size=12"}
        model, _ = build(task, ModelArguments(task="tagging", model_type="global_context", **options), arguments)
        assert model.base_model.encoder.config._attn_implementation == expected


def test_a_model_that_knows_no_words_is_refused(task, arguments):
    with pytest.raises(ValueError, match="task=tagging with BertForTokenClassification, which takes no word_mask"):
        task.parts(arguments, BertForTokenClassification)


def test_a_run_as_a_user_starts_it(data_dir: Path, tiny_bert: Path, run_here, tmp_path: Path):
    words = ("configuration/recipes/laptop14_minilm.yaml", "--model_name_or_path", tiny_bert, "--data_dir", data_dir)
    words += (
        "--config_overrides",
        "lstm_size=12,crf=true,crf_constraints=true",
        "--num_train_epochs",
        "2",
        "--bf16",
        "false",
    )
    words += ("--learning_rates", '{"lstm": 1e-2, "crf": 1e-2}', "--output_dir", tmp_path / "run")
    printed = run_here("examples/run_absa.py", *words)
    assert "13 labels, BIEOS" in printed
    assert "micro_f1" in printed
    results = json.loads((tmp_path / "run" / "seed-42" / "results.json").read_text())
    assert results["test"]["count_gold"] == 2
    log = results["training"]["model"]["log"]
    losses = [value for entry in log for name, value in entry.items() if name.endswith("_loss")]
    assert 0 < min(losses) <= max(losses) < 1000  # a forbidden tag costs 1e30
    read = absa.load(str(tmp_path / "run" / "seed-42"))
    for opinion in read("Nice keys and mouse"):
        assert "Nice keys and mouse"[opinion.target_start : opinion.target_end] == opinion.target
        assert opinion.aspect is None
