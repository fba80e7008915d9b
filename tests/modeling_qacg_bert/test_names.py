"""Users' own names for targets: where they are found, and the text that the model reads instead."""

import pytest

from modeling_qacg_bert import Contexts
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


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("\u4f4f\u5728\u6d77\u6dc0\u5f88\u8d35", ["\u6d77\u6dc0"]),
        ("ABC\u6d77\u6dc0abc", ["\u6d77\u6dc0"]),
        ("\u6211\u5728Camden\u4f4f", ["Camden"]),
        ("\u6211\u5728Camdens\u4f4f, \u6211\u5728xCamden\u4f4f", []),
        ("\u6771\u4eac\u306e\u6e0b\u8c37\u306f\u9ad8\u3044", ["\u6e0b\u8c37"]),  # Shibuya
        ("\u30ab\u30e0\u30c7\u30f3\u306f\u9ad8\u3044", ["\u30ab\u30e0\u30c7\u30f3"]),
        ("\u0e2d\u0e22\u0e39\u0e48\u0e2a\u0e22\u0e32\u0e21\u0e41\u0e1e\u0e07", ["\u0e2a\u0e22\u0e32\u0e21"]),  # Siam
        ("\uac15\ub0a8\uc740 \ube44\uc2f8\ub2e4", ["\uac15\ub0a8"]),  # Gangnam, with its particle
        ("\u041a\u0438\u0435\u0432\u0441\u043a\u0430\u044f", []),  # Kiev, in a longer Russian word
        ("T3\u822a\u7ad9\u697c", ["T3"]),
        ("T31\u822a\u7ad9\u697c", []),
    ],
)
def test_scripts_without_blanks_between_words(text, found):
    names = ["Camden", "\u6d77\u6dc0", "\u6e0b\u8c37", "\u30ab\u30e0\u30c7\u30f3", "\u0e2a\u0e22\u0e32\u0e21"]
    names += ["\uac15\ub0a8", "\u041a\u0438\u0435\u0432", "T3"]
    assert OwnNames(dict.fromkeys(names, "LOCATION1")).in_text(text) == found
    assert [target for target, _ in Contexts(tuple(names), ("price",)).in_text(text)] == found


def test_no_names_are_found_nowhere():
    assert OwnNames({}).in_text("Camden") == []


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
