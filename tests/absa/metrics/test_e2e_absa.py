"""E2E-ABSA's figures: the reference's on its own numbers, and the strict ones by hand."""

import json
import math

import numpy as np
import pytest

from absa.metrics import e2e_absa
from absa.metrics.e2e_absa import POLARITIES, e2e_absa_scores, ot_to_bieos, reference_spans
from absa.metrics.ratios import DegenerateScoreWarning
from absa.metrics.tag_sequences import split_tag

REFERENCE_NAMES = {"micro-f1": "micro_f1", "macro-f1": "macro_f1", "precision": "precision", "recall": "recall"}
quietly = pytest.mark.filterwarnings("ignore::absa.metrics.ratios.DegenerateScoreWarning")


@pytest.fixture(scope="module")
def reference(shared_dir):
    """What `tag2ts`, `ot2bieos_ts`, `bio2ot_ts` and `compute_metrics_absa` of BERT-E2E-ABSA give."""
    return json.loads((shared_dir / "golden" / "global_context" / "e2e_absa_metric.json").read_text())


def spans(tags, scheme="BIEOS"):
    return [list(span) for span in reference_spans(tags, scheme)]


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("B-POS E-POS S-NEG", [[0, 1, "POS"], [2, 2, "NEG"]]),
        ("B-POS E-NEG", []),
        ("B-POS O E-POS", [[0, 2, "POS"]]),
        ("B-POS S-NEG E-POS", [[1, 1, "NEG"], [0, 2, "POS"]]),
        ("B-POS E-NEG S-POS E-POS", [[2, 2, "POS"], [0, 3, "POS"]]),
        ("I-NEG B-POS E-POS", [[1, 2, "POS"]]),
        ("B-POS I-POS O", []),
    ],
)
def test_reference_spans(tags, expected):
    assert spans(tags.split()) == expected


def test_spans_of_the_reference(reference):
    assert len(reference["spans"]) == 37
    for case in reference["spans"]:
        assert spans(case["tags"]) == case["spans"], case["case"]


def test_conversions_of_the_reference(reference):
    assert len(reference["ot_to_bieos"]) + len(reference["bio_as_scored"]) == 16
    for case in reference["ot_to_bieos"]:
        assert ot_to_bieos(case["ot"]) == case["bieos"]
        assert spans(case["ot"], "OT") == case["spans_counted"]
    for case in reference["bio_as_scored"]:
        assert ot_to_bieos(case["bio"]) == case["bieos_as_scored"]
        assert spans(case["bio"], "BIO") == case["spans_counted"]


@quietly
def test_scores_of_the_reference(reference):
    assert len(reference["corpora"]) == 9
    for corpus in reference["corpora"]:
        # EQ is O to the reference, and no tag of a word.
        gold, predicted = (
            [["O" if tag == "EQ" else tag for tag in tags] for tags in corpus[side]] for side in ("gold", "predicted")
        )
        scores = e2e_absa_scores(gold, predicted, scheme=corpus["schema"])
        assert {name: scores[ours] for name, ours in REFERENCE_NAMES.items()} == corpus["scores"], corpus["name"]
        assert scores["count_gold_reference"] == corpus["counts"]["gold"]
        strict = corpus.get("seqeval_strict_iobes_f1")
        if strict is not None:
            assert scores["strict_micro_f1"] == pytest.approx(strict, abs=1e-12)


GOLD = ["O B-POS E-POS O S-NEG", "S-POS O S-NEU", "O O"]
PREDICTED = ["O B-POS E-POS O S-POS", "B-POS E-POS S-NEU", "O I-NEG"]


def split(sentences):
    return [sentence.split() for sentence in sentences]


def test_by_hand():
    # Gold 4, predicted 4 (the stray I is none); right borders 3, right 2.
    scores = e2e_absa_scores(split(GOLD), split(PREDICTED))
    assert scores == pytest.approx(
        {
            "precision": 2 / 4.0001,
            "recall": 2 / 4.0001,
            "micro_f1": 2 * (2 / 4.0001) ** 2 / (4 / 4.0001 + 1e-4),
            "macro_f1": scores["macro_f1"],
            "strict_micro_f1": 4 / 8,
            "strict_precision": 2 / 4,
            "strict_recall": 2 / 4,
            "aspect_f1": 6 / 8,
            "sentiment_accuracy": 2 / 3,
            "strict_f1_POS": 2 / 5,
            "strict_f1_NEG": 0,
            "strict_f1_NEU": 1,
            "inconsistent_share": 1 / 3,
            "count_sentences": 3,
            "count_gold": 4,
            "count_predicted": 4,
            "count_right": 2,
            "count_gold_reference": 4,
        },
        abs=1e-15,
    )


@quietly
def test_borders_between_neighbours_of_bio():
    gold, predicted = [["B-POS", "B-POS", "B-NEG"]], [["B-POS", "I-POS", "B-NEG"]]
    scores = e2e_absa_scores(gold, predicted, scheme="BIO")
    assert (scores["count_gold_reference"], scores["micro_f1"]) == (0, 0)  # one run of two polarities
    assert (scores["count_gold"], scores["count_right"], scores["strict_micro_f1"]) == (3, 1, 2 / 5)


def test_nothing_in_gold_nor_prediction():
    with pytest.warns(DegenerateScoreWarning) as caught:
        scores = e2e_absa_scores([["O"]], [["O"]])
    undefined = {name for name, value in scores.items() if math.isnan(value)}
    assert undefined == {str(warning.message).split(" is NaN")[0] for warning in caught}
    assert undefined == {name for name in scores if name.startswith(("strict_", "aspect_", "sentiment_"))}
    assert (scores["micro_f1"], scores["inconsistent_share"]) == (0, 0)


def random_sentences(count, seed=0, right=0.7):
    """Gold of single words, and predictions of which a share is right."""
    generator = np.random.default_rng(seed)
    tags = np.array(["O", "O", "O", *(f"S-{polarity}" for polarity in POLARITIES)])
    gold = generator.choice(tags, size=(count, 15))
    predicted = np.where(generator.random(gold.shape) < right, gold, generator.choice(tags, size=gold.shape))
    return gold.tolist(), predicted.tolist()


@quietly
def test_intervals():
    gold, predicted = random_sentences(200)
    scores = e2e_absa_scores(gold, predicted, bootstrap=200, seed=1)
    assert scores == e2e_absa_scores(gold, predicted, bootstrap=200, seed=1)
    plain = e2e_absa_scores(gold, predicted)
    bounded = {name.removesuffix("_low") for name in scores if name.endswith("_low")}
    assert bounded == {name for name in plain if not name.startswith("count_")}
    for name in bounded - {"inconsistent_share"}:
        assert scores[f"{name}_low"] < scores[name] == plain[name] < scores[f"{name}_high"]
    # Of two sentences, one right, a resample has none, one or two right.
    extremes = e2e_absa_scores([["S-POS"]] * 2, [["S-POS"], ["S-NEG"]], bootstrap=100)
    assert (extremes["strict_micro_f1_low"], extremes["strict_micro_f1_high"]) == (0, 1)


def test_resamples_read_no_tags(monkeypatch):
    read = []
    monkeypatch.setattr(e2e_absa, "reference_spans", lambda *tags: read.append(tags) or reference_spans(*tags))
    e2e_absa_scores(*random_sentences(20), bootstrap=50)
    assert len(read) == 2 * 20


def test_types_are_polarities():
    assert {split_tag(tag)[1] for tags in split(GOLD) for tag in tags} == {"", *POLARITIES}
    with pytest.raises(
        ValueError, match=r"predicted\[0\] has the tag 'S-PER': in BIEOS give O, or one of B, I, E, S, a"
    ):
        e2e_absa_scores([["O"]], [["S-PER"]])
