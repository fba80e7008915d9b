"""What a scalar mix has learned of the layers of its encoder: mean and standard deviation over the seeds of a run.

    python examples/paper/layers.py outputs/semeval2014_scalar_mix outputs/uniform outputs/last

layers.svg and layers.png have, by layer and run, the share s and the contribution: the share times the size of the
layer's states, divided by the sum of these. layers.json has the numbers, γ and the scores of the runs.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import plots
from absa.commands import parse, user_errors
from absa.models import load_classifier
from absa.training.results import cell, write_json

TEXTS = (
    "The wine list is long, but we waited an hour for our table.",
    "Friendly waiters, cold soup and an average dessert.",
    "I would come back for the price alone.",
)


@dataclass
class LayersArguments:
    """Which models, on what."""

    runs: list[Path] = field(metadata={"help": "Folders of runs of a scalar mix, such as a learned one and controls."})
    texts: list[str] = field(
        default_factory=lambda: list(TEXTS), metadata={"help": "On which sizes are measured (default: three)."}
    )
    output_dir: Path = field(default=Path("outputs/figures"), metadata={"help": "Where the figure goes."})


def spread(values: list) -> dict[str, list[float] | float]:
    """Mean and standard deviation over seeds, of numbers or of lists of them; the deviation of one seed is 0."""
    values = np.array(values)
    return {
        "mean": values.mean(0).tolist(),
        "std": (values.std(0, ddof=1) if len(values) > 1 else 0 * values[0]).tolist(),
    }


def learned(run: Path, texts: list[str]) -> dict:
    """Of a run: the scores of its table, and over its seeds `s`, `contribution` and `gamma`."""
    summary = run / "all_results.json"
    if not summary.is_file():
        raise ValueError(f"runs {run}: it has no all_results.json; give the output_dir of a run that has finished")
    results, found = json.loads(summary.read_text(encoding="utf-8")), []
    for seed in results["seeds"]:
        model, tokenizer = load_classifier("runs", str(run / f"seed-{seed}"), dtype="float32")
        if not hasattr(model, "layer_weights"):
            raise ValueError(f"runs {run} has a {type(model).__name__}, which mixes no layers: give a scalar_mix")
        found.append(model.layer_weights(**tokenizer(texts, padding=True, truncation=True, return_tensors="pt")))
    scores = {name: results["summary"][name] for name in results["main_scores"]}
    return {"seeds": list(results["seeds"]), "scores": scores} | {
        name: spread([of_seed[name] for of_seed in found]) for name in found[0]
    }


def main(arguments: LayersArguments):
    numbers = {str(run): learned(run, arguments.texts) for run in arguments.runs}
    arguments.output_dir.mkdir(parents=True, exist_ok=True)
    plots.layers(numbers, arguments.output_dir)
    write_json(arguments.output_dir / "layers.json", numbers)
    for name, of_run in numbers.items():
        scores = ", ".join(f"{score} {cell(**spread)}" for score, spread in of_run["scores"].items())
        print(f"{name}: {scores}")
    print(f"figure and numbers: {arguments.output_dir}")


if __name__ == "__main__":
    with user_errors():
        main(parse(LayersArguments, "runs"))
