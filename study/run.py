"""Trains what the grids of the study ask for, and appends a line for each run to `results.jsonl`.

    python study/run.py study/grids/initialisation.yaml --data_dirs sentihood=DIR --jobs 2

Started again it goes on where it stopped; a run that two grids share is trained once. A run with other arguments than
those of the grid is another run, with another folder and a line of its own. A run that fails is told at once, and the
others go on. Runs that have `teachers` come last. Of classifiers of SentiHood `contrast.py` is asked too.

A run with `denoising` is made in two steps: `examples/denoise.py` makes what each seed starts from, and `run_absa.py`
trains that. It needs texts of the domain, which `--texts` names for each `data_config`:

    python study/run.py study/grids/aste_14res.yaml --data_dirs aste_v2=DIR \
        --texts 14res=ABSA16_Restaurants_Train_SB1_v2.xml

A run with `members` is trained with each of these seeds, all from what its own seed starts from, and is the mean of
their weights.

A run with `first` is trained on other data before, by `run_absa.py` too, and one with a `first` inside of it on
other data before that; runs with the same first training share it, in `OUTPUT_DIR/starts`, which may be removed when
all are done. Of a mixture `--data_dirs` names the folders of its entries by their names. `held_out` names files in
these folders, by data set.
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
from threading import Semaphore
from typing import NamedTuple

from filelock import FileLock

from absa.commands import parse
from absa.training.arguments import recipe_words
from contrast import FOUND
from grids import STUDY, read_grid, run_name
from results import NOT_SAVED, add_result, read_results

ROOT = STUDY.parent
TRAIN, DENOISE = ["examples/run_absa.py"], ["examples/denoise.py"]
OF_THE_STUDY = ("control", "denoising", "first", "members", "none_factor")  # what a run says of its steps
STARTS = "starts"  # folder of the trainings on other data that runs start from
START = "start"  # folder of a run's, with what it starts from where that is denoised
MEMBERS = "members-{seed}"  # folder of a run's, with what a seed's model is the mean of
SPLITS = {"eval": "validation", "test": "test"}  # how the Trainer's log and `ScoreTestSplit` call the splits


@dataclass
class StudyArguments:
    """What to train, and where."""

    grids: list[Path] = field(metadata={"help": "Files of study/grids, or like those."})
    data_dirs: list[str] = field(
        default_factory=list,
        metadata={"help": "Folders with files of data sets: sentihood=DIR e2e_absa=DIR (default: downloaded)."},
    )
    texts: list[str] = field(
        default_factory=list,
        metadata={"help": "Files for denoising, as denoise.py takes them: 14res=FILE 14res=FILE 14lap=FILE."},
    )
    seeds: list[int] | None = field(default=None, metadata={"help": "Only these (default: all of the grid)."})
    runs: list[str] | None = field(default=None, metadata={"help": "Only these rows of the tables (default: all)."})
    jobs: int = field(default=1, metadata={"help": "Trainings at a time; they share the cores."})
    output_dir: Path = field(default=Path("outputs/study"), metadata={"help": "Checkpoints and probabilities."})
    results_dir: Path = field(default=STUDY, metadata={"help": "Folder of results.jsonl."})

    def __post_init__(self):
        self.processes = Semaphore(self.jobs)  # which the steps of all runs share
        if wrong := [folder for folder in self.data_dirs if "=" not in folder]:
            raise ValueError(f"data_dirs={wrong[0]}: give NAME=FOLDER, such as sentihood={wrong[0]}")
        if wrong := [file for file in self.texts if "=" not in file]:
            raise ValueError(f"texts={wrong[0]}: give DATA_CONFIG=FILE, such as 14res={wrong[0]}")

    def texts_of(self, name: str, data_config: str) -> list[str]:
        """The files for a run's denoising.

        Raises:
            ValueError: if there is none.
        """
        files = [file.split("=", 1)[1] for file in self.texts if file.split("=", 1)[0] == data_config]
        if not files:
            raise ValueError(f"{name} is denoised: give texts of its domain, --texts {data_config}=FILE")
        return files


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


class Step(NamedTuple):
    """A command of a run, in whose folder it leaves what it makes of a seed."""

    folder: Path
    seed: int
    words: list[str]


def starts_of(run: Mapping) -> list[dict]:
    """The trainings on other data before a run, its own start before that one's: the run's arguments, but what each
    `first` changes."""
    own = {name: value for name, value in run.items() if name not in OF_THE_STUDY}
    starts, first = [], run.get("first")
    while first is not None:
        starts.append({**own, **first})
        first = first.get("first")
    return starts


def start_folders(run: Mapping, arguments: StudyArguments) -> list[Path]:
    """Where each of `starts_of` is, for all runs that have it and start it in the same way."""
    folders, before = [], {}
    for start in reversed(starts_of(run)):
        folders.insert(0, arguments.output_dir / STARTS / run_name(start | before))
        before = {"first": folders[0].name}
    return folders


def trainings(name: str, seed: int, run: Mapping, arguments: StudyArguments) -> list[list[Step]]:
    """What trains a run, one stage after the other; the steps of a stage can be taken at once.

    Raises:
        ValueError: as `StudyArguments.texts_of` and `folders_of`.
    """
    data_dirs = dict(folder.split("=", 1) for folder in arguments.data_dirs)

    def step(script: Sequence[str], asked: Mapping, folder: Path, seed: int = seed, **changes) -> Step:
        told = {argument: value for argument, value in asked.items() if argument not in OF_THE_STUDY}
        if "teachers" in told:
            told["teachers"] = [arguments.output_dir / teacher for teacher in told["teachers"]]
        told |= {"seeds": [seed], "output_dir": folder, "disable_tqdm": True, **folders_of(told, data_dirs), **changes}
        command = [sys.executable, str(ROOT / script[0]), *script[1:]]
        return Step(folder, seed, [*command, *recipe_words(without_one_dataset(told))])

    stages, start, folder = [], {}, arguments.output_dir / name
    for before, place in reversed(list(zip(starts_of(run), start_folders(run, arguments), strict=True))):
        stages.append([step(TRAIN, before, place, **start)])
        start = {"model_name_or_path": place / "seed-{seed}"}
    if "denoising" in run:
        texts = arguments.texts_of(name, run["data_config"])
        stages.append([step(DENOISE, {**run, **run["denoising"]}, folder / START, texts=texts)])
        start = {"model_name_or_path": folder / START / "seed-{seed}"}
    if members := run.get("members"):
        of_this_seed = {argument: str(path).format(seed=seed) for argument, path in start.items()}
        place = folder / MEMBERS.format(seed=seed)
        stages.append([step(TRAIN, run, place, member, **of_this_seed) for member in members])
        start["mean_of"] = [folder / MEMBERS / f"seed-{member}" for member in members]
    last = ["study/controls.py", run["control"]] if "control" in run else TRAIN
    start["none_factor"] = run.get("none_factor")  # which no start or member has
    return [*stages, [step(last, run, folder, **start)]]


def stages_of(name: str, seed: int, run: Mapping, arguments: StudyArguments) -> list[list[Step]]:
    """`trainings`, and what else is asked of a run's model."""
    folder, stages = arguments.output_dir / name, trainings(name, seed, run, arguments)
    if run["dataset"] == "sentihood" and run.get("control") not in NOT_SAVED:
        words = [sys.executable, str(STUDY / "contrast.py"), str(folder / f"seed-{seed}")]
        stages.append([Step(folder, seed, words)])
    return stages


def without_one_dataset(words: Mapping) -> Mapping:
    """The arguments of a training; a mixture names the data set that its scores are of among its entries."""
    if not words.get("mixture"):
        return words
    return {name: value for name, value in words.items() if name not in ("dataset", "data_config")}


def folders_of(words: Mapping, data_dirs: Mapping[str, str]) -> dict:
    """The folders of a run's data, as `run_absa.py` takes them: of its data set, or of those of its mixture; and the
    files of `held_out`.

    Raises:
        ValueError: if the folder of such files is not known.
    """
    if held_out := words.get("held_out"):
        if unknown := held_out.keys() - data_dirs.keys():
            raise ValueError(
                f"held_out has files of {min(unknown)}: give their folder, --data_dirs {min(unknown)}=DIR"
            )
        held_out = [Path(data_dirs[dataset], file) for dataset, files in held_out.items() for file in files]
    if not (entries := words.get("mixture")):
        return {"data_dir": data_dirs.get(words["dataset"]), "held_out": held_out}
    names = [entry.get("name", entry["dataset"]) for entry in entries]
    folders = {name: data_dirs[name] for name in names if name in data_dirs} or None
    return {"data_dirs": folders, "held_out": held_out}


def train(name: str, seed: int, run: Mapping, arguments: StudyArguments):
    """Trains a run and keeps its results; what its steps print is kept beside what they make, but not the weights that
    are denoised for it, or that it is the mean of.

    Raises:
        ChildProcessError: if a step fails.
    """
    environment = {
        "OMP_NUM_THREADS": str(max(1, os.cpu_count() // arguments.jobs)),
        "TOKENIZERS_PARALLELISM": "false",
        "THP_MEM_ALLOC_ENABLE": "1",  # a seventh less time on a CPU: gradients of embeddings are big allocations
        **os.environ,
    }
    trained_by = commit()  # which may be another when the run is done

    def take(step: Step):
        step.folder.mkdir(parents=True, exist_ok=True)
        log = step.folder / f"seed-{step.seed}.log"
        # Of runs that start from the same training one makes it, while the others wait.
        with FileLock(f"{log}.lock"), arguments.processes, log.open("a", encoding="utf-8") as output:
            finished = subprocess.run(
                step.words, stdout=output, stderr=subprocess.STDOUT, env=environment, check=False
            )
        if finished.returncode:
            raise ChildProcessError(f"{name} seed {seed} failed: see {log}")

    for stage in stages_of(name, seed, run, arguments):
        with ThreadPoolExecutor(len(stage)) as pool:
            list(pool.map(take, stage))
    for place in (f"{START}/seed-{seed}", f"{MEMBERS.format(seed=seed)}/*"):
        for weights in (arguments.output_dir / name).glob(f"{place}/*.safetensors"):
            weights.unlink()
    add_result(arguments.results_dir, result_of(run, seed, arguments, trained_by))
    print(f"{name} seed {seed} is done", flush=True)


def result_of(run: Mapping, seed: int, arguments: StudyArguments, trained_by: str | None) -> dict:
    """What is kept of a run: its scores, without intervals, and how it came to them."""
    folder = arguments.output_dir / run_name(run)
    result = json.loads((folder / f"seed-{seed}" / "results.json").read_text(encoding="utf-8"))
    started = json.loads((folder / "arguments.json").read_text(encoding="utf-8"))
    contrast = folder / f"seed-{seed}" / FOUND
    parts = result["training"]  # one, or of BERT-single one a context
    for member in run.get("members", ()):
        trained = folder / MEMBERS.format(seed=seed) / f"seed-{member}" / "results.json"
        parts |= {f"seed {member}": json.loads(trained.read_text(encoding="utf-8"))["training"]["model"]}
    versions = {name: version(name) for name in ("torch", "transformers", "accelerate", "qacg-bert")}
    return {
        "arguments": dict(run),
        "seed": seed,
        "bf16": started["bf16"],  # what auto became
        "score_precision": "float32",
        "data_sha256": started["data_sha256"],
        "versions": {"python": platform.python_version(), **versions, "commit": trained_by},
        # With evaluation, and of the test split too in a run with an oracle. Unknown of a run that was stopped.
        "train_runtime_s": seconds_of(parts),
        "best_step": {part: training["best_step"] for part, training in parts.items()},
        "curve": {part: curve(training["log"]) for part, training in parts.items()},
        # Intervals of one run say little beside deviations over seeds, and `paired.py`.
        **{split: own_scores(run, result[split]) for split in ("validation", "test")},
        "oracle": result.get("oracle"),
        **({"contrast": json.loads(contrast.read_text(encoding="utf-8"))} if contrast.is_file() else {}),
        **({"denoising": denoising_of(folder / START, seed)} if "denoising" in run else {}),
        **({"first": before(run, seed, arguments)} if "first" in run else {}),
    }


def seconds_of(parts: Mapping[str, Mapping]) -> float | None:
    """How long the trainings of a run took; None where one was stopped, whose time is not known."""
    times = [training["train_runtime_s"] for training in parts.values()]
    return None if None in times else sum(times)


def before(run: Mapping, seed: int, arguments: StudyArguments) -> list[dict]:
    """What is kept of the trainings on other data that a run starts from, its own start before that one's."""
    found = []
    for folder in start_folders(run, arguments):
        result = json.loads((folder / f"seed-{seed}" / "results.json").read_text(encoding="utf-8"))
        started = json.loads((folder / "arguments.json").read_text(encoding="utf-8"))
        seconds = seconds_of(result["training"])
        found.append({"data_sha256": started["data_sha256"], "train_runtime_s": seconds})
    return found


def own_scores(run: Mapping, scores: Mapping[str, float]) -> dict[str, float]:
    """Without intervals; of a mixture those of the run's data set, as its own metric calls them."""
    kept = {name: score for name, score in scores.items() if not name.endswith(("_low", "_high"))}
    if "mixture" not in run:
        return kept
    prefix = f"{run['dataset']}_"
    return {name.removeprefix(prefix): score for name, score in kept.items() if name.startswith(prefix)}


def denoising_of(folder: Path, seed: int) -> dict:
    """What is kept of the denoising before a run: its texts, and how well others are restored before and after."""
    result = json.loads((folder / f"seed-{seed}" / "results.json").read_text(encoding="utf-8"))
    started = json.loads((folder / "arguments.json").read_text(encoding="utf-8"))
    names = ("corpus", "documents", "held_out", "steps", "train_runtime_s")
    return {"data_sha256": started["data_sha256"], **{name: result[name] for name in names}}


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


def check_teachers(runs: Mapping[tuple[str, int], Mapping], arguments: StudyArguments):
    """Whatever teaches one of some runs is among them, or there.

    Raises:
        ValueError: if a teacher is neither.
    """
    trained_here = {f"{name}/seed-{seed}" for name, seed in runs}
    for (name, _), run in runs.items():
        for teacher in run.get("teachers", ()):
            if teacher not in trained_here and not (arguments.output_dir / teacher / "results.json").is_file():
                raise ValueError(
                    f"{name} needs its teacher {teacher}, which is not in {arguments.output_dir}: ask for that run "
                    "too; or, where it has a line in results.jsonl, put its folder there or take the line out"
                )


def train_all(runs: Mapping[tuple[str, int], Mapping], arguments: StudyArguments):
    """Trains runs, those that others teach behind the others.

    Raises:
        ChildProcessError: at the end, if some have failed.
    """
    failed = []

    def attempt(key: tuple[str, int]):
        try:
            train(*key, runs[key], arguments)
        except ChildProcessError as error:
            print(error, flush=True)
            failed.append(str(error))

    for are_taught in (False, True):
        with ThreadPoolExecutor(arguments.jobs) as pool:
            list(pool.map(attempt, [key for key, run in runs.items() if ("teachers" in run) is are_taught]))
    if failed:
        raise ChildProcessError(f"{len(failed)} of {len(runs)} runs failed:\n" + "\n".join(failed))


def main(arguments: StudyArguments):
    runs = wanted(arguments)
    for (name, seed), run in runs.items():
        stages_of(name, seed, run, arguments)  # for its errors, before hours of training
    check_teachers(runs, arguments)
    print(f"{len(runs)} runs to train")
    train_all(runs, arguments)


if __name__ == "__main__":
    main(parse(StudyArguments, "grids"))
