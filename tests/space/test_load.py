"""benchmarks/load.py on the demo: all are answered rightly or told that it is busy."""

import json

import pytest
from gradio_client import Client

import kinds
import page


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


def test_the_queue_has_an_end_and_only_what_a_model_takes_is_asked_for(folders):
    places, tagger, af_lstm = (kinds.load(str(folders[name])) for name in ("places", "tagger", "af_lstm"))
    assert page.build({"places": places})._queue.max_size == page.MAX_WAITING == 64
    for asker, shown in ((places, {"names", "aspects"}), (tagger, set()), (af_lstm, {"names", "others"})):
        components = page.build({"one": asker}).config["components"]
        fields = {one["props"].get("elem_id"): one["props"].get("visible") for one in components}
        assert {name for name in ("names", "aspects", "others", "model") if fields[name]} == shown


@pytest.mark.demo
def test_callers_who_leave_things_out_are_told(server):
    client = Client(server[0], verbose=False)
    for text, names, told in (
        (None, None, "There is nothing to read"),
        ("Soho is dear", "x" * 2000, "A name has 2,000 characters"),
        ("Soho is dear", None, "aria-label"),
    ):
        sentence, _, answers, *_ = client.predict(text, names, ["price"], api_name="/ask")
        assert told in sentence + answers
    assert "Give a csv file first" in client.predict(None, None, None, ["price"], api_name="/annotate")[0]
    assert "Traceback" not in "".join(server[1])
