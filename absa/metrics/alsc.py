"""The label of given targets, where a model answers with a label or with nothing: accuracy and F1."""

from collections.abc import Callable, Sequence

import numpy as np

from absa.metrics.bootstrap import with_bounds
from absa.metrics.mixed_texts import in_mixed_texts, mixed_accuracy
from absa.metrics.ratios import DegenerateScoreWarning, label_f1s, macro_f1, undefined
from absa.metrics.rows import check_label_names, shorten
from absa.metrics.tuple_rows import check_sides, checked_tuples

__all__ = ["LABELS", "DegenerateScoreWarning", "alsc_scores", "figures_of_targets"]

LABELS = ("positive", "negative", "neutral")


def alsc_scores(
    gold: Sequence[Sequence[dict]],
    predicted: Sequence[Sequence[dict]],
    *,
    label_names: Sequence[str] = LABELS,
    bootstrap: int = 0,
    seed: int = 0,
) -> dict[str, float]:
    """Score parallel lists of sentences, whose targets are given: both sides have the same ones, each once.

    - `accuracy`: share of targets with the right label.
    - `macro_f1`: mean F1 over the labels that occur in gold or among the predictions (as scikit-learn's default);
      `f1/<label>`: F1 of one label.
    - `mixed_accuracy`: `accuracy` over the targets of sentences that have several labels in gold, where a model must
      look at the target that it is given.
    - `invalid_share`: share of targets for which there is no predicted label. These are wrong.
    - `floor_majority_accuracy`, `floor_majority_macro_f1`: what the commonest gold label reaches, for all targets.
    - `count_sentences`, `count_targets`, and `count/<label>`, the targets of a gold label.

    For models that give a probability to every label, `aspect_polarity_scores` has more figures.

    Args:
        gold, predicted: (sentences,) lists of {"target": [start, end), "label": str}; a predicted label may be None.
        label_names: the labels that may occur. Leave conflict out of gold, or name it here.
        bootstrap: number of resamples of sentences for 95% intervals `<name>_low`, `<name>_high` of all but floors and
            counts.
        seed: of the resampling.

    Returns:
        Figures by name, between 0 and 1, and counts. A figure that the targets do not define is NaN, with a
        `DegenerateScoreWarning`.

    Raises:
        ValueError: no targets, other targets than those of gold, or labels that are not among `label_names`.
    """
    sentence_of, ids, answers = _checked(gold, predicted, label_names)
    counts = np.bincount(ids, minlength=len(label_names))
    commonest = np.full_like(ids, counts.argmax())
    figures_of = _figures_of(sentence_of, ids, answers, label_names)
    return {
        **with_bounds(figures_of, sentence_of, bootstrap, seed),
        "floor_majority_accuracy": float(counts.max() / len(ids)),
        "floor_majority_macro_f1": macro_f1(label_f1s(ids, commonest, len(label_names))),
        "count_sentences": len(gold),
        "count_targets": len(ids),
        **{f"count/{name}": int(count) for name, count in zip(label_names, counts, strict=True)},
    }


def figures_of_targets(
    gold: Sequence[Sequence[dict]], predicted: Sequence[Sequence[dict]], *, label_names: Sequence[str] = LABELS
) -> Callable[[np.ndarray], dict[str, float]]:
    """A function of the numbers of targets, sentence by sentence, that gives their figures as `alsc_scores`.

    Raises:
        ValueError: as `alsc_scores`.
    """
    return _figures_of(*_checked(gold, predicted, label_names), label_names)


def _figures_of(
    sentence_of: list[int], gold: np.ndarray, predicted: np.ndarray, label_names: Sequence[str]
) -> Callable[[np.ndarray], dict[str, float]]:
    in_mixed = in_mixed_texts(sentence_of, gold)

    def figures_of(index: np.ndarray) -> dict[str, float]:
        of_index = gold[index], predicted[index]
        return _figures(*of_index, label_names) | mixed_accuracy(np.equal(*of_index), in_mixed[index])

    return figures_of


def _checked(gold, predicted, label_names: Sequence[str]) -> tuple[list[int], np.ndarray, np.ndarray]:
    """What `_targets` gives of what `alsc_scores` takes."""
    check_label_names(label_names)
    of_gold = checked_tuples("gold", gold, ("target", "label"))
    of_predicted = checked_tuples("predicted", predicted, ("target", "label"), optional=("label",))
    check_sides(of_gold, of_predicted)
    return _targets(of_gold, of_predicted, label_names)


def _targets(gold, predicted, label_names: Sequence[str]) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Of each target the number of its sentence, its label id and the predicted one, which is the last where there is
    none."""
    sentence_of, gold_ids, predicted_ids = [], [], []
    number_of = {name: number for number, name in enumerate([*label_names, None])}
    for number, (right, answered) in enumerate(zip(gold, predicted, strict=True)):
        labels, answers = dict(right), dict(answered)
        if len(labels) < len(right) or len(answers) < len(answered) or labels.keys() != answers.keys():
            raise ValueError(
                f"gold[{number}] has the targets {shorten([target for target, _ in right])}, and predicted[{number}] "
                f"{shorten([target for target, _ in answered])}: give the same, each once."
            )
        for side, named in (("gold", labels), ("predicted", answers)):
            if unknown := [name for name in named.values() if name not in number_of]:
                raise ValueError(
                    f"{side}[{number}] has the label {shorten(unknown[0])}: use one of {shorten(list(label_names))}."
                )
        sentence_of += [number] * len(labels)
        gold_ids += [number_of[label] for label in labels.values()]
        predicted_ids += [number_of[answers[target]] for target in labels]
    if not gold_ids:
        raise ValueError("gold has no targets: a score needs at least one.")
    return sentence_of, np.array(gold_ids), np.array(predicted_ids)


def _figures(gold: np.ndarray, predicted: np.ndarray, label_names: Sequence[str]) -> dict[str, float]:
    num_labels = len(label_names)
    f1s = label_f1s(gold, predicted, num_labels + 1)[:num_labels]  # the last one is no label
    figures = {"accuracy": float((gold == predicted).mean()), "macro_f1": macro_f1(f1s)}
    for name, f1 in zip(label_names, f1s.tolist(), strict=True):
        absent = "the label occurs neither in gold nor among the predictions"
        figures[f"f1/{name}"] = undefined(f"f1/{name}", absent) if np.isnan(f1) else f1
    return {**figures, "invalid_share": float((predicted == num_labels).mean())}
