"""Tuples as text: targets, the way back to spans of words, and constrained decoding."""

import ast
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    AutoConfig,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    BartConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)

from modeling_generative_absa import text_decoding_generative_absa
from modeling_generative_absa.text_decoding_generative_absa import TextWriter
from modeling_generative_absa.text_generative_absa import TASKS, TextFormat, WordTuple

LABEL_OF = {"POS": "positive", "NEG": "negative", "NEU": "neutral"}
SENTENCES = [
    ["The", "camera", "is", "excellent", "but", "the", "battery", "life", "is", "disappointing", "."],
    ["Great", "food", ",", "great", "food", "again", "!"],
    ["Service", "was", "slow", ",", "rude", "and", "overpriced", "service", "."],
    ["fun", ":", "fun", ";", "the", "café's", "décor", "isn't", "dull", "..."],
    ["Nothing"],
]
OF_ASTE = ["14lap", "14res", "15res", "16res"]


def tuples_of(triplets: list) -> list[WordTuple]:
    return [WordTuple((a[0], a[-1] + 1), (o[0], o[-1] + 1), LABEL_OF[label]) for a, o, label in triplets]


def read_aste(folder: Path, name: str) -> Iterator[tuple[list[str], list[WordTuple]]]:
    for split in ("train", "dev", "test"):
        for line in (folder / "data" / "aste_v2" / name / f"{split}_triplets.txt").read_text("utf-8").splitlines():
            text, _, triplets = line.partition("####")
            yield text.split(), tuples_of(ast.literal_eval(triplets))


def projected(tuples: list[WordTuple], task: str) -> set[WordTuple]:
    return {WordTuple(**{field: getattr(one, field) for field in TASKS[task].fields}) for one in tuples}


@pytest.mark.parametrize(
    ("task", "name", "lost"),
    [
        *(
            ("aste", *expected)
            for expected in zip(OF_ASTE, [(6, 2346), (17, 3908), (3, 1747), (4, 2247)], strict=True)
        ),
        *(
            ("aesc", *expected)
            for expected in zip(OF_ASTE, [(12, 2040), (13, 3399), (3, 1507), (4, 1946)], strict=True)
        ),
    ],
)
def test_what_the_text_loses(shared_dir: Path, task: str, name: str, lost: tuple[int, int]):
    """The ceiling of the form: words that stand in a sentence more than once have lost their places."""
    text_format, num_lost, total = TextFormat(task), 0, 0
    for words, tuples in read_aste(shared_dir, name):
        gold = projected(tuples, task)
        parsed = text_format.parse(text_format.target(words, tuples), words)
        assert parsed.num_invalid == 0
        assert len(parsed.tuples) == len(gold)
        total, num_lost = total + len(gold), num_lost + len(gold - set(parsed.tuples))
    assert (num_lost, total) == lost


def test_golden_sentences(shared_dir: Path):
    """The fields are those of GAS, whose form loses terms with commas; ours does not."""
    golden = json.loads((shared_dir / "golden" / "generative" / "text_targets.json").read_text("utf-8"))
    compared = 0
    for sentence in golden["sentences"]:
        words, tuples = sentence["words"], tuples_of(sentence["triplets"])
        for form, task in (("aste", "aste"), ("aope", "aope"), ("uabsa", "aesc")):
            text_format = TextFormat(task)
            target = text_format.target(words, tuples)
            assert text_format.parse(target, words)[:2] == (sorted(projected(tuples, task)), 0)
            written = sentence[f"gas_extraction_{form}"]
            if not any("," in word for one in tuples for span in one[:2] for word in words[slice(*span)]):
                ours = {"(" + one.replace(": ", ", ") + ")" for one in target.split("; ")}
                assert ours == set(written.split("; "))
                compared += 1
    assert compared >= 12
    for prediction in golden["metric"]["garbage"]["pred"]:
        assert TextFormat("aste").parse(prediction, golden["sentences"][0]["words"])[:2] == ([], 1)


@pytest.mark.parametrize(
    ("task", "prompt", "target"),
    [
        ("ate", "Identify aspects: {text}", "camera; battery life"),
        ("ote", "Identify opinions: {text}", "excellent; disappointing"),
        ("aesc", "Identify aspects and sentiments: {text}", "camera: positive; battery life: negative"),
        ("aope", "Identify aspects and opinions: {text}", "camera: excellent; battery life: disappointing"),
        (
            "aste",
            "Identify aspects, opinions and sentiments: {text}",
            "camera: excellent: positive; battery life: disappointing: negative",
        ),
        ("alsc", "Identify the sentiment of battery life: {marked}", "negative"),
        ("aoe", "Identify opinions on battery life: {marked}", "disappointing"),
    ],
)
def test_prompts_and_targets(task: str, prompt: str, target: str):
    words, text_format = SENTENCES[0], TextFormat(task)
    tuples = [WordTuple((6, 8), (9, 10), "negative"), WordTuple((1, 2), (3, 4), "positive")]
    given = (6, 8) if TASKS[task].is_given else None
    marked = "The camera is excellent but the [ battery life ] is disappointing ."
    assert text_format.prompt(words, given) == prompt.format(text=" ".join(words), marked=marked)
    assert text_format.target(words, tuples * 2, given) == target  # each once, in the order of the words
    expected = sorted(projected(tuples, task))
    if given is not None:
        expected = [one._replace(target=given) for one in projected(tuples[:1], task)]
    assert text_format.parse(f" {target}\n", words, given)[:2] == (expected, 0)
    with pytest.raises(ValueError, match="leave the aspect term out" if given is None else "give the span"):
        text_format.prompt(words, (0, 1) if given is None else None)
    if task != "alsc":
        assert text_format.target(words, [], given) == "none"
        assert text_format.parse("none", words, given)[:2] == ([], 0)


@pytest.mark.parametrize(
    ("task", "output", "found", "num_invalid"),
    [
        ("aste", "food: Great: positive", [((1, 2), (0, 1), "positive")], 0),
        ("aste", "food: great: positive", [((4, 5), (3, 4), "positive")], 0),  # the same words in the same case first
        ("aste", "FOOD: GREAT: positive", [((1, 2), (0, 1), "positive")], 0),
        # An opinion of its own for each, but no tuple is taken for another's place before all are taken.
        ("aope", "food: great; food: great", [((4, 5), (3, 4), None), ((1, 2), (3, 4), None)], 0),
        ("aesc", "food: positive; food: neutral", [((1, 2), None, "positive"), ((4, 5), None, "neutral")], 0),
        ("aesc", "again: positive; food: neutral", [((5, 6), None, "positive"), ((1, 2), None, "neutral")], 0),
        ("ate", "food; food; food", [((1, 2), None, None), ((4, 5), None, None), ((1, 2), None, None)], 0),
        ("ote", "great food; again", [(None, (3, 5), None), (None, (5, 6), None)], 0),
        ("aste", "food: great: good; food: Great: positive", [((1, 2), (0, 1), "positive")], 1),  # no such label
        ("aste", "food: positive; soup: great: positive; food: great food: positive: positive", [], 3),
        ("aesc", "food: great: positive; positive; : positive", [], 3),
        ("aope", "food; food: ; food: great", [((4, 5), (3, 4), None)], 2),
        ("ate", "food food; none", [], 2),
        ("ote", "", [], 1),
    ],
)
def test_what_is_read_of_an_output(task: str, output: str, found: list[tuple], num_invalid: int):
    assert TextFormat(task).parse(output, SENTENCES[1])[:2] == ([WordTuple(*one) for one in found], num_invalid)


def test_the_sentiment_of_a_given_aspect_is_a_label_or_nothing():
    words = SENTENCES[0]
    assert TextFormat("alsc").parse("positive", words, (1, 2))[:2] == ([WordTuple((1, 2), None, "positive")], 0)
    assert TextFormat("alsc").parse("camera: positive", words, (1, 2))[:2] == ([], 1)
    # Of two places the one next to the given term.
    assert TextFormat("aoe").parse("great", SENTENCES[1], (4, 5)).tuples == [WordTuple((4, 5), (3, 4))]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TextFormat("asqp"), "task='asqp': give one of ate, ote"),
        (lambda: TextFormat("aste", ("good", "so: so")), "labels has 'so: so': give names without"),
        (lambda: TextFormat("aste").target(["a"], [WordTuple((0, 1), None, "positive")]), "opinion=None: give it"),
        (lambda: TextFormat("aesc").target(["a"], [WordTuple((0, 1), None, "fine")]), "label='fine': give it: one of"),
        (lambda: TextFormat("alsc").target(["a"], [], (0, 1)), "has 0 labels, give it one"),
    ],
)
def test_what_cannot_be_written_is_refused(make, message: str):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_format_is_saved_with_a_model(tmp_path: Path):
    text_format = TextFormat("aste", ("good", "bad"))
    BartConfig(absa=asdict(text_format)).save_pretrained(tmp_path)
    loaded = TextFormat(**AutoConfig.from_pretrained(tmp_path).absa)
    assert (loaded.task, list(loaded.labels)) == ("aste", ["good", "bad"])


@pytest.fixture(scope="module", params=["bart", "t5"])
def kind(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def checkpoint(kind: str, make_text_model) -> Path:
    """Of a tiny model with random weights, which knows nothing."""
    return make_text_model(kind, list(map(" ".join, SENTENCES)))


@pytest.fixture(scope="module")
def tokenizer(checkpoint: Path) -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained(checkpoint)


@pytest.fixture(scope="module")
def model(checkpoint: Path) -> PreTrainedModel:
    return AutoModelForSeq2SeqLM.from_pretrained(checkpoint)


def generate(model, tokenizer, prompts: list[str], **options) -> torch.Tensor:
    torch.manual_seed(1)
    inputs = tokenizer(prompts, padding=True, return_tensors="pt", return_token_type_ids=False)
    return model.generate(**inputs, max_new_tokens=60, **options)


@pytest.mark.parametrize("options", [{}, {"num_beams": 3}, {"do_sample": True}], ids=["greedy", "beams", "sampled"])
@pytest.mark.parametrize("task", TASKS)
def test_what_is_decoded_can_always_be_read(model, tokenizer, task: str, options: dict):
    text_format = TextFormat(task)
    writer = TextWriter(tokenizer, text_format)
    given = [(len(words) // 2, len(words)) if TASKS[task].is_given else None for words in SENTENCES]
    prompts = [text_format.prompt(*pair) for pair in zip(SENTENCES, given, strict=True)]
    allowed = writer.allowed_tokens(SENTENCES)
    outputs = generate(model, tokenizer, prompts, prefix_allowed_tokens_fn=allowed, **options)
    for words, span, output in zip(SENTENCES, given, outputs, strict=True):
        is_cut = tokenizer.eos_token_id not in output[1:].tolist()[:-1] and len(output) > 60
        parsed = text_format.parse(writer.decode(output), words, span)
        assert parsed.num_invalid <= is_cut, writer.decode(output)
        assert parsed.tuples or writer.decode(output) == "none" or is_cut


def test_without_the_constraint_nothing_of_it_can_be_read(model, tokenizer):
    """Else the test above would say nothing."""
    text_format = TextFormat("aste")
    writer = TextWriter(tokenizer, text_format)
    outputs = generate(model, tokenizer, [text_format.prompt(words) for words in SENTENCES])
    for words, output in zip(SENTENCES, outputs, strict=True):
        assert text_format.parse(writer.decode(output), words).tuples == []


def test_what_is_learned_can_be_decoded(tokenizer):
    """The labels of training are tokens that decoding allows, and behind them nothing but the end."""
    text_format = TextFormat("aste")
    writer = TextWriter(tokenizer, text_format)
    tuples = [
        [WordTuple((1, 2), (3, 4), "positive"), WordTuple((6, 8), (9, 10), "negative")],
        [WordTuple((4, 5), (3, 4), "positive")],
        [WordTuple((0, 1), (2, 3), "negative"), WordTuple((0, 1), (4, 5), "negative")],
        [],
    ]
    labels = [writer.encode(*pair) for pair in zip(SENTENCES, tuples, strict=False)]
    allowed = writer.allowed_tokens(SENTENCES)
    for number, row in enumerate(labels):
        for length, token in enumerate(row):
            assert token in allowed(number, torch.tensor([0, *row[:length]]))
        assert allowed(number, torch.tensor([0, *row])) == [tokenizer.eos_token_id]
        assert text_format.parse(writer.decode(row), SENTENCES[number])[:2] == (tuples[number], 0)
    assert writer.decode(labels[3]) == "none"


@pytest.mark.parametrize("task", [name for name in TASKS if not TASKS[name].is_given])
def test_every_gold_target_can_be_decoded(shared_dir: Path, kind: str, tokenizer, task: str):
    """And the labels of training are what the tokenizer makes of the target."""
    text_format, num_read = TextFormat(task), 0
    writer = TextWriter(tokenizer, text_format)
    for words, tuples in list(read_aste(shared_dir, "14res"))[::4]:
        row, target = writer.encode(words, tuples), text_format.target(words, tuples)
        if writer.decode(row) != target:  # of letters that the tokenizer does not know
            assert tokenizer.unk_token_id in row
            continue
        assert row == tokenizer(target)["input_ids"]
        allowed = writer.allowed_tokens([words])
        for length, token in enumerate(row):
            assert token in allowed(0, torch.tensor([0, *row[:length]])), target
        num_read += 1
    assert num_read == 517 if kind == "bart" else num_read > 400


def test_words_that_would_be_read_otherwise_are_not_written(kind: str, tokenizer):
    words = ["good", ":", "fun", "bad\u00a0one", "☃", "end"]
    writer = TextWriter(tokenizer, TextFormat("ate"))
    allowed = writer.allowed_tokens([words])
    begins = {tokens[0] for tokens in (writer.pieces(word, True) for word in ("good", ":", "fun", "end", "none"))}
    begins |= {writer.pieces("☃", True)[0]} if kind == "bart" else set()  # which has letters for all bytes
    start = [0, *writer.first]
    assert set(allowed(0, torch.tensor(start))) == begins
    following = set(allowed(0, torch.tensor([*start, *writer.pieces("good", True), *writer.pieces(":", False)])))
    assert following == {writer.separators[";"][0], writer.end}


def test_a_blank_of_its_own_begins_a_tuple(kind: str, tokenizer):
    """As of words whose first sign no piece draws together with the blank before it."""
    words = ["Service", "~", "7"]
    writer = TextWriter(tokenizer, TextFormat("ate"))
    ids = writer.encode(words, [WordTuple((number, number + 1)) for number in range(3)])
    blank = writer.pieces("~", is_first=False)[0]
    assert tokenizer.decode([blank]).strip() == ""
    steps = writer.read(ids, words).steps
    assert [ids[of_tuple][0] for of_tuple in steps[1:]] == [blank, blank]
    assert [writer.decode(ids[of_tuple]).strip() for of_tuple in steps] == ["Service;", "~;", "7"]


def test_words_of_a_long_corpus_are_not_all_kept(tokenizer, monkeypatch):
    monkeypatch.setattr(text_decoding_generative_absa, "MOST_PIECES", 3)
    writer = TextWriter(tokenizer, TextFormat("ate"))
    pieces = [writer.pieces(word, True) for word in SENTENCES[0]]
    assert pieces == [tuple(tokenizer(word, add_special_tokens=False)["input_ids"]) for word in SENTENCES[0]]
    assert writer.pieces.cache_info().currsize == 3


def test_tokenizers_that_cannot_end_or_separate_are_refused(tokenizer):
    endless = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer.backend_tokenizer, eos_token="<pad>", pad_token="<pad>"
    )
    with pytest.raises(ValueError, match="ends no sequence with its eos_token"):
        TextWriter(endless, TextFormat("aste"))
    joined = Tokenizer(models.WordLevel({"none": 0, "none:": 1, "</s>": 2}, unk_token="</s>"))
    joined.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    joined.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 2)])
    with pytest.raises(ValueError, match="has no tokens of its own for ':' behind 'none'"):
        TextWriter(PreTrainedTokenizerFast(tokenizer_object=joined, eos_token="</s>"), TextFormat("aste"))
