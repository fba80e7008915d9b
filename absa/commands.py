"""Command lines from dataclasses, some of whose fields are words without a name before them; errors in one line."""

import json
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import yaml
from transformers import HfArgumentParser

from absa.redact import redact
from datasets_scripts.source_files import quoted, shorten

Arguments = TypeVar("Arguments")
HOUSE = ("absa", "datasets_scripts", "modeling_", "__main__")  # packages whose errors are written for users


def make_parser(*kinds: type, words: tuple[str, ...] = (), **options) -> HfArgumentParser:
    """A parser of dataclasses, whose errors are not preceded by a usage of a hundred arguments.

    Args:
        kinds: the dataclasses; each field has a help text.
        words: names of the fields that are given by their place, in the order of the fields.
        options: of `argparse.ArgumentParser`.
    """
    usage = "%(prog)s [words] [--argument value ...]; --help lists the arguments"
    parser = HfArgumentParser(kinds, usage=usage, **options)
    for action in parser._actions:
        if action.dest in words:
            action.option_strings = []
    return parser


def parse(arguments: type[Arguments], *words: str) -> Arguments:
    """The command line as a dataclass.

    Args:
        arguments: the dataclass; each field has a help text.
        words: names of the fields that are given by their place, in the order of the fields.
    """
    return parse_words(make_parser(arguments, words=words), sys.argv[1:])[0]


def parse_words(parser: HfArgumentParser, words: list[str]) -> tuple:
    """The words of a command as the parser's dataclasses.

    Raises:
        SystemExit: with status 2, as argparse has it, if a word is none of theirs.
        ValueError: if they do not take a value.
    """
    try:
        *parsed, unknown = parser.parse_args_into_dataclasses(
            words, look_for_args_file=False, return_remaining_strings=True
        )
    except ValueError as error:  # of TrainingArguments too, whose traceback would say nothing to the user
        raise ValueError(" ".join(str(error).split())) from error
    if unknown:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    return tuple(parsed)


def recipe_words(recipe: Mapping[str, Any]) -> list[str]:
    """A recipe as the words of a command, so that its values are checked like those."""
    words = []
    for name, value in recipe.items():
        if isinstance(value, list) and any(isinstance(item, dict) for item in value):
            words.append(f"--{name}={json.dumps(value)}")
        elif isinstance(value, list):
            words += [f"--{name}", *map(str, value)]
        elif isinstance(value, dict):
            typed = {key: yaml.safe_load(item) if isinstance(item, str) else item for key, item in value.items()}
            words.append(f"--{name}={json.dumps(typed)}")
        elif value not in (None, "null", ""):
            words.append(f"--{name}={str(value).lower() if isinstance(value, bool) else value}")
    return words


def read_json(name: str, value: Any, kind: type, example: str) -> Any:
    """The value of an argument, from JSON where it is text.

    Raises:
        ValueError: if it is not of a kind.
    """
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        found = None
    if not isinstance(found, kind):
        raise ValueError(f"{name}={quoted(value)}: give JSON, such as {example}")
    return found


def reason(error: BaseException) -> str:
    """What a library says is wrong, in one line after the error's class."""
    return f"{type(error).__name__}: {shorten(' '.join(str(error).split()), 240)}"


@contextmanager
def user_errors() -> Iterator[None]:
    """Ends a script, where its user has made a mistake, with the one line that names it, without tokens and traceback.

    Raises:
        SystemExit: with status 1, from a ValueError or OSError that this project raises. Those of libraries go on as
            they are: they tell of a defect, which is found by its traceback.
    """
    try:
        yield
    except (ValueError, OSError) as error:
        *_, (frame, _) = traceback.walk_tb(error.__traceback__)
        if not frame.f_globals["__name__"].startswith(HOUSE):
            raise
        raise SystemExit(redact(str(error))) from error
