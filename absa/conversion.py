"""Files of annotated sentences, read as opinions and written from them, in the formats that people have.

    sentences = read("Restaurants_Train.xml", "semeval2014")
    notes = write(sentences, "train.csv", "setfit")

See `datasets_scripts.formats.pivot` for what a sentence and a format are.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType

from absa.opinions import Opinion, from_answer
from datasets_scripts.formats import (
    apc,
    aste,
    atepc,
    bio,
    brat,
    custom,
    semeval2014,
    semeval2016,
    sentihood,
    setfit,
)
from datasets_scripts.formats.pivot import Sentence
from datasets_scripts.source_files import choose, quoted, read_utf8

FORMATS: dict[str, ModuleType] = {
    "apc": apc,
    "aste": aste,
    "atepc": atepc,
    "bio": bio,
    "brat": brat,
    "custom": custom,
    "semeval2014": semeval2014,
    "semeval2015": semeval2016,
    "semeval2016": semeval2016,
    "sentihood": sentihood,
    "setfit": setfit,
}

SIGNS = {  # a pattern of the ending of a file's name, a blank, and the text of the file
    "apc": r"\S* [^\n]*\$T\$",
    "aste": r"\S* [^\n]*####\[[](]",
    "atepc": r"\S* \S+ (O|B-ASP) \S+\r?\n",
    "bio": r"\S* \S+\t(O|B-\w+)\r?\n",
    "brat": r"\.ann ",
    "custom": r"\.(csv|jsonl) (?=[^\n]*\btext\b)(?=[^\n]*\blabel\b)[^\n]*\baspect\b",
    "semeval2014": r"\S* (<\?xml[^>]*>\s*)?<sentences\b",
    "semeval2016": r"\S* (<\?xml[^>]*>\s*)?<Reviews\b",
    "sentihood": r"\S* \[.*\"target_entity\"",
    "setfit": r"\.(csv|jsonl) (?=[^\n]*\btext\b)(?=[^\n]*\bspan\b)[^\n]*\bordinal\b",
}


def guess_format(file: str | Path) -> str:
    """The format of a file whose beginning cannot be mistaken for that of another.

    Raises:
        ValueError: it can, or it has no format of FORMATS.
        FileNotFoundError: there is no such file.
    """
    content = read_utf8(_existing(file)).lstrip()
    if not content:
        raise ValueError(f"{file}: is empty; give a file with annotated sentences")
    beginning = f"{Path(file).suffix} {content}"
    found = [name for name, sign in SIGNS.items() if re.match(sign, beginning, flags=re.DOTALL)]
    if len(found) != 1:
        like = f" ({' or '.join(found)}?)" if found else ""
        raise ValueError(f"{file}: its beginning does not tell its format{like}; give one of {', '.join(FORMATS)}")
    return found[0]


def read(file: str | Path, format_name: str, labels: Mapping[str, str] | None = None) -> list[Sentence]:
    """The sentences of a file, in its order, with a list of `Opinion` each.

    Args:
        format_name: one of FORMATS.
        labels: {label of the file: label that takes its place}; others stay.
    Raises:
        ValueError: the file is not in the format, or no opinion has one of the `labels`.
        FileNotFoundError: there is no such file.
    """
    choose("format_name", format_name, FORMATS)
    sentences, labels = FORMATS[format_name].read(_existing(file)), labels or {}
    present = {opinion.get("label") for sentence in sentences for opinion in sentence.opinions}
    for label in labels:
        if label not in present:
            told = ", ".join(sorted(filter(None, present))) or "none"
            raise ValueError(f"labels has {quoted(label)}, which no opinion of {file} has; its labels: {told}")
    return [sentence._replace(opinions=_as_opinions(sentence, labels)) for sentence in sentences]


def write(sentences: Iterable[Sentence], file: str | Path, format_name: str) -> Counter:
    """Write a new file of sentences with a list of `Opinion` each; `read` gives of it what the format can hold.

    Returns:
        Notes: {what was left out or changed: how often}.
    Raises:
        ValueError: a target or an opinion term is not what the text has at its place, or nothing is left to write.
        FileExistsError: the file is there already.
    """
    choose("format_name", format_name, FORMATS)
    as_dicts = [sentence._replace(opinions=[*map(_as_dict, sentence.opinions)]) for sentence in sentences]
    return +FORMATS[format_name].write(as_dicts, Path(file))


def _existing(file: str | Path) -> Path:
    if not Path(file).is_file():
        raise FileNotFoundError(f"{file}: there is no such file; check the path")
    return Path(file)


def _as_opinions(sentence: Sentence, labels: Mapping[str, str]) -> list[Opinion]:
    return [
        from_answer(opinion | {"label": labels.get(opinion.get("label"), opinion.get("label"))}, sentence.id)
        for opinion in sentence.opinions
    ]


def _as_dict(opinion: Opinion) -> dict:
    return {name: value for name, value in vars(opinion).items() if value is not None and name != "text_id"}
