"""Whatever JSON can hold, in whatever place: the metrics give figures or an error that names the place."""

import math
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from absa.metrics import semeval2014, sentihood
from absa.metrics.alsc import alsc_scores
from absa.metrics.custom_absa import absa_scores
from absa.metrics.evaluate_modules.absa.absa import Absa
from absa.metrics.evaluate_modules.aspect_polarity.aspect_polarity import AspectPolarity
from absa.metrics.evaluate_modules.semeval2014.semeval2014 import Semeval2014
from absa.metrics.evaluate_modules.sentihood.sentihood import Sentihood
from absa.metrics.jaccard import jaccard_scores
from absa.metrics.tuple_f1 import tuple_f1_scores

# Any code point, lone surrogates among them, which JSON can hold.
ANY_TEXT = st.text(st.characters(codec=None), max_size=4)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3))
ROWS = st.lists(st.floats() | st.integers(-1, 2), min_size=2, max_size=6)
TEXT = st.text(max_size=3)  # without half surrogate pairs
often = settings(max_examples=300, deadline=None, derandomize=True)
seldom = settings(often, max_examples=50)

KEY_FIELDS = ("id", "target", "aspect")


def arguments(aspects, label_names, **options):
    keys = [{"id": id, "target": "LOCATION1", "aspect": aspect} for id in ("1", "2") for aspect in aspects]
    sure = [
        [float(label == number % len(label_names)) for label in range(len(label_names))] for number in range(len(keys))
    ]
    return options | {
        "predictions": [key | {"probabilities": row} for key, row in zip(keys, sure, strict=True)],
        "references": [key | {"label": label_names[number % 3]} for number, key in enumerate(keys)],
        "bootstrap": 2,
        "seed": 0,
    }


ABSA_LABELS = ["none", "good", "bad"]
ARGUMENTS = {
    Absa: arguments(("food", "price"), ABSA_LABELS, labels=ABSA_LABELS, none_label="none"),
    AspectPolarity: arguments(("food", "price"), ABSA_LABELS, labels=ABSA_LABELS),
    Semeval2014: arguments(semeval2014.ASPECTS, semeval2014.LABELS),
    Sentihood: arguments(sentihood.ASPECTS, sentihood.LABELS),
}


@pytest.fixture(scope="module")
def metrics():
    return {metric: metric(keep_in_memory=True) for metric in ARGUMENTS}


def assert_scores_or_error(metric, given, named):
    scores, message = {}, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            scores = metric.compute(**given)
        except (TypeError, ValueError) as error:
            message = str(error)
    assert message is None or (named in message and len(message) < 1000), message
    undefined = {str(warning.message).split(" is NaN: ")[0] for warning in caught}
    for name, score in scores.items():
        is_bound = name.endswith(("_low", "_high"))  # NaN where each resample is
        assert math.isnan(score) if name in undefined else 0 <= score <= 1 or is_bound or type(score) is int


@given(st.data(), st.sampled_from(list(ARGUMENTS)), JSON)
@often
def test_nonsense_in_an_argument(metrics, data, metric, nonsense):
    name = data.draw(st.sampled_from(list(ARGUMENTS[metric])))
    if name == "bootstrap" and type(nonsense) is int:
        nonsense = min(nonsense, 3)  # more take long
    assert_scores_or_error(metrics[metric], ARGUMENTS[metric] | {name: nonsense}, name)


@given(st.data(), st.sampled_from(list(ARGUMENTS)))
@often
def test_nonsense_in_the_rows(metrics, data, metric):
    given = {name: list(rows) for name, rows in ARGUMENTS[metric].items() if name in ("predictions", "references")}
    field = data.draw(st.sampled_from(("row", *KEY_FIELDS, "probabilities", "label")))
    sides = [side for side, rows in given.items() if field in rows[0]]
    nonsense = data.draw(ROWS | JSON if field == "probabilities" else JSON)
    place = data.draw(st.integers(0, len(given["references"]) - 1))
    if field == "row":
        side = data.draw(st.sampled_from(list(given)))
        given[side][place] = nonsense
        named = f"{side}[{place}]"
    else:
        for side in sides:
            given[side][place] = given[side][place] | {field: nonsense}
        named = field
    assert_scores_or_error(metrics[metric], ARGUMENTS[metric] | given, named)


@given(
    st.dictionaries(
        st.tuples(TEXT, TEXT, st.sampled_from(["food", "food\0", "price", ""]) | TEXT),
        st.tuples(st.sampled_from(ABSA_LABELS), st.integers(0, 8), st.integers(0, 8)),
        min_size=1,
        max_size=8,
    ),
    st.randoms(use_true_random=False),
)
@seldom
def test_the_order_of_rows_changes_nothing(by_key, order):
    rows = [(*key, label, [a / 16, b / 16, 1 - a / 16 - b / 16]) for key, (label, a, b) in by_key.items()]
    shuffled = order.sample(rows, len(rows))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first, second = (
            absa_scores(*zip(*some, strict=True), label_names=ABSA_LABELS, bootstrap=3) for some in (rows, shuffled)
        )
    assert str(second) == str(first)
    for aspect in {aspect for _, _, aspect in by_key}:
        own = [(label, row) for (*_, of, label, row) in rows if of == aspect]
        right = [label == ABSA_LABELS[row.index(max(row))] for label, row in own]
        assert first[f"accuracy/{aspect}"] == sum(right) / len(own)


RIGHT = {"target": [0, 2], "opinion": [3, 4], "label": "positive"}
OF_TUPLES = {"gold": [[RIGHT], []], "predicted": [[{**RIGHT, "label": "negative"}], []], "bootstrap": 2, "seed": 0}
TUPLE_METRICS = {
    tuple_f1_scores: OF_TUPLES | {"fields": ["target", "label"], "invalid": [False, True]},
    alsc_scores: OF_TUPLES | {"label_names": ["positive", "negative"]},
    jaccard_scores: OF_TUPLES | {"fields": ["target"]},
}


class Scores:
    """Plain functions as `assert_scores_or_error` calls modules."""

    def __init__(self, compute):
        self.compute = compute


@given(st.data(), st.sampled_from(list(TUPLE_METRICS)), JSON)
@often
def test_nonsense_in_an_argument_of_tuples(data, metric, nonsense):
    name = data.draw(st.sampled_from(list(TUPLE_METRICS[metric])))
    if name == "bootstrap" and type(nonsense) is int:
        nonsense = min(nonsense, 3)
    named = "labels" if name == "label_names" else name  # as all metrics call them in errors
    assert_scores_or_error(Scores(metric), TUPLE_METRICS[metric] | {name: nonsense}, named)


@given(st.data(), st.sampled_from(list(TUPLE_METRICS)), JSON | st.lists(st.integers(), min_size=2, max_size=2))
@often
def test_nonsense_in_a_tuple(data, metric, nonsense):
    side, field = data.draw(st.sampled_from(("gold", "predicted"))), data.draw(st.sampled_from(list(RIGHT)))
    given = TUPLE_METRICS[metric] | {side: [[{**RIGHT, field: nonsense}], []]}
    assert_scores_or_error(Scores(metric), given, f"{side}[0]")
