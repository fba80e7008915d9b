"""benchmarks/load.py on the demo: all are answered rightly or told that it is busy."""

import json

import pytest

import app
import asking


@pytest.mark.demo
def test_demo_under_load(checkpoint, run_script):
    words = ("--clients", "20", "--seconds", "10", "--burst", "150", "--cases", "demo")
    printed = run_script("benchmarks/load.py", checkpoint, *words).stdout
    (row,) = (line for line in printed.splitlines() if line.startswith("| demo"))
    clients, requests, wrong, errors = (int(cell.replace(",", "")) for cell in row.split("|")[2:6])
    assert (clients, wrong, errors) == (20, 0, 0)
    assert requests >= 40
    (outcomes,) = (line for line in printed.splitlines() if line.startswith("150 at once: "))
    outcomes = json.loads(outcomes.removeprefix("150 at once: "))
    assert outcomes.keys() <= {"answered", "told that the demo is busy"}
    assert sum(outcomes.values()) == 150
    assert outcomes["answered"] >= 64
    assert "One more afterwards: answered" in printed


def test_the_queue_has_an_end_and_a_model_without_targets_is_not_asked_for_names(pipe):
    asker = asking.Asker(pipe)
    assert app.build(asker)._queue.max_size == app.MAX_WAITING == 64
    for targets in (["LOCATION1"], []):
        asker.targets = targets
        components = app.build(asker).config["components"]
        (names,) = (one["props"] for one in components if one["props"].get("elem_id") == "names")
        assert names["visible"] is bool(targets)


def test_a_tagger_is_refused(tiny_tagger):
    with pytest.raises(SystemExit, match=r"is no classifier that .*a tagger is asked with examples/predict.py"):
        app.load_asker(str(tiny_tagger), None)
