"""Converts a file of annotated sentences to another format.

    python examples/convert_data.py Restaurants_Train.xml train.csv --to setfit
    python examples/convert_data.py train.dat.atepc train.xml --from atepc --to semeval2014 --labels 2=positive

Formats are apc and atepc (both PyABSA's), setfit, semeval2014, semeval2015, semeval2016, aste, bio, sentihood, brat
and custom (rows of this project). What the new format cannot hold is counted and told. See docs/converting.md.
"""

from dataclasses import dataclass, field

from absa.commands import parse, user_errors
from absa.conversion import FORMATS, guess_format, read, write

NAMES = ", ".join(FORMATS)


@dataclass
class ConvertArguments:
    """Which file, and which formats."""

    input: str = field(metadata={"help": "The file to read."})
    output: str = field(metadata={"help": "The file to write; it is not there yet."})
    to_format: str = field(metadata={"aliases": ["--to"], "help": f"Format of the output: {NAMES}."})
    from_format: str | None = field(
        default=None,
        metadata={"aliases": ["--from"], "help": "Format of the input (default: as its text tells)."},
    )
    labels: list[str] | None = field(
        default=None, metadata={"help": "Other names for labels: 2=positive 0=negative (default: they stay)."}
    )


def renamed(words: list[str] | None) -> dict[str, str]:
    pairs = [word.rpartition("=") for word in words or []]
    for label, _, name in pairs:
        if not label or not name:
            raise ValueError(f"labels={' '.join(words)}: give each as label=name, such as 2=positive")
    names = {label: name for label, _, name in pairs}
    if len(names) < len(pairs):
        raise ValueError(f"labels={' '.join(words)}: a label is given twice; keep one name for it")
    return names


def size(file: str, format_name: str, sentences: list) -> str:
    num_opinions = sum(len(sentence.opinions) for sentence in sentences)
    return f"{file} ({format_name}): {len(sentences)} sentences, {num_opinions} opinions"


def main(arguments: ConvertArguments):
    source = arguments.from_format or guess_format(arguments.input)
    sentences = read(arguments.input, source, renamed(arguments.labels))
    notes = write(sentences, arguments.output, arguments.to_format)
    print(size(arguments.input, source, sentences))
    print(size(arguments.output, arguments.to_format, read(arguments.output, arguments.to_format)))
    for note, count in notes.items():
        print(f"  {count} {note}")


if __name__ == "__main__":
    with user_errors():
        main(parse(ConvertArguments, "input", "output"))
