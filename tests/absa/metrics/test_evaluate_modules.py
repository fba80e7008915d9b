"""The `evaluate` modules: the cards' examples, as a flat folder, and what the wrappers add to the arithmetic."""

import json
import math
import os
import re
import subprocess
import sys
import warnings

import pytest
import torch

from absa.metrics.alsc import alsc_scores
from absa.metrics.custom_absa import absa_scores
from absa.metrics.e2e_absa import e2e_absa_scores
from absa.metrics.evaluate_modules.absa.absa import Absa
from absa.metrics.evaluate_modules.alsc.alsc import Alsc
from absa.metrics.evaluate_modules.e2e_absa.e2e_absa import E2eAbsa
from absa.metrics.evaluate_modules.jaccard.jaccard import Jaccard
from absa.metrics.evaluate_modules.sentihood.sentihood import Sentihood
from absa.metrics.evaluate_modules.tagging.tagging import Tagging
from absa.metrics.evaluate_modules.tuple_f1.tuple_f1 import TupleF1
from absa.metrics.flatten import flatten
from absa.metrics.jaccard import jaccard_scores
from absa.metrics.sentihood import ASPECTS, sentihood_scores
from absa.metrics.tagging import tagging_scores
from absa.metrics.tuple_f1 import tuple_f1_scores

MODULES = (
    *("absa", "aspect_polarity", "semeval2014", "e2e_absa", "tagging", "tuple_f1", "alsc", "jaccard"),
    "sentihood",  # the last one scores the rows below
)
KEYS = [{"id": id, "target": "LOCATION1", "aspect": aspect} for id in ("0", "1") for aspect in ASPECTS]
GOLD = ["positive", "negative", "none", "none", "negative", "none", "positive", "none"]
LIKELY = [[0.2, 0.7, 0.1], [0.1, 0.2, 0.7], [0.6, 0.2, 0.2], [0.5, 0.4, 0.1]] * 2
REFERENCES = [key | {"label": label} for key, label in zip(KEYS, GOLD, strict=True)]
PREDICTIONS = [key | {"probabilities": row} for key, row in zip(KEYS, LIKELY, strict=True)]
quietly = pytest.mark.filterwarnings("ignore::absa.metrics.ratios.DegenerateScoreWarning")


@pytest.fixture
def metric(tmp_path):
    return Sentihood(cache_dir=str(tmp_path))


def run_elsewhere(arguments, folder, home):
    """Runs Python offline, with caches of its own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    environment |= {"HF_HOME": str(home), "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_example_of_each_card(repo_root, tmp_path):
    examples = []
    for module in MODULES:
        card = repo_root / "absa" / "metrics" / "evaluate_modules" / module / "README.md"
        blocks = re.findall(r"^```python\n(.*?)^```$", card.read_text(encoding="utf-8"), flags=re.S | re.M)
        assert blocks, f"{card} has no example"
        examples.append(tmp_path / f"{module}.txt")
        examples[-1].write_text("\n".join(blocks), encoding="utf-8")
    run_elsewhere(["-m", "doctest", *examples], repo_root, tmp_path / "home")


FLAT_PROGRAM = """
import json, sys
sys.modules["absa"] = None  # so that it cannot be imported
import evaluate
rows, *folders = sys.argv[1:]
for folder in folders:
    metric = evaluate.load(folder)
    print(metric.name, metric.module_type, bool(metric.citation), sorted(metric.features))
print(metric.compute(**json.loads(rows), bootstrap=2)["strict_accuracy"])
"""


@pytest.mark.slow
def test_a_flat_folder_stands_alone(tmp_path):
    # Some as their owner calls them.
    names = ["absa", "terms", "rows", "tags", "tagging", "triplets", "alsc", "overlap", "ours"]
    for module, name in zip(MODULES, names, strict=True):
        flatten(module, tmp_path / name, name)
    rows = json.dumps({"predictions": PREDICTIONS, "references": REFERENCES})
    folders = [tmp_path / name for name in names]
    printed = run_elsewhere(["-c", FLAT_PROGRAM, rows, *folders], tmp_path, tmp_path / "home").splitlines()
    assert printed == [*(f"{name} metric True ['predictions', 'references']" for name in MODULES), "0.5"]
    with pytest.raises(
        ValueError, match="module='food' is no metric of this package: give one of absa, alsc, aspect_polarity"
    ):
        flatten("food", tmp_path / "food", "food")


@quietly
def test_compute_equals_the_plain_function_in_any_order(metric):
    columns = {f"{field}s": [row[field] for row in REFERENCES] for field in ("id", "target", "aspect", "label")}
    options = {"bootstrap": 3, "seed": 1}
    plain = sentihood_scores(**columns, probabilities=LIKELY, **options)
    assert plain["strict_accuracy"] == 0.5
    assert str(metric.compute(predictions=PREDICTIONS[::-1], references=REFERENCES, **options)) == str(plain)
    # Batches need not hold the same keys, and rows may be added one by one.
    metric.add_batch(predictions=PREDICTIONS[:4], references=REFERENCES[4:])
    for prediction, reference in zip(PREDICTIONS[4:], REFERENCES[:4], strict=True):
        metric.add(prediction=prediction, reference=reference)
    assert str(metric.compute(**options)) == str(plain)
    # Other fields are ignored, and tensors are rows of numbers.
    predictions = [row | {"probabilities": torch.tensor(row["probabilities"]).double(), "n": 1} for row in PREDICTIONS]
    references = [row | {"opinions": []} for row in REFERENCES]
    metric.add_batch(predictions=predictions, references=references)
    assert str(metric.compute(**options)) == str(plain)


@quietly
@pytest.mark.parametrize(
    ("module", "plain", "scheme"), [(E2eAbsa, e2e_absa_scores, "BIEOS"), (Tagging, tagging_scores, "plain")]
)
def test_tagged_sentences_in_any_order(tmp_path, module, plain, scheme):
    references = [{"id": "b", "tags": ["S-POS", "O"]}, {"id": "a", "tags": ["S-NEG"]}]
    predictions = [{"id": "a", "tags": ["S-NEG"], "words": ["bad"]}, {"id": "b", "tags": ["O", "O"]}]
    options = {"scheme": scheme, "bootstrap": 3, "seed": 1}
    expected = str(plain([["S-NEG"], ["S-POS", "O"]], [["S-NEG"], ["O", "O"]], **options))
    metric = module(cache_dir=str(tmp_path))
    assert str(metric.compute(predictions=predictions, references=references, **options)) == expected
    metric.add_batch(predictions=predictions, references=references)
    assert str(metric.compute(**options)) == expected
    with pytest.raises(ValueError, match="references: the tags 'O' of id 'a' are no list of strings"):
        metric.add(prediction=predictions[0], reference={"id": "a", "tags": "O"})


@quietly
@pytest.mark.parametrize(
    ("module", "plain", "extra"),
    [(TupleF1, tuple_f1_scores, {"invalid": [True, False]}), (Alsc, alsc_scores, {}), (Jaccard, jaccard_scores, {})],
)
def test_sentences_of_tuples_in_any_order(tmp_path, module, plain, extra):
    right = {"target": [0, 2], "opinion": [3, 4], "label": "positive"}
    wrong = {**right, "label": "negative", "opinion": [3, 5], "score": 0.5}
    references = [{"id": "b", "tuples": [right]}, {"id": "a", "tuples": []}]
    predictions = [{"id": "a", "tuples": [], "invalid": True}, {"id": "b", "tuples": [wrong]}]
    options = {"bootstrap": 3, "seed": 1}
    expected = str(plain([[], [right]], [[], [wrong]], **extra, **options))
    metric = module(cache_dir=str(tmp_path))
    assert str(metric.compute(predictions=predictions, references=references, **options)) == expected
    metric.add_batch(predictions=predictions, references=references)
    assert str(metric.compute(**options)) == expected
    with pytest.raises(ValueError, match=r"references\[0\] has target=\[2, 1\]: give a span \[start, end\)"):
        metric.add(prediction=predictions[0], reference={"id": "a", "tuples": [{"target": [2, 1]}]})


P, R = PREDICTIONS[0], REFERENCES[0]
SURE_OF_STRINGS = P | {"probabilities": ["1", "0", "0"]}


@pytest.mark.parametrize(
    ("predictions", "references", "told"),
    [
        (PREDICTIONS[1:], REFERENCES, r"predictions lack 1 of the 8 keys .*\('0', 'LOCATION1', 'general'\)"),
        ([SURE_OF_STRINGS, *PREDICTIONS[1:]], REFERENCES, r"\['1', '0', '0'\] for .* are no row of numbers"),
        ([], [], "there are no rows"),
        (PREDICTIONS[:3], REFERENCES[:3], r"no row for aspects \['safety'\] of \(id, target\) \('0', 'LOCATION1'\)"),
    ],
)
@quietly
def test_rows_that_do_not_match(metric, tmp_path, predictions, references, told):
    with pytest.raises(ValueError, match=told):
        metric.compute(predictions=predictions, references=references)
    # The rows did not reach the disk, and the same object still works.
    assert not list(tmp_path.rglob("*.arrow"))
    assert metric.compute(predictions=PREDICTIONS, references=REFERENCES)["strict_accuracy"] == 0.5


@pytest.mark.parametrize(
    ("prediction", "reference", "told"),
    [
        ([P], R, r"predictions\[0\]=\[{'aspect': .*}\] \(list\) has no 'id': give a dict with"),
        (P, KEYS[0], r"references\[0\]={.*} \(dict\) has no 'label'"),
        (P | {"aspect": None}, R, r"predictions\[0\]: the key \('0', 'LOCATION1', None\) must be three strings"),
        (SURE_OF_STRINGS, R, r"the probabilities \['1', '0', '0'\] for .* are no row of numbers"),
    ],
)
def test_rows_that_cannot_be_collected(metric, tmp_path, prediction, reference, told):
    with pytest.raises(ValueError, match=told):
        metric.add(prediction=prediction, reference=reference)
    assert not list(tmp_path.rglob("*.arrow"))


def test_absa_compute_passes_its_options_on(tmp_path):
    metric = Absa(cache_dir=str(tmp_path))
    rows = {
        "references": [{"id": "1", "target": "", "aspect": "food", "label": "bad"}],
        "predictions": [{"id": "1", "target": "", "aspect": "food", "probabilities": [0.3, 0.7]}],
    }
    options = {"none_label": None, "bootstrap": 2, "seed": 3}
    plain = absa_scores(["1"], [""], ["food"], ["bad"], [[0.3, 0.7]], label_names=["good", "bad"], **options)
    assert str(metric.compute(**rows, labels=["good", "bad"], **options)) == str(plain)  # one figure is NaN
    with pytest.raises(ValueError, match="labels=None: name two or more labels"):
        metric.compute(**rows)


def test_undefined_figures_warn_through_the_wrapper(metric):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scores = metric.compute(predictions=PREDICTIONS, references=REFERENCES)
    undefined = {name for name, value in scores.items() if math.isnan(value)}
    assert "aspect_auc" in undefined
    assert undefined == {str(warning.message).split(" is NaN")[0] for warning in caught}
