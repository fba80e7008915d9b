"""What the builders share: where files come from, when cached rows are stale, and which sentences stay in a split."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import ClassVar

import datasets

from .source_files import files_in, quoted
from .splits import drop_shared_texts

TEXT = datasets.Value("string")
PLACES = {"target_start": datasets.Value("int32"), "target_end": datasets.Value("int32")}
"""Columns of rows whose target stands at `text[target_start:target_end]`; null where it does not."""


@dataclass
class RowsConfig(datasets.BuilderConfig):
    version: str = "1.0.0"
    deduplicate: bool = False


class RowsBuilder(datasets.GeneratorBasedBuilder):
    """A data set in splits of one source file each. A subclass has sources, features and a reader:

        FILES: {split: name of its file}, in `data_dir` or under `BASE_URL`.
        SHA256_OF: {name: SHA-256} of the files that can be downloaded.
        FEATURES: {configuration: its features, or None where the files decide}, the default first.
        read(file): the sentences of a file, dicts with `text`; the rows of all configurations but "rows".
        rows(sentence): what the configuration "rows" makes of a sentence.

    Args:
        data_dir: folder of the source files; without it they are downloaded and verified.
        data_files: {split: path}, in place of `data_dir`.
        deduplicate: drop what stands in a later split too, see `drop_shared_texts`.
        **kwargs: fields of the configuration, and arguments of `datasets.DatasetBuilder` (`config_name`, ...).

    Raises:
        FileNotFoundError: `data_dir` lacks a file.
        ValueError: there is neither a `data_dir` nor a public source.
        ConnectionError, ValueError: on `download_and_prepare`, where a file cannot be fetched, is not the pinned one,
            or is not in its format.
    """

    BUILDER_CONFIG_CLASS = RowsConfig
    BASE_URL: str
    FILES: Mapping[str, str]
    SHA256_OF: Mapping[str, str]
    FEATURES: ClassVar[Mapping[str, datasets.Features | None]] = {}

    def __init_subclass__(cls):
        cls.BUILDER_CONFIGS = [cls.BUILDER_CONFIG_CLASS(name=name) for name in cls.FEATURES]
        cls.DEFAULT_CONFIG_NAME = next(iter(cls.FEATURES), None)

    def __init__(
        self,
        *,
        data_dir: str | Path | None = None,
        data_files: Mapping[str, Path] | None = None,
        deduplicate: bool = False,
        **kwargs,
    ):
        if not isinstance(deduplicate, bool):
            raise ValueError(f"deduplicate={quoted(deduplicate)}: give True or False")
        self.local_files = self._files_in(data_dir) if data_files is None else data_files
        super().__init__(hash=cache_key(self.local_files), deduplicate=deduplicate, **kwargs)

    def _files_in(self, data_dir: str | Path | None) -> dict[str, Path]:
        """The file of each split, or none where they are to be downloaded."""
        if data_dir is None:
            if missing := [name for name in self.FILES.values() if name not in self.SHA256_OF]:
                raise ValueError(f"{missing[0]} has no public source; get it and pass its folder as data_dir")
            return {}
        names = {split: (name,) for split, name in self.FILES.items()}
        return files_in(data_dir, names, self.FILES, f"get what is missing from {self.BASE_URL}")

    def read_splits(self, files: Mapping[str, Path]) -> dict[str, list[dict]]:
        return {split: self.read(file) for split, file in files.items()}

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(features=self.FEATURES.get(self.config.name))

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        files = self.local_files or {
            split: download_pinned(dl_manager, f"{self.BASE_URL}/{name}", self.SHA256_OF[name])
            for split, name in self.FILES.items()
        }
        # Read here: what is raised in _generate_examples reaches the caller wrapped in a DatasetGenerationError.
        splits = self.read_splits(files)
        if self.config.deduplicate:
            splits = drop_shared_texts(splits)
        # In a tuple, because `datasets` takes a list for shards.
        return [
            datasets.SplitGenerator(name=split, gen_kwargs={"sentences": tuple(sentences)})
            for split, sentences in splits.items()
        ]

    def _generate_examples(self, sentences: tuple[dict, ...]) -> Iterator[tuple[int, dict]]:
        make_rows = self.config.name == "rows"
        yield from enumerate(chain.from_iterable(map(self.rows, sentences)) if make_rows else sentences)


def row_features(aspects: list[str], labels: list[str], targets: list[str] | None = None) -> datasets.Features:
    """Of (id, text, target, aspect, label); the target is a string where no names are given."""
    return datasets.Features(
        {
            "id": TEXT,
            "text": TEXT,
            "target": TEXT if targets is None else datasets.ClassLabel(names=targets),
            "aspect": datasets.ClassLabel(names=aspects),
            "label": datasets.ClassLabel(names=labels),
        }
    )


def cache_key(files: Mapping[str, Path]) -> str:
    """First 16 hexadecimal digits of a SHA-256 over this package's code and the files of the splits.

    A `datasets` cache directory is keyed on arguments only: without this, edited files or code give stale rows.
    """
    digest = hashlib.sha256(" ".join(files).encode())
    for file in [*sorted(Path(__file__).parent.rglob("*.py")), *files.values()]:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]


def download_pinned(dl_manager: datasets.DownloadManager, url: str, expected: str) -> Path:
    """Download a file and verify its SHA-256.

    Raises:
        ConnectionError: it cannot be fetched; names its address and the way round.
        ValueError: it is not the pinned one; names it with the expected and the actual SHA-256. It is removed from
            the download cache, so that the next attempt fetches it again.
    """
    try:
        file = Path(dl_manager.download(url))
    except Exception as error:  # a missing file, a refused connection and a server error share no narrower class
        raise ConnectionError(
            f"{url} could not be downloaded ({type(error).__name__}: {error}); "
            "fetch it by another way and pass its folder as data_dir"
        ) from error
    actual = hashlib.sha256(file.read_bytes()).hexdigest()
    if actual != expected:
        file.unlink()
        raise ValueError(
            f"{url} has SHA-256 {actual}, expected {expected}: the file was changed or damaged on the way. "
            "Try again, or pass the folder of a copy that you trust as data_dir"
        )
    return file
