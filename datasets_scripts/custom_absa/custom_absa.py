"""People's own csv or jsonl files for (targeted) aspect-based sentiment analysis."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

import datasets

from ..source_files import cache_key, quoted, shorten
from ..splits import drop_shared_texts
from .reading import READERS, cell_error, fault_of, read_rows

# Names under which a split's file is looked for in data_dir.
FILE_STEMS = {"train": ("train",), "validation": ("validation", "dev"), "test": ("test",)}


@dataclass
class CustomABSAConfig(datasets.BuilderConfig):
    files: dict[str, str] = field(default_factory=dict)
    absent_label: str | None = None
    deduplicate: bool = False


class CustomABSA(datasets.GeneratorBasedBuilder):
    """Rows with id, text, target, aspect, label from csv or jsonl files; splits are those that have a file.

    Columns of the files are text, aspect, label and, optionally, target and id, see `read_rows`. Targets, aspects and
    labels are free. aspect and label become ClassLabels of what occurs in the training file: aspects in order of
    first appearance, labels too, except that `absent_label` ("none" where it is not given) comes first if it occurs.

    Args:
        data_files: {"train": path, "validation": path, "test": path} of .csv or .jsonl files; train is needed.
        data_dir: folder with train.csv or train.jsonl and, optionally, validation (or dev) and test, in place of
            `data_files`.
        absent_label: where given, each aspect for which a (text, target) of a file has no row gets a row with this
            label, and rows are sorted by text, target and aspect (in order of first appearance).
        deduplicate: drop rows whose text stands in a later split too, see `drop_shared_texts`.
        **kwargs: those of `datasets.DatasetBuilder` (`cache_dir`, ...).

    Raises:
        FileNotFoundError: there is no such file, or none for train.
        ValueError: an argument is out of range; on `download_and_prepare`, where a file is not as described, or
            validation or test has an aspect or label that train lacks.
    """

    BUILDER_CONFIG_CLASS = CustomABSAConfig
    VERSION = datasets.Version("1.0.0")

    def __init__(
        self,
        *,
        data_files: Mapping[str, str | Path] | None = None,
        data_dir: str | Path | None = None,
        absent_label: str | None = None,
        deduplicate: bool = False,
        **kwargs,
    ):
        if (data_files is None) == (data_dir is None):
            raise ValueError(f"data_files={quoted(data_files)} and data_dir={quoted(data_dir)}: give one of the two")
        if absent_label is not None and (fault_of(absent_label) or absent_label != absent_label.strip()):
            raise ValueError(
                f"absent_label={quoted(absent_label)} is empty or has blanks around it, or is no readable string; "
                "write a label, or give None"
            )
        if not isinstance(deduplicate, bool):
            raise ValueError(f"deduplicate={quoted(deduplicate)}: give True or False")
        files = _named_files(data_files) if data_dir is None else _files_in(data_dir)
        super().__init__(
            hash=cache_key(files.values()),
            files={split: str(file.absolute()) for split, file in files.items()},
            absent_label=absent_label,
            deduplicate=deduplicate,
            **kwargs,
        )

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo()

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        files = {split: Path(file) for split, file in self.config.files.items()}
        # Read here: what is raised in _generate_examples reaches the caller wrapped in a DatasetGenerationError.
        splits = {split: read_rows(file) for split, file in files.items()}
        absent_label = self.config.absent_label
        names = {
            "aspect": list(dict.fromkeys(row["aspect"] for row in splits["train"])),
            "label": list(dict.fromkeys(row["label"] for row in splits["train"])),
        }
        if absent_label is not None or "none" in names["label"]:
            first = absent_label or "none"
            names["label"] = [first, *(label for label in names["label"] if label != first)]
        for split, rows in splits.items():
            _check_known(files[split], files["train"], rows, names)
        if absent_label is not None:
            splits = {split: _complete(rows, names["aspect"], absent_label) for split, rows in splits.items()}
        if self.config.deduplicate:
            splits = drop_shared_texts(splits)
        text = datasets.Value("string")
        self.info.features = datasets.Features(
            {"id": text, "text": text, "target": text}
            | {column: datasets.ClassLabel(names=values) for column, values in names.items()}
        )
        return [
            datasets.SplitGenerator(name=split, gen_kwargs={"rows": tuple(rows)}) for split, rows in splits.items()
        ]

    def _generate_examples(self, rows: tuple[dict, ...]) -> Iterator[tuple[int, dict]]:
        for key, row in enumerate(rows):
            yield key, {column: row[column] for column in self.info.features}


def _named_files(data_files: Mapping[str, str | Path]) -> dict[str, Path]:
    if not isinstance(data_files, Mapping) or "train" not in data_files or not data_files.keys() <= FILE_STEMS.keys():
        given = list(data_files) if isinstance(data_files, Mapping) else data_files
        raise ValueError(
            f"data_files has {quoted(given)}: expected {{'train': path}}, with 'validation' and 'test' or without"
        )
    for split, file in data_files.items():
        if not isinstance(file, str | PathLike):
            raise ValueError(f"data_files[{split!r}]={quoted(file)}: give the path of one file, or leave it out")
    files = {split: Path(data_files[split]) for split in FILE_STEMS if split in data_files}
    for split, file in files.items():
        if file.suffix not in READERS:
            raise ValueError(f"data_files[{split!r}]={str(file)!r}: expected a {' or '.join(READERS)} file")
        if not file.is_file():
            raise FileNotFoundError(f"data_files[{split!r}]={str(file)!r}: there is no such file; check the path")
    return files


def _files_in(data_dir: str | Path) -> dict[str, Path]:
    if not isinstance(data_dir, str | PathLike) or not data_dir:
        raise ValueError(f"data_dir={quoted(data_dir)}: give the path of a folder")
    folder, files = Path(data_dir), {}
    for split, stems in FILE_STEMS.items():
        names = [stem + suffix for stem in stems for suffix in READERS]
        found = [folder / name for name in names if (folder / name).is_file()]
        if len(found) > 1:
            raise ValueError(f"data_dir={str(folder)!r} has {' and '.join(f.name for f in found)}; keep one of them")
        if found:
            files[split] = found[0]
        elif split == "train":
            raise FileNotFoundError(f"data_dir={str(folder)!r} lacks {' or '.join(names)}; write one")
    return files


def _check_known(file: Path, train_file: Path, rows: list[dict], names: dict[str, list[str]]) -> None:
    for row in rows:
        for column, known in names.items():
            if row[column] not in known:
                known = shorten(", ".join(known))
                remedy = f"does not occur in {train_file}, which has {known}; correct it or add it there"
                raise cell_error(file, row["line"], column, row[column], remedy)


def _complete(rows: list[dict], aspects: list[str], absent_label: str) -> list[dict]:
    row_of = {(row["id"], row["target"], row["aspect"]): row for row in rows}
    texts = {row["id"]: row["text"] for row in rows}
    targets_of = {}
    for row in rows:
        targets_of.setdefault(row["id"], {})[row["target"]] = None
    return [
        row_of.get(
            (id_, target, aspect),
            {"id": id_, "text": texts[id_], "target": target, "aspect": aspect, "label": absent_label},
        )
        for id_, targets in targets_of.items()
        for target in targets
        for aspect in aspects
    ]
