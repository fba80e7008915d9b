"""Source files of data sets: their text, what JSON they hold, and errors that name file, field, value and remedy."""

import codecs
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

SPLITS = ("train", "validation", "test")
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # with the first of which UTF-32 begins too


def files_in(
    folder: str | Path, names: Mapping[str, Sequence[str]], needed: Collection[str], remedy: str
) -> dict[str, Path]:
    """The file of each split in a folder.

    Args:
        names: {split: names that its file may have}.
        needed: the splits that have to have a file.
        remedy: what to do where one is missing.

    Raises:
        FileNotFoundError: a needed file is missing.
        ValueError: a split has files of two names.
    """
    files, missing = {}, []
    for split, known in names.items():
        found = [Path(folder) / name for name in known if (Path(folder) / name).is_file()]
        if len(found) > 1:
            told = " and ".join(file.name for file in found)
            raise ValueError(f"data_dir={str(folder)!r} has {told}; keep one of them")
        if found:
            files[split] = found[0]
        elif split in needed:
            missing.append(" or ".join(known))
    if missing:
        raise FileNotFoundError(f"data_dir={str(folder)!r} lacks {', '.join(missing)}; {remedy}")
    return files


def named_files(data_files: Mapping[str, str | Path], suffixes: Collection[str] | None = None) -> dict[str, Path]:
    """The file of each split as the user names them.

    Raises:
        ValueError: there is none for train, a split is not among train, validation and test, or a name has none of the
            `suffixes`.
        FileNotFoundError: there is no such file.
    """
    if "train" not in data_files or not data_files.keys() <= set(SPLITS):
        raise ValueError(
            f"data_files has {quoted([*data_files])}: expected {{'train': path}}, with 'validation' and 'test' or "
            "without"
        )
    files = {split: Path(data_files[split]) for split in SPLITS if split in data_files}
    for split, file in files.items():
        if suffixes is not None and file.suffix not in suffixes:
            raise ValueError(f"data_files[{split!r}]={str(file)!r}: expected a {' or '.join(suffixes)} file")
        if not file.is_file():
            raise FileNotFoundError(f"data_files[{split!r}]={str(file)!r}: there is no such file; check the path")
    return files


def read_utf8(file: Path) -> str:
    """Text of a UTF-8 file, with or without byte order mark.

    Raises:
        ValueError: the file is not UTF-8; names the file, the 1-based line and the byte, or the encoding that it has.
    """
    content = file.read_bytes()
    if content.startswith(UTF_16) or b"\0" in content[:4]:
        raise ValueError(f"{file}: begins as UTF-16 or UTF-32, and is not UTF-8; save the file as UTF-8")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1  # of what comes behind the mark
        byte = error.object[error.start]
        raise ValueError(f"{file}, line {line}: byte 0x{byte:02x} is not UTF-8; save the file as UTF-8") from error


def read_lines(file: Path) -> Iterator[tuple[int, str]]:
    """Lines of a UTF-8 file with more than blanks, and their 1-based numbers."""
    # Not splitlines(): texts may hold U+2028 and other characters that it takes for line ends.
    for number, line in enumerate(read_utf8(file).split("\n"), start=1):
        if line.strip():
            yield number, line


def parse_json(text: str, file: Path, line: int = 1) -> object:
    """What JSON says that begins on a line of a file.

    Raises:
        ValueError: it is no JSON, or an object of it has a key twice, of which Python would keep the last.
    """
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        place = f"{file}, line {line + error.lineno - 1}"
        raise ValueError(f"{place}: invalid JSON ({error.msg} at column {error.colno}); correct it") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, thousands of brackets, `_object`
        raise ValueError(f"{file}, from line {line}: JSON that cannot be read ({error}); correct it") from error


def _object(pairs: list[tuple[str, object]]) -> dict:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError(f"a key occurs twice in {quoted([key for key, _ in pairs])}")
    return record


def checked_text(value: object, place: str) -> str:
    """A value that is a text with something to see, which UTF-8 can hold.

    Raises:
        ValueError: it is not; begins with the place.
    """
    if not isinstance(value, str):
        raise value_error(place, value, "is not a string; write a string")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise value_error(place, value, "holds half a surrogate pair; write the whole character") from error
    if not is_readable(value):
        raise value_error(place, value, "is empty; write a text or remove the row")
    return value


def is_readable(text: str) -> bool:
    """Whether a text has more than blanks and what no one sees: control characters, joiners, direction marks."""
    return any(character.isprintable() and not character.isspace() for character in text)


def with_own_ids(sentences: Iterable[tuple[str, dict]]) -> list[dict]:
    """Sentences, each after its place in a file.

    Raises:
        ValueError: two have the same id; begins with the place of the second.
    """
    by_id = {}
    for place, sentence in sentences:
        if sentence["id"] in by_id:
            raise value_error(f"{place}, field 'id'", sentence["id"], "occurs twice; give each sentence its own")
        by_id[sentence["id"]] = sentence
    return list(by_id.values())


def choose(name: str, value: object, allowed: Sequence[str]) -> None:
    """Raise ValueError unless an argument has one of the allowed values."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name}={quoted(value)}: choose one of {', '.join(allowed)}")


def value_error(place: str, value: object, remedy: str) -> ValueError:
    """The error of a value: where it stands, what it is, what is wrong and what to do."""
    return ValueError(f"{place}: {quoted(value)} {remedy}")


def shorten(value: object, most: int = 80) -> str:
    """A value in an error message, at most so many characters of it."""
    written = str(value)
    return written if len(written) <= most else written[:most] + "..."


def quoted(value: object) -> str:
    """A value as Python writes it, shortened."""
    return shorten(repr(value))
