"""Training that is killed, stopped or cannot write goes on, to the bits of a run that nothing disturbed."""

import json
import logging
import os
import pickle
import random
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import psutil
import pytest
import yaml
from transformers import TrainerCallback, TrainerControl, TrainerState
from transformers.trainer import DEFAULT_CALLBACKS

from absa.training import checkpoints, run, trainer

SCRIPT = "examples/run_absa.py"
OFTEN = ("--eval_strategy", "steps", "--eval_steps", "3", "--save_strategy", "steps", "--save_steps", "3")
OFTEN += ("--num_train_epochs", "8", "--save_total_limit", "2", "--seeds", "1")


def assert_same(run: Path, undisturbed: Path):
    """The same weights, probabilities and scores, bit for bit; the Trainer's log but for what the clock says."""
    for name in ("model.safetensors", "validation_probabilities.parquet", "test_probabilities.parquet"):
        assert (run / "seed-1" / name).read_bytes() == (undisturbed / "seed-1" / name).read_bytes()
    found, expected = (json.loads((folder / "seed-1" / "results.json").read_text()) for folder in (run, undisturbed))
    logs = [results["training"]["model"].pop("log") for results in (found, expected)]
    assert found["training"]["model"].pop("train_runtime_s") is None
    expected["training"]["model"].pop("train_runtime_s")
    assert found == expected
    losses, others = ([entry["loss"] for entry in log if "loss" in entry] for log in logs)
    assert losses == others
    assert len(losses) == 96
    assert not list(run.glob("**/checkpoint-*"))


@pytest.mark.slow
def test_stopped_forty_times(tmp_path: Path, recipe: Path, run_script, stops):
    words = (recipe, *OFTEN, "--output_dir")
    told = stops(40, *words, tmp_path / "stopped")
    statuses = [stop["status"] for stop in told]
    assert statuses.count(-signal.SIGKILL) >= 25, "it came to its end too early"
    assert statuses.count(128 + signal.SIGTERM) >= 10
    assert set(statuses) <= {-signal.SIGKILL, 128 + signal.SIGTERM, 0}
    assert sum(stop["cut_off"] for stop in told) >= 5, "no kill came while a checkpoint was written"
    run_script(SCRIPT, *words, tmp_path / "undisturbed")
    assert_same(tmp_path / "stopped", tmp_path / "undisturbed")


@pytest.mark.slow
def test_two_processes_killed_ten_times(tmp_path: Path, recipe: Path, repo_root: Path, run_script):
    """The launcher and both of its processes, at random moments, from their start on."""
    launch = yaml.safe_load((repo_root / "configuration" / "accelerate" / "cpu_2_processes.yaml").read_text())
    (tmp_path / "launch.yaml").write_text(yaml.safe_dump(launch))
    launcher = (sys.executable, "-m", "accelerate.commands.accelerate_cli", "launch")
    launcher += ("--config_file", str(tmp_path / "launch.yaml"))
    words = (SCRIPT, recipe, *OFTEN, "--per_device_train_batch_size", "4", "--output_dir")
    folder = tmp_path / "killed" / "seed-1"
    generator = random.Random(0)
    for _ in range(10):
        before = set(folder.glob("checkpoint-*/complete.json"))
        process = subprocess.Popen(
            [*launcher, *map(str, (*words, tmp_path / "killed"))],
            cwd=repo_root,
            env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < deadline:
            if set(folder.glob("checkpoint-*/complete.json")) - before:
                break
            time.sleep(0.005)
        time.sleep(generator.uniform(0, 0.4))
        assert process.poll() is None, "it came to its end before it was killed"
        processes = psutil.Process(process.pid).children(recursive=True)
        assert len(processes) >= 2
        for each in [process, *processes]:  # the launcher starts the others in sessions of their own
            each.kill()
        psutil.wait_procs(processes)
        process.wait()
    run_script(*words, tmp_path / "killed", launcher=launcher)
    run_script(*words, tmp_path / "undisturbed", launcher=launcher)
    assert_same(tmp_path / "killed", tmp_path / "undisturbed")


@pytest.mark.slow
def test_two_processes_stop_after_the_same_step_when_one_of_them_is_told_to(
    tmp_path: Path, recipe: Path, repo_root: Path
):
    launcher = (sys.executable, "-m", "accelerate.commands.accelerate_cli", "launch")
    launcher += ("--config_file", "configuration/accelerate/cpu_2_processes.yaml")
    words = (SCRIPT, recipe, *OFTEN, "--per_device_train_batch_size", "4", "--output_dir", tmp_path / "run")
    folder = tmp_path / "run" / "seed-1"
    process = subprocess.Popen(
        [*launcher, *map(str, words)],
        cwd=repo_root,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None and not list(folder.glob("checkpoint-*/complete.json")):
        time.sleep(0.005)
    trains = [child for child in psutil.Process(process.pid).children(recursive=True) if SCRIPT in child.cmdline()]
    trains[-1].send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=120)
    (step,) = set(re.findall(r"stopped after step (\d+)", said))
    assert int(step) % 10 == 0 or int(step) % 12 == 0  # an epoch has 12
    assert (folder / f"checkpoint-{step}" / "complete.json").is_file()


class ToldToStop(TrainerCallback):
    """Sends this process SIGTERM after some steps, each once."""

    steps: ClassVar[list[int]] = []

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step in self.steps:
            self.steps.remove(state.global_step)
            os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.slow
def test_told_to_stop_at_the_end_of_an_epoch_in_the_middle_and_in_the_last_step(
    tmp_path: Path, finished_run, recipe: Path, run_in_process, monkeypatch
):
    """With the default of one checkpoint to keep; an epoch has 12 steps, and its end the evaluation that chooses."""
    monkeypatch.setattr("transformers.trainer.DEFAULT_CALLBACKS", [*DEFAULT_CALLBACKS, ToldToStop])
    monkeypatch.setattr(ToldToStop, "steps", [12, 20, 24])
    words = [str(recipe), "--seeds", "1", "2", "--save_total_limit", "1", "--output_dir", str(tmp_path / "run")]
    folder = tmp_path / "run" / "seed-1"
    for step in (12, 20, 24):
        with pytest.raises(SystemExit) as stopped:
            run_in_process(run.main, words)
        assert stopped.value.code == 128 + signal.SIGTERM
        assert (folder / f"checkpoint-{step}" / "complete.json").is_file()
        assert not (folder.parent / "seed-2").exists()
    run_in_process(run.main, words)
    for name in ("seed-1/model.safetensors", "seed-2/model.safetensors", "seed-1/test_probabilities.parquet"):
        assert (tmp_path / "run" / name).read_bytes() == (finished_run[0] / name).read_bytes()


@pytest.mark.parametrize(("num_processes", "times", "last"), [(1, 0, 13), (2, 2, 20)])
def test_several_processes_agree_on_stopping_every_ten_steps(num_processes: int, times: int, last: int):
    """Told in the 13th step of an epoch of 40; to agree, each process waits for its device."""
    asked = []
    accelerator = SimpleNamespace(
        num_processes=num_processes, device="cpu", reduce=lambda told: asked.append(told) or told
    )
    stop = trainer.SaveAndStop(SimpleNamespace(accelerator=accelerator))
    state, control = TrainerState(max_steps=40), TrainerControl()
    while not control.should_training_stop:
        state.global_step += 1
        state.epoch = state.global_step / 40
        stop.told = state.global_step >= 13
        stop.on_step_end(None, state, control)
    assert (state.global_step, control.should_save) == (last, True)
    assert len(asked) == times


class NoRoomAfterTheFirst(TrainerCallback):
    """After the first checkpoint no file may be as long as the optimizer's state, as on a disk that is full."""

    def on_save(self, args, state, control, **kwargs):
        (weights,) = Path(args.output_dir).glob("checkpoint-*/model.safetensors")
        resource.setrlimit(resource.RLIMIT_FSIZE, (weights.stat().st_size + 1000, resource.RLIM_INFINITY))


def test_a_full_disk_leaves_the_last_checkpoint(tmp_path: Path, finished_run, recipe: Path, run_in_process):
    words = [str(recipe), "--seeds", "1", "--output_dir", str(tmp_path / "run")]
    DEFAULT_CALLBACKS.append(NoRoomAfterTheFirst)
    try:
        with pytest.raises(OSError, match=r"checkpoint-24 cannot be written .* goes on from the last checkpoint"):
            run_in_process(run.main, words)
    finally:
        DEFAULT_CALLBACKS.remove(NoRoomAfterTheFirst)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert [path.name for path in (tmp_path / "run" / "seed-1").glob("checkpoint-*")] == ["checkpoint-12"]
    run_in_process(run.main, words)
    name = "seed-1/model.safetensors"
    assert (tmp_path / "run" / name).read_bytes() == (finished_run[0] / name).read_bytes()


@pytest.fixture
def make_checkpoints(tmp_path: Path):
    """Folders with two files each; those of the steps that are named are whole."""

    def make(*steps: int, whole: tuple[int, ...]):
        for step in steps:
            folder = tmp_path / f"checkpoint-{step}"
            (folder / "part").mkdir(parents=True)
            for name in ("model.safetensors", "part/rng_state_1.pth"):
                (folder / name).write_bytes(b"weights")
            if step in whole:
                checkpoints.mark_complete(folder)
        return checkpoints

    return make


def test_the_last_whole_checkpoint(tmp_path: Path, make_checkpoints, caplog):
    checkpoints = make_checkpoints(9, 10, 200, 300, 400, 500, whole=(9, 10, 300, 400, 500))
    (tmp_path / "checkpoint-300" / "part" / "rng_state_1.pth").unlink()
    (tmp_path / "checkpoint-400" / "model.safetensors").write_bytes(b"weigh")
    (tmp_path / "checkpoint-500" / "complete.json").write_text("[")
    (tmp_path / "checkpoint-of mine").mkdir()
    for content in ("[]", "null", "5", "[" * 100_000, '{"absent": 1}', '{"model.safetensors": null}'):
        (tmp_path / "checkpoint-500" / "complete.json").write_text(content)
        assert not checkpoints.is_complete(tmp_path / "checkpoint-500")
    with caplog.at_level(logging.WARNING, logger="absa.training.checkpoints"):
        assert checkpoints.last_complete(tmp_path) == tmp_path / "checkpoint-10"
    for step, line in zip((500, 400, 300, 200), caplog.messages, strict=True):
        assert f"checkpoint-{step} is passed over" in line
    assert checkpoints.last_complete(tmp_path / "absent") is None


@pytest.mark.parametrize(
    ("limit", "best", "left"),
    [
        (None, None, [1, 2, 3, 4, 5]),
        (1, None, [4, 5]),
        (2, None, [3, 4, 5]),
        (2, "checkpoint-1", [1, 4, 5]),
        (1, "checkpoint-2", [2, 4, 5]),
        (9, "checkpoint-2", [1, 2, 3, 4, 5]),
    ],
)
def test_old_checkpoints_are_removed_but_the_best_and_what_is_not_whole(
    tmp_path: Path, make_checkpoints, limit: int | None, best: str | None, left: list[int]
):
    checkpoints = make_checkpoints(1, 2, 3, 4, 5, whole=(1, 2, 3, 5))
    checkpoints.keep(tmp_path, limit, best and str(tmp_path / best))
    assert [path.name for path in checkpoints.checkpoints(tmp_path)] == [f"checkpoint-{step}" for step in left]


def test_two_runs_do_not_write_into_one_folder(tmp_path: Path):
    with checkpoints.only_here(tmp_path / "run"):
        with (
            pytest.raises(ValueError, match=r"another process is training into .*run: wait for it or stop it"),
            checkpoints.only_here(tmp_path / "run"),
        ):
            pass
        with checkpoints.only_here(tmp_path / "other"):
            pass
    with checkpoints.only_here(tmp_path / "run"):
        pass


def test_a_look_at_a_lock_is_not_in_the_way_of_a_run_that_starts(tmp_path: Path, monkeypatch):
    started = []

    def start():
        with checkpoints.only_here(tmp_path / "seed-1"):
            started.append(True)

    class StartWhileItIsHeld(checkpoints.FileLock):
        """The lock as `is_taken` has it; a run starts before it is released."""

        def release(self, *arguments, **options):
            if self.is_locked and not starting.ident:
                monkeypatch.undo()
                starting.start()
                starting.join(0.2)
            super().release(*arguments, **options)

    starting = threading.Thread(target=start)
    (tmp_path / "seed-1").mkdir()
    monkeypatch.setattr(checkpoints, "FileLock", StartWhileItIsHeld)
    assert not checkpoints.is_taken(tmp_path / "seed-1")
    starting.join()
    assert started


def test_a_run_that_has_just_begun_keeps_its_arguments(tmp_path: Path, recipe: Path, run_in_process):
    """Though it has no checkpoint yet; whoever comes with others is refused."""
    own = tmp_path / "run" / "seed-1"
    with checkpoints.only_here(own):
        run.check_same_run(tmp_path / "run", {"learning_rate": 1.0}, own)
        for seed in ("1", "2"):
            words = [str(recipe), "--seeds", seed, "--output_dir", str(tmp_path / "run")]
            with pytest.raises(ValueError, match=r"another process is training|was 1\.0 and is now 0\.005"):
                run_in_process(run.main, words)
    assert json.loads((tmp_path / "run" / "arguments.json").read_text()) == {"learning_rate": 1.0}


class Harmful:
    """What a pickle does when it is loaded without care."""

    def __init__(self, touched: Path):
        self.touched = touched

    def __reduce__(self):
        return Path.touch, (self.touched,)


@pytest.mark.parametrize("name", ["optimizer.pt", "scheduler.pt", "rng_state.pth"])
def test_going_on_runs_no_pickle(tmp_path: Path, recipe: Path, run_in_process, monkeypatch, name: str):
    """Of a training checkpoint that someone else has changed."""
    words = [str(recipe), "--seeds", "1", "--output_dir", str(tmp_path / "run")]

    class Stop(TrainerCallback):
        def on_save(self, args, state, control, **kwargs):
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("transformers.trainer.DEFAULT_CALLBACKS", [*DEFAULT_CALLBACKS, Stop])
        with pytest.raises(KeyboardInterrupt):
            run_in_process(run.main, words)
    (folder,) = (tmp_path / "run" / "seed-1").glob("checkpoint-*")
    (folder / name).write_bytes(pickle.dumps(Harmful(tmp_path / "touched"), protocol=2))
    checkpoints.mark_complete(folder)
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        run_in_process(run.main, words)
    assert not (tmp_path / "touched").exists()
