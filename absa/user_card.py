"""A card that a user has written, read before its metadata is put into another."""

import re
from collections import Counter
from pathlib import Path

import yaml
from huggingface_hub import RepoCard
from huggingface_hub.repocard import REGEX_YAML_BLOCK

from absa.outside_text import read_text, told

LARGEST = 1 << 19  # bytes
DEEPEST = 20  # lists and mappings within each other


def read_card(file: Path) -> RepoCard:
    """A card of the user's, without tokens.

    Raises:
        ValueError: if it is too large or not UTF-8, or its metadata is no YAML mapping that can be read.
    """
    content = read_text(file, LARGEST)
    metadata = REGEX_YAML_BLOCK.search(content)
    if metadata is None and re.match(r"\s*---[ \t]*\r?\n", content):
        raise ValueError(f"{file} begins with a line of --- for metadata, which no such line ends: add or remove it")
    try:
        if metadata:
            check_yaml(metadata[2])
        return RepoCard(content)
    except (ValueError, TypeError, yaml.YAMLError) as error:
        raise ValueError(f"{file} has metadata that cannot be read ({told(error, 200)}): correct its YAML") from None


def check_yaml(text: str):
    """Nothing in it makes it larger than it is, or takes the place of something else.

    Raises:
        ValueError, yaml.YAMLError: if it is nested too deeply, repeats a part by an alias or a key, or is no YAML.
    """
    depth = 0
    for event in yaml.parse(text):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise ValueError(f"it is nested over {DEEPEST} deep")
        if isinstance(event, yaml.AliasEvent):
            raise ValueError(f"*{event.anchor} stands for another part: write that out")
    node = yaml.compose(text)
    keys = [str(key.value) for key, _ in node.value] if isinstance(node, yaml.MappingNode) else []
    repeated = [key for key, count in Counter(keys).items() if count > 1]
    if repeated:
        raise ValueError(f"{repeated[0]} stands there twice: leave one")
