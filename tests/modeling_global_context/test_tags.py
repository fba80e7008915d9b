"""Schemes of tags, and the spans they stand for."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from modeling_global_context import check_well_formed, convert, labels_of, scheme_of, spans_of, tags_of
from modeling_global_context.crf_global_context import Chain, viterbi
from modeling_global_context.tags_global_context import split_tag, well_formed_transitions

TYPES = ["POS", "creative-work"]
SCHEMES = ["BIEOS", "BIO"]
QUICK = settings(max_examples=100, deadline=None)


@st.composite
def sentences(draw) -> tuple[list[tuple[int, int, str]], int]:
    """Spans that do not overlap, in order, and the number of words."""
    pieces = draw(st.lists(st.tuples(st.integers(1, 4), st.sampled_from([None, *TYPES])), max_size=6))
    spans, position = [], 0
    for length, type_ in pieces:
        if type_ is not None:
            spans.append((position, position + length, type_))
        position += length
    return spans, position


@pytest.mark.parametrize("scheme", SCHEMES)
@QUICK
@given(sentences())
def test_spans_become_tags_and_spans_again(scheme, sentence):
    spans, num_words = sentence
    tags = tags_of(spans, num_words, scheme)
    assert len(tags) == num_words
    assert spans_of(tags, scheme) == spans
    check_well_formed(tags, labels_of(scheme, TYPES))
    (other,) = set(SCHEMES) - {scheme}
    assert convert(convert(tags, scheme, other), other, scheme) == tags


@pytest.mark.parametrize("scheme", SCHEMES)
@QUICK
@given(st.data())
def test_only_well_formed_tags_survive_their_spans(scheme, data):
    """What may follow what is known in two places: the table, and how spans are read."""
    labels = labels_of(scheme, TYPES)
    tags = data.draw(st.lists(st.sampled_from(labels), min_size=1, max_size=6))
    survive = tags_of(spans_of(tags, scheme), len(tags), scheme) == tags
    if survive:
        check_well_formed(tags, labels)
    else:
        with pytest.raises(ValueError, match="may not"):
            check_well_formed(tags, labels)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_constrained_decoding_is_well_formed_and_greedy_where_that_is(scheme):
    labels = labels_of(scheme, TYPES)
    emissions = 2 * torch.randn(300, 4, len(labels), generator=torch.Generator().manual_seed(0))
    chain = Chain.without_scores(emissions).constrained(well_formed_transitions(labels))
    found = viterbi(emissions, torch.full((300,), 4), chain)
    num_equal = 0
    for constrained, greedy in zip(found.tolist(), emissions.argmax(-1).tolist(), strict=True):
        check_well_formed([labels[number] for number in constrained], labels)
        greedy_tags = [labels[number] for number in greedy]
        if tags_of(spans_of(greedy_tags, scheme), 4, scheme) == greedy_tags:
            num_equal += 1
            assert constrained == greedy
    assert num_equal > 5


@pytest.mark.parametrize(
    ("scheme", "tags", "spans"),
    [
        ("BIEOS", "S-A B-A E-A S-B", [(0, 1, "A"), (1, 3, "A"), (3, 4, "B")]),
        ("BIEOS", "B-A I-A O", []),
        ("BIEOS", "B-A O E-A", []),
        ("BIEOS", "B-A E-B", []),
        ("BIEOS", "B-A S-B E-A", [(1, 2, "B")]),
        ("BIEOS", "B-A B-A E-A", [(1, 3, "A")]),
        ("BIEOS", "I-A E-A", []),
        ("BIO", "B-A B-A I-A O", [(0, 1, "A"), (1, 3, "A")]),
        ("BIO", "B-A I-B", [(0, 1, "A")]),
        ("BIO", "I-A O B-B", [(2, 3, "B")]),
        ("plain", "NN VB", []),
    ],
)
def test_spans_of_tags(scheme, tags, spans):
    assert spans_of(tags.split(), scheme) == spans


def test_the_type_is_all_behind_the_first_hyphen():
    assert split_tag("B-creative-work") == ("B", "creative-work")
    assert split_tag("O") == ("O", "")


@pytest.mark.parametrize(
    ("labels", "scheme"),
    [
        (labels_of("BIEOS", TYPES), "BIEOS"),
        (labels_of("BIO", TYPES), "BIO"),
        (["O", "S-POS"], "BIEOS"),
        (["O", "B-LOC"], "BIO"),
        (["NN", "-LRB-", "B", "O"], "plain"),
        (["LABEL_0", "LABEL_1"], "plain"),
    ],
    ids=str,
)
def test_scheme_of_labels(labels, scheme):
    assert scheme_of(labels) == scheme


@pytest.mark.parametrize(
    ("labels", "said"),
    [(["O", "B-POS", "NOUN"], "NOUN has none"), (["O", "I-POS"], "no B-POS"), (["O", "B-A", "I-A", "I-B"], "no B-B")],
    ids=str,
)
def test_labels_of_no_scheme_are_refused(labels, said):
    with pytest.raises(ValueError, match=said):
        scheme_of(labels)


def test_thirteen_labels_of_three_polarities():
    assert len(labels_of("BIEOS", ["POS", "NEG", "NEU"])) == 13
    assert labels_of("BIO", ["POS"]) == ["O", "B-POS", "I-POS"]


@pytest.mark.parametrize("spans", [[(0, 2, "A"), (1, 3, "A")], [(1, 1, "A")], [(2, 4, "A")]], ids=str)
def test_spans_that_no_tags_say_are_refused(spans):
    with pytest.raises(ValueError, match="the span"):
        tags_of(spans, 3, "BIO")


@pytest.mark.parametrize(
    ("tags", "said"),
    [
        ("E-POS O", "start with E-POS"),
        ("O B-POS", "end with B-POS"),
        ("B-POS O O", "O may not follow B-POS at word 1"),
    ],
)
def test_gold_tags_that_are_impossible_are_refused(tags, said):
    with pytest.raises(ValueError, match=said):
        check_well_formed(tags.split(), labels_of("BIEOS", ["POS"]))


def test_anything_follows_anything_without_prefixes():
    allowed = well_formed_transitions(["NN", "VB"])
    assert allowed == ([True, True], [[True, True], [True, True]], [True, True])
