"""Sentences of tags: which spans they mark, joined by id, and whatever JSON can hold in their place."""

import json
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from absa.metrics.e2e_absa import e2e_absa_scores
from absa.metrics.tag_sequences import check_tags, default_spans, is_well_formed, join_tags, plain_tags, strict_spans
from absa.metrics.tagging import tagging_scores

# Any code point, lone surrogates among them, which JSON can hold.
ANY_TEXT = st.text(st.characters(codec=None), max_size=4)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3))
SENTENCES = [["B-POS", "E-POS", "O"], ["S-NEG"]]
ROWS = [{"id": "1", "tags": SENTENCES[0]}, {"id": "2", "tags": SENTENCES[1]}]


@pytest.mark.parametrize(
    ("scheme", "tags", "strict", "is_good"),
    [
        ("BIEOS", "B-a I-a E-a S-b", [(0, 2, "a"), (3, 3, "b")], True),
        ("BIEOS", "B-a O E-a", [], False),
        ("BIEOS", "B-a E-b", [], False),
        ("BIEOS", "B-a B-a E-a", [(1, 2, "a")], False),
        ("BIEOS", "S-a I-a E-a", [(0, 0, "a")], False),
        ("BIEOS", "B-a E-a E-a", [(0, 1, "a")], False),
        ("BIEOS", "B-a I-a", [], False),
        ("BIO", "B-a I-a B-a O B-a", [(0, 1, "a"), (2, 2, "a"), (4, 4, "a")], True),
        ("BIO", "B-a I-b", [(0, 0, "a")], False),
        ("BIO", "O I-a I-a", [], False),
        ("BIO", "B-a-b I-a-b", [(0, 1, "a-b")], True),
        ("OT", "T-a T-a T-b O T-a", [(0, 1, "a"), (2, 2, "b"), (4, 4, "a")], True),
    ],
)
def test_strict_spans(scheme, tags, strict, is_good):
    assert strict_spans(tags.split(), scheme) == strict
    assert is_well_formed(tags.split(), scheme) == is_good
    if is_good and scheme != "OT":
        assert default_spans(tags.split()) == strict


def test_spans_of_seqeval(shared_dir):
    told = json.loads((shared_dir / "golden" / "global_context" / "e2e_absa_metric.json").read_text())
    for case in told["spans"]:
        if "EQ" not in case["tags"]:
            assert [list(s) for s in strict_spans(case["tags"], "BIEOS")] == case["seqeval_strict_iobes"], case["case"]
            assert [list(s) for s in default_spans(case["tags"])] == case["seqeval_default"], case["case"]


def test_joined_by_id():
    other = [{"id": "2", "tags": ["O"], "n": 1}, {"id": "1", "tags": ["O"] * 3}]
    assert join_tags(other, ROWS) == {"gold": SENTENCES, "predicted": [["O"] * 3, ["O"]]}
    assert plain_tags("references", [{"id": "1", "tags": ("O",), "n": 1}]) == [{"id": "1", "tags": ["O"]}]


@pytest.mark.parametrize(
    ("predictions", "told"),
    [
        (ROWS[:1], r"predictions lack 1 of the 2 ids of references, first '2': give one prediction for each"),
        ([*ROWS, {"id": "3", "tags": []}], r"references lack 1 of the 3 ids of predictions, first '3'"),
        ([*ROWS, ROWS[0]], r"predictions\[2\]: the id '1' is no string, or is given twice"),
        ([{"id": 1, "tags": []}], r"predictions\[0\]: the id 1 is no string"),
        ([{"id": "1"}], r"predictions\[0\]={'id': '1'} \(dict\): give a dict with 'id' and 'tags'"),
        ("rows", r"predictions='rows' \(str\): give a list of dicts"),
    ],
)
def test_rows_that_do_not_match(predictions, told):
    with pytest.raises(ValueError, match=told):
        join_tags(predictions, ROWS)


@pytest.mark.parametrize(
    ("predicted", "scheme", "told"),
    [
        ([["O"] * 3], "BIEOS", "gold has 2 sentences and predicted 1: give as many, at least one"),
        ([["O"] * 3, []], "BIEOS", r"predicted\[1\] has 0 tags and gold\[1\] 1: give one for each word, O where"),
        ([["O"] * 3, ["T-POS"]], "BIEOS", r"predicted\[1\] has the tag 'T-POS': in BIEOS give O, or one of B, I, E"),
        ([["O"] * 3, ["S-"]], "BIEOS", r"predicted\[1\] has the tag 'S-'"),
        ([["O"] * 3, [3]], "BIEOS", r"predicted\[1\] has the tag 3: give strings, names and not numbers of classes"),
        ([["O"] * 3, "O"], "BIEOS", r"predicted\[1\]='O' \(str\): give a list of tags"),
        (SENTENCES, "BIO", r"gold\[0\] has the tag 'E-POS': in BIO give O, or one of B, I, a hyphen and any type"),
        (SENTENCES, "IOB", "scheme='IOB' is unknown: give one of BIEOS, BIO, OT"),
        (None, "BIEOS", r"predicted=None \(NoneType\): give a list of lists of tags"),
    ],
)
def test_tags_that_cannot_be_scored(predicted, scheme, told):
    with pytest.raises(ValueError, match=told):
        check_tags(SENTENCES, predicted, scheme)


@given(st.data(), st.sampled_from([e2e_absa_scores, tagging_scores]), JSON | st.lists(st.lists(ANY_TEXT)))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_nonsense_in_an_argument(data, scores, nonsense):
    arguments = {"gold": SENTENCES, "predicted": SENTENCES, "scheme": "BIEOS", "bootstrap": 2, "seed": 0}
    place = data.draw(st.sampled_from([*arguments, "sentence", "tag"]))
    name, value = place, nonsense
    if name == "sentence":
        name, value = "gold", [SENTENCES[0], nonsense]
    elif name == "tag":
        name, value = "predicted", [SENTENCES[0], [nonsense]]
    if name == "bootstrap" and type(nonsense) is int:
        value = min(nonsense, 3)  # more take long
    message = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            assert scores(**arguments | {name: value})
        except ValueError as error:
            message = str(error)
    assert message is None or (name in message and len(message) < 1000), message
