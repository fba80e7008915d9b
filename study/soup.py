"""Is the mean of the weights of several seeds better than one of them?

    python study/soup.py study/grids/levers_sentihood.yaml --data_dir DIR

Of each run of a grid whose seeds begin with the same weights (`init_seed`) and are all there: the main scores of each
seed on the test split, and those of the one model whose weights are the mean.
"""

from absa.averaging import average
from absa.commands import parse
from absa.tasks.arguments import ClassificationArguments
from absa.tasks.classification import Classification
from absa.training.evaluation import answers_of
from grids import read_grid, run_name
from results import GridAndDataArguments, add_found, read_results

BATCH_SIZE = 32


def main(arguments: GridAndDataArguments):
    grid, results = read_grid(arguments.grid), read_results(arguments.results_dir)
    asked = ClassificationArguments(dataset=grid.dataset, data_dir=arguments.data_dir)
    task = Classification.load(asked)
    for label, run in grid.runs.items():
        folders = {seed: arguments.output_dir / run_name(run) / f"seed-{seed}" for seed in grid.seeds}
        if run.get("init_seed") is None or not all((one / "results.json").is_file() for one in folders.values()):
            continue
        model, tokenizer = average(list(map(str, folders.values())))
        scores = task.score("test", answers_of(model, tokenizer, task, "test", asked, BATCH_SIZE))
        found = {f"seed {seed}": results[run_name(run), seed]["test"] for seed in folders} | {
            "mean of weights": scores
        }
        looked = {way: {name: of_way[name] for name in task.main_scores} for way, of_way in found.items()}
        print(f"{label}: {looked}", flush=True)
        add_found(arguments.results_dir, "soup", grid, label, "", looked)


if __name__ == "__main__":
    main(parse(GridAndDataArguments, "grid"))
