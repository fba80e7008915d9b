"""Text from outside: read in bounded size, shown in short, and without a token of the Hub wherever it goes."""

import io
import logging
import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path

from huggingface_hub import constants

from datasets_scripts.source_files import read_utf8

TOKEN = r"hf_(?:(?:oauth|jwt)_[\w.-]+|[A-Za-z0-9]{20,})"
REMOVED = "TOKEN_REMOVED"
SHORTEST_TOKEN = 8  # characters; what is shorter stands in other words too


def tokens() -> re.Pattern[str]:
    """What looks like a token of the Hub, or is the one that the libraries would send."""
    own = [os.environ.get(name, "") for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")]
    with suppress(OSError, ValueError):
        own.append(Path(constants.HF_TOKEN_PATH).read_text(encoding="utf-8"))
    known = sorted({re.escape(token.strip()) for token in own if len(token.strip()) >= SHORTEST_TOKEN}, reverse=True)
    return re.compile("|".join([*known, TOKEN]))


def redacted(text: str) -> str:
    """A text without tokens."""
    return tokens().sub(REMOVED, text)


def told(value: object, longest: int = 80) -> str:
    """A value, or what an error says, as a message quotes it: in one line, without tokens, and only then cut."""
    text = " ".join(redacted(str(value) if isinstance(value, str | Exception) else repr(value)).split())
    return text if len(text) <= longest else text[:longest] + "..."


def read_text(file: Path, largest: int) -> str:
    """The text of a UTF-8 file, without tokens.

    Args:
        file: with or without byte order mark.
        largest: bytes.
    Raises:
        ValueError: if it is larger, or not UTF-8.
    """
    size = file.stat().st_size
    if size > largest:
        raise ValueError(f"{file} has {size:,} bytes, of which at most {largest:,} are read: shorten or remove it")
    return redacted(read_utf8(file))


class Redacting(io.TextIOBase):
    """A stream that takes the tokens out of what is written to another."""

    def __init__(self, stream: io.TextIOBase):
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(redacted(text))
        return len(text)

    def flush(self):
        self.stream.flush()

    def isatty(self) -> bool:
        return self.stream.isatty()


@contextmanager
def without_tokens() -> Iterator[None]:
    """Takes the tokens out of all that is printed and logged below, tracebacks included, whatever library does it."""
    make_record = logging.getLogRecordFactory()

    def make_redacted_record(*args, **kwargs) -> logging.LogRecord:
        record = make_record(*args, **kwargs)
        record.msg, record.args = redacted(record.getMessage()), None
        if record.exc_info:
            record.exc_text, record.exc_info = redacted("".join(traceback.format_exception(*record.exc_info))), None
        return record

    # The libraries' loggers keep the stderr they found when they were imported.
    logging.setLogRecordFactory(make_redacted_record)
    try:
        with redirect_stdout(Redacting(sys.stdout)), redirect_stderr(Redacting(sys.stderr)):
            yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt from None  # an error before it would be printed when the streams are the old ones
    except Exception:
        sys.exit(redacted(traceback.format_exc()))
    finally:
        logging.setLogRecordFactory(make_record)
