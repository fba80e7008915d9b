"""The factor for none, on answers of which it is known at which factor they turn right."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from metrics.sentihood.sentihood_scores import ASPECTS, LABELS

pytestmark = pytest.mark.filterwarnings("ignore:.*only one class occurs")

RUN = {"dataset": "sentihood", "model_type": "bert"}


def rows(odds_of_present: dict[str, float]) -> pd.DataFrame:
    """Texts of one positive aspect each, and its odds; the others are surely absent."""
    made = []
    for id, present in enumerate(odds_of_present):
        for aspect in ASPECTS:
            positive = odds_of_present[present] / (1 + odds_of_present[present]) if aspect == present else 0.01
            label = "positive" if aspect == present else "none"
            probabilities = {"p_none": 1 - positive, "p_positive": positive, "p_negative": 0.0}
            made.append({"id": str(id), "target": "LOCATION1", "aspect": aspect, "label": label, **probabilities})
    return pd.DataFrame(made)


def test_the_nearest_factor_that_finds_all(study, tmp_path: Path):
    point = study("operating_point")
    rows({"general": 3.0, "price": 0.8, "safety": 0.36}).to_parquet(tmp_path / "validation_probabilities.parquet")
    groups = study("compare").read_groups(tmp_path / "validation_probabilities.parquet", ASPECTS, LABELS)
    assert point.scores_at(groups, 1.0)["strict_accuracy"] == pytest.approx(1 / 3)
    assert point.scores_at(groups, 0.5)["strict_accuracy"] == pytest.approx(2 / 3)
    factor = point.best_factor(groups)
    assert factor == 2**-1.5  # 0.354; the next greater one, 0.42, would leave safety out
    assert point.scores_at(groups, factor)["macro_f1"] == 1
    easy = groups._replace(probabilities=np.where(groups.gold[..., None] == np.arange(3), 0.98, 0.01))
    assert point.best_factor(easy) == 1


def test_what_is_stored_of_models_that_are_not_there_is_kept(study, tmp_path: Path, run_here):
    folder = tmp_path / "runs" / study("grids").run_name({**study("grids").BUDGET, **RUN}) / "seed-42"
    folder.mkdir(parents=True)
    rows({"general": 3.0, "price": 0.8}).to_parquet(folder / "validation_probabilities.parquet")
    rows({"general": 3.0, "price": 0.8, "safety": 0.36}).to_parquet(folder / "test_probabilities.parquet")
    (folder / "results.json").write_text("{}")
    fields = {"title": "tiny", "split": "test", "seeds": [42, 43], "runs": {"a": RUN}}
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(fields))
    file = tmp_path / "results" / "operating_point" / "tiny.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"a": {"43": {"kept": {}}}}))
    places = ("--output_dir", tmp_path / "runs", "--results_dir", tmp_path / "results")
    (line,) = run_here("examples/study/operating_point.py", tmp_path / "tiny.yaml", *places).splitlines()
    # 0.8 / 2^-0.5 is 1.13: enough for price, and not for the safety that the test split alone has
    assert line.startswith("a, seed 42: none times 0.71, test {'strict_accuracy': 66.7,")
    found = json.loads(file.read_text())["a"]
    assert found["43"] == {"kept": {}}
    assert found["42"]["test"]["strict_accuracy"] == pytest.approx(2 / 3)

    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump({**fields, "runs": {"b": {**RUN, "dataset": "semeval2014"}}}))
    with pytest.raises(ValueError, match="'b' is on semeval2014: give a grid on sentihood"):
        run_here("examples/study/operating_point.py", tmp_path / "tiny.yaml", *places)
