"""What reads files that others wrote, as functions of a file: it is read, or the error says which and what is wrong.

`test_readers.py` gives each its seeds and what fuzzing has found; `fuzz.py` makes more inputs out of them.
"""

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import tables
from absa import text_files
from absa.metrics.custom_absa import absa_scores
from absa.metrics.rows import join_rows
from absa.training.arguments import parse_arguments
from datasets_scripts.custom_absa.reading import read_rows
from datasets_scripts.semeval2014 import reading as semeval2014
from datasets_scripts.sentihood import sentihood

ROWS_OF_A_CHUNK = 2
LONGEST_MESSAGE = 2000  # characters; the path is in it


@dataclass(frozen=True)
class Reader:
    """A reader, the name that its files have, and files that it takes."""

    read: Callable[[Path], None]
    file_name: str
    seeds: tuple[bytes, ...]
    names_file: bool = True


def read_texts(file: Path):
    """The rows are in order, each a text or told with its reason."""
    (found,) = text_files.find_files([str(file)])
    for number, table in enumerate(text_files.read_chunks(found, "text", "id", ROWS_OF_A_CHUNK)):
        (chunk,) = table.to_pylist()
        rows = [*chunk["rows"], *(reject["row"] for reject in chunk["rejects"] if reject["row"])]
        assert len(set(rows)) == len(rows) <= ROWS_OF_A_CHUNK
        assert all(row > number * ROWS_OF_A_CHUNK for row in rows)
        assert len(chunk["rows"]) == len(chunk["ids"]) == len(chunk["texts"])
        assert all(text.strip() for text in chunk["texts"])
        assert all(reject["reason"] for reject in chunk["rejects"])


def read_custom(file: Path):
    rows = read_rows(file)
    keys = [(row["id"], row["target"], row["aspect"]) for row in rows]
    assert len(set(keys)) == len(keys)
    assert all(row[name].strip() for row in rows for name in ("id", "text", "aspect", "label"))
    assert all(isinstance(row["target"], str) for row in rows)


def read_sentihood(file: Path):
    sentences = sentihood.read_sentences(file, file.name)
    rows = [row for sentence in sentences for row in sentihood.label_rows(sentence)]
    assert len({(row["id"], row["target"], row["aspect"]) for row in rows}) == len(rows)


def read_semeval2014(file: Path):
    for sentence in semeval2014.read_sentences(file, file.name):
        assert sentence["text"].strip()
        for term in sentence["terms"]:
            assert sentence["text"][term["from"] : term["to"]] == term["term"]


def read_recipe(file: Path):
    """What argparse does not take it names itself, and ends the process."""
    try:
        parse_arguments([str(file)])
    except SystemExit as error:
        if error.code != 2:
            raise


def read_table(file: Path):
    columns, rows = tables.read(file, "text")
    assert "text" in columns
    assert all(isinstance(value, str) for row in rows for value in row.values())


def read_metric_rows(file: Path):
    """A metric has no file, but its rows come out of one."""
    try:
        given = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return
    if isinstance(given, list) and len(given) == 2:
        absa_scores(**join_rows(*given), label_names=["none", "good", "bad"], none_label="none")


def packed(columns: dict) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


CSV = 'id,text,target,aspect,label\n1,"Good, ""fresh"" soup",,food,positive\n2,"Two\nlines",soup,price,none\n'
RECORDS = [
    {"id": 1, "text": "Good soup", "target": "", "aspect": "food", "label": "positive"},
    {"id": "b", "text": "So är es \ud83d\ude00", "target": "it", "aspect": "price", "label": "none"},
]
JSONL = "".join(json.dumps(record) + "\n" for record in RECORDS)
SENTIHOOD = json.dumps(
    [
        {
            "id": 7,
            "text": "LOCATION1 is dear, LOCATION2 not",
            "opinions": [{"sentiment": "Negative", "aspect": "price", "target_entity": "LOCATION1"}],
        },
        {"id": 8, "text": "I like LOCATION1", "opinions": []},
    ]
)
SEMEVAL2014 = """<?xml version="1.0" encoding="UTF-8"?>
<sentences><sentence id="1"><text>Good soup &amp; tea</text>
<aspectTerms><aspectTerm term="soup" polarity="positive" from="5" to="9"/></aspectTerms>
<aspectCategories><aspectCategory category="food" polarity="positive"/></aspectCategories></sentence>
<sentence id="2"><text>Noisy</text></sentence></sentences>"""
RECIPE = """# a run of two seeds, each for as long as it takes to see whether the rate is right
dataset: sentihood
learning_rate: 1e-3
seeds: [1, 2]
bf16: false
lr_scheduler_kwargs: {power: 2}
"""
METRIC_ROWS = json.dumps(
    [
        [{"id": "1", "target": "", "aspect": "food", "probabilities": [0.25, 0.5, 0.25]}],
        [{"id": "1", "target": "", "aspect": "food", "label": "good"}],
    ]
)
READERS = {
    "annotate_csv": Reader(read_texts, "texts.csv", (CSV.encode(), "\ufeffid,text\r\n1,a\r\n".encode())),
    "annotate_jsonl": Reader(read_texts, "texts.jsonl", (JSONL.encode(), b'{"id": 1, "text": "a"}\r\n\n[1]\n')),
    "annotate_parquet": Reader(
        read_texts, "texts.parquet", (packed({"id": ["1", "2", "3"], "text": ["a", None, "c"]}),)
    ),
    "custom_csv": Reader(read_custom, "train.csv", (CSV.encode(), "\ufefftext,aspect,label\r\na,b,c\r\n".encode())),
    "custom_jsonl": Reader(read_custom, "train.jsonl", (JSONL.encode(),)),
    "sentihood": Reader(read_sentihood, "sentihood-train.json", (SENTIHOOD.encode(),)),
    "semeval2014": Reader(read_semeval2014, "Restaurants_Train.xml", (SEMEVAL2014.encode(),)),
    "space_table": Reader(
        read_table, "texts.csv", (b'text,stars\n"Good, ""fresh"" soup",5\nDear,\n',), names_file=False
    ),
    "recipe": Reader(read_recipe, "recipe.yaml", (RECIPE.encode(), b"seeds: &s [1]\nlogging_steps: 5\n")),
    "metric_rows": Reader(read_metric_rows, "rows.json", (METRIC_ROWS.encode(),), names_file=False),
}


def give(reader: Reader, folder: Path, content: bytes) -> bool:
    """Has a file of this content read.

    Returns:
        Whether it was; else there was an error, as there should be.
    Raises:
        AssertionError: if what was read is not right, or an error does not say which file it is about.
        Exception: what should have been an error of the reader's own.
    """
    file = folder / reader.file_name
    file.write_bytes(content)
    try:
        reader.read(file)
    except (ValueError, OSError) as error:
        # Errors of libraries are ValueErrors too: ours are exactly that class, and say which file it is.
        if type(error) not in (ValueError, OSError):
            raise
        if reader.names_file and reader.file_name not in str(error):
            raise AssertionError(f"no file is named: {error}") from error
        if len(str(error)) > LONGEST_MESSAGE:
            raise AssertionError(f"a message of {len(str(error))} characters") from error
        return False
    return True
