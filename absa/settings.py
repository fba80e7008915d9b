"""Files of settings, JSON or YAML: a mapping whose keys occur once, no larger than what someone writes by hand."""

import json
import re
from pathlib import Path
from typing import Any

import yaml

from datasets_scripts.source_files import quoted, shorten

MOST_BYTES = 1 << 20
LONGEST_PATH = 400  # characters in an error
MOST_VALUES = 10_000  # a few lines of YAML whose aliases name one another stand for more than memory holds


def read_settings(argument: str, path: str | Path, remedy: str) -> dict[str, Any]:
    """The values of a file by name: YAML if it ends in .yaml or .yml, else JSON.

    Args:
        argument: what the user calls the file, for the error, up to its name: "recipe " or "model_preset=".
        path: the file.
        remedy: what to do where it does not exist or is no mapping.
    Raises:
        FileNotFoundError: if it does not exist.
        ValueError: if it is no regular file, cannot be read, or a key occurs twice.
    """
    path = Path(path)
    named = f"{argument}{shorten(path, LONGEST_PATH)}"
    if not path.is_file():
        if path.exists():
            raise ValueError(f"{named} is no regular file: {remedy}")
        raise FileNotFoundError(f"{named} does not exist: {remedy}")
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"{named} has more than {MOST_BYTES} bytes: {remedy}")
    try:
        text = content.decode("utf-8-sig")
        if path.suffix in (".yaml", ".yml"):
            settings = yaml.load(text, Loader)
        else:
            settings = json.loads(text, object_pairs_hook=_once)
    except Exception as error:  # of many classes: PyYAML's constructors fail as Python does on what they do not expect
        raise ValueError(f"{named} cannot be read: {one_line(error)}; {remedy}") from error
    _check_number(named, settings)
    if not isinstance(settings, dict):
        raise ValueError(f"{named} is no mapping of names to values, but {shorten(repr(settings))}: {remedy}")
    return settings


def one_line(error: Exception) -> str:
    """What a library says is wrong; its class, where it says nothing."""
    return shorten(" ".join(str(error).split()) or type(error).__name__, 240)


def class_and_reason(error: Exception) -> str:
    """The same, after its class, where that says more."""
    return f"{type(error).__name__}: {one_line(error)}"


class Loader(yaml.SafeLoader):
    """YAML without what is read otherwise than it looks: repeated keys and numbers to a base that no one meant."""

    def compose_mapping_node(self, anchor):
        node = super().compose_mapping_node(anchor)
        lines = {}
        for key, _ in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            if name in lines:
                raise yaml.YAMLError(f"{shorten(name)} occurs twice, on lines {lines[name]} and {line}: keep one")
            lines[name] = line
        return node

    def construct_decimal(self, node):
        if re.match(r"[-+]?(0[0-9_]|.*:)", node.value):
            raise yaml.constructor.ConstructorError(
                None,
                None,
                f"{shorten(node.value)} is a number to base 8 or 60: write it to base 10, or quote it",
                node.start_mark,
            )
        kind = node.tag.rpartition(":")[2]
        return getattr(self, f"construct_yaml_{kind}")(node)


for _kind in ("int", "float"):
    Loader.add_constructor(f"tag:yaml.org,2002:{_kind}", Loader.construct_decimal)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, if none of its keys is repeated."""
    settings = {}
    for name, value in pairs:
        if name in settings:
            raise ValueError(
                f"{shorten(name)} occurs twice, as {quoted(settings[name])} and {quoted(value)}: keep one"
            )
        settings[name] = value
    return settings


def _check_number(named: str, settings: Any):
    pending, count = [settings], 0
    while pending:
        value = pending.pop()
        pending += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        count += 1
        if count + len(pending) > MOST_VALUES:
            raise ValueError(f"{named} stands for more than {MOST_VALUES} values: write fewer")
