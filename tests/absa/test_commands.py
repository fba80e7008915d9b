"""absa/commands.py: what a user reads of a mistake, and what a developer reads of a defect."""

import json
from dataclasses import dataclass, field

import pytest

from absa import commands
from absa.training.arguments import read_recipe


@dataclass
class Words:
    count: int = field(default=1, metadata={"help": "How many."})


def test_an_error_of_this_project_ends_the_script_with_its_line():
    with pytest.raises(SystemExit) as stopped, commands.user_errors():
        read_recipe("no.yaml")
    assert stopped.value.code == "recipe no.yaml does not exist: see configuration/recipes"
    assert isinstance(stopped.value.__cause__, FileNotFoundError)


def test_an_error_of_a_library_keeps_its_traceback():
    with pytest.raises(json.JSONDecodeError), commands.user_errors():
        json.loads("{")


def test_other_errors_keep_their_traceback():
    with pytest.raises(ZeroDivisionError), commands.user_errors():
        1 / 0  # noqa: B018


def test_an_argument_that_there_is_not_is_named_without_a_list_of_all(capsys):
    with pytest.raises(SystemExit) as stopped:
        commands.parse_words(commands.make_parser(Words), ["--cuont", "3"])
    assert stopped.value.code == 2
    printed = capsys.readouterr().err
    assert printed.splitlines()[-1].endswith("error: unrecognized arguments: --cuont 3")
    assert len(printed.splitlines()) == 2
