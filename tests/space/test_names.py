"""What the demo takes for names."""

import pytest

from names import names_in


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
        ("", []),
        ("\U0001f642 \ud800 ...", []),
    ],
)
def test_names_in(text: str, names: list[str]):
    assert names_in(text) == names
