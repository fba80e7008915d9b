"""Command lines from dataclasses, some of whose fields are words without a name before them."""

import sys
from typing import TypeVar

from transformers import HfArgumentParser

Arguments = TypeVar("Arguments")


def parse(arguments: type[Arguments], *words: str) -> Arguments:
    """The command line as a dataclass.

    Args:
        arguments: the dataclass; each field has a help text.
        words: names of the fields that are given by their place, in the order of the fields.
    """
    parser = HfArgumentParser(arguments)
    for action in parser._actions:
        if action.dest in words:
            action.option_strings = []
    return parser.parse_args_into_dataclasses(sys.argv[1:], look_for_args_file=False)[0]
