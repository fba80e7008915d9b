"""CoNLL-U: words, tokens of several words, empty nodes, errors, and the counts of the English Web Treebank."""

import re
from collections import Counter, defaultdict

import pytest

from datasets_scripts import CoNLLU, load_absa_dataset
from datasets_scripts.conllu.conllu import UPOS


def word(number, form, upos="_", xpos="_"):
    return "\t".join([number, form, "_", upos, xpos, *"_____"])


SENTENCE = "\n".join(
    [
        "# newdoc id = a",
        "# sent_id = a-1",
        "# text = Don't say _ #1 = fun",
        word("1-2", "Don't"),
        word("1", "Do", "AUX", "VB"),
        word("2", "n't", "PART", "RB"),
        word("3", "say", "VERB", "VB"),
        word("3.1", "say", "VERB", "VB"),
        word("4", "_", "NOUN", "NN"),
        word("5", "#1", "NOUN", "NN"),
    ]
)
WITHOUT_COMMENTS = word("1", "Yes", "INTJ", "UH") + "\r\n" + word("2", ".", "PUNCT", ".")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "source").mkdir()
    for split in ("train", "dev", "test"):
        content = f"{SENTENCE}\n\n{WITHOUT_COMMENTS}\n" if split == "train" else f"{WITHOUT_COMMENTS}\n\n"
        (tmp_path / "source" / f"en_ewt-ud-{split}.conllu").write_bytes(content.encode())
    return tmp_path / "source"


@pytest.fixture
def load(folder, tmp_path):
    return lambda **options: load_absa_dataset("conllu", data_dir=folder, cache_dir=tmp_path / "cache", **options)


def test_words(load):
    rows = load()["train"]
    names = rows.features["tags"].feature.names
    assert names == ["AUX", "INTJ", "NOUN", "PART", "PUNCT", "VERB"]
    assert rows[0] == {
        "id": "a-1",
        "text": "Don't say _ #1 = fun",
        "tokens": ["Do", "n't", "say", "_", "#1"],
        "tags": [names.index(tag) for tag in ("AUX", "PART", "VERB", "NOUN", "NOUN")],
    }
    assert rows[1] == {"id": "12", "text": "Yes .", "tokens": ["Yes", "."], "tags": [1, 4]}
    xpos = load(tags="xpos")["train"]
    assert xpos.features["tags"].feature.names == [".", "NN", "RB", "UH", "VB"]


def test_tokens_as_they_are_written(load):
    rows = load(units="tokens")["train"]
    assert rows[0]["tokens"] == ["Don't", "say", "_", "#1"]
    assert rows.features["tags"].feature.int2str(rows[0]["tags"]) == ["AUX+PART", "VERB", "NOUN", "NOUN"]


def test_another_treebank(folder, tmp_path):
    splits = load_absa_dataset(
        "conllu", data_files={"train": folder / "en_ewt-ud-train.conllu"}, cache_dir=tmp_path / "cache"
    )
    assert {split: len(rows) for split, rows in splits.items()} == {"train": 2}


@pytest.mark.parametrize(
    ("lines", "options", "told"),
    [
        ([word("1", "a", "NOUN") + "\t_"], {}, r"line 4: '1\\ta\\t.*' has 11 columns; write 10, separated by tabs"),
        ([word("1", "a", "NN")], {}, r"line 4, column 4: 'NN' is no universal tag; write one of ADJ, ADP"),
        ([word("1", "a", "NOUN")], {"tags": "xpos"}, r"line 4, column 5: '_' is no tag; a treebank without XPOS has"),
        ([word("2", "a", "NOUN")], {}, r"line 4: '2' is not the id 1 that follows; put an empty line between sent"),
        ([word("1", "", "NOUN")], {}, r"line 4: .* has no form"),
        (
            [word("1-2", "ab"), word("1", "a", "X")],
            {"units": "tokens"},
            r"line 4: '1-2' is no range of the words 1 to",
        ),
        (["# text = a"], {}, r"line 4: no words up to the next empty line"),
        (["# sent_id = 1", word("1", "a", "X")], {}, r"line 4, field 'id': '1' occurs twice; give each sentence its"),
    ],
)
def test_malformed_files(load, folder, lines, options, told):
    content = "\n".join([word("1", "a", "X", "X"), "", "", *lines])
    (folder / "en_ewt-ud-dev.conllu").write_text(content)
    with pytest.raises(ValueError, match=f"en_ewt-ud-dev.conllu, {told}"):
        load(**options)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"tags": "pos"}, "tags='pos': choose one of upos, xpos"),
        ({"units": "characters"}, "units='characters': choose one of words, tokens"),
        ({"config_name": "de_gsd"}, "config_name='de_gsd': choose one of en_ewt"),
    ],
)
def test_bad_options(folder, options, told):
    with pytest.raises(ValueError, match=re.escape(told)):
        CoNLLU(data_dir=folder, **options)


@pytest.fixture(scope="module")
def read(shared_dir):
    def read_ewt(**options):
        builder = CoNLLU(data_dir=shared_dir / "data" / "ner_pos" / "ud_english_ewt", **options)
        return builder.read_splits(builder.local_files)

    return read_ewt


def tags_in(sentences):
    return {tag for sentence in sentences for tag in sentence["tags"]}


def units_in(sentences):
    return sum(len(sentence["tokens"]) for sentence in sentences)


def floor(splits):
    """Accuracy on test of the most frequent tag of each lower-cased word in train, or of all words."""
    of_word, of_all = defaultdict(Counter), Counter()
    for row in splits["train"]:
        for token, tag in zip(row["tokens"], row["tags"], strict=True):
            of_word[token.lower()][tag] += 1
            of_all[tag] += 1
    right = [
        (of_word.get(token.lower()) or of_all).most_common(1)[0][0] == tag
        for row in splits["test"]
        for token, tag in zip(row["tokens"], row["tags"], strict=True)
    ]
    return 100 * sum(right) / len(right)


def test_counts_of_the_card(card, table, read):
    upos, xpos, tokens = read(), read(tags="xpos"), read(units="tokens")
    found = {
        split: (
            len(upos[split]),
            units_in(upos[split]),
            units_in(tokens[split]),
            sum("+" in tag for row in tokens[split] for tag in row["tags"]),
            len(tags_in(upos[split])),
            len(tags_in(xpos[split])),
        )
        for split in upos
    }
    assert found == table(card("conllu"), "split")
    assert tags_in(upos["test"]) == set(UPOS)
    assert tags_in(xpos["validation"]) | tags_in(xpos["test"]) <= tags_in(xpos["train"])
    assert max(len(row["tokens"]) for rows in upos.values() for row in rows) == 159
    for splits, accuracy in ((upos, "86.16 % for upos"), (xpos, "83.70 % for xpos")):
        assert f"{floor(splits):.2f} %" == accuracy[:7]
        assert accuracy in card("conllu").text
