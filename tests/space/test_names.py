"""What the demo takes for names."""

import pytest

from names import names_in, places


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("I love Camden Town, but King's Cross is noisy!", ["Camden Town", "King's Cross"]),
        ("Camden is dear. Camden\N{RIGHT SINGLE QUOTATION MARK}s market, too.", ["Camden"]),
        ("Soho has bars\nHackney? No.", ["Soho"]),  # the first word of a sentence, with no verb behind it
        ("Avoid Hackney? Hackney never sleeps.", ["Hackney"]),  # but that it stands elsewhere, too
        ("The Lock Tavern was great. It is in London.", ["Lock Tavern", "London"]),
        ("Great food. Nice place. I'm happy, I am", []),
        ("\u00c9lancourt and S\u00e3o Paulo", ["\u00c9lancourt", "S\u00e3o Paulo"]),
        ("Barking, Brixton and Bow", ["Brixton", "Bow"]),
        ("On Monday it rains; by May I am gone from Soho", ["Soho"]),
        ("", []),
        ("\U0001f642 \ud800 ...", []),
    ],
)
def test_names_in(text: str, names: list[str]):
    assert names_in(text) == names


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("soho", "Soho, SOHO and Sohos", [(0, 4), (6, 10)]),
        ("King's  Cross", "at King\N{RIGHT SINGLE QUOTATION MARK}s\nCross", [(3, 15)]),
        ("LOCATION1", "LOCATION12 or LOCATION1", [(14, 23)]),
        ("Camden", "\u6211\u5728Camden\u4f4f", [(2, 8)]),  # no blanks between words
        ("\u6d77\u6dc0", "\u4f4f\u5728\u6d77\u6dc0\u5f88\u8d35", [(2, 4)]),
        ("c++ (new)", "c++ (new)?", [(0, 9)]),
        (" ", "a b", []),
    ],
)
def test_places(name: str, text: str, found: list[tuple[int, int]]):
    assert places(name, text) == found
