"""What reads files that others wrote, as functions of a file: it is read, or the error says which and what is wrong.

`test_readers.py` gives each its seeds and what fuzzing has found; `fuzz.py` makes more inputs out of them.
"""

import io
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

import tables
from absa import text_files
from absa.conversion import FORMATS
from absa.metrics.custom_absa import absa_scores
from absa.metrics.rows import join_rows
from absa.training.arguments import parse_arguments
from datasets_scripts import ASTEV2, BARTABSA, E2EABSA, MAMS, AspectPolarity, SemEval2014, SemEval2016, SentiHood
from datasets_scripts.aspect_polarity.aspect_polarity import SOURCES
from datasets_scripts.conll.conll import read_columns
from datasets_scripts.conllu.conllu import read_conllu
from datasets_scripts.custom_absa.reading import read_rows
from datasets_scripts.documents import read_reviews

ROWS_OF_A_CHUNK = 2
LONGEST_MESSAGE = 2000  # characters; the path is in it


class Reader(NamedTuple):
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


def check_rows(rows: list[dict]):
    keys = [(row["id"], row["target"], row["aspect"]) for row in rows]
    assert len(set(keys)) == len(keys)
    for row in rows:
        assert all(row[name].strip() for name in ("id", "text", "aspect", "label"))
        row["text"].encode()


def read_sentences(builder: type, file: Path):
    sentences = builder.read(file)
    assert sentences
    for sentence in sentences:
        for term in sentence.get("terms", []):
            assert sentence["text"][term["from"] : term["to"]] == term["term"]
    check_rows([row for sentence in sentences for row in builder.rows(sentence)])


def read_polarities(file: Path):
    for sentence in AspectPolarity.read(file):
        for source in SOURCES.values():
            for row in source.rows(sentence):
                assert row["target"] or row["aspect"]
                if row["target"]:
                    assert row["text"][row["target_start"] : row["target_end"]] == row["target"]


def read_categories(file: Path):
    for sentence in SemEval2016.read(file):
        assert sentence["id"].strip()
        assert sentence["text"].strip()
        assert not (sentence["is_out_of_scope"] and sentence["opinions"])
        assert all("#" in one["category"] and "#" not in one["polarity"] for one in sentence["opinions"])


def check_tagged(sentences: Iterable[dict]):
    for sentence in sentences:
        assert len(sentence["tokens"]) == len(sentence["tags"]) == len(sentence["lines"]) > 0
        assert all(sentence["tokens"])
        assert all(sentence["tags"])


def check_tuples(sentences: Iterable[dict]):
    for sentence in sentences:
        words = sentence["words"]
        assert [sentence["text"][start:end] for start, end in sentence["offsets"]] == words != []
        for fields in sentence["tuples"]:
            spans = [fields[name] for name in ("target", "opinion") if fields.get(name)]
            assert all(0 <= start < end <= len(words) for start, end in spans)
            assert spans or fields["aspect"]


def read_annotated(name: str, file: Path):
    """A format to convert; that of brat has its texts in a file of their own."""
    if name == "brat":
        file.with_suffix(".txt").write_text("Good caf\u00e9\nSo good\n", encoding="utf-8")
    sentences = FORMATS[name].read(file)
    assert sentences
    for sentence in sentences:
        assert sentence.text.strip()
        for opinion in sentence.opinions:
            for field in {"target", "opinion"} & opinion.keys():
                start, end = opinion[f"{field}_start"], opinion[f"{field}_end"]
                assert sentence.text[start:end] == opinion[field] != ""


def read_documents(file: Path):
    assert all(text.strip() for review in read_reviews(file) for text in review)


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


CSV = b'id,text,target,aspect,label\n1,"Good, ""fresh"" soup",,food,positive\n2,"Two\nlines",soup,price,none\n'
JSONL = b"""{"id": 1, "text": "Good soup", "target": "", "aspect": "food", "label": "positive"}
{"id": "b", "text": "So \\u00e4r es \\ud83d\\ude00", "target": "it", "aspect": "price", "label": "none"}
"""
SENTIHOOD = b"""[{"id": 7, "text": "LOCATION1 is dear, LOCATION2 not",
  "opinions": [{"sentiment": "Negative", "aspect": "price", "target_entity": "LOCATION1"}]},
 {"id": 8, "text": "I like LOCATION1", "opinions": []}]"""
SEMEVAL2014 = b"""<?xml version="1.0" encoding="UTF-8"?>
<sentences><sentence id="1"><text>Good soup &amp; tea</text>
<aspectTerms><aspectTerm term="soup" polarity="positive" from="5" to="9"/></aspectTerms>
<aspectCategories><aspectCategory category="food" polarity="positive"/></aspectCategories></sentence>
<sentence id="2"><text>Noisy</text></sentence></sentences>"""
E2E_ABSA = "It's #### good.####It=O 's=O a=b=T-POS \u00e9=T-POS\r\n\nBad####Bad=T-NEG\n".encode()
COLUMNS = "-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\n#1  CD O\tO\n \n\ufe0f . O O\n".encode()
CONLLU = """# sent_id = a
# text = Don't
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVB\t_\t0\troot\t_\t_
1.1\tdo\tdo\tAUX\tVB\t_\t_\t_\t_\t_
2\tn't\tnot\tPART\tRB\t_\t1\tadvmod\t_\t_

1\t\u00e9\t_\tX\tFW\t_\t0\troot\t_\t_
""".encode()
ASTE = "It 's #### good \u00e9 .####[([2], [3], 'POS'), ([4, 5], [3], 'NEG')]\r\n\nFine####[]\n".encode()
BARTABSA_RECORDS = (
    b"""[{"words": ["good", "soup"], "aspects": [{"from": 1, "to": 2, "term": ["soup"], "polarity": "POS"}],
 "opinions": [{"from": 0, "to": 1, "term": ["good"]}]}]""",
    b"""[{"task": "AE-OE", "words": ["\\u00e9", "a"], "aspects": [{"term": []}],
 "opinions": [{"from": 0, "to": 2, "term": ["\\u00e9", "a"]}]}]""",
    b"""[{"task": "AOE", "words": ["a", "b"], "aspects": [{"from": 0, "to": 1, "term": ["a"]}],
 "opinions": [{"from": 1, "to": 2, "term": ["b"]}]}]""",
)
REVIEWS = b"""<Reviews><Review rid="1"><sentences><sentence id="1:0"><text>Good soup &amp; tea</text></sentence>
<sentence id="1:1"><text>Dear</text></sentence></sentences></Review></Reviews>"""
OPINIONS = b"""<Reviews><Review rid="1"><sentences><sentence id="1:0"><text>Good soup</text>
<Opinions><Opinion target="soup" category="FOOD#QUALITY" polarity="positive" from="5" to="9"/></Opinions></sentence>
<sentence id="1:1" OutOfScope="TRUE"><text>Dear</text></sentence></sentences></Review></Reviews>"""
APC = "Good $T$.\ncaf\u00e9\nPositive\r\n$T$ caf\u00e9.\nGood\n-1\n".encode()
ATEPC = "Good O -100\ncaf\u00e9 B-ASP Negative\n. I-ASP Negative\n\nSo B-ASP -999\r\n".encode()
BIO = "Good\tO\ncaf\u00e9\tB-POS\n.\tI-POS\n\nSo B-ASP\r\n".encode()
BRAT = "T1\tTarget 5 9\tcaf\u00e9\nT2\tOpinion 0 4\tGood\nA1\tLabel T1 good\nR1\tJudges Arg1:T2 Arg2:T1\n".encode()
SETFIT = 'text,span,label,ordinal\n"Caf\u00e9, caf\u00e9, caf\u00e9",caf\u00e9,good,1\n'.encode()
RECIPE = b"""# a run of two seeds, each for as long as it takes to see whether the rate is right
dataset: sentihood
learning_rate: 1e-3
seeds: [1, 2]
bf16: false
lr_scheduler_kwargs: {power: 2}
"""
METRIC_ROWS = b"""[[{"id": "1", "target": "", "aspect": "food", "probabilities": [0.25, 0.5, 0.25]}],
 [{"id": "1", "target": "", "aspect": "food", "label": "good"}]]"""
PARQUET = packed({"id": ["1", "2", "3"], "text": ["a", None, "c"]})
READERS = {
    "annotate_csv": Reader(read_texts, "texts.csv", (CSV, b"\xef\xbb\xbfid,text\r\n1,a\r\n")),
    "annotate_jsonl": Reader(read_texts, "texts.jsonl", (JSONL, b'{"id": 1, "text": "a"}\r\n\n[1]\n')),
    "annotate_parquet": Reader(read_texts, "texts.parquet", (PARQUET,)),
    "custom_csv": Reader(
        lambda file: check_rows(read_rows(file)), "train.csv", (CSV, b"\xef\xbb\xbftext,aspect,label\r\na,b,c\r\n")
    ),
    "custom_jsonl": Reader(lambda file: check_rows(read_rows(file)), "train.jsonl", (JSONL,)),
    "sentihood": Reader(lambda file: read_sentences(SentiHood, file), "sentihood-train.json", (SENTIHOOD,)),
    "semeval2014": Reader(lambda file: read_sentences(SemEval2014, file), "Restaurants_Train.xml", (SEMEVAL2014,)),
    "aspect_polarity": Reader(read_polarities, "Laptop_Train_v2.xml", (SEMEVAL2014,)),
    "e2e_absa": Reader(lambda file: check_tagged(E2EABSA.read(file)), "train.txt", (E2E_ABSA,)),
    "conll": Reader(lambda file: check_tagged(read_columns(file, 4, "blanks", 4)), "eng.train", (COLUMNS,)),
    "conllu": Reader(lambda file: check_tagged(read_conllu(file, "xpos", "tokens")), "a-ud-train.conllu", (CONLLU,)),
    "aste_v2": Reader(lambda file: check_tuples(ASTEV2.read(file)), "train_triplets.txt", (ASTE,)),
    "bartabsa": Reader(lambda file: check_tuples(BARTABSA.read(file)), "train_convert.json", BARTABSA_RECORDS),
    "mams": Reader(lambda file: check_tuples(MAMS.read(file)), "train.xml", (SEMEVAL2014,)),
    "semeval2016": Reader(read_categories, "ABSA16_Restaurants_Train_SB1_v2.xml", (OPINIONS, REVIEWS)),
    "apc": Reader(lambda file: read_annotated("apc", file), "train.txt", (APC,)),
    "atepc": Reader(lambda file: read_annotated("atepc", file), "train.txt.atepc", (ATEPC,)),
    "bio": Reader(lambda file: read_annotated("bio", file), "train.conll", (BIO,)),
    "brat": Reader(lambda file: read_annotated("brat", file), "train.ann", (BRAT,)),
    "setfit": Reader(lambda file: read_annotated("setfit", file), "train.csv", (SETFIT,)),
    "reviews": Reader(read_documents, "ABSA-15_Train.xml", (REVIEWS,)),
    "space_table": Reader(read_table, "texts.csv", (b'text,stars\n"Good, ""fresh"" soup",5\nDear,\n',), False),
    "recipe": Reader(read_recipe, "recipe.yaml", (RECIPE, b"seeds: &s [1]\nlogging_steps: 5\n")),
    "metric_rows": Reader(read_metric_rows, "rows.json", (METRIC_ROWS,), False),
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
        return True
    except (ValueError, OSError) as error:
        # Errors of libraries are ValueErrors too: ours are exactly that class, and say which file it is.
        if type(error) not in (ValueError, OSError):
            raise
        told = str(error)
    assert not reader.names_file or reader.file_name in told, f"no file is named: {told}"
    assert len(told) <= LONGEST_MESSAGE
    return False
