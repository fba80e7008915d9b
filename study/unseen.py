"""How well models answer about aspects: those of their training, and one that was left out of it.

    python study/unseen.py study/grids/unseen_sentihood.yaml --data_dir DIR

For each aspect of the test split: the ROC-AUC of P(the aspect is there), and of the rows that have it the share whose
sentiment is right. Beside the grid's models stands what needs no training: what is most often said of the aspect; and
how like its name a sentence encoder finds the text and its nearest word (aspect), and whether the text is more like
"good NAME" or "bad NAME" (sentiment).

The goal, on the aspect that was left out: at least 85 % of what the closed model has, which has seen it, and more than
BERT-pair has, from which it was left out too.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import sub, truediv
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from sklearn.metrics import precision_score, recall_score
from transformers import AutoModel, AutoTokenizer

import absa
from absa.commands import parse
from absa.metrics.ratios import roc_auc
from absa.packages import resolve_backbone
from absa.tasks.base import Rows
from absa.tasks.classification import Classification
from absa.training.arguments import parse_arguments, recipe_words
from grids import Grid, read_grid, run_name
from modeling_qacg_bert import written_aspect
from results import GridAndDataArguments, add_found, answers_in, look_at_trained

SCORES = ("aspect_auc", "sentiment_accuracy")
CLOSED = "closed"
SIMILARITY = "similarity of sentence embeddings"
COMMONEST = "always the commonest label"
BY_LIKENESS = ", by likeness"
WORD = re.compile(r"\b[^\W\d_]{3,}\b")
BATCH_SIZE = 64


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


def by_likeness_of(checkpoint: Path, run: Mapping) -> dict[str, dict[str, float]]:
    """{aspect that was left out: its figures, where likeness decides whether it is there}: what the pipeline answers.

    Beside `figures` the precision and recall of labels but none; nothing of models to which likeness is nothing.
    """
    pipe = absa.load(str(checkpoint)).pipe
    if getattr(pipe.model.config, "likeness_calibration", None) is None:
        return {}
    rows = pd.read_parquet(answers_in(checkpoint, run["dataset"]) / "test_probabilities.parquet")
    rows = rows[rows["aspect"].isin(left_out(run))].copy()
    answers = pd.DataFrame(pipe(rows[["text", "target", "aspect"]].to_dict("records")))
    for name in [name for name in rows.columns if name.startswith("p_")]:
        rows[name] = [of_row[name.removeprefix("p_")] for of_row in answers["probabilities"]]
    # All targets of a text are as likely, which for AUC must be a tie.
    rows["p_none"] = rows["p_none"].round(5)
    rows["speaks"] = (answers["label"] != "none").to_numpy()
    found = figures(rows)
    for aspect, own in rows.groupby("aspect"):
        sides = own["label"] != "none", own["speaks"]
        found[aspect] |= {"precision": precision_score(*sides, zero_division=0), "recall": recall_score(*sides)}
    return found


def left_out(run: Mapping) -> list[str]:
    """The aspects that are left out of a run, or of its data set's entry in a mixture."""
    own = next((entry for entry in run.get("mixture", ()) if entry["dataset"] == run["dataset"]), run)
    unseen = own.get("unseen_aspects", [])
    return unseen if isinstance(unseen, list) else [unseen]


def beside(run: Mapping) -> tuple[str, ...]:
    """What else a run is trained on: the names of a mixture's entries but the first, which is the data set's."""
    return tuple(entry["name"] for entry in run.get("mixture", ())[1:])


def goals(
    grid: Grid, found: Mapping[str, Mapping]
) -> dict[tuple[str, ...], dict[str, dict[str, dict[str, list[float]]]]]:
    """How near the goal is: {what else a model was trained on: {aspect that was left out: {"share" or "lead": {score:
    [a figure for each seed]}}}}.

    Args:
        grid: of the runs that leave out an aspect the first one on so many data sets is measured; the rival of all is
            the second one on one data set.
        found: figures by run, seed, aspect and score.
    Returns:
        As "share" the score over that of the run `CLOSED`, as "lead" the score less the rival's, of the seeds that
        both have.
    """
    runs, closed, near = {}, found.get(CLOSED, {}), {}
    for label, run in grid.runs.items():
        for aspect in left_out(run):
            of_run = found.get(label + BY_LIKENESS) or found.get(label, {})
            runs.setdefault(beside(run), {}).setdefault(aspect, []).append(of_run)
    for others, by_aspect in runs.items():
        for aspect, (own, *_) in by_aspect.items():
            rival = next(iter(runs[()].get(aspect, [])[1:]), {})
            near.setdefault(others, {})[aspect] = {
                "share": by_seed(own, closed, aspect, truediv),
                "lead": by_seed(own, rival, aspect, sub),
            }
    return near


def by_seed(own: Mapping, other: Mapping, aspect: str, compare: Callable) -> dict[str, list[float]]:
    """One run compared with another about an aspect: {score: [a figure for each seed that both have]}."""
    seeds = [seed for seed in own if seed in other]
    return {name: [compare(own[seed][aspect][name], other[seed][aspect][name]) for seed in seeds] for name in SCORES}


@torch.no_grad()
def embedded(backbone: str, texts: Iterable[str]) -> dict[str, np.ndarray]:
    """Unit vectors of a sentence encoder: of each distinct text the mean of its last states."""
    folder = resolve_backbone(backbone)
    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    found, distinct = {}, sorted(set(texts), key=len)
    for start in range(0, len(distinct), BATCH_SIZE):
        batch = distinct[start : start + BATCH_SIZE]
        inputs = tokenizer(batch, padding=True, truncation=True, return_tensors="pt")
        mask = inputs["attention_mask"][..., None]
        mean = (model(**inputs).last_hidden_state * mask).sum(1) / mask.sum(1)
        found |= dict(zip(batch, torch.nn.functional.normalize(mean, dim=-1).numpy(), strict=True))
    return found


def similarities(texts: Sequence[str], names: Sequence[str], backbone: str) -> np.ndarray:
    """How like texts are to names beside the other texts, (texts, names).

    The sum of two cosines, each standardised over the texts: of the whole text and the name, and of that word of the
    text which is nearest to it.
    """
    words_in = [WORD.findall(text.lower()) or [text] for text in texts]
    vectors = embedded(backbone, [*texts, *names, *(word for own in words_in for word in own)])
    asked = np.stack([vectors[name] for name in names])
    whole = np.stack([vectors[text] for text in texts]) @ asked.T
    nearest = np.stack([(np.stack([vectors[word] for word in own]) @ asked.T).max(0) for own in words_in])
    return sum((scores - scores.mean(0)) / scores.std(0) for scores in (whole, nearest))


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


def by_commonest(rows: Rows) -> dict[str, dict[str, float]]:
    """The figures of answering to every row of an aspect what is most often said of it."""
    present = pd.DataFrame({name: rows[name] for name in ("aspect", "label")}).query("label != 'none'")
    shares = present.groupby("aspect")["label"].agg(lambda labels: labels.value_counts(normalize=True).max())
    return {aspect: {"aspect_auc": 0.5, "sentiment_accuracy": share} for aspect, share in shares.items()}


def without_training(run: Mapping, data_dir: str | None) -> dict[str, dict[str, dict[str, float]]]:
    """What needs no training -> its figures on the data of a run, similarity by the run's backbone."""
    data_dirs = {} if data_dir is None else {"data_dir": data_dir}
    task = Classification.load(parse_arguments(recipe_words({**run, **data_dirs})).data)
    rows = task.splits["test"]
    similar = by_similarity(rows, task.label_names, run["model_name_or_path"])
    return {COMMONEST: by_commonest(rows), SIMILARITY: similar}


def main(arguments: GridAndDataArguments):
    grid = read_grid(arguments.grid)
    for label, run in grid.runs.items():
        for seed in grid.seeds:
            checkpoint = arguments.output_dir / run_name(run) / f"seed-{seed}"
            # The model is asked, of which a training elsewhere may have left its answers only.
            if not left_out(run) or not (checkpoint / "config.json").is_file():
                continue
            if found := by_likeness_of(checkpoint, run):
                print(label + BY_LIKENESS, seed, found)
                add_found(arguments.results_dir, "unseen", grid, label + BY_LIKENESS, str(seed), found)
    look_at_trained("unseen", arguments, partial(of_checkpoint, dataset=grid.dataset))
    for label, found in without_training(next(iter(grid.runs.values())), arguments.data_dir).items():
        print(label, found)
        add_found(arguments.results_dir, "unseen", grid, label, "", found)


if __name__ == "__main__":
    main(parse(GridAndDataArguments, "grid"))
