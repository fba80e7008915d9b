"""Targets that one model finds and another judges, on the test split of E2E-ABSA."""

import json
import shutil
from pathlib import Path

import pytest

import found_and_judged
import grids
import report
import results
from absa.opinions import Opinion
from datasets_scripts import load_absa_dataset

SPLITS = {"train": "Laptop_Train_v2.xml", "test": "Laptops_Test_Gold.xml"}


def test_an_opinion_is_right_in_its_place_and_label():
    gold = [[{"target": (4, 9), "label": "positive"}, {"target": (20, 24), "label": "negative"}], [], []]
    found = [(4, 9, "positive"), (4, 9, "positive"), (20, 24, "neutral"), (0, 3, "negative"), (11, 14, None)]
    said = [[Opinion(0, "", *place, label=label) for *place, label in found], [], []]
    # Two of the three places that have a label are right, one of them in its label; two are wanted.
    assert found_and_judged.scores(lambda texts: said, ["", "", ""], gold) == pytest.approx(
        {"f1": 2 / 5, "precision": 1 / 3, "recall": 1 / 2, "ate_f1": 4 / 5, "label_accuracy": 1 / 2}
    )


@pytest.mark.parametrize(
    ("domain", "sizes"), [("laptop14", (411, 638, 629, 9, 5)), ("rest14", (600, 1120, 1103, 17, 19))]
)
def test_terms_of_both_data_sets(domain: str, sizes: tuple, shared_dir: Path):
    tagged = load_absa_dataset("e2e_absa", domain, data_dir=shared_dir / "data/e2e_absa")["test"]
    options = {"data_dir": shared_dir / "data/semeval2014", "dev_split": "none"}
    rows = load_absa_dataset("aspect_polarity", found_and_judged.TERMS[domain], **options)["test"]
    gold = found_and_judged.terms_of(tagged, rows)
    assert len(gold) == 800
    differing = found_and_judged.differing_terms(tagged, gold)
    assert (sum(map(bool, gold)), sum(map(len, gold)), *differing.values()) == sizes


@pytest.fixture
def words(tiny_laptop14: Path, save_word_model, finished_tagger: Path, tmp_path: Path) -> list[str]:
    """Of a command: a trained tagger, a classifier of random weights, and the same sentences in both formats."""
    for split, name in SPLITS.items():
        sentences = []
        for line in (tiny_laptop14 / "laptop14" / f"{split}.txt").read_text().splitlines():
            text, polarity = line.partition("####")[0], "positive" if "T-POS" in line else "negative"
            start = text.index("price")
            term = f'<aspectTerm term="price" polarity="{polarity}" from="{start}" to="{start + 5}"/>'
            about = f"<text>{text}</text><aspectTerms>{term}</aspectTerms>"
            sentences.append(f'<sentence id="{len(sentences)}">{about}</sentence>')
        (tmp_path / name).write_text(f"<sentences>{''.join(sentences)}</sentences>", encoding="utf-8")
    run = {"task": "tagging", "model_type": "global_context", "dataset": "e2e_absa", "data_config": "laptop14"}
    grid = {"title": "laptops", "split": "test", "seeds": [42, 43], "runs": {"BERT": run}}
    (tmp_path / "tiny.yaml").write_text(json.dumps(grid))
    name = grids.run_name(grids.read_grid(tmp_path / "tiny.yaml").runs["BERT"])
    shutil.copytree(finished_tagger / "seed-42", tmp_path / "runs" / name / "seed-42")
    classifier = save_word_model("the price is safe dangerous cheap dear near far nice dull test 0 1 2 3")
    shutil.copytree(classifier, tmp_path / "classifier/seed-42")
    (tmp_path / "classifier/seed-42/results.json").write_text("{}")
    words = [tmp_path / "tiny.yaml", "--tagger", "BERT", "--classifier", tmp_path / "classifier"]
    words += ["--output_dir", tmp_path / "runs", "--results_dir", tmp_path]
    return [*map(str, words), "--data_dirs", f"e2e_absa={tiny_laptop14}", f"aspect_polarity={tmp_path}"]


def test_a_finder_alone_and_judged(words, run_here, tmp_path: Path):
    printed = run_here("study/found_and_judged.py", *words)
    assert "16 texts, 16 terms: 16 in both, 0 in aspect_polarity alone, 0 in e2e_absa alone" in printed
    grid = grids.read_grid(tmp_path / "tiny.yaml")
    found = results.read_analysis(tmp_path, "found_and_judged", grid)
    assert {label: list(seeds) for label, seeds in found.items()} == {"BERT": ["42"]}
    alone, judged = found["BERT"]["42"].values()
    assert alone["ate_f1"] == judged["ate_f1"] > 0.5
    assert judged["label_accuracy"] < 1
    lines = report.tables_of(grid, {}, results.analyses_in(tmp_path))["tiny_found_and_judged"].splitlines()
    assert lines[0] == "| laptops, % | seeds | F1 | precision | recall | borders | polarity of these |"
    assert [line.split(" | ")[:2] for line in lines[2:]] == [["| BERT, alone", "1"], ["| BERT, judged", "1"]]


def test_models_and_files_that_do_not_fit(words, run_here, shared_dir: Path):
    for changes, told in (
        (["--tagger", "LSTM"], "tagger=LSTM is not in tiny, which has BERT"),
        (["--generator", "nowhere"], r"nowhere and .* have no seed of \[42, 43\] in common"),
        (["--data_dirs", words[-2], f"aspect_polarity={shared_dir}/data/semeval2014"], "and e2e_absa has not: give"),
    ):
        with pytest.raises((ValueError, FileNotFoundError), match=told):
            run_here("study/found_and_judged.py", *words, *changes)
