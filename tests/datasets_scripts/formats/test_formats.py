"""Formats of annotated sentences: what is read, what is written again, and what is told of that which is not."""

from itertools import permutations
from pathlib import Path

import pytest

from absa.conversion import FORMATS
from datasets_scripts import load_absa_dataset
from datasets_scripts.formats.pivot import Sentence

NAMES = sorted(set(FORMATS) - {"semeval2015"})  # whose module is that of semeval2016


def at(text: str, words: str, name: str = "target", times: int = 1) -> dict:
    """Words and the place where they stand for the first, or the second, time."""
    start = -1
    for _ in range(times):
        start = text.index(words, start + 1)
    return {name: words, f"{name}_start": start, f"{name}_end": start + len(words)}


READ = {
    "apc": [
        (" Great food but the service was dreadful!", [("food", "positive"), ("service", "negative")]),
        ("The café is a café, 4 € a cup.", [("café", "2")]),
    ],
    "atepc": [
        ("Great food but the room service was 4 € !", [("food", "positive"), ("room service", None)]),
        ("Bad tea", [("Bad tea", "negative"), ("tea", "conflict")]),
    ],
    "bio": [
        ("Great food but the room service €", [("food", "positive"), ("room service", "negative"), ("€", None)]),
        ("So", []),
        ("tea cup", [("tea", "neutral"), ("cup", "conflict")]),
    ],
    "semeval2014": [
        (
            "But the staff was so horrible & the €4 tea!",
            [("staff", "negative"), ("€4 tea", "conflict"), (None, "negative"), (None, "negative")],
        ),
        (" Nothing. ", []),
    ],
    "aste": [
        ("Great food but the room service was n't €4 #### .", [("food", "positive"), ("room service", "negative")]),
        ("So .", []),
        ("Fine tea", [("tea", "neutral")]),
    ],
    "sentihood": [
        (" LOCATION1 is € € €, LOCATION2 is not", [("LOCATION1", "negative"), ("LOCATION2", "positive")]),
        ("I like LOCATION1", []),
    ],
    "brat": [
        ("Great food, but service was dreadful for 4 € a", [("food", "positive"), ("service", None)]),
        ("So!", [(None, "neutral")]),
    ],
    "custom": [
        ('Good, "fresh" € soup', [("soup", "positive"), (None, "none")]),
        ("Two\nlines", [(None, "very good")]),
    ],
}


@pytest.mark.parametrize("name", READ)
def test_targets_and_labels(name: str, examples, read_content):
    sentences = read_content(name, examples[name][1])
    found = [
        (sentence.text, [(opinion.get("target"), opinion.get("label")) for opinion in sentence.opinions])
        for sentence in sentences
    ]
    assert found == READ[name]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_read_is_written_again(name: str, examples, read_content, tmp_path: Path):
    """Byte for byte, and nothing is told."""
    file_name, content = examples[name]
    sentences = read_content(name, content)
    for sentence in sentences:
        for opinion in sentence.opinions:
            for field in ("target", "opinion"):
                if f"{field}_start" in opinion:
                    place = slice(opinion[f"{field}_start"], opinion[f"{field}_end"])
                    assert sentence.text[place] == opinion[field]
    written = tmp_path / "again" / file_name
    written.parent.mkdir()
    assert not +FORMATS[name].write(sentences, written)
    assert written.read_bytes() == content.encode()
    with pytest.raises(FileExistsError, match=r"is there already; remove it, or choose another name"):
        FORMATS[name].write(sentences, written)


def test_places(examples, read_content):
    read = {name: read_content(name, examples[name][1]) for name in NAMES}
    assert [one["target_start"] for one in read["setfit"][0].opinions] == [4, 32]
    assert read["apc"][0].opinions[1]["target_start"] == 20
    assert [one["aspect"] for one in read["semeval2014"][0].opinions[2:]] == ["service"] * 2
    assert [one.get("target_start") for one in read["semeval2016"][0].opinions] == [4, 17, None]
    assert [one.is_out_of_scope for one in read["semeval2016"]] == [False, True, False]
    assert read["aste"][0].opinions[1] | at(read["aste"][0].text, "was n't", "opinion") == read["aste"][0].opinions[1]
    assert read["brat"][1].opinions == [{**at("So!", "So!", "opinion"), "label": "neutral"}]
    assert {name: [one.id for one in sentences] for name, sentences in read.items()} == {
        **{name: ["1", "2"] for name in ("apc", "atepc", "brat", "setfit")},
        **{name: ["1", "2", "3"] for name in ("aste", "bio")},
        "custom": ["7", "b"],
        "semeval2014": ["3121", "b#1"],
        "semeval2016": ["1004293:0", "1004293:1", "h_3#0"],
        "sentihood": ["302", "b"],
    }


# Sentences of words that every format cuts in the same way, with what all formats of the group can hold.
FIRST, SECOND = "Great food and great tea , but the service was dreadful .", "Bad food for 4 $ , LOCATION1 !"
TERMS = [
    Sentence(
        "1",
        FIRST,
        [
            {**at(FIRST, "food"), "label": "positive"},
            {**at(FIRST, "great tea"), "label": "neutral"},
            {**at(FIRST, "service"), "label": "negative"},
        ],
    ),
    Sentence("2", SECOND, [{**at(SECOND, "4 $"), "label": "conflict"}]),
]
GROUPS = {
    "terms": (("apc", "atepc", "bio", "brat", "semeval2014", "setfit"), TERMS),
    "triplets": (
        ("aste", "brat"),
        [
            Sentence(
                "1",
                FIRST,
                [
                    {**at(FIRST, "food"), **at(FIRST, "Great", "opinion"), "label": "positive"},
                    {**at(FIRST, "service"), **at(FIRST, "was dreadful", "opinion"), "label": "negative"},
                ],
            ),
            Sentence("2", SECOND, []),
        ],
    ),
    "targets with an aspect": (
        ("brat", "semeval2016"),
        [
            Sentence("1", FIRST, [{**at(FIRST, "food"), "aspect": "FOOD#QUALITY", "label": "positive"}]),
            Sentence("2", SECOND, [{**at(SECOND, "food"), "aspect": "FOOD#PRICES", "label": "negative"}]),
        ],
    ),
    "aspects": (
        ("custom", "semeval2014", "semeval2016"),
        [
            Sentence("1", FIRST, [{"aspect": "FOOD#QUALITY", "label": "positive"}]),
            Sentence(
                "2", SECOND, [{"aspect": "FOOD#QUALITY", "label": "negative"}, {"aspect": "A#B", "label": "neutral"}]
            ),
        ],
    ),
    "names with an aspect": (
        ("custom", "sentihood"),
        [Sentence("1", SECOND, [{"target": "LOCATION1", "aspect": "price", "label": "negative"}])],
    ),
}


@pytest.mark.parametrize(
    ("group", "first", "second"),
    [(group, *pair) for group, (names, _) in GROUPS.items() for pair in permutations(names, 2)],
)
def test_nothing_is_lost_between_formats_that_hold_the_same(group: str, first: str, second: str, write_and_read):
    sentences = GROUPS[group][1]
    by_first, notes = write_and_read(first, sentences)
    assert notes == {}
    by_second, notes = write_and_read(second, by_first)
    assert notes == {}
    again, notes = write_and_read(first, by_second)
    assert notes == {}
    assert again == by_first
    assert [one._replace(words=None) for one in by_second] == sentences


TEXT = "Great food\nat LOCATION1, great food."
RICH = [
    Sentence(
        "x7",
        TEXT,
        [
            {
                **at(TEXT, "food"),
                **at(TEXT, "Great", "opinion"),
                **{"aspect": "FOOD#QUALITY", "label": "positive", "score": 0.9, "probabilities": {"positive": 0.9}},
            },
            {**at(TEXT, "food"), "aspect": "FOOD#PRICES", "label": "positive"},
            {"target": "LOCATION1", "aspect": "price", "label": "negative"},
            {"aspect": "food", "label": "conflict"},
            {**at(TEXT, "great", "opinion"), "label": "neutral"},
            at(TEXT, "foo", times=2),
        ],
    ),
    Sentence("2", "The other €4 .", [], [(0, 3), (4, 9), (10, 12), (13, 14)], is_out_of_scope=True),
]
PLACED = {"targets: given the place of their only occurrence in the text": 1}
PREDICTED = {"scores: left out": 1, "probabilities: left out": 1}
OF_TERMS = PLACED | PREDICTED | {"aspects: left out": 2, "opinion terms: left out": 1}
OF_TERMS["opinions equal another one but for what the format cannot hold: left out"] = 1
IN_WORDS = {
    "texts: their words have one blank between them now": 1,
    "ids of sentences: left out": 1,
    "marks of out of scope: left out": 1,
}
ON_A_LINE = {"texts: line breaks are blanks now": 1}
CUT = {"spans that begin or end inside a word: those of the whole word now": 1}
NO_LABEL = {"opinions have no label: left out": 1}
SILENT = {"sentences without an opinion: left out": 1}
OWN_WORDS = {"sentences with words of their own: these are left out": 1}
SCOPE = {"marks of out of scope: left out": 1}
TOLD = {
    "apc": (OF_TERMS | ON_A_LINE | NO_LABEL | SILENT)
    | {"opinions have no target: left out": 2, "ids of sentences: left out": 1},
    "aste": (PLACED | PREDICTED | IN_WORDS)
    | {"aspects: left out": 1, "opinions have no opinion term: left out": 3, "opinions have no target: left out": 2},
    "atepc": OF_TERMS | IN_WORDS | CUT | {"opinions have no target: left out": 2},
    "bio": OF_TERMS | IN_WORDS | CUT | {"opinions have no target: left out": 2},
    "brat": (PLACED | PREDICTED | ON_A_LINE | OWN_WORDS | SCOPE)
    | {"opinions have no target: left out": 1, "ids of sentences: left out": 1},
    "custom": PREDICTED
    | SILENT
    | {"places of targets: left out": 2, "opinion terms: left out": 1, "opinions have no aspect: left out": 2},
    "semeval2014": (OF_TERMS | NO_LABEL | OWN_WORDS | SCOPE)
    | {"opinions have neither a target nor an aspect: left out": 1},
    "semeval2016": (PLACED | PREDICTED | OWN_WORDS)
    | {"opinion terms: left out": 1, "opinions have no aspect of the form ENTITY#ATTRIBUTE: left out": 4},
    "sentihood": {"opinions have another target than LOCATION1 and LOCATION2: left out": 5} | OWN_WORDS | SCOPE,
    "setfit": (OF_TERMS | NO_LABEL | SILENT)
    | {"opinions have no target: left out": 2, "ids of sentences: left out": 1},
}


@pytest.mark.parametrize("name", NAMES)
def test_what_a_format_cannot_hold_is_told(name: str, write_and_read):
    read, notes = write_and_read(name, RICH)
    assert notes == TOLD[name]
    num_left = sum(count for note, count in notes.items() if note.startswith("opinions "))
    assert sum(len(sentence.opinions) for sentence in read) == len(RICH[0].opinions) - num_left
    assert read[0].opinions[0].get("target") in ("food", "LOCATION1")


def test_spans_of_whole_words(write_and_read):
    read, _ = write_and_read("bio", RICH)
    text = "Great food at LOCATION1 , great food ."
    assert read[0].text == text
    assert read[0].opinions[-1] == at(text, "food", times=2)
    assert read[1].words == RICH[1].words


def test_what_cannot_stand_together_is_told(write_and_read):
    text = "Great food and wine , bad tea ."
    label = {"label": "positive"}
    overlapping = [{**at(text, "food and wine"), **label}, {**at(text, "wine"), **label}, {**at(text, "tea"), **label}]
    sentences = [Sentence("1", text, overlapping), Sentence("2", text, overlapping[:1]), Sentence("3", "So .", [])]
    read, notes = write_and_read("bio", sentences)
    assert notes == {"opinions have a target that overlaps another: left out": 1}
    assert [len(sentence.opinions) for sentence in read] == [2, 1, 0]
    one_sentence = {"sentences with the text of the one before: one with it now": 1}
    read, notes = write_and_read("atepc", sentences)
    assert notes == one_sentence
    assert [len(sentence.opinions) for sentence in read] == [4, 0]
    read, notes = write_and_read("apc", sentences)
    assert notes == one_sentence | SILENT
    other = Sentence("2", "Bad tea .", [{**at("Bad tea .", "tea"), "label": "negative"}])
    read, notes = write_and_read("setfit", [sentences[0], other, sentences[1]._replace(id="3")])
    assert notes == {"sentences with the text of an earlier one: one with it now": 1}
    assert [len(sentence.opinions) for sentence in read] == [4, 1]

    named = {"target": "WINE"}  # as own data may write it
    of_aspects = [
        {**named, "aspect": aspect, "label": label}
        for aspect, label in (("price", "positive"), ("taste", "negative"), ("look", "none"))
    ]
    read, notes = write_and_read("setfit", [Sentence("1", text, of_aspects)])
    assert read[0].opinions == [{**at(text, "wine"), "label": label} for label in ("positive", "negative")]
    assert notes == {
        "targets: given the place of their only occurrence in the text": 3,
        "opinions have the label 'none': left out": 1,
        "words with another label than before: both opinions are kept": 1,
        "aspects: left out": 2,
    }

    aspects = [{"aspect": "food", "label": label} for label in ("positive", "negative", "positive")]
    _, notes = write_and_read("semeval2014", [Sentence("1", text, aspects)])
    assert notes == {"opinions contradict an earlier one of the same sentence and category: left out": 1}
    _, notes = write_and_read("custom", [Sentence("1", text, aspects)])
    assert notes == {
        f"opinions {does} an earlier one of the same sentence, target and aspect: left out": 1
        for does in ("contradict", "repeat")
    }


@pytest.mark.parametrize(
    ("name", "text", "opinion", "note"),
    [
        ("apc", "A $T$ tea", {"label": "positive"}, "opinions stand in a text with $T$: left out"),
        ("apc", "I hold $Tea", {"label": "positive"}, "opinions stand in a text with $T$: left out"),
        (
            "custom",
            "A tea",
            {"aspect": "\u200d", "label": "good"},
            "opinions have nothing to see in their aspect: left",
        ),
        ("apc", "A tea", {"label": "good"}, "opinions have the label 'good': left out"),
        ("aste", "A tea", {"label": "conflict"}, "opinions have no opinion term: left out"),
        ("semeval2014", "A tea", {"label": "2"}, "opinions have the label '2': left out"),
        ("semeval2016", "A tea", {"aspect": "A#B", "label": "conflict"}, "opinions have the label 'conflict': left"),
    ],
)
def test_a_format_that_can_hold_nothing_refuses(name, text, opinion, note, write_and_read):
    target = "ea" if "$Tea" in text else "tea"
    sentences = [Sentence("1", text, [{**at(text, target), **opinion}]), Sentence("2", "So.", [])]
    with pytest.raises(ValueError, match="can hold no opinion of these sentences") as raised:
        write_and_read(name, sentences)
    assert f"(1 {note}" in str(raised.value)


def test_a_term_with_and_without_a_label(write_and_read):
    text = "Good tea ."
    opinions = [at(text, "tea"), {**at(text, "tea"), "label": "positive"}]
    read, notes = write_and_read("atepc", [Sentence("1", text, opinions)])
    assert read[0].opinions == opinions[1:]
    assert notes == {"opinions without a label, of a term that has one: left out": 1}


@pytest.mark.parametrize("name", ["apc", "brat"])
@pytest.mark.parametrize(("first", "read_again"), [("\ufeff", "\ufeff"), ("\0", "\ufffd")])
def test_a_text_that_begins_as_files_do(name: str, first: str, read_again: str, write_and_read):
    opinion = {**at(f"{first}good tea", "tea"), "label": "positive"}
    read, notes = write_and_read(name, [Sentence("1", f"{first}good tea", [opinion])])
    assert read == [Sentence("1", f"{read_again}good tea", [opinion])]
    assert notes == ({"texts: NUL is U+FFFD now": 1} if first == "\0" else {})


def test_what_cannot_be_written(write_and_read, tmp_path: Path):
    sentence = Sentence("1", "\ud83d tea", [{**at("\ud83d tea", "tea"), "label": "positive"}])
    with pytest.raises(ValueError, match=r"train.txt: '\\ud83d' is half a surrogate pair; write the whole character"):
        write_and_read("apc", [sentence])
    file = tmp_path / "a.txt"
    with pytest.raises(ValueError, match="half a surrogate pair"):
        FORMATS["apc"].write([sentence], file)
    assert not file.exists()
    with pytest.raises(FileNotFoundError, match=r"there is no folder \S+nowhere; make it"):
        FORMATS["apc"].write([sentence], tmp_path / "nowhere" / "a.txt")


def test_a_format_of_opinions_refuses_sentences_without(write_and_read):
    for name in ("apc", "setfit", "custom"):
        with pytest.raises(ValueError, match="none of 1 sentences has an opinion; choose a format that can hold such"):
            write_and_read(name, [Sentence("1", "So.", [])])


@pytest.mark.parametrize("name", ["aste", "bio", "brat", "semeval2014", "semeval2016", "sentihood"])
def test_a_sentence_with_nothing_to_read_is_told(name: str, write_and_read):
    read, notes = write_and_read(name, [Sentence("1", "\xa0", []), Sentence("2", "So .", [])])
    assert [sentence.text for sentence in read] == ["So ."]
    assert notes["sentences with nothing to read: left out"] == 1


def test_blanks_around_an_aspect_are_told(write_and_read):
    read, notes = write_and_read("custom", [Sentence("1", "So.", [{"aspect": " price", "label": "positive"}])])
    assert read[0].opinions == [{"aspect": "price", "label": "positive"}]
    assert notes == {"opinions have blanks around a target, an aspect or a label: left out": 1}


def test_words_that_do_not_stand_where_an_opinion_says_are_refused(write_and_read):
    wrong = [Sentence("7", "A tea", [{"target": "tea", "target_start": 1, "target_end": 4, "label": "positive"}])]
    with pytest.raises(ValueError, match="sentence '7', field 'target': 'tea' is not what the text has from 1 to 4"):
        write_and_read("setfit", wrong)


@pytest.mark.parametrize("name", ["custom", "semeval2014", "semeval2016", "sentihood"])
def test_two_sentences_with_one_id_are_refused(write_and_read, name: str):
    opinion = {"aspect": "FOOD#PRICES" if name == "semeval2016" else "price", "label": "positive"}
    opinion |= {"target": "LOCATION1"} if name == "sentihood" else {}
    twice = [Sentence("7", f"LOCATION1 is {word}", [opinion]) for word in ("fine", "good")]
    with pytest.raises(ValueError, match="ids of sentences: '7' is that of 2; give each one of its own"):
        write_and_read(name, twice)


def test_control_characters(write_and_read):
    text = "A \x0b tea\x0b"
    read, notes = write_and_read("semeval2014", [Sentence("1", text, [{**at(text, "tea\x0b"), "label": "positive"}])])
    assert notes == {"texts: control characters are U+FFFD now": 1}
    assert read[0].opinions[0]["target"] == "tea\ufffd"
    read, notes = write_and_read(
        "semeval2014", [Sentence("a\x02", "A tea", [{"aspect": "b\x02", "label": "neutral"}])]
    )
    assert (read[0].id, read[0].opinions[0]["aspect"]) == ("a\ufffd", "b\ufffd")
    assert notes["ids of sentences: control characters are U+FFFD now"] == 1
    read, _ = write_and_read(
        "atepc", [Sentence("1", "\u200b tea", [{**at("\u200b tea", "tea"), "label": "positive"}])]
    )
    assert read == [Sentence("1", "tea", [{**at("tea", "tea"), "label": "positive"}], [(0, 3)])]


SPLIT = """Great O -999
food B-ASP {first}
, O -999
bad O -999
tea B-ASP {second}
cup I-ASP {second}
"""


def test_blocks_of_pyabsa_are_one_sentence(read_content):
    blocks = [SPLIT.format(first="2", second="-999"), SPLIT.format(first="-999", second="0")]
    (sentence,) = read_content("atepc", "\r\n".join("\n".join(blocks).split("\n")))
    assert [(one["target"], one["label"]) for one in sentence.opinions] == [("food", "2"), ("tea cup", "0")]
    (sentence,) = read_content("atepc", SPLIT.format(first="-100", second="-100"))
    assert [one.get("label") for one in sentence.opinions] == [None, None]


def test_other_layouts(read_content):
    apc = "\ufeffAmple $T$ there.\r\nparking \r\nnegative\r\n\r\nAmple parking $T$.\r\nthere\r\nNEUTRAL"
    (sentence,) = read_content("apc", apc)
    assert sentence.text == "Ample parking there."
    assert [(one["target"], one["label"]) for one in sentence.opinions] == [
        ("parking", "negative"),
        ("there", "neutral"),
    ]
    (sentence,) = read_content("bio", "tea B-positive\ncup\tI-positive\n")
    assert sentence.opinions == [{**at("tea cup", "tea cup"), "label": "positive"}]
    rows = '{"text": "tea, Tea, tea", "span": "tea", "label": "good", "ordinal": 1}\n'
    (sentence,) = read_content("setfit", rows, "train.jsonl")
    assert sentence.opinions == [{**at("tea, Tea, tea", "tea", times=2), "label": "good"}]
    mams = "<sentences><sentence><text>a tea</text></sentence><sentence><text>b</text></sentence></sentences>"
    assert [one.id for one in read_content("semeval2014", mams)] == ["0", "1"]
    laptops = '<Opinion category="LAPTOP#GENERAL" polarity="positive"/>'
    laptops = f'<sentence id="1"><text>a</text><Opinions>{laptops}</Opinions></sentence>'
    laptops = f'<Reviews><Review rid="1"><sentences>{laptops}</sentences></Review></Reviews>'
    assert read_content("semeval2016", laptops)[0].opinions == [{"aspect": "LAPTOP#GENERAL", "label": "positive"}]


def test_a_target_has_several_opinion_terms_in_brat(read_content):
    lines = "T1\tTarget 6 10\tfood\nT2\tOpinion 0 5\tGreat\nR1\tJudges Arg1:T2 Arg2:T1\nT3\tOpinion 28 36\tdreadful\n"
    with pytest.warns(UserWarning, match="1 notes of annotators are not read"):
        (first, second) = read_content("brat", f"#1\tAnnotatorNotes T1\tsure?\n{lines}R2\tJudges Arg1:T3 Arg2:T1\t\n")
    assert [(one["target"], one["opinion"]) for one in first.opinions] == [("food", "Great"), ("food", "dreadful")]
    assert second.opinions == []


def test_what_is_written_can_be_trained_on(write_and_read, tmp_path: Path):
    """By the data sets of this project that have the same files."""
    FORMATS["bio"].write(TERMS, tmp_path / "train.conll")
    tagged = load_absa_dataset("conll", "columns", data_dir=tmp_path, cache_dir=tmp_path / "cache")["train"]
    assert tagged["text"] == [FIRST, SECOND]
    assert tagged.features["tags"].feature.names == [
        "O",
        *(f"{p}-{t}" for t in ("CON", "NEG", "NEU", "POS") for p in "BI"),
    ]
    FORMATS["custom"].write(GROUPS["aspects"][1], tmp_path / "train.csv")
    rows = load_absa_dataset("custom", data_files={"train": tmp_path / "train.csv"}, cache_dir=tmp_path / "cache")[
        "train"
    ]
    assert rows["id"] == ["1", "2", "2"]
