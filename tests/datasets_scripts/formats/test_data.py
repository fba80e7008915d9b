"""The files of the data sets: their published counts, and round trips over all formats."""

from itertools import permutations
from pathlib import Path

import pytest

from absa.conversion import FORMATS, guess_format
from datasets_scripts.formats.pivot import Sentence

COUNTS = {  # sentences, opinions with a target, opinions without, sentences out of scope
    "semeval2014/Restaurants_Train.xml": (3044, 3699, 3714, 0),
    "semeval2014/Restaurants_Train_v2.xml": (3041, 3693, 3713, 0),
    "semeval2014/Restaurants_Test_Gold.xml": (800, 1134, 1025, 0),
    "semeval2014/Laptop_Train_v2.xml": (3045, 2358, 0, 0),
    "semeval2014/Laptops_Test_Gold.xml": (800, 654, 0, 0),
    "semeval2015/ABSA-15_Restaurants_Train_Final.xml": (1315, 1279, 375, 41),
    "semeval2015/ABSA15_Restaurants_Test.xml": (685, 597, 248, 22),
    "semeval2015/ABSA-15_Laptops_Train_Data.xml": (1739, 0, 1974, 163),
    "semeval2015/ABSA15_Laptops_Test.xml": (761, 0, 949, 36),
    "semeval2015/ABSA15_Hotels_Test.xml": (266, 264, 75, 10),
    "semeval2016/ABSA16_Restaurants_Train_SB1_v2.xml": (2000, 1880, 627, 63),
    "semeval2016/EN_REST_SB1_TEST.xml.gold": (676, 650, 209, 34),
    "semeval2016/ABSA16_Laptops_Train_SB1_v2.xml": (2500, 0, 2909, 199),
    "semeval2016/EN_LAPT_SB1_TEST_.xml.gold": (808, 0, 801, 113),
    "mams/MAMS-ATSA/raw/test.xml": (500, 1336, 0, 0),
    "mams/MAMS-ACSA/raw/test.xml": (400, 0, 901, 0),
    "sentihood/sentihood-train.json": (2977, 3396, 0, 0),
    "sentihood/sentihood-dev.json": (747, 838, 0, 0),
    "sentihood/sentihood-test.json": (1491, 1677, 0, 0),
    "aste_v2/14lap/train_triplets.txt": (906, 1460, 0, 0),
    "aste_v2/14lap/test_triplets.txt": (328, 543, 0, 0),
    "aste_v2/14res/train_triplets.txt": (1266, 2338, 0, 0),
    "aste_v2/16res/test_triplets.txt": (326, 514, 0, 0),
}
FILE_NAMES = {"brat": "a.ann", "setfit": "a.csv", "custom": "a.jsonl"}


@pytest.fixture
def data(shared_dir: Path) -> Path:
    return shared_dir / "data"


@pytest.fixture
def convert(tmp_path_factory):
    """Writes sentences and reads them again, with the notes."""

    def write_and_read(name: str, sentences: list[Sentence]):
        file = tmp_path_factory.mktemp(name) / FILE_NAMES.get(name, "a.txt")
        notes = +FORMATS[name].write(sentences, file)
        return FORMATS[name].read(file), notes, file

    return write_and_read


def read(file: Path) -> list[Sentence]:
    return FORMATS[guess_format(file)].read(file)


@pytest.mark.parametrize("name", COUNTS)
def test_a_file_is_the_same_again(name: str, data: Path, convert):
    sentences = read(data / name)
    opinions = [opinion for sentence in sentences for opinion in sentence.opinions]
    with_target = sum("target" in opinion for opinion in opinions)
    out_of_scope = sum(sentence.is_out_of_scope for sentence in sentences)
    assert (len(sentences), with_target, len(opinions) - with_target, out_of_scope) == COUNTS[name]
    again, notes, file = convert(guess_format(data / name), sentences)
    assert again == sentences
    assert not notes
    assert not name.startswith("aste") or file.read_bytes() == (data / name).read_bytes()


@pytest.mark.parametrize(
    "name",
    [
        "semeval2014/Restaurants_Test_Gold.xml",
        "semeval2016/EN_REST_SB1_TEST.xml.gold",
        "sentihood/sentihood-dev.json",
        "aste_v2/14res/test_triplets.txt",
    ],
)
def test_all_that_is_not_written_is_told(name: str, data: Path, convert):
    sentences = read(data / name)
    num_opinions = sum(len(sentence.opinions) for sentence in sentences)
    num_written = 0
    for target in sorted(FORMATS):
        try:
            written, notes, _ = convert(target, sentences)
        except ValueError as error:
            assert "choose another format" in str(error)  # noqa: PT017
            continue
        left = sum(count for note, count in notes.items() if note.startswith("opinions "))
        assert sum(len(sentence.opinions) for sentence in written) == num_opinions - left
        gone = ("sentences without an opinion", "sentences with the text of")
        assert len(written) == len(sentences) - sum(count for note, count in notes.items() if note.startswith(gone))
        num_written += 1
    assert num_written >= 5


def texts_and_opinions(sentences: list[Sentence]) -> list[tuple[str, list[dict]]]:
    return [(sentence.text, sentence.opinions) for sentence in sentences]


@pytest.mark.parametrize(("first", "second"), [*permutations(("apc", "brat", "semeval2014", "setfit"), 2)])
def test_terms_in_their_texts(first: str, second: str, data: Path, convert):
    """Of SemEval-2014, laptops: nothing is lost but sentences without a term."""
    sentences = [sentence for sentence in read(data / "semeval2014/Laptops_Test_Gold.xml") if sentence.opinions]
    by_first, _, _ = convert(first, sentences)
    by_second, _, _ = convert(second, by_first)
    assert texts_and_opinions(by_second) == texts_and_opinions(sentences)
    assert sum(len(sentence.opinions) for sentence in by_second) == 654


@pytest.mark.parametrize(("first", "second"), [("atepc", "bio"), ("bio", "atepc")])
def test_terms_in_their_words(first: str, second: str, data: Path, convert):
    """Of ASTE-Data-V2, whose words are its own: they stay over all formats of words."""
    sentences, notes, _ = convert(first, read(data / "aste_v2/16res/train_triplets.txt"))
    assert set(notes) == {
        "opinion terms: left out",
        "opinions equal another one but for what the format cannot hold: left out",
    }
    by_second, notes, _ = convert(second, sentences)
    assert not notes
    again, notes, _ = convert(first, by_second)
    assert not notes
    assert again == sentences
    assert (len(again), sum(len(sentence.opinions) for sentence in again)) == (857, 1198)


def test_triplets_in_brat(data: Path, convert):
    """Its files have no words of their own: of 906 texts, 43 are cut otherwise by `word_offsets`."""
    sentences = read(data / "aste_v2/14lap/train_triplets.txt")
    by_brat, notes, _ = convert("brat", sentences)
    assert notes == {"sentences with words of their own: these are left out": 43}
    assert texts_and_opinions(by_brat) == texts_and_opinions(sentences)


def test_terms_that_are_cut(data: Path, convert):
    """13 terms of version 1 end inside a word, as NOTES says, and 2 more inside one of `word_offsets`."""
    _, notes, _ = convert("bio", read(data / "semeval2014/Restaurants_Train.xml"))
    assert notes["spans that begin or end inside a word: those of the whole word now"] == 15
