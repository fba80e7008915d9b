"""Source files of data sets: their text, the key of a builder's cache, and values in error messages."""

import codecs
import hashlib
from collections.abc import Iterable
from pathlib import Path

UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # with the first of which UTF-32 begins too


def cache_key(source_files: Iterable[Path]) -> str:
    """First 16 hexadecimal digits of a SHA-256 over this package's code and the content of `source_files`.

    A `datasets` cache directory is keyed on arguments only: without this, edited files or code give stale rows.
    """
    digest = hashlib.sha256()
    for file in [*sorted(Path(__file__).parent.rglob("*.py")), *source_files]:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]


def read_utf8(file: Path) -> str:
    """Text of a UTF-8 file, with or without byte order mark.

    Raises:
        ValueError: the file is not UTF-8; names the file, the 1-based line and the byte, or the encoding that it has.
    """
    content = file.read_bytes()
    if content.startswith(UTF_16) or b"\0" in content[:4]:
        raise ValueError(f"{file}: begins as UTF-16 or UTF-32, and is not UTF-8; save the file as UTF-8")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1  # of what comes behind the mark
        byte = error.object[error.start]
        raise ValueError(f"{file}, line {line}: byte 0x{byte:02x} is not UTF-8; save the file as UTF-8") from error


def is_readable(text: str | None) -> bool:
    """Whether a text has more than blanks and characters that no one sees."""
    return any(character.isprintable() and not character.isspace() for character in text or "")


def shorten(value: object, most: int = 80) -> str:
    """A value in an error message, at most so many characters of it."""
    written = str(value)
    return written if len(written) <= most else written[:most] + "..."


def quoted(value: object) -> str:
    """A value as Python writes it, shortened."""
    return shorten(repr(value))
