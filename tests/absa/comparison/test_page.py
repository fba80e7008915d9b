"""The table of runs, and the page: what it says, that it stands alone, and that nobody's text is markup."""

from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from absa.comparison.answers import TupleRows
from absa.comparison.page import ComparisonArguments, compare, page, pieces_of
from absa.comparison.rows import questions_of, rows_of, rows_of_tuples
from absa.comparison.runs import read_run, way_of

pytestmark = pytest.mark.filterwarnings("ignore::absa.metrics.ratios.DegenerateScoreWarning")
VOID = {"meta", "br"}


class Parsed(HTMLParser):
    """Tags with their attributes, the text of each article and what is marked; fails at a tag that is not closed."""

    def __init__(self, html: str):
        super().__init__()
        self.open, self.tags, self.articles, self.marked = [], [], [], []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "article":
            self.articles.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "article" in self.open:
            self.articles[-1] += data
        if "mark" in self.open:
            self.marked.append(data)


def write_rows(folder: Path, answers: list[tuple[str, float]], seed: int = 1) -> Path:
    """A run of one seed with these answers to terms of two sentences."""
    texts = ["The <script>alert(1)</script> & fish", "Cold fish, nice staff", "Cold fish, nice staff"]
    rows = pd.DataFrame({"id": ["1", "2", "2"], "text": texts, "target": ["fish", "fish", "staff"], "aspect": ""})
    rows["target_start"] = [text.index(target) for text, target in zip(rows["text"], rows["target"], strict=True)]
    rows["target_end"] = rows["target_start"] + rows["target"].str.len()
    rows["label"] = ["positive", "negative", "positive"]
    for label in ("positive", "negative"):
        rows[f"p_{label}"] = [p if answer == label else 1 - p for answer, p in answers]
    (folder / f"seed-{seed}").mkdir(parents=True)
    rows.to_parquet(folder / f"seed-{seed}" / "test_probabilities.parquet")
    (folder / f"seed-{seed}" / "results.json").write_text("{}")
    (folder / "arguments.json").write_text('{"dataset": "aspect_polarity", "data_config": "restaurants_terms"}')
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """The first one is right everywhere, the second wrong once, the third twice, and most so about the last row."""
    right = [("positive", 0.9), ("negative", 0.8), ("positive", 0.7)]
    wrong = [right[0], ("positive", 0.6), right[2]], [("negative", 0.55), right[1], ("negative", 0.95)]
    return [write_rows(tmp_path / name, answers) for name, answers in zip("abc", (right, *wrong), strict=True)]


def test_the_table(runs: list[Path]):
    comparison = compare(ComparisonArguments(runs, names=["A", "B", "C"], resamples=5, texts=0))
    printed = str(comparison).splitlines()
    assert printed[0] == (
        "aspect_polarity restaurants_terms, test split: 3 rows of 2 sentences, scored as aspect_polarity"
    )
    assert printed[2] == "| % | seeds | accuracy | macro_f1 | mixed_accuracy | parameters | texts/s | MB |"
    assert printed[4].startswith("| A | 1 | 100.0 [100.0, 100.0] | 100.0 [100.0, 100.0] |")
    assert [line.name for line in comparison.lines] == ["A", "B", "B minus A", "C", "C minus A"]
    assert printed[6].startswith("| B minus A | 1 | -33.3 [-")
    assert not any("texts/s:" in line for line in printed), "no speed was measured"


def test_the_page_shows_the_rows_that_differ_most_first(runs: list[Path]):
    parsed = Parsed(page(compare(ComparisonArguments(runs, names=["A", "B", "C"], resamples=5, texts=0))))
    assert ["Cold" in article for article in parsed.articles] == [True, False, True]
    assert parsed.marked == ["target", "staff", "fish", "fish"], "the first one says what is marked"
    articles = [attributes for tag, attributes in parsed.tags if tag == "article"]
    assert articles[0] == {"data-right": "0 1", "data-wrong": "2"}
    assert articles[2] == {"data-right": "0 2", "data-wrong": "1"}
    assert "✓Apositive0.70" in "".join(parsed.articles[0].split())
    assert "✗Cnegative0.95" in "".join(parsed.articles[0].split())
    options = [attributes["value"] for tag, attributes in parsed.tags if tag == "option"]
    assert options == ["", "0", "1", "2"] * 2


def test_the_page_stands_alone_and_escapes_texts_and_names(runs: list[Path]):
    html = page(compare(ComparisonArguments(runs, names=["<b>A</b>", '"B"', "C & D"], resamples=5, texts=0)))
    parsed = Parsed(html)
    assert [tag for tag, _ in parsed.tags].count("script") == 1, "the page's own"
    assert "b" not in {tag for tag, _ in parsed.tags}
    assert "The <script>alert(1)</script> & fish" in parsed.articles[1]
    assert "<b>A</b>" in parsed.articles[1]
    assert not {"src", "href"} & {name for _, attributes in parsed.tags for name in attributes}
    assert "http" not in html
    assert "@import" not in html


def test_seeds_that_are_not_shared(runs: list[Path], tmp_path: Path):
    other = write_rows(tmp_path / "d", [("positive", 0.9), ("positive", 0.8), ("positive", 0.7)], seed=7)
    comparison = compare(ComparisonArguments([runs[0], other], resamples=5, texts=0))
    assert comparison.lines[2].cells["accuracy"] == "no seed in common"
    assert "1 of 3 rows are answered differently by seed 1 of a, seed 7 of d;" in page(comparison)


def test_questions_of_rows(runs: list[Path]):
    way = way_of([read_run(runs[0], "a")])
    text = "Cold fish, nice staff"
    assert questions_of(way, [runs[0] / "seed-1"])[text] == [
        {"text": text, "target": "fish", "target_start": 5, "target_end": 9, "aspect": ""},
        {"text": text, "target": "staff", "target_start": 16, "target_end": 21, "aspect": ""},
    ]


def test_answers_without_texts(runs: list[Path]):
    for run in runs:
        file = run / "seed-1" / "test_probabilities.parquet"
        pd.read_parquet(file).drop(columns="text").to_parquet(file)
    comparison = compare(ComparisonArguments(runs, resamples=5, texts=0))
    with pytest.raises(ValueError, match=r"seed-1 has no texts beside its answers, since an earlier release wrote"):
        page(comparison)


def test_places_that_are_found(write_run):
    """A row for each place of a tagger: with a label in gold, or found by a run."""
    folders = [write_run("a", "tagging", {1: 1.0}), write_run("bb", "tagging", {1: 0.5})]
    runs = [read_run(folder, folder.name) for folder in folders]
    rows = rows_of(way_of(runs), [run.checkpoint for run in runs])
    tags = pd.read_parquet(folders[0] / "seed-1" / "test_tags.parquet")["tags"]
    assert len(rows) == sum(tag != "O" for of_sentence in tags for tag in of_sentence)
    assert all(row.answers[0][:3] == (row.gold, 0.5, True) for row in rows)
    lost = [row for row in rows if not row.answers[1].is_right]
    assert {row.answers[1] for row in lost} == {("nothing", None, False, 0.0)}
    assert all(row.marks == [(row.marks[0][0], row.marks[0][0] + 1, "target")] for row in rows)


def test_a_place_with_two_labels():
    """The likelier one's probability is shown; how much the run holds gold to be right is that of gold's."""
    tuples = [{"target": (0, 1), "label": label} for label in ("positive", "negative")]
    gold = [tuples[1:], tuples, []]
    one = TupleRows(["1"] * 3, [["a"]] * 3, [None] * 3, gold, [tuples] * 3, [[0.2, 0.7]] * 3, [False] * 3)
    rows = list(rows_of_tuples([one]))
    both = "negative + positive"
    assert [row.gold for row in rows] == ["negative", both, "nothing"]
    assert [row.answers for row in rows] == [
        [(both, 0.7, False, 0.7)],
        [(both, 0.7, True, 0.7)],
        [(both, 0.7, False, 0.0)],
    ]


def test_given_targets_and_opinions_are_marked(write_run):
    (run,) = [read_run(write_run("a", "generation", {1: 1.0}, subtask="alsc"), "a")]
    rows = rows_of(way_of([run]), [run.checkpoint])
    assert rows[0].marks == [(0, 1, "target")]
    assert rows[0].asked == "a"
    questions = questions_of(way_of([run]), [run.checkpoint])
    assert questions["a b c"][0] == {"text": "a b c", "target": "a", "target_start": 0, "target_end": 1}
    (run,) = [read_run(write_run("b", "generation", {1: 1.0}), "b")]
    rows = rows_of(way_of([run]), [run.checkpoint])
    assert rows[0].marks == [(0, 1, "target"), (4, 5, "opinion")]
    assert rows[0].asked == "a · c"
    assert rows[0].answers[0].score == pytest.approx(0.75)
    assert questions_of(way_of([run]), [run.checkpoint])["a b c"] == [{"text": "a b c"}] * 40


def test_pieces_of_marks_that_overlap():
    marks = [(4, 10, "target"), (8, 14, "opinion")]
    assert pieces_of("The nice staff!", marks) == [
        ("The ", ""), ("nice", "target"), (" s", "opinion target"), ("taff", "opinion"), ("!", "")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"names": ["A"]}, "names has 1 names for 2 runs: give one for each"),
        ({"names": ["A", "A"]}, "names=A A: a name stands twice"),
        ({"resamples": 0}, "resamples=0: give at least 1"),
        ({"texts": -1}, "texts=-1: give at least 0"),
        ({"output": Path()}, r"output=\. is a folder: give a file, such as comparison.html"),
    ],
)
def test_arguments(tmp_path: Path, options: dict, told: str):
    with pytest.raises(ValueError, match=told):
        ComparisonArguments([tmp_path / "a", tmp_path / "b"], **options)


def test_folders_of_one_name_are_called_by_their_paths():
    arguments = ComparisonArguments([Path("x/run"), Path("y/run")])
    assert arguments.names == ["x/run", "y/run"]
    assert ComparisonArguments([Path("x/one"), Path("y/two")]).names == ["one", "two"]
