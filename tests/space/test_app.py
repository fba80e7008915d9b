"""The models that the demo's variable names."""

from pathlib import Path

import pytest

import app
import kinds


@pytest.mark.parametrize(
    ("models", "loaded"),
    [
        ("outputs/run/seed-42", [("outputs/run/seed-42", "outputs/run/seed-42", "main")]),
        ("USER/MODEL@abc", [("USER/MODEL", "USER/MODEL", "abc")]),
        (
            "places=USER/A@abc, the reviews = a@b/seed-1;\n USER/C\n",
            [("places", "USER/A", "abc"), ("the reviews", "a@b/seed-1", "main"), ("USER/C", "USER/C", "main")],
        ),
    ],
)
def test_models_have_names_and_revisions(monkeypatch, models: str, loaded: list[tuple[str, str, str]]):
    monkeypatch.setattr(kinds, "load", lambda model, revision, device: (model, revision))
    assert app.load_askers(models, "main") == {name: (model, revision) for name, model, revision in loaded}


@pytest.mark.parametrize(
    ("models", "told"),
    [
        ("one={tagger}, one={places}", "has the name 'one' twice: give each model a name of its own"),
        (" ;", "MODEL is empty: give a folder or Hub id"),
        ("{absent}", r"MODEL='.*absent' is no model that examples/run_absa.py or publish.py has written"),
    ],
)
def test_what_is_no_model_is_said(folders, tmp_path: Path, models: str, told: str):
    with pytest.raises(SystemExit, match=told):
        app.load_askers(models.format(**folders, absent=tmp_path / "absent"))
