"""Conversions between tag schemes: by hand, against the reference's, and there and back on generated tags."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets_scripts.tag_schemes import (
    bieos_to_bio,
    bio_to_bieos,
    first_fault,
    iob1_to_bio,
    label_names,
    ot_to_bio,
    split_tag,
)


@st.composite
def bio_tags(draw):
    """Well-formed BIO of three types, neighbours of one type among them."""
    tags = []
    for type_, length in draw(st.lists(st.tuples(st.sampled_from(["O", "POS", "NEG", "a-b"]), st.integers(1, 3)))):
        tags += ["O"] * length if type_ == "O" else [f"B-{type_}", *[f"I-{type_}"] * (length - 1)]
    return tags


@pytest.fixture(scope="module")
def reference(shared_dir):
    return json.loads((shared_dir / "golden" / "global_context" / "e2e_absa_metric.json").read_text())


def test_the_type_is_all_behind_the_first_hyphen():
    assert split_tag("B-creative-work") == ("B", "creative-work")
    assert split_tag("O") == ("O", "")
    assert label_names(["POS", "NEG"], "BIO") == ["O", "B-POS", "I-POS", "B-NEG", "I-NEG"]
    assert label_names(["POS"], "BIEOS") == ["O", "B-POS", "I-POS", "E-POS", "S-POS"]


@pytest.mark.parametrize(
    ("ot", "cut", "as_the_reference"),
    [
        ("T-POS T-NEG", "S-POS S-NEG", "B-POS E-NEG"),
        ("T-POS T-POS T-NEG O", "B-POS E-POS S-NEG O", "B-POS I-POS E-NEG O"),
        ("T-POS T-NEG T-NEG", "S-POS B-NEG E-NEG", "B-POS I-NEG E-NEG"),
        ("T-POS O T-POS T-POS T-POS", "S-POS O B-POS I-POS E-POS", "S-POS O B-POS I-POS E-POS"),
    ],
)
def test_ot_is_cut_where_the_polarity_changes(ot, cut, as_the_reference):
    assert bio_to_bieos(ot_to_bio(ot.split(), "cut")) == cut.split()
    assert first_fault(cut.split(), "BIEOS") is None
    assert bio_to_bieos(ot_to_bio(ot.split(), "reference")) == as_the_reference.split()


def test_ot_as_the_reference(reference):
    # EQ is the reference's tag of sub-tokens, and none of words.
    cases = [case for case in reference["ot_to_bieos"] if "EQ" not in case["ot"]]
    assert len(cases) == 8
    for case in cases:
        bio = ot_to_bio(case["ot"], "reference")
        assert bio == case["bio"]
        assert bio_to_bieos(bio) == case["bieos"]


@pytest.mark.parametrize(
    ("iob1", "bio"),
    [
        ("I-PER I-PER O I-PER", "B-PER I-PER O B-PER"),
        ("I-PER B-PER I-PER I-LOC", "B-PER B-PER I-PER B-LOC"),
        ("O I-LOC O O I-LOC B-LOC", "O B-LOC O O B-LOC B-LOC"),
        ("B-PER I-PER B-LOC", "B-PER I-PER B-LOC"),
    ],
)
def test_iob1(iob1, bio):
    assert iob1_to_bio(iob1.split()) == bio.split()


@given(bio_tags())
def test_bieos_and_back(tags):
    bieos = bio_to_bieos(tags)
    assert first_fault(tags, "BIO") is None
    assert first_fault(bieos, "BIEOS") is None
    assert bieos_to_bio(bieos) == tags
    assert iob1_to_bio(tags) == tags


@pytest.mark.parametrize(
    ("scheme", "tags", "position"),
    [
        ("BIO", "O I-a", 1),
        ("BIO", "B-a I-b", 1),
        ("BIO", "I-a", 0),
        ("BIEOS", "B-a O", 1),
        ("BIEOS", "S-a B-a", 1),
        ("BIEOS", "B-a E-b", 1),
        ("BIEOS", "O E-a", 1),
        ("BIEOS", "B-a E-a I-a", 2),
        ("BIEOS", "S-a I-a", 1),
    ],
)
def test_first_fault(scheme, tags, position):
    assert first_fault(tags.split(), scheme) == position
