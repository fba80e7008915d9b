"""absa/redact.py: what is taken for a token, and what is done with it."""

import pytest

from absa.redact import redact, refuse_token

TOKEN = "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"a{TOKEN}.b", "aTOKEN_REMOVED.b"),
        ("hf_oauth_eyJhbGciOi.eyJ-_x", "TOKEN_REMOVED"),
        ("hf_hub_download and hf_transfer", "hf_hub_download and hf_transfer"),
    ],
)
def test_what_looks_like_a_token(text: str, expected: str):
    assert redact(text) == expected


def test_the_users_own_token_in_whatever_form(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "own.secret(1)")
    assert redact(f"own.secret(1) {TOKEN}") == "TOKEN_REMOVED TOKEN_REMOVED"
    monkeypatch.setenv("HF_TOKEN", "short")
    assert redact("in short") == "in short"


def test_an_error_names_the_place_and_not_the_token():
    with pytest.raises(ValueError, match=r"notes\.md holds what looks like a token") as caught:
        refuse_token("notes.md", f"see {TOKEN}")
    assert TOKEN not in str(caught.value)
