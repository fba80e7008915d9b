"""How well models answer about aspects: those of their training, and one that was left out of it.

    python study/unseen.py study/grids/unseen_sentihood.yaml --data_dir DIR

For each aspect of the test split: the ROC-AUC of P(the aspect is there), and of the rows that have it the share whose
sentiment is right. Beside the grid's models stands what needs no training: how like the aspect's name a sentence
encoder finds the text and its nearest word (aspect), and whether the text is more like "good NAME" or "bad NAME"
(sentiment).

The goal, on the aspect that was left out: at least 85 % of what the closed model has, which has seen it, and more than
BERT-pair has, from which it was left out too.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import sub, truediv
from pathlib import Path

import pandas as pd

from absa.commands import parse
from absa.metrics.ratios import roc_auc
from absa.tasks.base import Rows
from absa.tasks.classification import Classification
from absa.tasks.similar import embedded, similarities
from absa.training.arguments import parse_arguments, recipe_words
from grids import Grid, read_grid
from modeling_qacg_bert import written_aspect
from results import GridAndDataArguments, add_found, answers_in, look_at_trained

SCORES = ("aspect_auc", "sentiment_accuracy")
CLOSED = "closed"
SIMILARITY = "similarity of sentence embeddings"


def figures(rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    """{aspect: {aspect_auc, sentiment_accuracy}} of rows as test_probabilities.parquet has them."""
    found = {}
    sentiments = [name for name in rows.columns if name.startswith("p_") and name != "p_none"]
    for aspect, own in rows.groupby("aspect"):
        is_there = (own["label"] != "none").to_numpy()
        present = own[is_there]
        answers = present[sentiments].idxmax(axis="columns").str.removeprefix("p_")
        found[aspect] = {
            "aspect_auc": roc_auc(aspect, is_there, -own["p_none"].to_numpy()),
            "sentiment_accuracy": float((answers == present["label"]).mean()),
        }
    return found


def taken_for(rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    """{aspect: {another: aspect AUC of what is answered about the first, as if it were about the second}}.

    Args:
        rows: that ask about each aspect of each text and target.
    """
    by_aspect = rows.assign(is_there=rows["label"] != "none").pivot(index=["id", "target"], columns="aspect")
    there, answered = by_aspect["is_there"], -by_aspect["p_none"]
    return {
        asked: {
            other: roc_auc(asked, there[other].to_numpy(bool), answered[asked].to_numpy())
            for other in there
            if other != asked
        }
        for asked in there
    }


def of_checkpoint(checkpoint: Path, dataset: str) -> dict[str, dict]:
    """The figures of a trained model on a data set, from its probabilities, and what each aspect is `taken_for`."""
    rows = pd.read_parquet(answers_in(checkpoint, dataset) / "test_probabilities.parquet")
    taken = taken_for(rows)
    return {aspect: {**of_aspect, "taken_for": taken[aspect]} for aspect, of_aspect in figures(rows).items()}


def left_out(run: Mapping) -> str | None:
    """The aspect that is left out of a run, or of its data set's entry in a mixture; None of one that has seen all."""
    own = next((entry for entry in run.get("mixture", ()) if entry["dataset"] == run["dataset"]), run)
    unseen = own.get("unseen_aspects")
    return unseen[0] if isinstance(unseen, list) else unseen


def goals(grid: Grid, found: Mapping[str, Mapping]) -> dict[str, dict[str, dict[str, list[float]]]]:
    """How near the goal is: {aspect that was left out: {"share" or "lead": {score: [a figure for each seed]}}}.

    Args:
        grid: of two runs that leave out an aspect the first is measured, the second is its rival.
        found: figures by run, seed, aspect and score.
    Returns:
        As "share" the score over that of the run `CLOSED`, as "lead" the score less the rival's, of the seeds that
        both have.
    """
    pairs, closed = {}, found.get(CLOSED, {})
    for label, run in grid.runs.items():
        if aspect := left_out(run):
            pairs.setdefault(aspect, []).append(found.get(label, {}))
    return {
        aspect: {
            "share": by_seed(own, closed, aspect, truediv),
            "lead": by_seed(own, rivals[0] if rivals else {}, aspect, sub),
        }
        for aspect, (own, *rivals) in pairs.items()
    }


def by_seed(own: Mapping, other: Mapping, aspect: str, compare: Callable) -> dict[str, list[float]]:
    """One run compared with another about an aspect: {score: [a figure for each seed that both have]}."""
    seeds = [seed for seed in own if seed in other]
    return {name: [compare(own[seed][aspect][name], other[seed][aspect][name]) for seed in seeds] for name in SCORES}


def by_similarity(rows: Rows, labels: Sequence[str], backbone: str) -> dict[str, dict[str, float]]:
    """The figures of similarities in place of probabilities. Labels but positive and negative are never said."""
    texts, aspects = sorted(set(rows["text"])), {aspect: written_aspect(aspect) for aspect in set(rows["aspect"])}
    is_like = pd.DataFrame(similarities(texts, list(aspects.values()), backbone), texts, list(aspects))
    forms = {"positive": "good {}", "negative": "bad {}"}
    vectors = embedded(
        backbone, [*texts, *(form.format(name) for form in forms.values() for name in aspects.values())]
    )
    scores = {f"p_{label}": [-1.0] * len(rows["text"]) for label in labels}
    pairs = list(zip(rows["text"], rows["aspect"], strict=True))
    scores["p_none"] = [-is_like.at[pair] for pair in pairs]
    for label, form in forms.items():
        scores[f"p_{label}"] = [float(vectors[text] @ vectors[form.format(aspects[of])]) for text, of in pairs]
    return figures(pd.DataFrame({"aspect": rows["aspect"], "label": rows["label"], **scores}))


def without_training(run: Mapping, data_dir: str | None) -> dict[str, dict[str, float]]:
    """What similarity says of the data of a run, by its backbone."""
    data_dirs = {} if data_dir is None else {"data_dir": data_dir}
    model, data, _ = parse_arguments(recipe_words({**run, **data_dirs}))
    task = Classification.load(data)
    return by_similarity(task.splits["test"], task.label_names, model.model_name_or_path)


def main(arguments: GridAndDataArguments):
    grid = read_grid(arguments.grid)
    look_at_trained("unseen", arguments, partial(of_checkpoint, dataset=grid.dataset))
    similar = without_training(next(iter(grid.runs.values())), arguments.data_dir)
    print(SIMILARITY, similar)
    add_found(arguments.results_dir, "unseen", grid, SIMILARITY, "", similar)


if __name__ == "__main__":
    main(parse(GridAndDataArguments, "grid"))
