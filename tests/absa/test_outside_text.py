"""examples/outside_text.py: what libraries print and log below a script holds no token, tracebacks neither."""

import io
import logging
import traceback

import pytest

from absa.outside_text import without_tokens

TOKEN = "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH"


def test_a_traceback_that_is_logged():
    stream, logger = io.StringIO(), logging.getLogger("test_outside_text")
    logger.addHandler(logging.StreamHandler(stream))
    with without_tokens():
        try:
            raise RuntimeError(f"sent {TOKEN}")
        except RuntimeError:
            logger.warning("refused: %s", TOKEN, exc_info=True)
    logged = stream.getvalue()
    assert "refused: TOKEN_REMOVED" in logged
    assert "RuntimeError: sent TOKEN_REMOVED" in logged
    assert TOKEN not in logged


def interrupt():
    try:
        raise OSError(f"sent {TOKEN}")
    except OSError:
        raise KeyboardInterrupt  # noqa: B904  # as Ctrl-C while the error is handled


def test_an_error_before_an_interruption():
    with pytest.raises(KeyboardInterrupt) as caught:
        without_tokens()(interrupt)()
    assert TOKEN not in "".join(traceback.format_exception(caught.value))


def fail():
    print(f"sending {TOKEN}")
    raise OSError(f"sent {TOKEN}")


def test_an_error(capsys):
    with pytest.raises(SystemExit) as caught:
        without_tokens()(fail)()
    assert "OSError: sent TOKEN_REMOVED" in str(caught.value.code)
    assert capsys.readouterr().out == "sending TOKEN_REMOVED\n"
