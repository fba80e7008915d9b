"""People's own csv or jsonl files for (targeted) aspect-based sentiment analysis."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from datasets import Features

from ..builder import PLACES, RowsBuilder, RowsConfig, row_features
from ..records import SUFFIXES, cell_error
from ..source_files import checked_text, files_in, named_files, quoted, shorten
from .reading import read_rows, read_term_rows

FILE_NAMES = {
    split: [stem + suffix for stem in stems for suffix in SUFFIXES]
    for split, stems in {"train": ("train",), "validation": ("validation", "dev"), "test": ("test",)}.items()
}


@dataclass
class CustomABSAConfig(RowsConfig):
    absent_label: str | None = None


class CustomABSA(RowsBuilder):
    """Rows with id, text, target, aspect, label from csv or jsonl files; splits are those that have a file.

    Configurations:
        aspects: columns of the files are text, aspect, label and, optionally, target and id, see `read_rows`.
            Targets, aspects and labels are free. aspect and label become ClassLabels of what occurs in the training
            file: aspects in order of first appearance, labels too, except that `absent_label` ("none" where it is not
            given) comes first if it occurs.
        terms: each row judges a word, or words, of its text. Columns are text, span, label and, optionally, ordinal,
            as SetFit has them, see `read_term_rows`. The span becomes the target, with target_start and target_end;
            the aspect is always "".

    Args:
        config_name: one of these.
        data_files: {"train": path, "validation": path, "test": path} of .csv or .jsonl files; train is needed.
        data_dir: folder with train.csv or train.jsonl and, optionally, validation (or dev) and test, in place of
            `data_files`.
        absent_label: where given, each aspect for which a (text, target) of a file has no row gets a row with this
            label, and rows are sorted by text, target and aspect (in order of first appearance).
        **kwargs: those of `RowsBuilder`.

    Raises:
        FileNotFoundError: there is no such file, or none for train.
        ValueError: an argument is out of range; on `download_and_prepare`, where a file is not as described, or
            validation or test has an aspect or label that train lacks.
    """

    BUILDER_CONFIG_CLASS = CustomABSAConfig
    FEATURES: ClassVar = {"aspects": None, "terms": None}

    def __init__(
        self,
        *,
        data_files: Mapping[str, str | Path] | None = None,
        data_dir: str | Path | None = None,
        absent_label: str | None = None,
        **kwargs,
    ):
        if (data_files is None) == (data_dir is None):
            raise ValueError(f"data_files={quoted(data_files)} and data_dir={quoted(data_dir)}: give one of the two")
        if absent_label is not None and checked_text(absent_label, "absent_label") != absent_label.strip():
            raise ValueError(f"absent_label={quoted(absent_label)} has blanks around it; leave them out")
        if data_dir is None:
            files = named_files(data_files, SUFFIXES)
        else:
            files = files_in(data_dir, FILE_NAMES, ("train",), "write one")
        super().__init__(data_files=files, absent_label=absent_label, **kwargs)
        if self.has_terms and absent_label is not None:
            raise ValueError(f"absent_label={quoted(absent_label)} is for files with aspects, not for terms: drop it")

    @property
    def has_terms(self) -> bool:
        return self.config.name == "terms"

    def read_splits(self, files: Mapping[str, Path]) -> dict[str, list[dict]]:
        read = read_term_rows if self.has_terms else read_rows
        splits = {split: read(file) for split, file in files.items()}
        absent_label = self.config.absent_label
        names = {column: list(dict.fromkeys(row[column] for row in splits["train"])) for column in ("aspect", "label")}
        if absent_label is not None or "none" in names["label"]:
            names["label"] = list(dict.fromkeys([absent_label or "none", *names["label"]]))
        for split, rows in splits.items():
            _check_known(files[split], files["train"], rows, names)
            if absent_label is not None:
                splits[split] = _complete(rows, names["aspect"], absent_label)
        places = PLACES if self.has_terms else {}
        self.info.features = Features({**row_features(names["aspect"], names["label"]), **places})
        columns = list(self.info.features)
        return {split: [{column: row[column] for column in columns} for row in rows] for split, rows in splits.items()}


def _check_known(file: Path, train_file: Path, rows: list[dict], names: dict[str, list[str]]) -> None:
    for row in rows:
        for column, known in names.items():
            if row[column] not in known:
                known = shorten(", ".join(known))
                remedy = f"does not occur in {train_file}, which has {known}; correct it or add it there"
                raise cell_error(file, row["line"], column, row[column], remedy)


def _complete(rows: list[dict], aspects: list[str], absent_label: str) -> list[dict]:
    by_id = {}
    for row in rows:
        by_id.setdefault(row["id"], {}).setdefault(row["target"], {})[row["aspect"]] = row
    return [
        of_target.get(aspect) or {**next(iter(of_target.values())), "aspect": aspect, "label": absent_label}
        for of_id in by_id.values()
        for of_target in of_id.values()
        for aspect in aspects
    ]
