"""The texts of a corpus: its files, wherever they are stored, read a chunk at a time, and what is no text by name."""

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from datasets import load_dataset_builder
from pyarrow import fs

from absa.commands import reason
from datasets_scripts.source_files import is_readable, shorten

SUFFIXES = (".parquet", ".csv", ".csv.gz", ".jsonl", ".jsonl.gz")
LONGEST_TEXT = 1 << 20  # characters
LONGEST_LINE = 1 << 23
LARGEST_CHUNK = 1 << 26  # characters of all its texts
PARQUET_ROWS = 256  # decoded together

REJECTS = pa.schema({"id": pa.string(), "file": pa.string(), "row": pa.int64(), "reason": pa.string()})
CHUNKS = pa.schema(
    {
        "chunk": pa.string(),
        "file": pa.string(),
        "rows": pa.list_(pa.int64()),
        "ids": pa.list_(pa.large_string()),
        "texts": pa.list_(pa.large_string()),
        "rejects": pa.list_(pa.struct(list(REJECTS))),
    }
)


class TextFile(NamedTuple):
    """A file of texts. Its rows are known by `name`, which stays the same when the folder of the input is moved."""

    name: str
    filesystem: fs.FileSystem
    path: str
    size: int


class Row(NamedTuple):
    """A row of a file, from 1 on after a header: a text with its id, or the reason why it is none."""

    row: int | None
    id: str | None
    text: str | None
    reason: str | None = None


def filesystem_of(place: str) -> tuple[fs.FileSystem, str]:
    """A path, or an address such as s3://bucket/folder, as pyarrow takes it.

    Raises:
        ValueError: if there is no such file system, or it does not answer.
    """
    if "://" not in place:
        return fs.LocalFileSystem(), str(Path(place).absolute())
    try:
        return fs.FileSystem.from_uri(place)
    except (OSError, ValueError, ImportError) as error:
        raise ValueError(f"{place} cannot be reached ({reason(error)}): check the address and the access") from error


def find_files(
    inputs: Iterable[str], split: str, config_name: str | None = None, revision: str | None = None
) -> list[TextFile]:
    """The files of texts, in the order of the inputs and by name within a folder.

    Args:
        inputs: files, folders with all that is below them, and ids of Hub data sets; addresses such as s3:// too.
        split, config_name, revision: of the Hub data sets.
    Raises:
        ValueError, FileNotFoundError: naming the input.
    """
    files: dict[str, TextFile] = {}
    for name in inputs:
        for file in _files_of(name, split, config_name, revision):
            if file.name in files:
                raise ValueError(f"inputs hold {file.name} twice, and rows are known by it: rename a folder or file")
            files[file.name] = file
    return list(files.values())


def _files_of(name: str, split: str, config_name: str | None, revision: str | None) -> Iterator[TextFile]:
    filesystem, path = filesystem_of(name)
    info = filesystem.get_file_info(path)
    if info.type is fs.FileType.NotFound and "://" not in name and not name.endswith(SUFFIXES):
        for address in _hub_files(name, split, config_name, revision):
            filesystem, path = fs.FileSystem.from_uri(address)
            yield TextFile(path, filesystem, path, filesystem.get_file_info(path).size)
        return
    parent = str(PurePosixPath(info.path).parent)
    if info.type is fs.FileType.Directory:
        found = [
            file
            for file in filesystem.get_file_info(fs.FileSelector(path, recursive=True))
            if file.is_file
            and file.path.endswith(SUFFIXES)
            and not any(part.startswith((".", "_")) for part in PurePosixPath(file.path).relative_to(info.path).parts)
        ]
    else:
        found = [info] if info.is_file and path.endswith(SUFFIXES) else []
    if not found:
        raise FileNotFoundError(f"input={name}: give a file that ends in {', '.join(SUFFIXES)}, or a folder of such")
    for file in sorted(found, key=lambda file: file.path):
        yield TextFile(str(PurePosixPath(file.path).relative_to(parent)), filesystem, file.path, file.size)


def _hub_files(name: str, split: str, config_name: str | None, revision: str | None) -> list[str]:
    """Addresses of the files of a split, with their commit."""
    try:
        splits = load_dataset_builder(name, config_name, revision=revision).config.data_files or {}
    except Exception as error:  # of many classes: no such repo, no connection, offline mode, no such configuration
        raise FileNotFoundError(
            f"input={name} is no file or folder, and the Hub did not give it: check the name or network "
            f"({reason(error)})"
        ) from error
    files = [str(file) for file in splits.get(split, ())]
    if not files or not all(file.endswith(SUFFIXES) for file in files):
        raise ValueError(
            f"input={name} has no split={split} in files that end in {', '.join(SUFFIXES)}, but the splits "
            f"{', '.join(map(str, splits)) or 'of a script'}"
        )
    return files


def read_chunks(
    file: TextFile, text_column: str, id_column: str | None, most_rows: int, done: frozenset[str] = frozenset()
) -> Iterator[pa.Table]:
    """A file as tables of one row, with the schema `CHUNKS`, but for those whose names are among `done`.

    The same file gives the same chunks under the same names.

    Raises:
        OSError: if the file is damaged, naming it.
    """
    prefix = hashlib.sha256(file.name.encode()).hexdigest()[:16]
    for number, rows in enumerate(_grouped(_read_rows(file, text_column, id_column), most_rows)):
        if (name := f"{prefix}-{number:06}.parquet") not in done:
            texts = [row for row in rows if row.text is not None]
            rejects = [(row.id, file.name, row.row, row.reason) for row in rows if row.text is None]
            columns = {"chunk": name, "file": file.name, "rows": [row.row for row in texts]}
            columns |= {"ids": [row.id for row in texts], "texts": [row.text for row in texts]}
            columns["rejects"] = [dict(zip(REJECTS.names, reject, strict=True)) for reject in rejects]
            yield pa.Table.from_pylist([columns], schema=CHUNKS)


def _grouped(rows: Iterator[Row], most_rows: int) -> Iterator[list[Row]]:
    group, size = [], 0
    for row in rows:
        group.append(row)
        size += len(row.text or "")
        if len(group) == most_rows or size >= LARGEST_CHUNK:
            yield group
            group, size = [], 0
    if group:
        yield group


def _read_rows(file: TextFile, text_column: str, id_column: str | None) -> Iterator[Row]:
    read = _read_parquet if file.path.endswith(".parquet") else _read_lines
    is_empty = True
    try:
        for number, record in read(file, text_column, id_column):
            is_empty = False
            yield _row(file, number, record, text_column, id_column)
        if is_empty:
            yield Row(None, None, None, "the file has no rows")
    except (OSError, EOFError, pa.ArrowException) as error:
        raise OSError(
            f"{file.path} cannot be read to its end ({reason(error)}): run again if the storage failed, else leave "
            "the file out"
        ) from error


def _row(file: TextFile, number: int, record: dict | str, text_column: str, id_column: str | None) -> Row:
    if isinstance(record, str):
        return Row(number, None, None, record)
    given, text = record.get(id_column or "id"), record.get(text_column)
    name = f"{file.name}:{number}" if given is None or given == "" else str(given)
    if not _is_utf8(name):
        return Row(number, None, None, "the id is not UTF-8")
    if text is None:
        known = "" if text_column in record else f" {text_column}, but {shorten(', '.join(record)) or 'nothing'}"
        return Row(number, name, None, f"it has no{known}" if known else "the text is missing")
    if not isinstance(text, str):
        return Row(number, name, None, f"the text is {shorten(repr(text))} ({type(text).__name__}), no string")
    if len(text) > LONGEST_TEXT:
        return Row(number, name, None, f"the text has {len(text):,} characters: {LONGEST_TEXT:,} are the most")
    if not _is_utf8(text):
        return Row(number, name, None, "the text is not UTF-8")
    if not is_readable(text):
        return Row(number, name, None, "the text has nothing to read")
    return Row(number, name, text)


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _missing(names: list[str], text_column: str, id_column: str | None) -> str:
    """What is wrong with the names of a file's columns."""
    for column in filter(None, (text_column, id_column)):
        if names.count(column) != 1:
            return f"it has {names.count(column)} columns {column!r} among {shorten(', '.join(names)) or 'none'}"
    return ""


def _read_parquet(file: TextFile, text_column: str, id_column: str | None) -> Iterator[tuple[int, dict | str]]:
    # Without pre_buffer a row group, which may be most of the file, is not read into memory whole.
    with pq.ParquetFile(file.path, filesystem=file.filesystem, pre_buffer=False, buffer_size=1 << 20) as parquet:
        names = parquet.schema_arrow.names
        if wrong := _missing(names, text_column, id_column):
            yield None, wrong
            return
        columns = [text_column, *({id_column or "id"} & {*names} - {text_column})]
        number = 0
        for batch in parquet.iter_batches(PARQUET_ROWS, columns=columns):
            for index in range(batch.num_rows):
                number += 1
                try:
                    yield number, {name: batch.column(name)[index].as_py() for name in columns}
                except UnicodeDecodeError:
                    yield number, "the text or id is not UTF-8"


def _read_lines(file: TextFile, text_column: str, id_column: str | None) -> Iterator[tuple[int, dict | str]]:
    with file.filesystem.open_input_stream(file.path, compression="detect") as stream:
        lines = _lines(io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline=""))
        if ".jsonl" in file.path[-9:]:
            for number, line in enumerate(lines, start=1):
                if line is None or line.strip():
                    yield number, _json_record(line)
        else:
            yield from _csv_records(lines, text_column, id_column)


def _lines(file: io.TextIOBase) -> Iterator[str | None]:
    """The lines of a file; None for one that is too long to be held in memory."""
    while line := file.readline(LONGEST_LINE):
        is_whole = len(line) < LONGEST_LINE or line.endswith(("\n", "\r"))
        while not is_whole and (rest := file.readline(LONGEST_LINE)):
            is_whole, line = rest.endswith(("\n", "\r")), None
        yield line


def _json_record(line: str | None) -> dict[str, Any] | str:
    if line is None:
        return f"the line has more than {LONGEST_LINE:,} characters"
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:  # a number of too many digits and too many brackets too
        return f"the line is no JSON: {shorten(str(error))}"
    return record if isinstance(record, dict) else f"the line is {shorten(repr(record))}, no object"


def _csv_records(
    lines: Iterator[str | None], text_column: str, id_column: str | None
) -> Iterator[tuple[int, dict | str]]:
    """Records end where Python's strict reader ends them."""
    csv.field_size_limit(LONGEST_TEXT)
    too_long = "-" * (LONGEST_TEXT + 1)  # which the reader refuses in its own words
    reader = csv.reader((too_long if line is None else line for line in lines), strict=True)
    header, number = None, 0
    while True:
        line = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            fields = f"malformed csv: {error}"
            if reader.line_num > line:
                fields += f"; lines {line} to {reader.line_num} are lost to a quote that opens and does not close"
        if header is None:
            header = fields
            wrong = fields if isinstance(fields, str) else _missing(fields, text_column, id_column)
            if wrong:
                yield None, wrong
                return
            continue
        number += 1
        if isinstance(fields, str) or len(fields) == len(header):
            yield number, fields if isinstance(fields, str) else dict(zip(header, fields, strict=True))
        elif fields:
            yield number, f"{len(fields)} fields, where the header has {len(header)}"
