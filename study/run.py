"""Trains what the grids of the study ask for, and appends a line for each run to `results.jsonl`.

    python study/run.py study/grids/initialisation.yaml --data_dirs sentihood=DIR --jobs 2

Started again it goes on where it stopped; a run that two grids share is trained once. A run with other arguments than
those of the grid is another run, with another folder and a line of its own.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from absa.commands import parse
from absa.training.arguments import recipe_words
from grids import STUDY, read_grid, run_name
from results import add_result, read_results

ROOT = STUDY.parent
SPLITS = {"eval": "validation", "test": "test"}  # how the Trainer's log and `ScoreTestSplit` call the splits


@dataclass
class StudyArguments:
    """What to train, and where."""

    grids: list[Path] = field(metadata={"help": "Files of study/grids, or like those."})
    data_dirs: list[str] = field(
        default_factory=list,
        metadata={"help": "Folders with files of data sets: sentihood=DIR e2e_absa=DIR (default: downloaded)."},
    )
    seeds: list[int] | None = field(default=None, metadata={"help": "Only these (default: all of the grid)."})
    runs: list[str] | None = field(default=None, metadata={"help": "Only these rows of the tables (default: all)."})
    jobs: int = field(default=1, metadata={"help": "Runs at a time; they share the cores."})
    output_dir: Path = field(default=Path("outputs/study"), metadata={"help": "Checkpoints and probabilities."})
    results_dir: Path = field(default=STUDY, metadata={"help": "Folder of results.jsonl."})

    def __post_init__(self):
        if wrong := [folder for folder in self.data_dirs if "=" not in folder]:
            raise ValueError(f"data_dirs={wrong[0]}: give NAME=FOLDER, such as sentihood={wrong[0]}")


def wanted(arguments: StudyArguments) -> dict[tuple[str, int], Mapping]:
    """(name, seed) -> arguments of each run that is not in the results: all runs with a seed before the next seed's.

    Raises:
        ValueError: if no grid has a run that is asked for.
    """
    grids = [read_grid(file) for file in arguments.grids]
    known = {label for grid in grids for label in grid.runs}
    if unknown := set(arguments.runs or []) - known:
        raise ValueError(f"runs={sorted(unknown)} is in none of these grids, which have {sorted(known)}")
    asked = {}
    for grid in grids:
        for seed in arguments.seeds or grid.seeds:
            for label, run in grid.runs.items():
                if not arguments.runs or label in arguments.runs:
                    asked.setdefault((run_name(run), seed), run)
    trained = read_results(arguments.results_dir)
    return {key: run for key, run in asked.items() if key not in trained}


def command(name: str, seed: int, run: Mapping, arguments: StudyArguments) -> list[str]:
    """What trains a run."""
    words = dict(run)
    control = words.pop("control", None)
    script = ["examples/run_absa.py"] if control is None else ["study/controls.py", control]
    data_dirs = dict(folder.split("=", 1) for folder in arguments.data_dirs)
    words |= {
        "seeds": [seed],
        "data_dir": data_dirs.get(run["dataset"]),
        "output_dir": arguments.output_dir / name,
        "disable_tqdm": True,
    }
    return [sys.executable, str(ROOT / script[0]), *script[1:], *recipe_words(words)]


def train(name: str, seed: int, run: Mapping, arguments: StudyArguments):
    """Trains a run and keeps its results; what the run prints is kept beside its checkpoints.

    Raises:
        ChildProcessError: if the training fails.
    """
    folder = arguments.output_dir / name
    folder.mkdir(parents=True, exist_ok=True)
    environment = {
        "OMP_NUM_THREADS": str(max(1, os.cpu_count() // arguments.jobs)),
        "TOKENIZERS_PARALLELISM": "false",
        "THP_MEM_ALLOC_ENABLE": "1",  # a seventh less time on a CPU: gradients of embeddings are big allocations
        **os.environ,
    }
    log, trained_by = folder / f"seed-{seed}.log", commit()  # which may be another when the run is done
    with log.open("a", encoding="utf-8") as output:
        words = command(name, seed, run, arguments)
        finished = subprocess.run(words, stdout=output, stderr=subprocess.STDOUT, env=environment, check=False)
    if finished.returncode:
        raise ChildProcessError(f"{name} seed {seed} failed: see {log}")
    add_result(arguments.results_dir, result_of(run, seed, folder, trained_by))
    print(f"{name} seed {seed} is done", flush=True)


def result_of(run: Mapping, seed: int, folder: Path, trained_by: str | None) -> dict:
    """What is kept of a run: its scores, without intervals, and how it came to them."""
    result = json.loads((folder / f"seed-{seed}" / "results.json").read_text(encoding="utf-8"))
    started = json.loads((folder / "arguments.json").read_text(encoding="utf-8"))
    parts = result["training"]  # one, or of BERT-single one a context
    versions = {name: version(name) for name in ("torch", "transformers", "accelerate", "qacg-bert")}
    times = [training["train_runtime_s"] for training in parts.values()]
    return {
        "arguments": dict(run),
        "seed": seed,
        "bf16": started["bf16"],  # what auto became
        "score_precision": "float32",
        "data_sha256": started["data_sha256"],
        "versions": {"python": platform.python_version(), **versions, "commit": trained_by},
        # With evaluation, and of the test split too in a run with an oracle. Unknown of a run that was stopped.
        "train_runtime_s": None if None in times else sum(times),
        "best_step": {part: training["best_step"] for part, training in parts.items()},
        "curve": {part: curve(training["log"]) for part, training in parts.items()},
        # Intervals of one run say little beside deviations over seeds, and `compare.py`.
        **{
            split: {name: score for name, score in result[split].items() if not name.endswith(("_low", "_high"))}
            for split in ("validation", "test")
        },
        "oracle": result.get("oracle"),
    }


def commit() -> str | None:
    """Of the code that trained, if it is a clone; changes on top of it are not told."""
    if shutil.which("git") is None:
        return None
    found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=STUDY, capture_output=True, text=True, check=False)
    return found.stdout.strip() or None


def curve(log: Sequence[Mapping]) -> list[dict]:
    """The scores at each evaluation, by split."""
    points = {}
    for entry in log:
        for name, value in entry.items():
            split, _, score = name.partition("_")
            if split in SPLITS and not score.endswith(("runtime", "per_second")):
                point = points.setdefault(entry["step"], {"step": entry["step"], "epoch": entry["epoch"]})
                point.setdefault(SPLITS[split], {})[score] = value
    return list(points.values())


def main(arguments: StudyArguments):
    runs = wanted(arguments)
    print(f"{len(runs)} runs to train")
    with ThreadPoolExecutor(arguments.jobs) as pool:
        # Where one fails, those that have not begun are cancelled: the same would go wrong there, or needs a look.
        list(pool.map(lambda key: train(*key, runs[key], arguments), runs))


if __name__ == "__main__":
    main(parse(StudyArguments, "grids"))
