"""Tokens of the Hub: found, refused in files that are published, taken out of cards and messages."""

import re

from huggingface_hub import get_token

TOKEN = r"hf_(?:(?:oauth|jwt)_[\w.-]+|[A-Za-z0-9]{20,})"
SHORTEST_TOKEN = 8  # characters; a shorter setting of the user's would be found in ordinary words


def token_pattern() -> re.Pattern[str]:
    """What looks like a token of the Hub, or is the token that huggingface_hub would send."""
    own = get_token() or ""
    return re.compile(f"{re.escape(own)}|{TOKEN}" if len(own) >= SHORTEST_TOKEN else TOKEN)


def redact(text: str) -> str:
    """A text with TOKEN_REMOVED in place of each token."""
    return token_pattern().sub("TOKEN_REMOVED", text)


def refuse_token(where: str, text: str):
    """Refuses a text with a token.

    Args:
        where: what the user calls the text, for the error, which does not show the token.
    Raises:
        ValueError: naming the place and the remedy.
    """
    if token_pattern().search(text):
        raise ValueError(f"{where} holds what looks like a token of the Hub: remove it there, and revoke it")
