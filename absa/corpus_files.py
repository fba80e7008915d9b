"""The files of a corpus: found in folders and on the Hub, and opened."""

import gzip
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import fsspec
import pyarrow as pa
from datasets import load_dataset_builder

SUFFIXES = (".parquet", ".csv", ".csv.gz", ".jsonl", ".jsonl.gz")
HUB = "hf://"


def find_files(
    inputs: Iterable[str], split: str, config_name: str | None, revision: str | None
) -> tuple[list[str], list[str]]:
    """Files of texts, in the order of the inputs and by name within a folder, and files of folders that are left out.

    Left out with the files that are no data are links that lead nowhere or to folders; links to files are read.

    Args:
        inputs: files, folders, which are searched with all that is below them, and ids of Hub data sets.
        split: of the Hub data sets.
        config_name, revision: of the Hub data sets; None for their default.
    Raises:
        FileNotFoundError, ValueError: naming the input.
    """
    files, left_out = [], []
    for name in inputs:
        path = Path(name)
        if path.is_dir():
            below = files_below(path)
            found = [
                str(file)
                for file in below
                if is_data(file.name) and file.is_file() and not is_hidden(file.relative_to(path))
            ]
            left_out += sorted({*map(str, below)} - {*found})
            if not found:
                raise ValueError(f"input={name} is a folder without a file that ends in {', '.join(SUFFIXES)}")
            files += found
        elif path.exists() or is_data(name):
            if not path.exists():
                raise FileNotFoundError(f"input={name} does not exist: give a file, a folder or a Hub data set")
            if not is_data(name):
                raise ValueError(f"input={name}: give a file that ends in {', '.join(SUFFIXES)}")
            if not path.is_file():
                raise ValueError(f"input={name} is neither a file nor a folder: write what it gives into a file")
            files.append(name)
        else:
            files += hub_files(name, split, config_name, revision)
    seen = set()
    for name in files:
        if not is_utf8(name):
            raise ValueError(f"{name!r} has a name that is not UTF-8: rename the file, the annotations name it")
        place = name if name.startswith(HUB) else str(Path(name).resolve())
        if place in seen:
            raise ValueError(
                f"{name} is given twice: its texts would count double; leave it out, or the link that leads to {place}"
            )
        seen.add(place)
    return files, left_out


def files_below(folder: Path) -> list[Path]:
    """What is in a folder and the folders in it, but for these themselves; links to folders are not followed.

    Raises:
        OSError: if one of them cannot be read.
    """

    def fail(error: OSError):  # else its files would be missing without a word
        raise OSError(f"{error.filename} cannot be searched: {error.strerror}; set its permissions right") from error

    found = []
    for below, folders, names in os.walk(folder, onerror=fail):
        links = [name for name in folders if (Path(below) / name).is_symlink()]
        found += [Path(below) / name for name in (*names, *links)]
    return sorted(found)


def is_data(name: str) -> bool:
    return name.endswith(SUFFIXES)


def is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def hub_files(name: str, split: str, config_name: str | None, revision: str | None) -> list[str]:
    """Addresses of the files of a split, with their commit.

    Raises:
        FileNotFoundError: if the Hub has no such data set or does not answer.
        ValueError: if it has no such split, or in another format.
    """
    try:
        builder = load_dataset_builder(name, config_name, revision=revision)
    except Exception as error:  # of many classes: no such repo, no connection, offline mode, no such configuration
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FileNotFoundError(
            f"input={name} is no file or folder, and the Hub did not give it: check the name or network ({reason})"
        ) from error
    splits = builder.config.data_files or {}
    if split not in splits:
        raise ValueError(f"split={split}: {name} has {', '.join(map(str, splits)) or 'no data files'}")
    files = [str(file) for file in splits[split]]
    other = [file for file in files if not is_data(file)]
    if other:
        raise ValueError(f"input={name} holds {other[0]}: only files that end in {', '.join(SUFFIXES)} are read")
    return files


@contextmanager
def opened(name: str) -> Iterator[BinaryIO]:
    """A file's bytes, without their compression."""
    with fsspec.open(name, "rb").open() if name.startswith(HUB) else open(name, "rb") as file:
        if name.endswith(".gz"):
            with gzip.open(file) as unpacked:
                yield unpacked
        else:
            yield file


@contextmanager
def naming_file(name: str):
    """Makes what goes wrong in reading a file, or in what it was packed with, name it."""
    try:
        yield
    except (OSError, EOFError, zlib.error, pa.ArrowException, UnicodeDecodeError) as error:
        raise OSError(f"{name} cannot be read to its end: {error}; repair or leave out the file") from error


def size_of(name: str) -> int:
    """Bytes of a file, as it is stored."""
    if name.startswith(HUB):
        filesystem, path = fsspec.url_to_fs(name)
        return filesystem.size(path)
    return Path(name).stat().st_size


def is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
