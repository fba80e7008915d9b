"""Taggers' figures: by hand, against seqeval, and words that train lacks."""

import json
import math
import random
import warnings

import pytest

from absa.metrics.ratios import DegenerateScoreWarning
from absa.metrics.tag_sequences import default_spans
from absa.metrics.tagging import tagging_scores

GOLD = [["B-per", "I-per", "O", "B-loc"], ["O", "B-per", "O"]]
PREDICTED = [["B-per", "I-per", "O", "B-per"], ["O", "I-per", "O"]]
WORDS = [["Ann", "Lee", "in", "Rome"], ["by", "Ann", "."]]


def test_by_hand():
    # Read by default: gold 3, predicted 3, right 2. Strictly, the I that no B precedes is none: 3, 2, 1.
    scores = tagging_scores(GOLD, PREDICTED, words=WORDS, train_words={"Ann", "in", "Rome", "."})
    assert scores == pytest.approx(
        {
            **{"f1": 4 / 6, "precision": 2 / 3, "recall": 2 / 3},
            **{"strict_f1": 2 / 5, "strict_precision": 1 / 2, "strict_recall": 1 / 3},
            **{"f1/loc": 0, "f1/per": 4 / 5},
            **{"accuracy": 5 / 7, "unseen_accuracy": 2 / 2},  # Lee, by
            # Gold: Ann Lee per, Rome loc, Ann per. Predicted: Rome is per.
            **{"surface_f1": 4 / 6, "surface_precision": 2 / 3, "surface_recall": 2 / 3},
            **{"count_sentences": 2, "count_words": 7, "count_unseen": 2},
            **{"count_right": 2, "count_gold": 3, "count_predicted": 3},
        },
        abs=1e-15,
    )


def test_plain_tags():
    gold, predicted = [["DET", "NOUN"], ["B-X"]], [["DET", "VERB"], ["B-X"]]
    scores = tagging_scores(gold, predicted, scheme="plain", words=[["a", "b"], ["c"]], train_words=["a"])
    assert scores == {
        **{"accuracy": 2 / 3, "unseen_accuracy": 1 / 2},
        **{"count_sentences": 2, "count_words": 3, "count_unseen": 2},
    }


def test_a_surface_form_counts_once_and_is_right_once():
    # Rome is found in one of two places; Rome as a group is another form.
    gold = [["B-loc"], ["B-loc"], ["B-group"], ["O"]]
    predicted = [["B-loc"], ["O"], ["O"], ["B-loc"]]
    scores = tagging_scores(gold, predicted, words=[["Rome"], ["Rome"], ["Rome"], ["Oslo"]])
    assert (scores["count_gold"], scores["count_predicted"], scores["count_right"]) == (3, 2, 1)
    assert [scores[f"surface_{name}"] for name in ("recall", "precision", "f1")] == [1 / 2, 1 / 2, 1 / 2]


def random_tags(seed, prefixes, words=12, sentences=30):
    generator = random.Random(seed)
    tags = ["O", *(f"{prefix}-{type_}" for prefix in prefixes for type_ in ("PER", "creative-work"))]
    gold = [generator.choices(tags, k=generator.randint(1, words)) for _ in range(sentences)]
    predicted = [[tag if generator.random() < 0.6 else generator.choice(tags) for tag in of_one] for of_one in gold]
    return gold, predicted


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("scheme", ["BIO", "BIEOS"])
def test_equals_seqeval(seed, scheme):
    seqeval = pytest.importorskip("seqeval.metrics")
    from seqeval.scheme import IOB2, IOBES

    gold, predicted = random_tags(seed, scheme.replace("O", ""))
    scores = tagging_scores(gold, predicted, scheme=scheme)
    strict = {"mode": "strict", "scheme": {"BIO": IOB2, "BIEOS": IOBES}[scheme]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, function in (
            ("precision", seqeval.precision_score),
            ("recall", seqeval.recall_score),
            ("f1", seqeval.f1_score),
        ):
            assert scores[name] == pytest.approx(function(gold, predicted), abs=1e-12)
            assert scores[f"strict_{name}"] == pytest.approx(function(gold, predicted, **strict), abs=1e-12)
    by_type = seqeval.classification_report(gold, predicted, output_dict=True, zero_division=0)
    assert scores["f1/PER"] == pytest.approx(by_type["PER"]["f1-score"], abs=1e-12)
    assert scores["accuracy"] == pytest.approx(seqeval.accuracy_score(gold, predicted), abs=1e-12)


def test_numbers_of_seqeval(shared_dir):
    told = json.loads((shared_dir / "golden" / "global_context" / "ner_metric.json").read_text())
    assert len(told["entities"]) == 8
    for case in told["entities"]:
        expected = [(first, last, type_) for type_, first, last in case["seqeval_default"]]
        assert default_spans(case["predicted"]) == expected, case["case"]
    across = told["across_sentences"]  # which no entity is
    scores = tagging_scores(across["gold"], across["predicted"])
    assert {name: scores[name] for name in across["seqeval"]} == across["seqeval"]
    bieos = told["bieos_given_to_the_authors_metric"]
    expected = [(first, last, type_) for type_, first, last in bieos["seqeval_default_entities"]]
    assert default_spans(bieos["predicted"][0]) == expected
    assert tagging_scores(bieos["gold"], bieos["predicted"], scheme="BIEOS")["strict_f1"] == 1


def test_undefined_figures():
    with pytest.warns(DegenerateScoreWarning) as caught:
        scores = tagging_scores([["O"]], [["O"]], words=[["a"]], train_words={"a"})
    undefined = {name for name, value in scores.items() if math.isnan(value)}
    assert undefined == {str(warning.message).split(" is NaN")[0] for warning in caught}
    assert undefined == {
        *(f"{prefix}{name}" for prefix in ("", "strict_", "surface_") for name in ("f1", "precision", "recall")),
        "unseen_accuracy",
    }


@pytest.mark.filterwarnings("error")
def test_intervals():
    gold, predicted = random_tags(0, "BI", sentences=200)
    options = {"words": gold, "train_words": {"O"}, "bootstrap": 200, "seed": 2}
    scores = tagging_scores(gold, predicted, **options)
    assert scores == tagging_scores(gold, predicted, **options)
    bounded = {name.removesuffix("_low") for name in scores if name.endswith("_low")}
    without = {name for name in scores if name.startswith(("count_", "surface_")) or name.endswith(("_low", "_high"))}
    assert bounded == scores.keys() - without
    for name in bounded:
        assert scores[f"{name}_low"] < scores[name] < scores[f"{name}_high"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"scheme": "IOBES"}, "scheme='IOBES' is unknown: give one of BIO, BIEOS, plain"),
        ({"train_words": {"a"}}, "train_words are given without words: give both, or neither"),
        ({"words": WORDS, "train_words": "a"}, r"train_words='a' \(str\): give a set of strings"),
        ({"words": WORDS[:1]}, r"words=.*: give a list of lists of words, as many as gold has sentences"),
        ({"words": WORDS[::-1]}, r"words\[0\]=\['by', 'Ann', '.'\]: give a string for each of the 4 tags"),
        ({"words": [["a"] * 4, [1, 2, 3]]}, r"words\[1\]=\[1, 2, 3\]: give a string for each"),
    ],
)
def test_bad_options(options, told):
    with pytest.raises(ValueError, match=told):
        tagging_scores(GOLD, PREDICTED, **options)
