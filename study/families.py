"""What no grid of all families can train: models of others on its test rows; and size and speed of all.

    python study/families.py study/grids/families_terms.yaml --runs outputs/pair outputs/setfit outputs/qacg \
        --names BERT-pair SetFit "QACG-BERT, auxiliary sentences"

A run is a folder as `examples/compare.py` takes it, and the first one is what the others are compared with. Of rows
of the grid only size and speed are kept, since `run.py` has their scores: for these a training of one step will do.
Of the first run, and of what is no row of the grid, the scores are kept too, and the differences from the first.
"""

from dataclasses import dataclass, field
from pathlib import Path

from absa.commands import parse, user_errors
from absa.comparison.rows import questions_of
from absa.comparison.runs import answers_of, read_run, way_of
from absa.comparison.scores import scores_of
from absa.comparison.speed import size_cells
from absa.tasks.base import BOOTSTRAP
from absa.timing import where
from grids import STUDY, read_grid
from results import write_analysis


@dataclass
class FamiliesArguments:
    """Which runs."""

    grid: Path = field(metadata={"help": "File of study/grids."})
    runs: list[Path] = field(metadata={"help": "Folders of the runs."})
    names: list[str] = field(metadata={"help": "What the grid or else its table calls them, in their order."})
    texts: int = field(default=200, metadata={"help": "Test texts that speed is measured with (default: 200)."})
    resamples: int = field(default=BOOTSTRAP, metadata={"help": f"Of the test sentences (default: {BOOTSTRAP})."})
    results_dir: Path = field(default=STUDY, metadata={"help": "Folder with analyses.json."})


def main(arguments: FamiliesArguments):
    grid = read_grid(arguments.grid)
    runs = [read_run(*run) for run in zip(arguments.runs, arguments.names, strict=True)]
    way = way_of(runs)
    scored = [run for run in runs if run is runs[0] or run.name not in grid.runs]
    scores = scores_of(answers_of(scored, way), way.main_scores, arguments.resamples)
    questions = questions_of(way, [run.first for run in runs])
    sizes = size_cells(runs, questions, arguments.texts, "cpu")
    found = {run.name: {"size": size, "where": where("cpu")} for run, size in zip(runs, sizes, strict=True)}
    for run, of_run in zip(scored, scores, strict=True):
        by_seed = {str(seed): dict(figures) for seed, figures in of_run.by_seed.iterrows()}
        found[run.name] |= {"scores": by_seed, "differences": of_run.differences}
    write_analysis(arguments.results_dir, "families", grid, found)


if __name__ == "__main__":
    with user_errors():
        main(parse(FamiliesArguments, "grid"))
