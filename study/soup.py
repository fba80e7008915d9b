"""Is the mean of the weights of several seeds better than one of them?

    python study/soup.py study/grids/levers_sentihood.yaml --data_dir DIR

Of each run of a grid whose seeds begin with the same weights (`init_seed`) and are all there: the main scores on the
test split of the one model whose weights are the mean. Those of the seeds are in the grid's own table.
"""

from absa.averaging import average
from absa.commands import parse
from absa.tasks.arguments import ClassificationArguments
from absa.tasks.classification import Classification
from absa.training.evaluation import answers_of
from grids import read_grid, run_name
from results import GridAndDataArguments, add_found

BATCH_SIZE = 32


def main(arguments: GridAndDataArguments):
    grid = read_grid(arguments.grid)
    asked = ClassificationArguments(dataset=grid.dataset, data_dir=arguments.data_dir)
    task = Classification.load(asked)
    for label, run in grid.runs.items():
        folders = [arguments.output_dir / run_name(run) / f"seed-{seed}" for seed in grid.seeds]
        if run.get("init_seed") is None or not all((folder / "results.json").is_file() for folder in folders):
            continue
        model, tokenizer = average(list(map(str, folders)))
        scores = task.score("test", answers_of(model, tokenizer, task, "test", asked, BATCH_SIZE))
        looked = {"mean of weights": {name: scores[name] for name in task.main_scores}}
        print(f"{label}: {looked}", flush=True)
        add_found(arguments.results_dir, "soup", grid, label, "", looked)


if __name__ == "__main__":
    main(parse(GridAndDataArguments, "grid"))
