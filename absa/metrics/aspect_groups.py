"""Groups of one row per aspect, for data sets with a fixed list of aspects whose first label is "none"."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from absa.metrics.bootstrap import with_bounds
from absa.metrics.mixed_texts import in_mixed_texts
from absa.metrics.ratios import presence_figures, roc_auc, share
from absa.metrics.rows import shorten, sorted_rows

NONE = 0


class Groups(NamedTuple):
    """The rows of each (id, target), one column per aspect."""

    ids: list[str]  # (groups,) sentence id of each group
    gold: np.ndarray  # (groups, aspects) int64, index of the gold label
    probabilities: np.ndarray  # (groups, aspects, labels) float64
    in_mixed: np.ndarray  # (groups, aspects) booleans, see `in_mixed_texts`


def aspect_groups(rows: Mapping[str, Any], aspect_names: Sequence[str], label_names: Sequence[str]) -> Groups:
    """Check rows and arrange them by group and aspect.

    Args:
        rows: `ids`, `targets`, `aspects`, `labels` and `probabilities`, as `sorted_rows` takes them.
        aspect_names: the aspects, one row of each for each (id, target).
        label_names: the labels, "none" first.

    Raises:
        ValueError: as `sorted_rows`; also an unknown aspect, or a group that lacks one.
    """
    keys, gold, probabilities = sorted_rows(**rows, label_names=label_names)
    found: dict[tuple[str, str], set[str]] = {}
    for sentence, target, aspect in keys:
        if aspect not in aspect_names:
            raise ValueError(
                f"unknown aspect {shorten(aspect)} for {shorten((sentence, target, aspect))}: use one of "
                f"{list(aspect_names)}; for other aspects there is the absa metric."
            )
        found.setdefault((sentence, target), set()).add(aspect)
    for group, aspects in found.items():
        if missing := [aspect for aspect in aspect_names if aspect not in aspects]:
            raise ValueError(
                f"no row for aspects {missing} of (id, target) {shorten(group)}: give all of {list(aspect_names)}."
            )
    # Rows are sorted, so each group's aspects come in alphabetical order.
    columns = [sorted(aspect_names).index(aspect) for aspect in aspect_names]
    ids, gold = [sentence for sentence, _ in found], gold.reshape(len(found), -1)[:, columns]
    probabilities = probabilities.reshape(len(found), -1, len(label_names))[:, columns]
    return Groups(ids, gold, probabilities, in_mixed_texts(ids, gold, NONE))


def audit_by_aspect(
    gold: np.ndarray, probabilities: np.ndarray, sentiment_right: np.ndarray, aspect_names: Sequence[str]
) -> dict[str, float]:
    """For each aspect: precision, recall, F1 and ROC-AUC of its presence, and sentiment accuracy where it is present.

    Args:
        gold: (groups, aspects) label index.
        probabilities: (groups, aspects, labels).
        sentiment_right: (groups, aspects) booleans; read where the aspect is present in gold.
        aspect_names: (aspects,).
    """
    present = gold != NONE
    predicted = probabilities.argmax(axis=-1) != NONE
    figures = {}
    for column, aspect in enumerate(aspect_names):
        prefix, here = f"audit_{aspect}_", present[:, column]
        figures |= presence_figures(prefix, here, predicted[:, column])
        figures[f"{prefix}auc"] = roc_auc(f"{prefix}auc", ~here, probabilities[:, column, NONE])
        name, empty = f"{prefix}sentiment_accuracy", "the aspect is not present in the gold labels"
        figures[name] = share(name, sentiment_right[:, column], here, empty)
    return figures


def scores_of_groups(
    groups: Groups,
    label_names: Sequence[str],
    figures_of_groups: Callable[[np.ndarray, np.ndarray, np.ndarray], dict[str, float]],
    floors: Callable[[np.ndarray], dict[str, float]],
    bootstrap: int,
    seed: int,
) -> dict[str, float]:
    """Figures with intervals, what constant answers reach, and the numbers of groups and rows.

    Args:
        figures_of_groups: figures of `gold`, `probabilities` and `in_mixed` of some of the groups.
        floors: figures of constant answers from `gold`.
        bootstrap, seed: see `with_bounds`.
    """
    ids, *arrays = groups
    figures = with_bounds(lambda index: figures_of_groups(*(array[index] for array in arrays)), ids, bootstrap, seed)
    counts = {
        "count_groups": len(groups.gold),
        "count_groups_without_gold": int((groups.gold == NONE).all(axis=1).sum()),
        "count_mixed_rows": int(groups.in_mixed.sum()),
        **{f"count_{name}": int((groups.gold == label).sum()) for label, name in enumerate(label_names)},
    }
    return {**figures, **floors(groups.gold), **counts}
