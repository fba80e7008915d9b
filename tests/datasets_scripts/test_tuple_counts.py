"""The figures of the cards of the data sets of tuples, measured again in the distributed files."""

import json
from collections import Counter

import pytest

from absa.restricted_texts import restricted_source
from datasets_scripts import ASTEV2, BARTABSA, MAMS
from datasets_scripts.bartabsa.bartabsa import DOMAINS
from datasets_scripts.semeval_xml import read_sentences
from datasets_scripts.splits import normalize_text
from datasets_scripts.subtasks import subtask_rows
from datasets_scripts.words import word_offsets

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*tuples that repeat another"),
    pytest.mark.filterwarnings("ignore:.*terms that begin or end inside a word"),
]
ASTE = ("14lap", "14res", "15res", "16res")
LABELS = ("positive", "neutral", "negative")
CATEGORIES = ("price", "anecdotes/miscellaneous", "food", "ambience", "service")


@pytest.fixture(scope="module")
def read(shared_dir):
    """Splits of a configuration, repeats kept or, as rows are made of them, not."""
    known = {}

    def read_splits(builder, name, repeats=False):
        if (name, repeats) not in known:
            folder = {ASTEV2: "aste_v2", BARTABSA: "bartabsa", MAMS: "mams"}[builder]
            built = builder(config_name=name, data_dir=shared_dir / "data" / folder)
            known[name, repeats] = (
                {split: built.read(file) for split, file in built.local_files.items()}
                if repeats
                else built.read_splits(built.local_files)
            )
        return known[name, repeats]

    return read_splits


def texts(sentences):
    return [normalize_text(sentence["text"]) for sentence in sentences]


def in_common(first, second):
    return len(set(texts(first)) & set(texts(second)))


def count(sentences, subtask):
    """Tuples of a subtask; none of one that the source is not annotated for."""
    try:
        return sum(len(row["tuples"]) for row in subtask_rows(sentences, subtask))
    except ValueError:
        return 0


def labels(sentences):
    counts = Counter(fields["label"] for sentence in sentences for fields in sentence["tuples"])
    return tuple(counts[label] for label in LABELS)


def num_tuples(sentences):
    return sum(len(sentence["tuples"]) for sentence in sentences)


def test_triplets(card, table, read):
    found = {}
    for domain in ASTE:
        every, distinct = read(ASTEV2, domain, repeats=True), read(ASTEV2, domain)
        for split, sentences in distinct.items():
            found[f"{domain} {split}"] = (
                len(sentences),
                num_tuples(every[split]),
                num_tuples(sentences),
                count(sentences, "ate"),
                count(sentences, "ote"),
                *labels(every[split]),
                max(len(row["tuples"]) for row in every[split]),
            )
    assert table(card("aste_v2"), "split") == found


def test_shapes_of_triplets(card, table, read):
    found = {}
    for domain in ASTE:
        every = [sentence for rows in read(ASTEV2, domain, repeats=True).values() for sentence in rows]
        spans = [(fields["target"], fields["opinion"]) for row in every for fields in row["tuples"]]
        pairs = [row["tuples"] for row in subtask_rows(every, "aope")]
        found[domain] = (
            len(spans),
            sum(end - start > 1 for (start, end), _ in spans),
            sum(end - start > 1 for _, (start, end) in spans),
            sum(opinion < target for target, opinion in spans),
            sum(of < until and start < end for (start, until), (of, end) in spans),
            shared(pairs, "target"),
            shared(pairs, "opinion"),
        )
    assert table(card("aste_v2"), "domain") == found
    for domain in ASTE:  # no target has two labels
        for rows in read(ASTEV2, domain).values():
            assert all(len(row["tuples"]) == 1 for row in subtask_rows(rows, "alsc"))


def shared(sentences, field):
    """Targets or opinions that stand in more than one pair."""
    return sum(n > 1 for pairs in sentences for n in Counter(pair[field] for pair in pairs).values())


def test_majority(card, read):
    """The share of the commonest label among the targets of test."""
    for domain, told in zip(ASTE, ("65.9", "76.4", "67.1", "78.8"), strict=True):
        of_targets = [row["tuples"][0]["label"] for row in subtask_rows(read(ASTEV2, domain)["test"], "alsc")]
        assert f"{100 * Counter(of_targets).most_common(1)[0][1] / len(of_targets):.1f}" == told
        assert f"{told}% ({domain})" in card("aste_v2").text


def test_texts_in_several_splits_of_triplets(card, table, read):
    data = {domain: read(ASTEV2, domain) for domain in ASTE}
    twice = {f"{d} {s}": len(rows) - len(set(texts(rows))) for d, of_one in data.items() for s, rows in of_one.items()}
    assert {name: number for name, number in twice.items() if number} == {
        "14lap train": 6,
        "14res train": 1,
        "16res test": 1,
    }
    pairs = [(d, "train", d, other) for d in ASTE for other in ("validation", "test")]
    pairs += [("15res", "test", "16res", split) for split in ("train", "validation", "test")]
    pairs += [("14res", "train", d, split) for d in ("15res", "16res") for split in ("train", "validation", "test")]
    pairs += [("14res", "test", d, split) for d in ("15res", "16res") for split in ("train", "validation", "test")]
    found = {f"{d} {s}, {e} {t}": (in_common(data[d][s], data[e][t]),) for d, s, e, t in pairs}
    assert table(card("aste_v2"), "splits") == found


def test_bartabsa(card, table, read):
    found = {}
    for part, domains in DOMAINS.items():
        for domain in domains if part != "pengb" else ():
            for split, sentences in read(BARTABSA, f"{part}_{domain}").items():
                tuples = [fields for sentence in sentences for fields in sentence["tuples"]]
                no_label = [fields for fields in tuples if fields["target"] and fields.get("label", "") is None]
                found[f"{part} {domain} {split}"] = (
                    len(sentences),
                    count(sentences, "ate"),
                    count(sentences, "ote"),
                    count(sentences, "aope"),
                    sum(fields.get("label") == "conflict" for fields in tuples),
                    len(no_label),
                )
    assert table(card("bartabsa"), "split") == found


def test_pengb_is_aste_v2(read):
    for domain in ASTE:
        ours, theirs = (
            read(builder, name, repeats=True) for builder, name in ((ASTEV2, domain), (BARTABSA, f"pengb_{domain}"))
        )
        for split in ours:
            assert [(row["text"], row["tuples"]) for row in ours[split]] == [
                (row["text"], row["tuples"]) for row in theirs[split]
            ]


def test_each_opinion_of_penga_is_in_one_triplet(read):
    for domain in ASTE:
        for rows in read(BARTABSA, f"penga_{domain}", repeats=True).values():
            assert num_tuples(rows) == count(rows, "ote")


def test_texts_in_several_splits_of_bartabsa(card, table, read):
    found = {}
    for domain in ASTE:
        penga, pengb, fan = (read(BARTABSA, f"{part}_{domain}") for part in ("penga", "pengb", "fan"))
        found[domain] = (
            len(set(texts(penga["validation"]))),
            in_common(penga["validation"], pengb["train"]),
            len(set(texts(penga["test"]))),
            in_common(penga["test"], pengb["test"]),
            len(set(texts(pengb["test"]))),
            in_common(pengb["test"], fan["test"]),
            len(set(texts(pengb["train"]))),
            in_common(pengb["train"], fan["train"]),
            in_common(pengb["train"], fan["validation"]),
        )
        assert set(texts(pengb["validation"])) == set(texts(fan["validation"]))
    assert table(card("bartabsa"), "domain") == found
    of_wang = {}
    for domain in DOMAINS["wang"]:
        wang = read(BARTABSA, f"wang_{domain}")
        of_wang[domain] = in_common(wang["train"], wang["test"]), in_common(wang["train"], wang["validation"])
    assert of_wang == {"14lap": (1, 6), "14res": (1, 4), "15res": (3, 0)}


def test_records_of_fan(card, table, shared_dir):
    """What is put together: the targets that have several records."""
    found = {}
    for domain in ASTE:
        for split in ("train", "test"):
            file = shared_dir / "data" / "bartabsa" / "fan" / domain / f"{split}_convert.json"
            records = json.loads(file.read_text(encoding="utf-8"))
            keys = {
                (record["raw_words"], record["aspects"][0]["from"], record["aspects"][0]["to"]) for record in records
            }
            num_opinions = sum(len(record["opinions"]) for record in records)
            rows = subtask_rows(BARTABSA.read(file), "aoe")
            assert len(rows) == len(keys)
            found[f"{domain} {split}"] = len(records), len(rows), num_opinions, sum(len(row["tuples"]) for row in rows)
    assert table(card("bartabsa"), "records of fan") == found


def test_mams(card, table, read):
    found = {}
    for name in ("terms", "categories"):
        for split, sentences in read(MAMS, name).items():
            found[f"{name} {split}"] = len(sentences), num_tuples(sentences), *labels(sentences)
    assert table(card("mams"), "split") == found


def test_terms_of_mams_are_their_words(read, shared_dir):
    """In all but those that begin or end inside a word: the characters of the words are the source's."""
    num_differing = []
    for split, name in (("train", "train"), ("validation", "val"), ("test", "test")):
        file = shared_dir / "data" / "mams" / "MAMS-ATSA" / "raw" / f"{name}.xml"
        annotated = [
            {(term["from"], term["to"]) for term in sentence["terms"]}
            for sentence in read_sentences(file, CATEGORIES, own_ids=False)
        ]
        rows = read(MAMS, "terms")[split]
        places = [
            {(row["offsets"][f["target"][0]][0], row["offsets"][f["target"][1] - 1][1]) for f in row["tuples"]}
            for row in rows
        ]
        num_differing.append(sum(len(given - made) for given, made in zip(annotated, places, strict=True)))
    assert num_differing == [10, 0, 1]


def test_texts_of_mams_elsewhere(card, table, read, shared_dir):
    folder = shared_dir / "data" / "semeval2014"
    semeval = [read_sentences(folder / f"Restaurants_{name}.xml", CATEGORIES) for name in ("Train_v2", "Test_Gold")]
    found = {}
    for name, other in (("terms", "categories"), ("categories", "terms")):
        for split, sentences in read(MAMS, name).items():
            others = [*read(MAMS, other).values(), *semeval]
            found[f"{name} {split}"] = tuple(in_common(sentences, rows) for rows in others)
    assert table(card("mams"), "texts of") == found


def test_semeval_2014_has_sentences_without_terms(shared_dir):
    files = ("Restaurants_Train_v2", "Restaurants_Test_Gold", "Laptop_Train_v2", "Laptops_Test_Gold")
    sentences = [read_sentences(shared_dir / "data" / "semeval2014" / f"{name}.xml", CATEGORIES) for name in files]
    counts = [(len(of_one), sum(bool(sentence["terms"]) for sentence in of_one)) for of_one in sentences]
    assert counts == [(3041, 2021), (800, 606), (3045, 1488), (800, 422)]


def test_words_are_mostly_those_of_the_triplets(read, shared_dir):
    """The figures that `word_offsets` tells."""
    shares = []
    for domain, names in (
        ("14lap", ("Laptop_Train_v2", "Laptops_Test_Gold")),
        ("14res", ("Restaurants_Train_v2", "Restaurants_Test_Gold")),
    ):
        files = [shared_dir / "data" / "semeval2014" / f"{name}.xml" for name in names]
        raw = {"".join(s["text"].split()): s["text"] for file in files for s in read_sentences(file, CATEGORIES)}
        rows = [row for split in read(ASTEV2, domain).values() for row in split if "".join(row["words"]) in raw]
        cut = [
            [text[start:end] for start, end in word_offsets(text)]
            for text in (raw["".join(row["words"])] for row in rows)
        ]
        shares.append(sum(words == row["words"] for words, row in zip(cut, rows, strict=True)) / len(rows))
    assert [f"{100 * share:.1f}" for share in shares] == ["96.3", "97.5"]


def test_texts_are_recognised_as_restricted(read):
    """Whoever publishes a model does not publish them by accident."""
    names = [(ASTEV2, domain) for domain in ASTE]
    for builder, name in [*names, *((BARTABSA, name) for name in BARTABSA.SOURCES)]:
        rows = [row for split in read(builder, name).values() for row in split]
        assert (restricted_source(row["text"] for row in rows) or "").startswith("SemEval"), name


@pytest.mark.parametrize(("name", "mixed", "of"), [("14lap", 47, 906), ("14res", 122, 1266)])
def test_few_sentences_of_aste_have_several_labels(read, name, mixed, of):
    train = read(ASTEV2, name)["train"]
    assert len(train) == of
    assert sum(len({one["label"] for one in sentence["tuples"]}) > 1 for sentence in train) == mixed
