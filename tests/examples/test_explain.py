"""examples/explain.py as a user runs it."""

import json
from pathlib import Path

import explain
import pytest

SCRIPT = "examples/explain.py"
TEXTS = ("LOCATION1 is safe, but dear", "nothing here")


def test_words_of_each_answer(run_script, tiny_classifier: Path, tmp_path: Path):
    file = tmp_path / "new" / "words.jsonl"
    options = ("--return_all", "--aspects", "price", "safety", "--top", "2", "--jsonl", file)
    lines = run_script(SCRIPT, tiny_classifier, *TEXTS, *options).stdout.splitlines()
    unasked = "  names none of LOCATION1, LOCATION2: map the names in the texts to them, --targets Camden=LOCATION1"
    assert [lines[0], *lines[3:]] == [*TEXTS, unasked]
    answers = [json.loads(line) for line in file.read_text().splitlines()]
    assert [answer["aspect"] for answer in answers] == ["price", "safety"]
    for line, answer in zip(lines[1:3], answers, strict=True):
        assert answer["text"] == TEXTS[0]
        assert [word["word"] for word in answer["words"]] == ["LOCATION1", "is", "safe", ",", "but", "dear"]
        ranked = sorted(answer["words"], key=lambda word: word["relevance"], reverse=True)[:2]
        shown = "  ".join(f"{word['word']} {word['relevance']:.2f}" for word in ranked)
        assert line == f"  {'LOCATION1 ' + answer['aspect']:<28} {answer['label']:<10} {shown}"


def test_most_relevant_counts_what_speaks_against_the_label():
    words = [{"word": word, "relevance": value} for word, value in (("a", 0.2), ("b", -0.9), ("c", 0.5))]
    assert explain.most_relevant(words, 2) == "b -0.90  c 0.50"


def test_no_words(run_here, tiny_classifier: Path):
    with pytest.raises(ValueError, match="top=0: give a number of words, at least 1"):
        run_here(SCRIPT, tiny_classifier, "LOCATION1 is safe", "--top", "0")


def test_a_tagger_is_not_explained(run_here, tiny_tagger: Path):
    with pytest.raises(ValueError, match=r"holds a GlobalContextForTokenClassification, .* examples/predict.py, "):
        run_here(SCRIPT, tiny_tagger, "The price is dear")
