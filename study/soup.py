"""Is the mean of the weights of several seeds better than one of them?

    python study/soup.py study/grids/levers_sentihood.yaml --data_dir DIR

Of each run of a grid whose seeds begin with the same weights (`init_seed`) and are all there: the main scores on the
grid's split of the one model whose weights are the mean, and that of mixed texts. Those of the seeds are in the grid's
own table.
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
        if run.get("init_seed") is None:
            continue
        if missing := [folder for folder in folders if not (folder / "results.json").is_file()]:
            print(f"{label}: left out, {missing[0]} is not there")
            continue
        model, tokenizer = average(list(map(str, folders)))
        scores = task.score(grid.split, answers_of(model, tokenizer, task, grid.split, asked, BATCH_SIZE))
        looked = {"mean of weights": {name: scores[name] for name in (*task.main_scores, "mixed_accuracy")}}
        print(f"{label}: {looked}", flush=True)
        add_found(arguments.results_dir, "soup", grid, label, "+".join(map(str, grid.seeds)), looked)


if __name__ == "__main__":
    main(parse(GridAndDataArguments, "grid"))
