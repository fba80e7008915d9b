"""What the builders of tagged sentences share: rows of (id, text, tokens, tags), and where their files are."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

import datasets

from .builder import TEXT, RowsBuilder
from .source_files import choose, files_in, named_files, quoted, value_error


class Source(NamedTuple):
    """Where a configuration's files come from, the names that they may have, and the splits that have to be there."""

    page: str
    names: Mapping[str, Sequence[str]]
    needed: Sequence[str] = ("train", "validation", "test")


class TaggedBuilder(RowsBuilder):
    """Sentences as tokens, each with a tag. Files are the user's own: none is downloaded. A subclass has

        SOURCES: {configuration: its `Source`}.
        FEATURES: dict.fromkeys(SOURCES), since the tags are known only once the files are read.
        read(file): the sentences of a file, dicts with id, text, tokens and tags (strings), and file and lines, where
            each token stands (1-based).
        classes_of(splits): the tags in the order of their classes; it may convert the tags of the sentences.

    Args:
        config_name: one of SOURCES.
        data_dir: folder of the source files.
        data_files: {"train": path, "validation": path, "test": path}, in place of `data_dir`; train is needed.
        **kwargs: those of `RowsBuilder`, and fields of the configuration.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: the configuration is unknown, there is neither a `data_dir` nor `data_files`, or both; on
            `download_and_prepare`, where a file is not in its format.
    """

    SOURCES: ClassVar[Mapping[str, Source]] = {}

    def __init__(
        self,
        *,
        config_name: str | None = None,
        data_dir: str | Path | None = None,
        data_files: Mapping[str, str | Path] | None = None,
        **kwargs,
    ):
        choose("config_name", config_name, self.SOURCES)
        self.source = self.SOURCES[config_name]
        if (data_files is None) == (data_dir is None):
            raise ValueError(
                f"data_dir={quoted(data_dir)} and data_files={quoted(data_files)}: give one of the two; the files of "
                f"{config_name!r} come from {self.source.page}"
            )
        files = None if data_files is None else named_files(data_files)
        super().__init__(config_name=config_name, data_dir=data_dir, data_files=files, **kwargs)

    def _files_in(self, data_dir: str | Path | None) -> dict[str, Path]:
        remedy = f"get what is missing from {self.source.page}"
        return files_in(data_dir, self.source.names, self.source.needed, remedy)

    def read_splits(self, files: Mapping[str, Path]) -> dict[str, list[dict]]:
        splits = super().read_splits(files)
        for split, sentences in splits.items():
            if not sentences:
                raise ValueError(f"{files[split]}: has no sentences; get the file anew")
        classes = datasets.ClassLabel(names=self.classes_of(splits))
        self.info.features = datasets.Features(
            {"id": TEXT, "text": TEXT, "tokens": datasets.List(TEXT), "tags": datasets.List(classes)}
        )
        return {
            split: [{column: sentence[column] for column in self.info.features} for sentence in sentences]
            for split, sentences in splits.items()
        }


def tag_error(sentence: dict, position: int, remedy: str) -> ValueError:
    """The error of one tag of a sentence as `read` gives it."""
    place = f"{sentence['file']}, line {sentence['lines'][position]}, token {quoted(sentence['tokens'][position])}"
    return value_error(place, sentence["tags"][position], remedy)
