"""Users' own names for targets: where they are found, and the text that the model reads instead."""

import pytest

from modeling_qacg_bert.names_qacg_bert import OwnNames

PLACES = {"Camden": "LOCATION1", "King's Cross": "LOCATION2"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Camden is safe", ["Camden"]),
        ("CAMDEN's market, (camden) and Camden.", ["Camden"]),
        ("Camdenite, Camden_x, xCamden, Camden2", []),
        ("King\N{RIGHT SINGLE QUOTATION MARK}s\n  Cross beats Camden", ["Camden", "King's Cross"]),
        ("Kings Cross", []),
        ("", []),
    ],
)
def test_names_are_found_as_whole_words(text, found):
    assert OwnNames(PLACES).in_text(text) == found


def test_each_name_gets_its_own_target():
    names = OwnNames(PLACES)
    text = "camden is dearer than King's Cross, says Camden"
    expected = "LOCATION1 is dearer than LOCATION2, says LOCATION1"
    assert names.text_about("Camden", text) == names.text_about("King's Cross", text) == expected


def test_the_longer_name_counts_where_two_overlap():
    names = OwnNames({"Camden": "LOCATION1", "Camden Town": "LOCATION2", "Town Hall": "LOCATION1"})
    assert names.in_text("Camden Town Hall") == ["Camden Town"]
    assert names.text_about("Camden Town", "Camden Town, not Camden") == "LOCATION2, not LOCATION1"


def test_names_with_one_target_are_asked_about_apart():
    names = OwnNames({"A": "LOCATION1", "B": "LOCATION1", "C": "LOCATION2", "D": "LOCATION2"})
    text = "A, B, C and D"
    assert names.text_about("A", text) == "LOCATION1, B, LOCATION2 and D"
    assert names.text_about("B", text) == "A, LOCATION1, LOCATION2 and D"
    assert names.text_about("D", text) == "LOCATION1, B, C and LOCATION2"
    assert names.text_about("B", "B and D") == "LOCATION1 and LOCATION2"


def test_names_are_no_patterns():
    names = OwnNames({"C++ (Soho)": "LOCATION1", "a.b": "LOCATION2", r"\1": "LOCATION1"})
    assert names.in_text("in C++ (Soho) and aXb") == ["C++ (Soho)"]
    assert names.text_about(r"\1", r"see \1") == "see LOCATION1"


def test_a_target_without_placeholder_may_stand_in_the_text_too():
    assert (
        OwnNames({"the Mac": "laptop"}).text_about("the Mac", "The Mac is a nice laptop") == "laptop is a nice laptop"
    )


@pytest.mark.parametrize(
    ("names", "text", "message"),
    [
        ({" ": "LOCATION1"}, "", "targets has the name ' ': give the words that stand in the texts"),
        ({5: "LOCATION1"}, "", "targets has the name 5"),
        ({"Camden": "LOCATION1", "CAMDEN": "LOCATION2"}, "", "names 'Camden' and 'CAMDEN', which are found alike"),
        (PLACES, "LOCATION2 and Camden", "holds 'LOCATION2', which targets gives to \"King's Cross\""),
    ],
)
def test_errors(names, text, message):
    with pytest.raises(ValueError, match=message):
        OwnNames(names).in_text(text)
