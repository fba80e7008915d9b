"""Column files: schemes, separators, sentence breaks, errors, and the counts of WNUT-17."""

import re
from itertools import pairwise

import pytest

from datasets_scripts import CoNLL, load_absa_dataset
from datasets_scripts.conll.conll import detected_scheme


@pytest.fixture
def build(tmp_path):
    """Loads files of these contents, by their names."""

    def load(files: dict[str, str], config_name: str = "columns", **options):
        for name, content in files.items():
            (tmp_path / name).write_bytes(content.encode())
        return load_absa_dataset("conll", config_name, data_dir=tmp_path, cache_dir=tmp_path / "cache", **options)

    return load


def tagged(rows):
    """(tokens, tags by name) of each row."""
    tags = rows.features["tags"].feature
    return [(row["tokens"], tags.int2str(row["tags"])) for row in rows]


def test_wnut17(build):
    splits = build(
        {
            # Sentences end at lines of whitespace too; # begins no comment; some characters look empty.
            "wnut17train.conll": "#NFL\tB-group\r\nin\tO\n\t\n\ufe0f\tO\nU\u2028K\tB-creative-work\n \nU\tI-group\n",
            "emerging.dev.conll": "x\tO\n",
            "emerging.test.annotated": "Rome\tI-group\n\n",
            "emerging.test.conll": "Rome\tB-group,B-location\n",
        },
        "wnut17",
        scheme_in="IOB1",
    )
    assert {split: len(rows) for split, rows in splits.items()} == {"train": 3, "validation": 1, "test": 1}
    assert splits["train"].features["tags"].feature.names == [
        *("O", "B-creative-work", "I-creative-work", "B-group", "I-group")
    ]
    assert tagged(splits["train"]) == [
        (["#NFL", "in"], ["B-group", "O"]),
        (["\ufe0f", "U\u2028K"], ["O", "B-creative-work"]),
        (["U"], ["B-group"]),
    ]
    assert [(row["id"], row["text"]) for row in splits["train"]][1:] == [("4", "\ufe0f U\u2028K"), ("7", "U")]


CONLL2003 = {
    "eng.train": "-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\nrejects VBZ I-VP O\n\nA NNP I-NP I-PER\nB NNP B-NP B-PER\n",
    "eng.testa": "-DOCSTART- -X- -X-\nEU NNP I-NP I-ORG\n. . O O\n",
    "eng.testb": "EU  NNP\tI-NP I-PER \n",
}


def test_conll2003(build):
    splits = build(CONLL2003, "conll2003")
    assert tagged(splits["train"]) == [(["EU", "rejects"], ["B-ORG", "O"]), (["A", "B"], ["B-PER", "B-PER"])]
    assert tagged(splits["validation"]) == [(["EU", "."], ["B-ORG", "O"])]
    assert tagged(splits["test"]) == [(["EU"], ["B-PER"])]
    bieos = build(CONLL2003, "conll2003", scheme_out="BIEOS")
    assert tagged(bieos["train"])[1] == (["A", "B"], ["S-PER", "S-PER"])
    chunks = build(CONLL2003, "conll2003", tag_column=3)
    assert tagged(chunks["train"])[1] == (["A", "B"], ["B-NP", "B-NP"])
    with pytest.raises(
        ValueError, match=r"eng.testa, line 3, token '.': '.' does not occur in the training file, whi"
    ):
        build(CONLL2003, "conll2003", tag_column=2)
    with_dot = CONLL2003 | {"eng.train": CONLL2003["eng.train"] + ". . O O\n"}
    parts_of_speech = build(with_dot, "conll2003", tag_column=2)["train"]
    assert parts_of_speech.features["tags"].feature.names == [".", "NNP", "VBZ"]


def weibo(train, tag="O"):
    names = ("weiboNER_2nd_conll.train", "weiboNER_2nd_conll.dev", "weiboNER_2nd_conll.test")
    return dict(zip(names, (train, f"口0\t{tag}\n", "北\tO\n"), strict=True))


def test_weibo(build):
    splits = build(weibo("现0\tB-PER.NOM\n任1\tI-PER.NOM\n10\tO\n"), "weibo")
    assert tagged(splits["train"]) == [(["现", "任", "1"], ["B-PER.NOM", "I-PER.NOM", "O"])]
    assert splits["train"][0]["text"] == "现任1"
    # Without a digit behind each character of a file, digits are characters.
    assert tagged(build(weibo("现\tB-PER.NOM\n1\tO\n", "O"), "weibo")["train"])[0][0] == ["现", "1"]
    with pytest.raises(ValueError, match=r"conll.train, line 2: '1' lacks the character before the digit"):
        build(weibo("现0\tO\n1\tO\n"), "weibo")
    with pytest.raises(ValueError, match=r"conll.dev, line 1, token '口': 'B-LOC.NAM' does not occur in the training"):
        build(weibo("现0\tB-PER.NOM\n", "B-LOC.NAM"), "weibo")


def test_bieos(build):
    files = {"train.txt": "a B-x\nb E-x\nc S-y-z\nd O\n"}
    splits = build(files, separator="blanks")
    assert tagged(splits["train"]) == [(["a", "b", "c", "d"], ["B-x", "I-x", "B-y-z", "O"])]
    kept = build(files, separator="blanks", scheme_out="BIEOS")["train"]
    assert tagged(kept)[0][1] == ["B-x", "E-x", "S-y-z", "O"]
    assert kept.features["tags"].feature.names[5:] == ["B-y-z", "I-y-z", "E-y-z", "S-y-z"]


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [
        (["B-a I-a O", "O"], "BIO"),
        (["I-a I-a O I-b", "O"], "IOB1"),
        (["I-a B-a", "O I-b"], "IOB1"),
        (["O I-b", "I-a B-a"], "IOB1"),
        (["B-a E-a"], "BIEOS"),
        (["S-a"], "BIEOS"),
        (["NN VB O"], "plain"),
        (["-X- B"], "plain"),
    ],
)
def test_detected_scheme(tags, scheme):
    assert detected_scheme([{"tags": of_one.split()} for of_one in tags]) == scheme


@pytest.mark.parametrize(
    ("content", "options", "told"),
    [
        ("a\tB-x\nb\tO\nc\tI-x\n", {}, "line 3, token 'c': 'I-x' begins a span, as in IOB1, where other spans begin"),
        ("a\tB-x\nb\tNN\n", {}, "line 2, token 'b': 'NN' has no prefix and type, unlike 'B-x'; correct it, or give"),
        ("a\tI-x\n", {"scheme_in": "BIO"}, "line 1, token 'a': 'I-x' may not stand there in BIO; correct it, or"),
        ("a\tB-x\n", {"scheme_in": "BIEOS"}, "line 1, token 'a': 'B-x' may not stand there in BIEOS"),
        ("a\tE-x\n", {"scheme_in": "BIO"}, "line 1, token 'a': 'E-x' is no tag of BIO, which has O and, with a type"),
        ("a\tB-\n", {"scheme_in": "BIO"}, "line 1, token 'a': 'B-' is no tag of BIO"),
        ("a\tO\nb O\n", {}, "line 2: 'b O' has 1 columns separated by tab; correct the line, or give another number"),
        ("a\tO\tO\n", {}, r"line 1: 'a\tO\tO' has 3 columns separated by tab"),
        ("a\tO\n\tO\n", {}, r"line 2: '\tO' lacks the token or the tag; write both"),
        ("a\t \n", {}, r"line 1: 'a\t ' lacks the token or the tag"),
    ],
)
def test_malformed_files(build, content, options, told):
    with pytest.raises(ValueError, match=re.escape(f"train.txt, {told}")):
        build({"train.txt": content}, **options)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"config_name": "ontonotes"}, "config_name='ontonotes': choose one of wnut17, conll2003, weibo, columns"),
        ({"separator": ","}, "separator=',': choose one of tab, blanks"),
        ({"scheme_in": "BIOES"}, "scheme_in='BIOES': choose one of auto, BIO, BIEOS, IOB1, plain"),
        ({"scheme_out": "plain"}, "scheme_out='plain': choose one of BIO, BIEOS"),
        ({"tag_column": 1}, "columns=2 and tag_column=1: give whole numbers, the tag's column from 2"),
        ({"tag_column": 3}, "columns=2 and tag_column=3: give whole numbers"),
        ({"columns": "2"}, "columns='2' and tag_column=2: give whole numbers"),
        ({"data_files": {"dev": "a.txt"}}, "data_files has ['dev']: expected {'train': path}"),
    ],
)
def test_bad_options(options, told):
    with pytest.raises(ValueError, match=re.escape(told)):
        CoNLL(**{"config_name": "columns", "data_dir": None if "data_files" in options else ".", **options})


def test_files(build, tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"lacks train.conll or train.txt; get what is missing from another place"
    ):
        build({"dev.txt": "a\tO\n"})
    assert set(build({"train.conll": "a\tO\n"})) == {"train", "validation"}
    splits = load_absa_dataset(
        "conll", "columns", data_files={"train": tmp_path / "dev.txt"}, cache_dir=tmp_path / "cache"
    )
    assert set(splits) == {"train"}
    with pytest.raises(ValueError, match=r"has train.conll and train.txt; keep one of them"):
        build({"train.txt": "a\tO\n"})


def test_deduplicate(build):
    splits = build({"train.txt": "a\tO\n\nb\tO\n", "test.txt": "A\tO\n"}, deduplicate=True)
    assert [row["text"] for row in splits["train"]] == ["b"]


def test_counts_of_the_card(card, table, shared_dir):
    builder = CoNLL(config_name="wnut17", data_dir=shared_dir / "data" / "ner_pos" / "wnut17")
    splits = builder.read_splits(builder.local_files)
    found = {
        split: (
            len(sentences),
            sum(len(sentence["tokens"]) for sentence in sentences),
            sum(tag[0] == "B" for sentence in sentences for tag in sentence["tags"]),
        )
        for split, sentences in splits.items()
    }
    assert found == table(card("conll"), "split")
    with_lone_selectors = {s for s, rows in splits.items() if any("\ufe0f" in row["tokens"] for row in rows)}
    assert with_lone_selectors == {"validation", "test"}
    names = builder.info.features["tags"].feature.names
    assert [name[2:] for name in names if name[0] == "B"] == [
        *("corporation", "creative-work", "group", "location", "person", "product")
    ]
    adjacent = {split: sum(map(neighbours, sentences)) for split, sentences in splits.items()}
    assert adjacent == {"train": 16, "validation": 6, "test": 5}


def neighbours(sentence):
    """Entities right behind another of their type."""
    tags = sentence["tags"]
    return sum(tag[0] == "B" and before[0] != "O" and before[2:] == tag[2:] for before, tag in pairwise(tags))
