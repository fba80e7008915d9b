"""Texts of parquet, csv and jsonl files, local or on the Hub, row by row; what is no text is told with its place."""

import csv
import hashlib
import io
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from absa.corpus_files import HUB, is_utf8, naming_file, opened, size_of
from datasets_scripts.source_files import UTF_16, shorten

LONGEST_FIELD = 1 << 20  # characters of a text or a csv field: a quote that is never closed must not take in the file
LONGEST_LINE = 1 << 24  # bytes, or characters of csv
LOOKED_AT = 100  # lines of a jsonl file that are looked at for the names of its columns
PARQUET_ROWS = 64  # that are in memory at once, however long
PARQUET_BUFFER = 1 << 20  # bytes


@dataclass(frozen=True)
class Source:
    """A file of texts. Its rows are cut into shards of so many, the last one shorter; no shard has rows of two files.

    Attributes:
        name: its path, as the user gave it, or its address on the Hub.
        size: bytes.
        sha256: of its bytes; None on the Hub, where the address holds the commit.
        rows: how many; the header of a csv file is none.
    """

    name: str
    size: int
    sha256: str | None
    rows: int


@dataclass(frozen=True)
class Columns:
    """Names of the columns to read."""

    text: str
    id: str | None = None

    def __iter__(self) -> Iterator[str]:
        return iter((self.text, self.id) if self.id else (self.text,))


class Row(NamedTuple):
    """A text with its place: rows count from 1, and the header of a csv file is none.

    `line` is the first of the row's in csv and jsonl files, from 1, and None in parquet files.
    """

    row: int
    line: int | None
    id: str | None
    text: str


class Reject(NamedTuple):
    """A row that is no text, and why; the place is that of a `Row`."""

    row: int
    line: int | None
    reason: str


class BadRowError(ValueError):
    """What is wrong with a row."""


class Shards(NamedTuple):
    """The shards of a file that are wanted, by number; rows count from 0."""

    size: int
    wanted: frozenset[int]

    def has(self, row: int) -> bool:
        return row // self.size in self.wanted

    def overlap(self, start: int, end: int) -> bool:
        return any(shard in self.wanted for shard in range(start // self.size, (end - 1) // self.size + 1))


def scan(name: str, columns: Columns) -> Source:
    """Counts the rows of a file and checks that it has the columns.

    Raises:
        OSError: if it cannot be read to its end.
        ValueError: if it lacks a column or the column holds no strings, or if it is in UTF-16 or UTF-32.
    """
    sha256 = None
    with naming_file(name):
        size = size_of(name)
        if not name.startswith(HUB):
            with open(name, "rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        with opened(name) as file:
            start = file.read(4)
        if start.startswith(UTF_16) or b"\0" in start:
            raise ValueError(f"{name} begins as UTF-16 or UTF-32, and is not UTF-8: save the file as UTF-8")
        with opened(name) as file:
            rows = FORMATS[format_of(name)].count(name, file, columns)
    return Source(name, size, sha256, rows)


def read_shards(source: Source, columns: Columns, shards: Shards) -> Iterator[tuple[int, list[Row | Reject]]]:
    """The rows of the shards that are wanted, shard by shard, in their order; the file is read once.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it is not what it was when it was scanned.
    """
    changed = ValueError(f"{source.name} has changed since it was counted: put back the file")
    with naming_file(source.name):
        if size_of(source.name) != source.size:
            raise changed
        with opened(source.name) as file:
            rows = FORMATS[format_of(source.name)].read(file, columns, shards)
            given = set()
            for shard, of_shard in groupby(rows, key=lambda row: (row.row - 1) // shards.size):
                read = list(of_shard)
                if len(read) != min(shards.size, source.rows - shard * shards.size):
                    raise changed
                yield shard, read
                given.add(shard)
                if given == shards.wanted:
                    return
    if given != shards.wanted:
        raise changed


def format_of(name: str) -> str:
    return name.removesuffix(".gz").rsplit(".", 1)[-1]


def check_columns(name: str, columns: Columns, known: list[str]):
    for option, column in (("text_column", columns.text), ("id_column", columns.id)):
        if column is not None and known.count(column) != 1:
            fault = "is no column" if column not in known else "is the name of several columns"
            raise ValueError(f"{option}={column} {fault} of {name}, which has {shorten(', '.join(known)) or 'none'}")


def make_row(row: int, line: int | None, columns: Columns, values: dict[str, Any]) -> Row | Reject:
    """A row from the values of its columns."""
    text = values[columns.text]
    if text is None:
        return Reject(row, line, "the text is missing")
    if not isinstance(text, str):
        return Reject(row, line, f"the text is {shown(text)}, no string")
    if len(text) > LONGEST_FIELD:
        return Reject(row, line, f"the text has {len(text)} characters: {LONGEST_FIELD} are the most")
    if columns.id is None:
        return Row(row, line, None, text)
    given = values[columns.id]
    if given is None or given == "":
        return Reject(row, line, "the id is missing")
    if isinstance(given, bool) or not isinstance(given, (str, int)):
        return Reject(row, line, f"the id is {shown(given)}, neither a string nor a whole number")
    if not is_utf8(str(given)):
        return Reject(row, line, "the id is not UTF-8")
    return Row(row, line, str(given), text)


def lines(file: BinaryIO | io.TextIOBase) -> Iterator[bytes | str | None]:
    """The lines of a file; None for one that is too long to be held in memory."""
    while line := file.readline(LONGEST_LINE):
        is_whole = len(line) < LONGEST_LINE or line[-1] in ("\n", "\r", ord("\n"))
        while not is_whole and (rest := file.readline(LONGEST_LINE)):
            is_whole = rest[-1] in ("\n", "\r", ord("\n"))
            line = None
        yield line


def shown(value: Any) -> str:
    return f"{shorten(repr(value))} ({type(value).__name__})"


class Csv:
    """Comma-separated values with a header. Records end where Python's strict csv reader ends them."""

    @staticmethod
    def records(file: BinaryIO) -> Iterator[tuple[int, list[str] | str]]:
        """The first line of each record, header included, and its fields, or what is wrong with it."""
        text = io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="")
        too_long = "-" * (LONGEST_FIELD + 1)  # which the reader refuses in its own words
        reader = csv.reader((too_long if line is None else line for line in lines(text)), strict=True)
        while True:
            line = reader.line_num + 1
            before = csv.field_size_limit(LONGEST_FIELD)  # of all readers there are: only for this record
            try:
                record = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                record = f"malformed csv: {error}"
                if reader.line_num > line:
                    record += f"; lines {line} to {reader.line_num} are lost to a quote that opens and does not close"
            finally:
                csv.field_size_limit(before)
            yield line, record

    @classmethod
    def count(cls, name: str, file: BinaryIO, columns: Columns) -> int:
        records = cls.records(file)
        for _, header in records:
            if isinstance(header, str):
                raise ValueError(f"{name}, line 1: {header}; correct the header")
            check_columns(name, columns, header)
            break
        return sum(1 for _ in records)

    @classmethod
    def read(cls, file: BinaryIO, columns: Columns, shards: Shards) -> Iterator[Row | Reject]:
        records = cls.records(file)
        _, header = next(records, (1, []))  # of an empty file, which has no rows
        for row, (line, fields) in enumerate(records):
            if shards.has(row):
                try:
                    yield make_row(row + 1, line, columns, cls.values(fields, header, columns))
                except BadRowError as error:
                    yield Reject(row + 1, line, str(error))

    @staticmethod
    def values(fields: list[str] | str, header: list[str], columns: Columns) -> dict[str, str]:
        if isinstance(fields, str):
            raise BadRowError(fields)
        if not fields:
            raise BadRowError("the line is blank")
        if len(fields) != len(header):
            raise BadRowError(f"{len(fields)} fields, where the header has {len(header)}")
        values = {column: fields[header.index(column)] for column in columns}
        if not is_utf8("".join(values.values())):
            raise BadRowError("the line is not UTF-8")
        return values


class JsonLines:
    """One JSON object a line."""

    @staticmethod
    def values(line: int, raw: bytes | None, columns: Columns | None = None) -> dict:
        if raw is None:
            raise BadRowError(f"the line has more than {LONGEST_LINE} bytes")
        try:
            text = raw.decode("utf-8-sig" if line == 1 else "utf-8").strip()
        except UnicodeDecodeError as error:
            raise BadRowError(f"the line is not UTF-8: {error.reason} at byte {error.start}") from None
        if not text:
            raise BadRowError("the line is blank")
        try:
            values = json.loads(text)
        except json.JSONDecodeError as error:
            raise BadRowError(f"no JSON: {error.msg} at character {error.colno}") from None
        except (ValueError, RecursionError) as error:  # a number of too many digits, too many brackets
            raise BadRowError(f"no JSON: {error}") from None
        if not isinstance(values, dict):
            raise BadRowError(f"it is {shown(values)}, no object")
        absent = [column for column in columns or () if column not in values]
        if absent:
            raise BadRowError(f"it has no {' and no '.join(absent)}, but {shorten(', '.join(values)) or 'nothing'}")
        return values

    @classmethod
    def count(cls, name: str, file: BinaryIO, columns: Columns) -> int:
        known: dict[str, None] = {}
        all_lines = lines(file)
        count = 0
        for count, raw in enumerate(islice(all_lines, LOOKED_AT), 1):
            with suppress(BadRowError):
                known |= dict.fromkeys(cls.values(count, raw))
        if known:
            check_columns(name, columns, list(known))
        return count + sum(1 for _ in all_lines)

    @classmethod
    def read(cls, file: BinaryIO, columns: Columns, shards: Shards) -> Iterator[Row | Reject]:
        for row, raw in enumerate(lines(file)):
            if shards.has(row):
                try:
                    yield make_row(row + 1, row + 1, columns, cls.values(row + 1, raw, columns))
                except BadRowError as error:
                    yield Reject(row + 1, row + 1, str(error))


class Parquet:
    """Parquet; row groups without a row that is wanted are not read."""

    @staticmethod
    def opened(file: BinaryIO) -> pq.ParquetFile:
        # Without pre_buffer a row group, which may be most of the file, is not read into memory whole.
        return pq.ParquetFile(file, pre_buffer=False, buffer_size=PARQUET_BUFFER)

    @classmethod
    def count(cls, name: str, file: BinaryIO, columns: Columns) -> int:
        with cls.opened(file) as parquet:
            schema = parquet.schema_arrow
            check_columns(name, columns, schema.names)
            types = {column: schema.field(column).type for column in columns}
            types = {
                column: kind.value_type if pa.types.is_dictionary(kind) else kind for column, kind in types.items()
            }
            if not is_string(types[columns.text]) and not pa.types.is_null(types[columns.text]):
                raise ValueError(f"text_column={columns.text} of {name} holds {types[columns.text]}, no strings")
            if columns.id and not (is_string(types[columns.id]) or pa.types.is_integer(types[columns.id])):
                raise ValueError(
                    f"id_column={columns.id} of {name} holds {types[columns.id]}, neither strings nor whole numbers"
                )
            return parquet.metadata.num_rows

    @classmethod
    def read(cls, file: BinaryIO, columns: Columns, shards: Shards) -> Iterator[Row | Reject]:
        with cls.opened(file) as parquet:
            end = 0
            for group in range(parquet.num_row_groups):
                start, end = end, end + parquet.metadata.row_group(group).num_rows
                if start == end or not shards.overlap(start, end):
                    continue
                for batch in parquet.iter_batches(PARQUET_ROWS, row_groups=[group], columns=list(columns)):
                    if batch.num_rows and shards.overlap(start, start + batch.num_rows):
                        for index in range(batch.num_rows):
                            if shards.has(start + index):
                                yield cls.row(batch, index, start + index + 1, columns)
                    start += batch.num_rows

    @staticmethod
    def row(batch: pa.RecordBatch, index: int, row: int, columns: Columns) -> Row | Reject:
        try:
            values = {column: batch.column(column)[index].as_py() for column in columns}
        except UnicodeDecodeError as error:
            return Reject(row, None, f"it is not UTF-8: {error.reason} at byte {error.start}")
        return make_row(row, None, columns, values)


def is_string(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


FORMATS = {"csv": Csv, "jsonl": JsonLines, "parquet": Parquet}
