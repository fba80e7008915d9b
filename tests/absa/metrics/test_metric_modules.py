"""The folders as `evaluate` modules: loading, the cards' examples, and what the wrappers add to the arithmetic."""

import math
import os
import re
import shutil
import subprocess
import sys
import warnings

import pytest
import torch

from absa.metrics.absa.absa import Absa
from absa.metrics.absa.absa_scores import absa_scores
from absa.metrics.semeval2014.semeval2014 import Semeval2014
from absa.metrics.semeval2014.semeval2014_scores import ASPECTS as SEMEVAL_ASPECTS
from absa.metrics.sentihood.sentihood import Sentihood
from absa.metrics.sentihood.sentihood_scores import ASPECTS as SENTIHOOD_ASPECTS
from absa.metrics.sentihood.sentihood_scores import sentihood_scores

MODULES = ("absa", "semeval2014", "sentihood")


def rows(side_field, values, ids=("0", "1"), aspects=SENTIHOOD_ASPECTS):
    keys = [(id, aspect) for id in ids for aspect in aspects]
    return [
        {"id": id, "target": "LOCATION1", "aspect": aspect, side_field: value}
        for (id, aspect), value in zip(keys, values, strict=True)
    ]


REFERENCES = rows("label", ["positive", "negative", "none", "none", "negative", "none", "positive", "none"])
PREDICTIONS = rows("probabilities", [[0.2, 0.7, 0.1], [0.1, 0.2, 0.7], [0.6, 0.2, 0.2], [0.5, 0.4, 0.1]] * 2)


@pytest.fixture
def sentihood(tmp_path):
    return Sentihood(cache_dir=str(tmp_path))


def offline_environment(folder):
    """Environment without network, cache or this repo on the path, so that a metric folder has to stand alone."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "PYTHONPATH"))}
    return environment | {"HF_HOME": str(folder), "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"}


def test_example_of_each_card(repo_root, tmp_path):
    examples = []
    for module in MODULES:
        card = (repo_root / "absa" / "metrics" / module / "README.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```python\n(.*?)^```$", card, flags=re.DOTALL | re.MULTILINE)
        assert blocks, f"the card of {module} has no example"
        examples.append(tmp_path / f"{module}.txt")
        examples[-1].write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "doctest", *examples],
        cwd=repo_root,
        env=offline_environment(tmp_path / "home"),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_each_folder_loads_alone_from_any_directory(repo_root, tmp_path):
    for module in MODULES:
        shutil.copytree(repo_root / "absa" / "metrics" / module, tmp_path / "published" / module)
    program = """
import sys, evaluate
for module in sys.argv[2:]:
    metric = evaluate.load(f"{sys.argv[1]}/{module}")
    print(metric.name, metric.module_type, bool(metric.citation), sorted(metric.features))
"""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "published", *MODULES],
        cwd=elsewhere,
        env=offline_environment(tmp_path / "home"),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{module} metric True ['predictions', 'references']" for module in MODULES]


@pytest.mark.parametrize(
    ("name", "folders"),
    [
        ("keyed_rows.py", MODULES),
        ("figures.py", MODULES),
        ("aspect_groups.py", ("semeval2014", "sentihood")),
    ],
)
def test_common_files_are_equal(repo_root, name, folders):
    assert len({(repo_root / "absa" / "metrics" / folder / name).read_bytes() for folder in folders}) == 1


@pytest.mark.parametrize("module", MODULES)
def test_main_file_imports_every_file_of_its_folder(repo_root, module):
    # `evaluate.load` fetches from the Hub what the main file imports, and does not look further.
    folder = repo_root / "absa" / "metrics" / module
    imported = set(re.findall(r"^from \.(\w+) import", (folder / f"{module}.py").read_text(), flags=re.MULTILINE))
    assert imported == {file.stem for file in folder.glob("*.py")} - {module, "__init__"}


@pytest.mark.filterwarnings("ignore::absa.metrics.sentihood.DegenerateScoreWarning")
def test_compute_joins_by_key(sentihood):
    forward = sentihood.compute(predictions=PREDICTIONS, references=REFERENCES)
    assert forward["strict_accuracy"] == 0.5
    backward = sentihood.compute(predictions=PREDICTIONS[::-1], references=REFERENCES)
    assert str(backward) == str(forward)


@pytest.mark.filterwarnings("ignore::absa.metrics.sentihood.DegenerateScoreWarning")
def test_batches_need_not_hold_the_same_keys(sentihood):
    whole = sentihood.compute(predictions=PREDICTIONS, references=REFERENCES, bootstrap=5, seed=1)
    sentihood.add_batch(predictions=PREDICTIONS[:4], references=REFERENCES[4:])
    sentihood.add_batch(predictions=PREDICTIONS[4:], references=REFERENCES[:4])
    assert str(sentihood.compute(bootstrap=5, seed=1)) == str(whole)


@pytest.mark.filterwarnings("ignore::absa.metrics.sentihood.DegenerateScoreWarning")
def test_compute_equals_the_plain_function(sentihood):
    columns = {f"{field}s": [row[field] for row in REFERENCES] for field in ("id", "target", "aspect", "label")}
    plain = sentihood_scores(**columns, probabilities=[row["probabilities"] for row in PREDICTIONS], bootstrap=3)
    assert str(sentihood.compute(predictions=PREDICTIONS, references=REFERENCES, bootstrap=3)) == str(plain)


def without(row, field):
    return {name: value for name, value in row.items() if name != field}


@pytest.mark.parametrize(
    ("predictions", "references", "message"),
    [
        (PREDICTIONS[1:], REFERENCES, r"predictions lack 1 of the 8 keys .*\('0', 'LOCATION1', 'general'\)"),
        (PREDICTIONS, REFERENCES[:-1], r"references lack 1 of the 8 keys .*\('1', 'LOCATION1', 'safety'\)"),
        ([*PREDICTIONS, PREDICTIONS[0]], REFERENCES, r"predictions: the key \('0', 'LOCATION1', 'general'\).*2 times"),
        (PREDICTIONS, [*REFERENCES, REFERENCES[5]], r"references: the key \('1', 'LOCATION1', 'price'\).*2 times"),
        ([without(PREDICTIONS[0], "target")], REFERENCES, r"predictions\[0\] has no 'target'"),
        (PREDICTIONS, [*REFERENCES[:2], without(REFERENCES[2], "label")], r"references\[2\] has no 'label'"),
        (
            [PREDICTIONS[0] | {"id": 0}],
            REFERENCES,
            r"predictions\[0\]: the key \(0, 'LOCATION1', 'general'\) must be three",
        ),
        (
            PREDICTIONS,
            [REFERENCES[0] | {"id": "a\ud800"}],
            r"references\[0\]: the key \('a\\ud800', 'LOCATION1', 'general'\).*without half surrogate pairs",
        ),
        (PREDICTIONS, None, r"references=None \(NoneType\): give a list of dicts with \['id'"),
        (None, REFERENCES, r"predictions=None \(NoneType\): give a list of dicts with \['id'"),
        (iter(PREDICTIONS), REFERENCES, r"predictions=<list_iterator .*: give a list of dicts"),
        (PREDICTIONS, [*REFERENCES[:2], ["0"]], r"references\[2\]=\['0'\] \(list\): give a dict"),
        (PREDICTIONS, [REFERENCES[0] | {"label": ["none"]}, *REFERENCES[1:]], r"unknown label \['none'\] for \('0'"),
        (
            [PREDICTIONS[0] | {"probabilities": ["1", "0", "0"]}, *PREDICTIONS[1:]],
            REFERENCES,
            r"the probabilities \['1', '0', '0'\] for \('0', 'LOCATION1', 'general'\) are no row of numbers",
        ),
        ([], [], "there are no rows"),
        (PREDICTIONS[:3], REFERENCES[:3], r"no row for aspects \['safety'\] of \(id, target\) \('0', 'LOCATION1'\)"),
    ],
)
@pytest.mark.filterwarnings("ignore::absa.metrics.sentihood.DegenerateScoreWarning")
def test_rows_that_do_not_match(sentihood, tmp_path, predictions, references, message):
    with pytest.raises(ValueError, match=message):
        sentihood.compute(predictions=predictions, references=references)
    # The rows did not reach the disk, and the same object still works.
    assert not list(tmp_path.rglob("*.arrow"))
    assert sentihood.compute(predictions=PREDICTIONS, references=REFERENCES)["strict_accuracy"] == 0.5


@pytest.mark.filterwarnings("ignore::absa.metrics.sentihood.DegenerateScoreWarning")
def test_other_fields_and_tensors_are_accepted(sentihood):
    predictions = [
        row | {"probabilities": torch.tensor(row["probabilities"], dtype=torch.float64), "text": number}
        for number, row in enumerate(PREDICTIONS)
    ]
    references = [row | {"opinions": []} for row in REFERENCES]
    scores = sentihood.compute(predictions=predictions, references=references)
    assert str(scores) == str(sentihood.compute(predictions=PREDICTIONS, references=REFERENCES))


@pytest.mark.parametrize("metric", [Absa, Semeval2014, Sentihood])
@pytest.mark.parametrize(("name", "value"), [("bootstrap", -1), ("bootstrap", "3"), ("seed", -1), ("seed", 1.5)])
def test_options_are_checked_before_rows_reach_the_disk(tmp_path, metric, name, value):
    labels = {"labels": ["none", "positive", "negative"]} if metric is Absa else {}
    with pytest.raises(ValueError, match=f"^{name}={value!r}: give"):
        metric(cache_dir=str(tmp_path)).compute(
            predictions=PREDICTIONS, references=REFERENCES, **labels, **{name: value}
        )
    assert not list(tmp_path.rglob("*.arrow"))


P, R = PREDICTIONS[0], REFERENCES[0]


@pytest.mark.parametrize(
    ("prediction", "reference", "message"),
    [
        ([P], R, r"predictions\[0\]=\[{'aspect': .*}\] \(list\): give a dict with"),
        (P, None, r"references\[0\]=None \(NoneType\): give a dict with"),
        (P, without(R, "label"), r"references\[0\] has no 'label'"),
        (P, R | {"id": 1}, r"references\[0\]: the key \(1, 'LOCATION1', 'general'\) must be three strings"),
        (P | {"aspect": None}, R, r"predictions\[0\]: the key \('0', 'LOCATION1', None\) must be three strings"),
        (P, R | {"label": 1}, r"references: the label 1 for \('0', 'LOCATION1', 'general'\) must be a string"),
        (P, R | {"label": "\ud800"}, r"references: the label '\\ud800' for \('0', .*\) must be a string"),
        (
            P | {"probabilities": ["1", "0", "0"]},
            R,
            r"the probabilities \['1', '0', '0'\] for .* are no row of numbers",
        ),
        (P | {"probabilities": [[1, 0, 0]]}, R, r"the probabilities \[\[1, 0, 0\]\] for .* are no row of numbers"),
    ],
)
def test_rows_that_cannot_be_collected(sentihood, tmp_path, prediction, reference, message):
    with pytest.raises(ValueError, match=message):
        sentihood.add(prediction=prediction, reference=reference)
    with pytest.raises(ValueError, match=message):
        sentihood.add_batch(predictions=[prediction], references=[reference])
    assert not list(tmp_path.rglob("*.arrow"))


def test_batch_of_unequal_lengths(sentihood):
    with pytest.raises(ValueError, match="8 predictions, 1 references: give as many of each in a batch"):
        sentihood.add_batch(predictions=PREDICTIONS, references=REFERENCES[:1])


@pytest.mark.filterwarnings("ignore::absa.metrics.sentihood.DegenerateScoreWarning")
def test_rows_may_be_added_one_by_one(sentihood):
    whole = sentihood.compute(predictions=PREDICTIONS, references=REFERENCES)
    for prediction, reference in zip(PREDICTIONS, REFERENCES[::-1], strict=True):
        sentihood.add(prediction=prediction | {"text": "a"}, reference=reference)
    assert str(sentihood.compute()) == str(whole)


@pytest.mark.filterwarnings("ignore::absa.metrics.semeval2014.DegenerateScoreWarning")
def test_semeval2014_compute(tmp_path):
    # One sentence: food positive, found; the four others none, of which service is wrongly found.
    # Precision 1/2, recall 1/1, F1 = 2 * 1 / (2 + 1).
    references = rows("label", ["none", "none", "positive", "none", "none"], ids=("7#1",), aspects=SEMEVAL_ASPECTS)
    none, positive = [0.8, 0.1, 0.1, 0.0, 0.0], [0.1, 0.9, 0.0, 0.0, 0.0]
    predictions = rows("probabilities", [none, none, positive, none, positive], ids=("7#1",), aspects=SEMEVAL_ASPECTS)
    scores = Semeval2014(cache_dir=str(tmp_path)).compute(predictions=predictions[::-1], references=references)
    assert (scores["precision"], scores["recall"], scores["f1"]) == (0.5, 1.0, 2 / 3)


def test_absa_compute_passes_its_options_on(tmp_path):
    metric = Absa(cache_dir=str(tmp_path))
    references = [{"id": "1", "target": "", "aspect": "food", "label": "bad"}]
    predictions = [{"id": "1", "target": "", "aspect": "food", "probabilities": [0.3, 0.7]}]
    options = {"labels": ["good", "bad"], "none_label": None, "bootstrap": 2, "seed": 3}
    assert metric.compute(predictions=predictions, references=references, **options) == absa_scores(
        ["1"], [""], ["food"], ["bad"], [[0.3, 0.7]], label_names=["good", "bad"], none_label=None, bootstrap=2, seed=3
    )
    with pytest.raises(ValueError, match="labels=None: name two or more labels"):
        metric.compute(predictions=predictions, references=references)
    with pytest.raises(ValueError, match="none_label='none' is not one of the labels"):
        metric.compute(predictions=predictions, references=references, labels=["good", "bad"])


def test_undefined_figures_warn_through_the_wrapper(sentihood):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scores = sentihood.compute(predictions=PREDICTIONS, references=REFERENCES)
    undefined = {name for name, value in scores.items() if math.isnan(value)}
    assert "aspect_auc" in undefined
    named = {str(warning.message).split(" is NaN")[0] for warning in caught}
    assert undefined == {name for name in named if name in scores}
