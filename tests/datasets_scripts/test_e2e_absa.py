"""E2E-ABSA: what its files look like, errors, and the counts of the distributed ones."""

import re
from itertools import groupby

import pytest

from datasets_scripts import E2EABSA, load_absa_dataset
from datasets_scripts.tag_schemes import first_fault

LINES = {
    "train": "I paid $ 5 #### 3####I=O paid=O $=O a=b=c=T-NEG d=T-NEG\r\n"
    "\nGood soup, bad tea.####Good=O soup=T-POS tea=T-NEG\n",
    "dev": "Fine.####Fine=O\n",
    "test": "Ok####Ok=T-NEU\n",
}
CLASSES = ["O", *(f"{prefix}-{polarity}" for polarity in ("POS", "NEG", "NEU") for prefix in "BIES")]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "source" / "laptop14").mkdir(parents=True)
    for split, lines in LINES.items():
        (tmp_path / "source" / "laptop14" / f"{split}.txt").write_bytes(lines.encode())
    return tmp_path / "source"


@pytest.fixture
def load(folder, tmp_path):
    def build(**options):
        options = {"data_dir": folder, **options}
        return load_absa_dataset("e2e_absa", "laptop14", cache_dir=tmp_path / "cache", **options)

    return build


def names(rows, row):
    return [rows.features["tags"].feature.names[tag] for tag in rows[row]["tags"]]


def test_rows(load):
    splits = load()
    assert {split: len(rows) for split, rows in splits.items()} == {"train": 2, "validation": 1, "test": 1}
    train = splits["train"]
    assert list(train.features) == ["id", "text", "tokens", "tags"]
    assert train.features["tags"].feature.names == CLASSES
    assert train[0] == {
        "id": "1",
        "text": "I paid $ 5 #### 3",
        "tokens": ["I", "paid", "$", "a=b=c", "d"],
        "tags": [CLASSES.index(tag) for tag in ("O", "O", "O", "B-NEG", "E-NEG")],
    }
    assert (train[1]["id"], names(train, 1)) == ("3", ["O", "S-POS", "S-NEG"])
    assert names(load(conversion="reference")["train"], 1) == ["O", "B-POS", "E-NEG"]
    bio = load(scheme="BIO")["train"]
    assert bio.features["tags"].feature.names == ["O", *(f"{p}-{c}" for c in ("POS", "NEG", "NEU") for p in "BI")]
    assert [names(bio, row) for row in (0, 1)] == [["O", "O", "O", "B-NEG", "I-NEG"], ["O", "B-POS", "B-NEG"]]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("No tags", "line 2: 'No tags' has no ####; write text####token=TAG token=TAG"),
        ("No tokens####", "line 2: 'No tokens####' has no tokens behind ####"),
        ("a####a=T-CON", "line 2: 'a=T-CON' is no token=TAG with a tag of O, T-POS, T-NEG, T-NEU; correct it"),
        ("a####a", "line 2: 'a' is no token=TAG"),
        ("a####=O", "line 2: '=O' is no token=TAG"),
        (" ####a=O", "line 2, text: ' ' is empty"),
    ],
)
def test_malformed_lines(load, folder, line, told):
    (folder / "laptop14" / "dev.txt").write_text(f"Fine.####Fine=O\n{line}\n")
    with pytest.raises(ValueError, match=f"laptop14/dev.txt, {re.escape(told)}"):
        load()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"config_name": None}, "config_name=None: choose one of laptop14, rest14, rest15, rest16"),
        ({"config_name": "rest_total"}, "config_name='rest_total': choose one of laptop14"),
        ({"scheme": "IOB1"}, "scheme='IOB1': choose one of BIO, BIEOS"),
        ({"conversion": "mend"}, "conversion='mend': choose one of cut, reference"),
        (
            {"data_dir": None},
            "data_dir=None and data_files=None: give one of the two; the files of 'rest14' come from ",
        ),
    ],
)
def test_bad_options(folder, options, told):
    with pytest.raises(ValueError, match=re.escape(told)):
        E2EABSA(**{"config_name": "rest14", "data_dir": folder, **options})


def test_files_that_are_missing_or_empty(load, folder):
    (folder / "laptop14" / "dev.txt").write_text("\n")
    with pytest.raises(ValueError, match=r"laptop14/dev.txt: has no sentences"):
        load()
    (folder / "laptop14" / "dev.txt").unlink()
    with pytest.raises(
        FileNotFoundError, match=r"lacks laptop14/dev.txt; get what is missing from https://github.com/"
    ):
        load()


@pytest.fixture(scope="module")
def read(shared_dir):
    def read_domain(domain, **options):
        builder = E2EABSA(config_name=domain, data_dir=shared_dir / "data" / "e2e_absa", **options)
        return builder.read_splits(builder.local_files)

    return read_domain


def aspects_of(tags):
    return [(begin, tag[2:]) for begin, tag in enumerate(tags) if tag[0] in "BS"]


def measured(cut, reference):
    aspects = [aspects_of(sentence["tags"]) for sentence in cut]
    polarities = [polarity for of_one in aspects for _, polarity in of_one]
    tags = [tag for sentence in cut for tag in sentence["tags"]]
    faulty = 0
    for sentence in reference:  # aspects in a run of several polarities count for nothing there
        for is_outside, run in groupby(sentence["tags"], "O".__eq__):
            run = list(run)
            faulty += 0 if is_outside or first_fault(run, "BIEOS") is None else len({tag[2:] for tag in run})
    return (
        len(cut),
        len(tags),
        len(polarities),
        *(polarities.count(polarity) for polarity in ("POS", "NEG", "NEU")),
        sum(tag[0] == "B" for tag in tags),
        sum(not of_one for of_one in aspects),
        len(polarities) - faulty,
    )


@pytest.mark.parametrize("domain", E2EABSA.SOURCES)
def test_counts_of_the_card(card, table, read, domain):
    cut, reference = read(domain), read(domain, conversion="reference")
    found = {f"{domain} {split}": measured(cut[split], reference[split]) for split in cut}
    assert found == {name: row for name, row in table(card("e2e_absa"), "split").items() if name.startswith(domain)}
    assert all(first_fault(sentence["tags"], "BIEOS") is None for rows in cut.values() for sentence in rows)


def test_sentences_in_several_splits(read):
    def shared(first, second):
        lowered = [{" ".join(sentence["tokens"]).lower() for sentence in sentences} for sentences in (first, second)]
        return sum(" ".join(sentence["tokens"]).lower() in lowered[1] for sentence in first)

    laptop, rest14, rest15, rest16 = map(read, E2EABSA.SOURCES)
    assert shared(laptop["test"], laptop["train"]) == 1
    assert shared(laptop["validation"], laptop["train"]) == 4
    assert shared(rest14["validation"], rest14["train"]) == 2
    assert shared(rest16["test"], rest16["train"]) == 2
    assert shared(rest16["validation"], rest16["train"]) == 1
    assert shared(rest15["test"], rest16["train"] + rest16["validation"]) == 684
