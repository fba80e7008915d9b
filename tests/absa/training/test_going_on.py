"""Training that is killed or told to stop goes on, to the bits of a run that nothing disturbed."""

import json
import os
import pickle
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest
from filelock import FileLock, Timeout
from transformers import TrainerCallback, TrainerControl, TrainerState
from transformers.trainer import DEFAULT_CALLBACKS

from absa.training import trainer

SCRIPT = "examples/run_absa.py"
KILLING = "tests/absa/training/kill_training.py"
OFTEN = ("--eval_strategy", "steps", "--eval_steps", "3", "--save_strategy", "steps", "--save_steps", "3")
OFTEN += ("--save_total_limit", "2", "--seeds", "1")
FILES = ("model.safetensors", "validation_probabilities.parquet", "test_probabilities.parquet")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_killed_again_and_again_it_ends_with_the_same_numbers_and_an_oracle_changes_none(
    tmp_path: Path, recipe: Path, run_script
):
    killed, undisturbed = tmp_path / "killed" / "seed-1", tmp_path / "undisturbed" / "seed-1"
    printed = run_script(
        KILLING, recipe, *OFTEN, "--oracle", "true", "--output_dir", killed.parent, timeout=900
    ).stdout
    kills = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    assert len(kills) >= 5
    assert any(kill["whole"] < kill["there"] for kill in kills), "no kill came while a checkpoint was written"
    run_script(SCRIPT, recipe, *OFTEN, "--output_dir", undisturbed.parent)
    for name in FILES:
        assert (killed / name).read_bytes() == (undisturbed / name).read_bytes()
    assert not list(killed.glob("**/checkpoint-*"))
    found, expected = (json.loads((folder / "results.json").read_text()) for folder in (killed, undisturbed))
    oracle, known, undisturbed_known = (
        found.pop("oracle"),
        *(one.pop("training")["model"] for one in (found, expected)),
    )
    assert found == expected
    assert known.pop("train_runtime_s") is None
    logs = [known.pop("log"), undisturbed_known.pop("log")]
    assert known.items() <= undisturbed_known.items()
    losses, others = ([entry["loss"] for entry in log if "loss" in entry] for log in logs)
    assert losses == others
    assert len(set(losses)) > 20
    by_step = {entry["step"]: entry["test_strict_accuracy"] for entry in logs[0] if "test_strict_accuracy" in entry}
    assert list(by_step) == list(range(3, 25, 3))
    assert by_step[known["best_step"]] == found["test"]["strict_accuracy"]
    assert oracle["strict_accuracy"] == max(by_step.values())


class ToldToStop(TrainerCallback):
    """Sends this process SIGTERM after some steps, each once."""

    steps: ClassVar[list[int]] = []

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step in self.steps:
            self.steps.remove(state.global_step)
            os.kill(os.getpid(), signal.SIGTERM)


def test_told_to_stop_at_the_end_of_an_epoch_in_the_middle_and_in_the_last_step(
    tmp_path: Path, finished_run, recipe: Path, run_here, monkeypatch
):
    """With the default of checkpoints to keep; an epoch has 12 steps, and its end the evaluation that chooses."""
    monkeypatch.setattr("transformers.trainer.DEFAULT_CALLBACKS", [*DEFAULT_CALLBACKS, ToldToStop])
    monkeypatch.setattr(ToldToStop, "steps", [12, 20, 24])
    words = (SCRIPT, recipe, "--seeds", "1", "2", "--save_total_limit", "2", "--output_dir", tmp_path / "run")
    folder = tmp_path / "run" / "seed-1"
    for step in (12, 20, 24):
        with pytest.raises(SystemExit) as stopped:
            run_here(*words)
        assert stopped.value.code == 128 + signal.SIGTERM
        assert trainer.last_whole(str(folder)) == str(folder / f"checkpoint-{step}")
        assert not (folder.parent / "seed-2").exists()
    run_here(*words)
    for seed in ("seed-1", "seed-2"):
        for name in FILES:
            assert (tmp_path / "run" / seed / name).read_bytes() == (finished_run[0] / seed / name).read_bytes()


def test_patience_is_not_asked_anew(tmp_path: Path, recipe: Path, run_here, monkeypatch):
    """Told to stop after the first evaluation that was not better, and in that at which the patience ends.

    Meanwhile the folder is moved. What was trained in bfloat16 answers in float32.
    """
    words = (SCRIPT, recipe, *OFTEN, "--patience", "2", "--bf16", "true")
    run_here(*words, "--output_dir", tmp_path / "undisturbed")
    folder = tmp_path / "undisturbed" / "seed-1"
    expected = json.loads((folder / "results.json").read_text())["training"]["model"]
    evaluated = [entry for entry in expected["log"] if "eval_strict_accuracy" in entry]
    scores = [entry["eval_strict_accuracy"] for entry in evaluated]
    best = scores.index(max(scores))  # the first of the best
    assert expected["best_step"] == evaluated[best]["step"]
    assert len(evaluated) == best + 3
    assert expected["steps"] == evaluated[-1]["step"] < 24

    monkeypatch.setattr("transformers.trainer.DEFAULT_CALLBACKS", [*DEFAULT_CALLBACKS, ToldToStop])
    monkeypatch.setattr(ToldToStop, "steps", [expected["steps"] - 2, expected["steps"]])
    for start in ("first", "second"):
        with pytest.raises(SystemExit):
            run_here(*words, "--output_dir", tmp_path / start)
        (tmp_path / start).rename(tmp_path / ("second" if start == "first" else "third"))
    found = tmp_path / "third" / "seed-1"
    best, hidden = (found / name for name in (f"checkpoint-{expected['best_step']}", "hidden"))
    best.rename(hidden)
    with pytest.raises(FileNotFoundError, match=r"the best checkpoint, is missing: remove .*seed-1 to train anew"):
        run_here(*words, "--output_dir", tmp_path / "third")
    hidden.rename(best)
    run_here(*words, "--output_dir", tmp_path / "third")
    training = json.loads((found / "results.json").read_text())["training"]["model"]
    assert (training["best_step"], training["steps"]) == (expected["best_step"], expected["steps"])
    for name in FILES:
        assert (found / name).read_bytes() == (folder / name).read_bytes()


@pytest.mark.parametrize(("num_processes", "last"), [(1, 13), (2, 20)])
def test_several_processes_agree_on_stopping_every_ten_steps(num_processes: int, last: int):
    """Told in the 13th step of an epoch of 40; to agree, each process waits for its device."""
    accelerator = SimpleNamespace(num_processes=num_processes, device="cpu", reduce=lambda told: told)
    stop = trainer.SaveAndStop(accelerator)
    state, control = TrainerState(max_steps=40), TrainerControl()
    while not control.should_save:
        state.global_step += 1
        state.epoch = state.global_step / 40
        if state.global_step == 13:
            stop.note(signal.SIGTERM, None)
        stop.on_step_end(None, state, control)
    assert state.global_step == last
    with pytest.raises(SystemExit):
        stop.on_save(None, state, control)


def test_what_was_not_written_to_its_end_is_passed_over_and_removed(tmp_path: Path, caplog):
    for step, state in ((9, "{}"), (10, '{"global_step": 10}'), (200, '{"global_st'), (300, ""), (400, None)):
        (tmp_path / f"checkpoint-{step}").mkdir()
        if state is not None:
            (tmp_path / f"checkpoint-{step}" / "trainer_state.json").write_text(state)
    (tmp_path / "checkpoint-of mine").mkdir()
    assert trainer.last_whole(str(tmp_path)) == str(tmp_path / "checkpoint-10")
    assert {path.name for path in tmp_path.iterdir()} == {"checkpoint-9", "checkpoint-10", "checkpoint-of mine"}
    assert [message.split()[0].rpartition("-")[2] for message in caplog.messages] == ["400", "300", "200"]
    assert trainer.last_whole(str(tmp_path / "absent")) is None


def test_two_runs_do_not_write_into_one_folder(tmp_path: Path, recipe: Path, run_here):
    (tmp_path / "seed-42").mkdir()
    with FileLock(tmp_path / "seed-42" / ".lock"), pytest.raises(Timeout, match=r"seed-42/\.lock"):
        run_here(SCRIPT, recipe, "--output_dir", tmp_path)


def test_going_on_runs_no_pickle(tmp_path: Path, recipe: Path, run_here, monkeypatch, harmful):
    """Of a training checkpoint that someone else has changed."""
    words = (SCRIPT, recipe, "--seeds", "1", "--output_dir", tmp_path / "run")
    with monkeypatch.context() as patch:
        patch.setattr("transformers.trainer.DEFAULT_CALLBACKS", [*DEFAULT_CALLBACKS, ToldToStop])
        patch.setattr(ToldToStop, "steps", [3])
        with pytest.raises(SystemExit):
            run_here(*words)
    optimizer = tmp_path / "run" / "seed-1" / "checkpoint-3" / "optimizer.pt"
    optimizer.write_bytes(pickle.dumps(harmful, protocol=2))
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        run_here(*words)
    assert not harmful.touched.exists()
