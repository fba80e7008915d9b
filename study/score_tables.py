"""Tables in Markdown of what the study has found, for `report.py`."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import t

from absa.ablation import OTHER_ANSWERS
from absa.comparison.scores import differences, table
from absa.training.results import mean_and_std, percent
from grids import Grid, run_name
from results import read_analysis
from unseen import BY_LIKENESS, SCORES, goals, left_out

Results = Mapping[tuple[str, int], Mapping]  # as `read_results` gives them
MAIN_SCORES = {  # by `Grid.scored_as`
    "sentihood": {
        "strict_accuracy": "strict accuracy",
        "macro_f1": "macro-F1",
        "aspect_auc": "aspect AUC",
        "sentiment_accuracy": "sentiment accuracy",
        "sentiment_auc": "sentiment AUC",
    },
    "semeval2014": {
        "precision": "precision",
        "recall": "recall",
        "f1": "F1",
        "accuracy_binary": "binary",
        "accuracy_3way": "3-way",
        "accuracy_4way": "4-way",
    },
    "absa": {"strict_accuracy": "strict accuracy", "accuracy": "accuracy", "macro_f1": "macro-F1"},
    "e2e_absa": {
        "micro_f1": "F1",
        "strict_micro_f1": "strict F1",
        "aspect_f1": "borders",
        "sentiment_accuracy": "polarity of these",
    },
    "conll": {"f1": "F1", "precision": "precision", "recall": "recall", "strict_f1": "strict F1"},
    "conllu": {"accuracy": "accuracy"},
    "aste": {
        "f1": "F1",
        "precision": "precision",
        "recall": "recall",
        "aope_f1": "AOPE F1",
        "aesc_f1": "AESC F1",
        "ate_f1": "ATE F1",
        "ote_f1": "OTE F1",
    },
    "aesc": {"f1": "F1", "precision": "precision", "recall": "recall", "ate_f1": "borders"},
    "aoe": {"f1": "F1", "precision": "precision", "recall": "recall"},
    "alsc": {
        "accuracy": "accuracy",
        "macro_f1": "macro-F1",
        "mixed_accuracy": "mixed sentences",
        "floor_majority_accuracy": "the commonest label",
    },
    "aspect_polarity": {"accuracy": "accuracy", "macro_f1": "macro-F1", "mixed_accuracy": "mixed sentences"},
}
TERMS = ("gate", "ratio", "spread")
OVERLAP = {  # what is told beside F1 of generators that find spans
    "exact": "exact",
    "target_jaccard": "targets, words",
    "target_jaccard_spans": "targets, spans",
    "opinion_jaccard": "opinions, words",
    "opinion_jaccard_spans": "opinions, spans",
}
FOUND_SCORES = {
    "f1": "F1",
    "precision": "precision",
    "recall": "recall",
    "ate_f1": "borders",
    "label_accuracy": "polarity of these",
}


def scores_of(
    grid: Grid, label: str, results: Results, split: str, names: Iterable[str] | None = None
) -> pd.DataFrame:
    """Scores of a run, by default the main ones, on a split, or of its `oracle`: a row for each seed that has them, a
    column a score."""
    name, names = run_name(grid.runs[label]), list(names or MAIN_SCORES[grid.scored_as])
    by_seed = {seed: results[name, seed][split] for seed in grid.seeds if (name, seed) in results}
    scored = {seed: scores for seed, scores in by_seed.items() if scores}
    return pd.DataFrame.from_dict(scored, orient="index", columns=names, dtype=float)


def row_of(grid: Grid, heading: str, label: str, seeds: int | str, cells: Iterable[str]) -> dict[str, str]:
    """A row of a table of scores: heading -> cell."""
    return {heading: label, "seeds": str(seeds), **dict(zip(MAIN_SCORES[grid.scored_as].values(), cells, strict=True))}


def percents(scores: pd.DataFrame) -> list[str]:
    """A cell for each score: mean (standard deviation) over the seeds."""
    return [percent(scores[name].tolist()) for name in scores]


def scores_table(grid: Grid, results: Results) -> str:
    """A line for each run: its scores, and how many seeds have been trained; below, in which precision, and which were
    not."""
    heading, num_scores = f"{grid.title}, %", len(MAIN_SCORES[grid.scored_as])
    rows = [row_of(grid, heading, *row, "", cells or [""] * num_scores) for *row, cells in grid.reported.items()]
    trained, not_run, in_bfloat16 = [], [], []
    for label, run in grid.runs.items():
        of_run = [results[key] for seed in grid.seeds if (key := (run_name(run), seed)) in results]
        scores = scores_of(grid, label, results, grid.split)
        if len(scores):
            rows.append(row_of(grid, heading, label, len(scores), percents(scores)))
            trained.append(label)
        if any(result["score_precision"] == "bfloat16" for result in of_run):
            in_bfloat16.append(label)
        if seeds := [str(seed) for seed in grid.seeds if seed not in scores.index]:
            not_run.append(f"{label} (seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)})")
    text = table(rows)
    if in_bfloat16:
        which = "all runs" if in_bfloat16 == trained else "; ".join(in_bfloat16)
        text += f"\nScored in bfloat16, as they were trained, while the pipeline answers in float32: {which}.\n"
    text += precisions(grid, results)
    return text + (f"\nNot run: {'; '.join(not_run)}.\n" if not_run else "")


def precisions(grid: Grid, results: Results) -> str:
    """Which runs were trained in float32, where others were in bfloat16; "" where all are alike."""
    in_float32, in_bfloat16 = {}, False
    for label, run in grid.runs.items():
        for seed in grid.seeds:
            if result := results.get((run_name(run), seed)):
                in_bfloat16 |= bool(result["bf16"])
                if not result["bf16"]:
                    in_float32.setdefault(label, []).append(str(seed))
    if not in_float32 or not in_bfloat16:
        return ""
    which = "; ".join(f"{label} ({', '.join(seeds)})" for label, seeds in in_float32.items())
    return f"\nTrained in float32 are the seeds of {which}; the others in bfloat16.\n"


def side_by_side(grids: Sequence[Grid], results: Results, number: int) -> str:
    """One of the main scores, by its number, of the same runs on several data: a line a run, a column a grid; below,
    how many of the runs are done."""
    rows, trained = [], 0
    for label in max((grid.runs for grid in grids), key=len):
        row, reported = {"%": label}, {"%": f"{label}, as reported"}
        for grid in grids:
            name = list(MAIN_SCORES[grid.scored_as])[number]
            scores = scores_of(grid, label, results, grid.split)[name].tolist() if label in grid.runs else []
            trained += len(scores)
            row[grid.title] = percent(scores) if scores else ""
            reported[grid.title] = grid.reported[label][number] if label in grid.reported else ""
        rows.append(row)
        if any(list(reported.values())[1:]):
            rows.append(reported)
    wanted = sum(len(grid.runs) * len(grid.seeds) for grid in grids)
    return table(rows) + (f"\n{trained} of {wanted} runs are done.\n" if trained < wanted else "")


def oracle_table(grid: Grid, results: Results) -> str:
    """For the runs that kept both: the scores of the checkpoint chosen on validation, and of the one best on test."""
    rows = []
    for label in grid.runs:
        best = scores_of(grid, label, results, "oracle")
        chosen = scores_of(grid, label, results, "test").loc[best.index]
        for which, scores in (("chosen on validation", chosen), ("best on test", best)):
            if len(best):
                rows.append(row_of(grid, f"{grid.title}, %", f"{label}, {which}", len(best), percents(scores)))
    return table(rows)


def paired_table(grid: Grid, results: Results, analysis: Mapping[str, Mapping]) -> str:
    """The differences of the pairs that `paired.py` has compared.

    Raises:
        KeyError: if a seed that was compared has no results.
    """
    rows = []
    for label, others in analysis.items():
        for other, compared in others.items():
            pair = [scores_of(grid, name, results, "test").loc[compared["seeds"]] for name in (label, other)]
            cells = differences(*pair, compared["scores"])
            rows.append(row_of(grid, f"{grid.title}, points", f"{label} minus {other}", len(pair[0]), cells))
    return table(rows)


def differences_table(grid: Grid, results: Results) -> str:
    """Each run minus the grid's first, over the seeds that both have: on the validation split and, where the grid's
    table shows it, the test split.
    """
    first, *others = grid.runs
    rows = []
    for label in others:
        for split in ["validation", "test"] if grid.split == "test" else ["validation"]:
            pair = [scores_of(grid, name, results, split) for name in (label, first)]
            both = pair[0].index.intersection(pair[1].index)
            if len(both):
                cells = differences(pair[0].loc[both], pair[1].loc[both], None)
                rows.append(row_of(grid, f"minus {first}, points", f"{label}, {split}", len(both), cells))
    return table(rows)


def trade_off_table(grid: Grid, analysis: Mapping[str, Mapping]) -> str:
    """What `trade_off.py` has found: strict accuracy and macro-F1 at each factor for none, means over seeds; of rows
    whose models have all been asked the contrast set also what is right there, and how often they say too much."""
    rows, heading = [], f"{grid.title}, %: strict accuracy, macro-F1"
    if any("opinions right" in looked["1"] for seeds in analysis.values() for looked in seeds.values()):
        heading += "; contrast set: opinions right, false mentions"
    for label, seeds in analysis.items():
        row = {heading: label, "seeds": str(len(seeds))}
        for factor in next(iter(seeds.values())):
            scores = percents(pd.DataFrame([looked[factor] for looked in seeds.values()]).dropna(axis=1))
            row[f"none times {factor}"] = "; ".join(
                ", ".join(pair) for pair in zip(scores[::2], scores[1::2], strict=True)
            )
        rows.append(row)
    return table(rows)


def ways_table(grid: Grid, analysis: Mapping[str, Mapping], names: Mapping[str, str]) -> str:
    """What `decoding.py` or `found_and_judged.py` has found: some scores of each run in each of several ways.

    Args:
        names: of the scores that are shown -> their headings.
    """
    rows = []
    for label, seeds in analysis.items():
        for way in next(iter(seeds.values())):
            scores = pd.DataFrame([looked[way] for looked in seeds.values()])[list(names)]
            number = len("+".join(seeds).split("+"))  # one model may be of several
            row = {f"{grid.title}, %": f"{label}, {way}", "seeds": str(number)}
            rows.append(row | dict(zip(names.values(), percents(scores), strict=True)))
    return table(rows)


def overlap_table(grids: Sequence[Grid], results: Results) -> str:
    """Of the runs of all generators the share of exact sentences and Jaccard of spans; "" where spans are given."""
    rows = []
    for grid in grids:
        for label in grid.runs:
            scores = scores_of(grid, label, results, "test", OVERLAP).dropna(how="all")
            if len(scores):
                cells = [percent(scores[name].tolist()) if scores[name].notna().any() else "" for name in scores]
                row = {"%": f"{grid.name}: {label}", "seeds": str(len(scores))}
                rows.append(row | dict(zip(OVERLAP.values(), cells, strict=True)))
    return table(rows)


def by_number_table(grids: Sequence[Grid], results_dir: Path) -> str:
    """What `by_number.py` has found of all generators: F1 by the number of gold tuples in a sentence."""
    rows = []
    for grid in grids:
        for label, seeds in read_analysis(results_dir, "by_number", grid).items():
            scores = pd.DataFrame.from_dict(seeds, orient="index", dtype=float)
            row = {"F1, %, by gold tuples": f"{grid.name}: {label}", "seeds": str(len(scores))}
            rows.append(row | dict(zip(scores, percents(scores), strict=True)))
    return table(rows)


def denoising_table(grid: Grid, results: Results) -> str:
    """How well the denoising before each run that has it restores validation texts, before and after."""
    rows = []
    for label, run in grid.runs.items():
        keys = [(run_name(run), seed) for seed in grid.seeds]
        held_out = [results[key]["denoising"]["held_out"] for key in keys if key in results and "denoising" in run]
        if held_out:
            row = {"validation texts": label, "seeds": str(len(held_out))}
            for when in ("before", "after"):
                of_loss = mean_and_std([one[when]["loss_per_token"] for one in held_out])
                spread = "" if of_loss["std"] is None else f" ({of_loss['std']:.2f})"
                row[f"loss a token {when}"] = f"{of_loss['mean']:.2f}{spread}"
            for when in ("before", "after"):
                row[f"recovered {when}, %"] = percent([one[when]["recovered"] for one in held_out])
            rows.append(row)
    return table(rows)


def terms_table(analysis: Mapping[str, Mapping], when: str) -> str:
    """What `terms.py` has found: gate, quasi term and spread of A_quasi by layer, and the quasi term by length.

    Means over the seeds. In brackets the relative spread, and its standard deviation, which models that were looked at
    earlier have not.
    """
    seeds = {label: [sizes[when] for sizes in found.values() if when in sizes] for label, found in analysis.items()}
    measured = {label: found for label, found in seeds.items() if found}
    heading = f"{when} training: gate, quasi / softmax, spread of A_quasi"
    if any("relative_spread" in sizes for found in measured.values() for sizes in found):
        heading += " [over the mean size of A_quasi]"
    rows, most_layers = [], max((len(found[0]["gate"]) for found in measured.values()), default=0)
    for label, found in measured.items():
        layers = zip(*(np.mean([sizes[name] for sizes in found], axis=0) for name in TERMS), strict=True)
        cells = ["{:.3f}, {:.2f}, {:.3f}".format(*figures) for figures in layers]
        if all("relative_spread" in sizes for sizes in found):
            by_layer = zip(*(sizes["relative_spread"] for sizes in found), strict=True)
            cells = [f"{cell} [{of_thousands(one)}]" for cell, one in zip(cells, by_layer, strict=True)]
        cells += [""] * (most_layers - len(cells))
        row = {heading: label, "seeds": str(len(found))}
        row |= {f"guided layer {n}": cell for n, cell in enumerate(cells, start=1)}
        for length in found[0]["ratio_by_length"]:
            row[length] = f"{np.mean([sizes['ratio_by_length'][length] for sizes in found]):.2f}"
        rows.append(row)
    return table(rows) or "Not run.\n"


def of_thousands(values: Sequence[float]) -> str:
    """Mean (standard deviation), with three digits behind the point."""
    figures = mean_and_std(values)
    return f"{figures['mean']:.3f}" + ("" if figures["std"] is None else f" ({figures['std']:.3f})")


def by_seed(differences: Sequence[float]) -> str:
    """A cell of differences, one a seed: mean in points ± standard error, bold beyond the 95% of Student's t."""
    figures = mean_and_std(differences)
    cell, seeds = f"{100 * figures['mean']:+.1f}", len(differences)
    if seeds > 1:
        error = figures["std"] / np.sqrt(seeds)
        cell += f" ± {100 * error:.1f}"
        cell = f"**{cell}**" if abs(figures["mean"]) > error * t.ppf(0.975, seeds - 1) else cell
    return cell


def ablation_table(grid: Grid, analysis: Mapping[str, Mapping]) -> str:
    """What `ablation.py` has found: two scores as trained, and with changed gates what is different from that."""
    rows, names = [], dict(list(MAIN_SCORES[grid.scored_as].items())[:2])
    for label, seeds in analysis.items():
        row = {f"{grid.title}, %: {', '.join(names.values())}": label, "seeds": str(len(seeds))}
        trained, *changed = next(iter(seeds.values()))
        row[trained] = ", ".join(percent([looked[trained][name] for looked in seeds.values()]) for name in names)
        for gate in changed:
            pairs = [(looked[gate], looked[trained]) for looked in seeds.values()]
            cells = [by_seed([one[name] - other[name] for one, other in pairs]) for name in names]
            others = percent([one[OTHER_ANSWERS] for one, _ in pairs])
            row[f"{gate}: points; other answers, %"] = f"{', '.join(cells)}; {others}"
        rows.append(row)
    return table(rows) or "Not run.\n"


def gradients_table(analysis: Mapping[str, Mapping]) -> str:
    """What `terms.py` has found in untrained models: the gradients of the new weights."""
    rows = []
    for label, found in analysis.items():
        gradients = next(iter(found.values()))["before"]["gradient"].items()
        cells = {kind.replace("_", " "): f"{gradient:.0e}" for kind, gradient in gradients}
        rows.append({"gradient before training": label, **cells})
    return table(rows)


def apart_table(analysis: Mapping[str, Mapping]) -> str:
    """What `apart.py` has found of each pair of aspects: distance, and how often the right and the other is found."""
    rows = []
    for label, seeds in analysis.items():
        for seed, looked in seeds.items():
            cells = (f"{v['distance']:.2f}: {100 * v['right']:.0f}, {100 * v['other']:.0f}" for v in looked.values())
            first = {"distance: right, other in %": f"{label}, seed {seed}"}
            rows.append(first | dict(zip(looked, cells, strict=True)))
    return table(rows)


def unseen_table(grid: Grid, analysis: Mapping[str, Mapping]) -> str:
    """What `unseen.py` has found: aspect AUC and sentiment accuracy by aspect; in brackets of those in training.

    Below, how near the goal of each aspect that was left out is.
    """
    rows, heading = [], f"{grid.title}, %: aspect AUC, sentiment accuracy"
    order = [end for label in grid.runs for end in (label, label + BY_LIKENESS)]
    for label in sorted(analysis, key=lambda label: order.index(label) if label in order else -1):
        seeds, is_trained = analysis[label], label in order
        unseen = left_out(grid.runs[label.removesuffix(BY_LIKENESS)]) if is_trained else []
        every = next(iter(next(iter(analysis.values())).values()))
        row = {heading: label, "seeds": str(len(seeds) if is_trained else ""), **dict.fromkeys(every, "")}
        for aspect in next(iter(seeds.values())):
            cell = ", ".join(percent([found[aspect][name] for found in seeds.values()]) for name in SCORES)
            row[aspect] = f"[{cell}]" if is_trained and aspect not in unseen else cell
        rows.append(row)
    of_goals = {"share": (" / closed, %", percent), "lead": (" minus BERT-pair, points", by_seed)}
    for others, by_aspect in goals(grid, analysis).items():
        who = "left out" + (f", with {' and '.join(others)}" if others else "")
        for goal, (than, shown) in of_goals.items():
            figures = {aspect: found[goal] for aspect, found in by_aspect.items() if all(found[goal].values())}
            cells = {aspect: ", ".join(map(shown, found.values())) for aspect, found in figures.items()}
            if cells:
                row = {name: cells.get(name, "") for name in list(rows[0])[2:]}
                rows.append({heading: who + than, "seeds": "", **row})
    not_run = [label for label in grid.runs if label not in analysis]
    return table(rows) + (f"\nNot run: {', '.join(not_run)}.\n" if not_run else "")
