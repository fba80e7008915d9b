"""The rows of a folder of data: all that is in it, and nothing from elsewhere."""

import os
from pathlib import Path

from datasets import ClassLabel, DatasetDict, load_dataset_builder

from absa.outside_text import tokens, told
from datasets_scripts import load_absa_dataset

MOST_FILES = 100_000
SUFFIXES = {  # of the files that are read, by the form of the data
    "parquet": (".parquet",),
    "sentihood": (".json",),
    "semeval2014": (".xml",),
    "custom": (".csv", ".jsonl"),
}
TABLES = {"csv", "jsonl", "json", "tsv", "txt", "xlsx", "arrow"}
STEMS = ("train", "validation", "dev", "test")
FILES_OF_SPLITS = {stem + suffix for stem in STEMS for suffix in SUFFIXES["custom"]}


def files_within(folder: Path) -> list[Path]:
    """The files in a folder and those in it, without hidden ones.

    Raises:
        ValueError: if they are too many, or a link leads out of the folder or nowhere: of what lies elsewhere nothing
            is published.
    """
    top = os.path.realpath(folder)
    files = []
    for number, path in enumerate(folder.rglob("*")):
        if number == MOST_FILES:
            raise ValueError(f"folder={folder} holds over {MOST_FILES:,} files: give the one with what is published")
        if any(name.startswith(".") for name in path.relative_to(folder).parts):
            continue
        led_to = os.path.realpath(path)
        if path.is_symlink() and not (led_to.startswith(os.path.join(top, "")) and os.path.exists(led_to)):
            raise ValueError(f"{path} is a link to {led_to}, which is not in the folder: put the file there")
        if path.is_file():
            files.append(path)
    return sorted(files)


def read_dataset(folder: Path) -> DatasetDict:
    """The rows in a folder, by what files it has; says which of its files are none of them.

    Raises:
        FileNotFoundError: if there is nothing known in it.
        ValueError: if files of data would be left out; the readers' errors come through.
    """
    files = files_within(folder)
    present = {
        "parquet": any(file.suffix == ".parquet" for file in files),
        "sentihood": (folder / "sentihood-train.json").is_file(),
        "semeval2014": (folder / "Restaurants_Train.xml").is_file(),
        "custom": any(file.suffix in SUFFIXES["custom"] for file in files),
    }
    forms = [form for form, is_there in present.items() if is_there]
    if not forms:
        raise FileNotFoundError(
            f"folder={folder} holds no data that is known: give parquet files of export_parquet, or train, validation "
            "and test as .csv or .jsonl"
        )
    if len(forms) > 1:
        shown = ", ".join(f"{form} ({', '.join(SUFFIXES[form])})" for form in forms)
        raise ValueError(f"folder={folder} holds data in several forms, {shown}: leave one of them there")
    (form,) = forms
    others = [
        file.relative_to(folder).as_posix()
        for file in files
        if file.suffix not in SUFFIXES[form] and file != folder / "README.md"
    ]
    if others:
        print(f"not part of the data: {told(', '.join(others), 300)}")
    if form == "parquet":
        return read_parquet(folder, [file for file in files if file.suffix == ".parquet"])
    if form == "custom":
        names = [file.relative_to(folder).as_posix() for file in files if _is_meant_for_data(file)]
        unknown = [name for name in names if name not in FILES_OF_SPLITS]
        if unknown:
            raise ValueError(
                f"folder={folder} holds {told(', '.join(unknown))}, which would not be read: call it train, "
                "validation (or dev) or test, with .csv or .jsonl and in the folder itself, or remove it"
            )
    return load_absa_dataset(form, data_dir=folder)


def _is_meant_for_data(file: Path) -> bool:
    stem, *suffixes = file.name.lower().split(".")
    return file.suffix in SUFFIXES["custom"] or (stem in STEMS and bool({*suffixes} & TABLES))


def read_parquet(folder: Path, files: list[Path]) -> DatasetDict:
    """The rows of all parquet files of a folder, and of no others.

    Raises:
        ValueError: if they cannot be read, some would be left out or have other labels than the rest, or the metadata
            of a card names files elsewhere.
    """
    try:
        found = load_dataset_builder(str(folder)).config.data_files
    except Exception as error:  # of many classes: what broken metadata leads to
        raise ValueError(f"folder={folder} cannot be read ({told(error, 400)}): correct its README.md") from None
    read = {os.path.realpath(file) for of_split in found.values() for file in of_split}
    _check_same_files(folder, {os.path.realpath(file) for file in files}, read)
    return load_absa_dataset(str(folder))


def _check_same_files(folder: Path, there: set[str], read: set[str]):
    if read - there:
        names = told(", ".join(sorted(read - there)), 400)
        raise ValueError(f"folder={folder}: README.md names {names}, which is no parquet file in it; correct it")
    if there - read:
        names = told(", ".join(sorted(os.path.relpath(file, folder) for file in there - read)))
        raise ValueError(
            f"folder={folder}: {names} would be left out; name the split in its name, as in data/train-00000.parquet"
        )


def check_tokens(folder: Path, splits: DatasetDict):
    """No token of the Hub goes along.

    Raises:
        ValueError: naming the split, the row, the column and the value.
    """
    token = tokens()
    for split, rows in splits.items():
        texts = [column for column, feature in rows.features.items() if not isinstance(feature, ClassLabel)]
        for column in texts:
            for number, value in enumerate(rows[column]):
                if value and token.search(value):
                    raise ValueError(
                        f"folder={folder}, split {split!r}, row {number}, column {column!r}: {told(repr(value))} "
                        "holds what looks like a token of the Hub: remove it there, and revoke it"
                    )
        names = [
            name for feature in rows.features.values() if isinstance(feature, ClassLabel) for name in feature.names
        ]
        for name in filter(token.search, names):
            raise ValueError(f"folder={folder}, split {split!r}: the name {told(name)} holds a token: revoke it")
