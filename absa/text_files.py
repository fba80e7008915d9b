"""The files of a corpus, wherever they are stored: texts are read in chunks, and what is said of a chunk is written.

What Ray runs of this in processes of its own has no use for PyTorch and Transformers, and does not import them.
"""

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from datasets_scripts.source_files import is_readable, shorten

SUFFIXES = (".parquet", ".csv", ".csv.gz", ".jsonl", ".jsonl.gz")
LONGEST_TEXT = 1 << 20  # characters
LONGEST_LINE = 1 << 23
LARGEST_CHUNK = 1 << 26  # characters of its texts
PARQUET_ROWS = 256  # decoded together

REJECTS = pa.schema({"id": pa.string(), "file": pa.string(), "row": pa.int64(), "reason": pa.string()})
CHUNK = pa.schema(
    {
        "name": pa.string(),
        "file": pa.string(),
        "rows": pa.list_(pa.int64()),
        "ids": pa.list_(pa.large_string()),
        "texts": pa.list_(pa.large_string()),
        "rejects": pa.list_(pa.struct(list(REJECTS))),
    }
)


class TextFile(NamedTuple):
    """A file of texts; `name`, by which its rows are known, stays the same when the input's folder is moved."""

    name: str
    filesystem: fs.FileSystem
    path: str
    size: int


class Row(NamedTuple):
    """A row of a file, counted from 1 after a header: a text with its id, or the reason why it is none."""

    number: int | None
    id: str | None = None
    text: str | None = None
    reason: str | None = None


def filesystem_of(place: str) -> tuple[fs.FileSystem, str]:
    """The file system of a path or an address such as s3://bucket/folder, and the path there.

    Raises:
        ValueError: if there is no such file system, or it does not answer.
    """
    if "://" not in place:
        return fs.LocalFileSystem(), str(Path(place).absolute())
    try:
        return fs.FileSystem.from_uri(place)
    except (OSError, ValueError, ImportError) as error:
        raise ValueError(f"{place} cannot be reached, check the address and the access: {error}") from error


def find_files(
    inputs: Iterable[str], split: str = "train", config_name: str | None = None, revision: str | None = None
) -> list[TextFile]:
    """The files of texts, in the order of the inputs and by name within a folder.

    Args:
        inputs: files, folders with all that is below them, and ids of Hub data sets; also addresses such as s3://.
        split, config_name, revision: of the Hub data sets.
    Raises:
        ValueError, FileNotFoundError: naming the input.
    """
    files: dict[str, TextFile] = {}
    for name in inputs:
        for file in _files_of(name, split, config_name, revision):
            if file.name in files:
                raise ValueError(f"inputs hold {file.name} twice, and rows are known by that: rename a folder or file")
            files[file.name] = file
    return list(files.values())


def _files_of(name: str, split: str, config_name: str | None, revision: str | None) -> Iterator[TextFile]:
    filesystem, path = filesystem_of(name)
    given = filesystem.get_file_info(path)
    if given.type is fs.FileType.NotFound and "://" not in name and not name.endswith(SUFFIXES):
        for address in _hub_files(name, split, config_name, revision):
            filesystem, path = fs.FileSystem.from_uri(address)
            yield TextFile(path, filesystem, path, filesystem.get_file_info(path).size)
        return
    below = fs.FileSelector(path, recursive=True, allow_not_found=True)
    found = {}
    for info in [given] if given.is_file else filesystem.get_file_info(below):
        relative = PurePosixPath(info.path).relative_to(PurePosixPath(given.path).parent)
        is_hidden = any(part.startswith((".", "_")) for part in relative.parts[1:])
        if info.is_file and info.path.endswith(SUFFIXES) and not is_hidden:
            found[info.path] = TextFile(str(relative), filesystem, info.path, info.size)
    if not found:
        raise FileNotFoundError(f"input={name}: give a file that ends in {', '.join(SUFFIXES)}, or a folder with such")
    yield from (found[path] for path in sorted(found))


def _hub_files(name: str, split: str, config_name: str | None, revision: str | None) -> list[str]:
    """Addresses of the files of a split, with their commit."""
    from datasets import load_dataset_builder

    try:
        splits = load_dataset_builder(name, config_name, revision=revision).config.data_files or {}
    except Exception as error:  # of many classes: no such repo, no connection, offline mode, no such configuration
        raise FileNotFoundError(
            f"input={name} is no file or folder, and the Hub did not give it: check the name or network "
            f"({shorten(' '.join(str(error).split()), 240)})"
        ) from error
    files = [str(file) for file in splits.get(split, ())]
    if not files or not all(file.endswith(SUFFIXES) for file in files):
        raise ValueError(
            f"input={name} has no split={split} of files that end in {', '.join(SUFFIXES)}; its splits: "
            f"{', '.join(map(str, splits)) or 'none'}"
        )
    return files


def read(numbers: pa.Table, files: list[TextFile], *arguments) -> Iterator[pa.Table]:
    """The chunks of the files with these numbers."""
    for number in numbers["item"].to_pylist():
        yield from read_chunks(files[number], *arguments)


def read_chunks(
    file: TextFile, text_column: str, id_column: str | None, most_rows: int, done: frozenset[str] = frozenset()
) -> Iterator[pa.Table]:
    """A file as tables of one row, with the schema `CHUNK`, but for those whose names are among `done`.

    The same file gives the same chunks under the same names.

    Raises:
        OSError: if the file is damaged or the storage fails, naming the file.
    """
    prefix = hashlib.sha256(file.name.encode()).hexdigest()[:16]
    for number, rows in enumerate(_grouped(_read_rows(file, text_column, id_column), most_rows)):
        if (name := f"{prefix}-{number:06}.parquet") not in done:
            texts = [row for row in rows if row.text is not None]
            columns = {"name": name, "file": file.name, "rows": [row.number for row in texts]}
            columns |= {"ids": [row.id for row in texts], "texts": [row.text for row in texts]}
            columns["rejects"] = [
                {"id": row.id, "file": file.name, "row": row.number, "reason": _as_utf8(row.reason)}
                for row in rows
                if row.text is None
            ]
            yield pa.Table.from_pylist([columns], schema=CHUNK)


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
    if file.path.endswith(".parquet"):
        records = _parquet_records
    else:
        records = _json_records if ".jsonl" in file.path[-9:] else _csv_records
    row = None
    try:
        for number, record in records(file, text_column, id_column):
            row = _row(file, number, record, text_column, id_column)
            yield row
    except (OSError, EOFError, UnicodeDecodeError, pa.ArrowException) as error:
        raise OSError(
            f"{file.path} cannot be read to its end, run again if the storage failed, else leave it out: {error}"
        ) from error
    if row is None:
        yield Row(None, reason="the file has no rows")


def _row(file: TextFile, number: int | None, record: dict | str, text_column: str, id_column: str | None) -> Row:
    """A record, or what is wrong with it, as a row."""
    if isinstance(record, str):
        return Row(number, reason=record)
    text, name = record.get(text_column), record.get(id_column or "id")
    name = f"{file.name}:{number}" if name is None or name == "" else str(name)
    if not _is_utf8(name):
        return Row(number, reason="the id is not UTF-8")
    if text_column not in record:
        reason = f"it has no {text_column}, but {shorten(', '.join(record)) or 'nothing'}"
    elif text is None:
        reason = "the text is missing"
    elif not isinstance(text, str):
        reason = f"the text is {shorten(repr(text))} ({type(text).__name__}), no string"
    elif len(text) > LONGEST_TEXT:
        reason = f"the text has {len(text):,} characters: {LONGEST_TEXT:,} are the most"
    elif not _is_utf8(text):
        reason = "the text is not UTF-8"
    elif not is_readable(text):
        reason = "the text has nothing to read"
    else:
        return Row(number, name, text)
    return Row(number, name, reason=reason)


def _as_utf8(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _is_utf8(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _wrong_columns(names: list[str], text_column: str, id_column: str | None) -> str:
    for column in filter(None, (text_column, id_column)):
        if names.count(column) != 1:
            return f"the file has {names.count(column)} columns {column} among {shorten(', '.join(names)) or 'none'}"
    return ""


def _parquet_records(file: TextFile, text_column: str, id_column: str | None) -> Iterator[tuple]:
    # Without pre_buffer a row group, which may be most of the file, is not read into memory whole.
    with pq.ParquetFile(file.path, filesystem=file.filesystem, pre_buffer=False, buffer_size=1 << 20) as parquet:
        names = parquet.schema_arrow.names
        if wrong := _wrong_columns(names, text_column, id_column):
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
                    yield number, "the text or the id is not UTF-8"


def _lines(file: TextFile) -> Iterator[str | None]:
    """The lines of a file, unpacked; None for one that is too long to be held in memory."""
    with file.filesystem.open_input_stream(file.path, compression="detect") as stream:
        text = io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="")
        while line := text.readline(LONGEST_LINE):
            is_whole = len(line) < LONGEST_LINE or line.endswith(("\n", "\r"))
            while not is_whole and (rest := text.readline(LONGEST_LINE)):
                is_whole, line = rest.endswith(("\n", "\r")), None
            yield line


def _json_records(file: TextFile, *_) -> Iterator[tuple[int, dict | str]]:
    for number, line in enumerate(_lines(file), start=1):
        if line is None:
            yield number, f"the line has more than {LONGEST_LINE:,} characters"
        elif line.strip():
            try:
                record = json.loads(line.strip())
            except (ValueError, RecursionError) as error:  # a number of too many digits and too many brackets too
                record = f"the line is no JSON: {shorten(error)}"
            else:
                record = record if isinstance(record, dict) else f"the line is {shorten(repr(record))}, no object"
            yield number, record


def _csv_records(file: TextFile, text_column: str, id_column: str | None) -> Iterator[tuple]:
    """Records end where Python's strict reader ends them."""
    csv.field_size_limit(LONGEST_TEXT)
    too_long = "-" * (LONGEST_TEXT + 1)  # which the reader refuses in its own words
    reader = csv.reader((too_long if line is None else line for line in _lines(file)), strict=True)
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
            wrong = fields if isinstance(fields, str) else _wrong_columns(fields, text_column, id_column)
            if wrong:
                yield None, wrong
                return
        elif fields:  # a blank line is none
            number += 1
            if isinstance(fields, list) and len(fields) != len(header):
                fields = f"{len(fields)} fields, where the header has {len(header)}"
            yield number, fields if isinstance(fields, str) else dict(zip(header, fields, strict=True))


def write(name: str, opinions: pa.Table, rejects: pa.Table, filesystem: fs.FileSystem, output_dir: str):
    """Writes the files of a chunk: rejects, if there are some, then opinions, whose file says that the chunk is done.

    A file appears whole or not at all. One that is written twice, by a worker that outlives its run, replaces itself.
    """
    for folder, table in ((f"{output_dir}-rejects", rejects), (output_dir, opinions)):
        if table.num_rows or table is opinions:
            pq.write_table(table, f"{folder}/.{name}", filesystem=filesystem)
            filesystem.move(f"{folder}/.{name}", f"{folder}/{name}")
