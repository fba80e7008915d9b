"""The figures of taggers: named entities as conlleval and seqeval count them, and parts of speech."""

from collections.abc import Callable, Collection, Sequence

import numpy as np

from absa.metrics.bootstrap import with_bounds
from absa.metrics.ratios import DegenerateScoreWarning, ratio
from absa.metrics.rows import is_sequence, is_text, shorten
from absa.metrics.tag_sequences import Span, check_tags, default_spans, strict_spans

__all__ = ["SCHEMES", "DegenerateScoreWarning", "figures_of_sentences", "tagging_scores"]

SCHEMES = ("BIO", "BIEOS", "plain")


def tagging_scores(
    gold: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
    *,
    scheme: str = "BIO",
    words: Sequence[Sequence[str]] | None = None,
    train_words: Collection[str] | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> dict[str, float]:
    """Score parallel lists of sentences.

    - `accuracy`: of the words' tags. With `train_words` also `unseen_accuracy`, of the words that are not among them.

    With the schemes BIO and BIEOS, of entities, which are right if their borders and their type are those of gold:

    - `f1`, `precision`, `recall`: pooled over sentences and types (micro), as conlleval and seqeval's default, which
      repair tags that are not well-formed (see `default_spans`); `f1/<type>`: of the entities of one type.
    - `strict_f1`, `strict_precision`, `strict_recall`: over well-formed entities only, as seqeval's strict mode.
    - with `words`, `surface_f1`, `surface_precision`, `surface_recall`: WNUT-17's second figures, in which each pair
      of an entity's words and its type counts once, however often it occurs. They have no intervals, since a resample
      holds some two thirds of the distinct pairs.
    - `count_gold`, `count_predicted`, `count_right`: entities, of the first of these.

    And `count_sentences`, `count_words`, with `train_words` `count_unseen`.

    Args:
        gold, predicted: (sentences,) lists of tags, one for each word.
        scheme: of both, "BIO", "BIEOS" or "plain" for tags that mark no spans.
        words: (sentences,) lists of the words.
        train_words: the distinct words of the training split; compared as they stand.
        bootstrap: number of resamples of sentences for 95% intervals `<name>_low`, `<name>_high`; counts have none.
        seed: of the resampling.

    Returns:
        Figures by name, between 0 and 1, and counts. A figure that the sentences do not define is NaN, with a
        `DegenerateScoreWarning`.

    Raises:
        ValueError: no sentences, or arguments that are not as described above.
    """
    _check(gold, predicted, scheme, words, train_words)
    counts = _counts(gold, predicted, scheme, words, train_words)
    totals = {kind: of_kind.sum(axis=0).tolist() for kind, of_kind in counts.items()}
    figures = with_bounds(_figures_of(counts, train_words is not None), range(len(gold)), bootstrap, seed)
    told = {"count_sentences": len(gold), "count_words": totals["words"][1]}
    if train_words is not None:
        told["count_unseen"] = totals["words"][3]
    if scheme != "plain":
        told |= dict(zip(("count_right", "count_gold", "count_predicted"), totals[""], strict=True))
        if words is not None:
            figures |= _surface_figures(_spans(gold, predicted), words)
    return {**figures, **told}


def figures_of_sentences(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], *, scheme: str = "BIO"
) -> Callable[[np.ndarray], dict[str, float]]:
    """A function of the numbers of sentences, which may repeat, that gives the figures of `tagging_scores` of these.

    Raises:
        ValueError: as `tagging_scores`.
    """
    _check(gold, predicted, scheme, None, None)
    return _figures_of(_counts(gold, predicted, scheme, None, None), with_unseen=False)


def _counts(gold, predicted, scheme, words, train_words) -> dict[str, np.ndarray]:
    """By kind, a line for each sentence: under "words" `_word_counts`, under the others `_span_counts` of the figures
    with this prefix, or of the type behind a "/"."""
    pairs = list(zip(gold, predicted, strict=True))
    counts = {"words": _word_counts(pairs, words, train_words)}
    if scheme != "plain":
        spans = _spans(gold, predicted)
        counts[""] = _span_counts(spans)
        counts["strict_"] = _span_counts([tuple(strict_spans(tags, scheme) for tags in both) for both in pairs])
        for type_ in sorted({type_ for both in spans for of_one in both for _, _, type_ in of_one}):
            counts[f"/{type_}"] = _span_counts([tuple(_of_type(of_one, type_) for of_one in both) for both in spans])
    return counts


def _figures_of(counts: dict[str, np.ndarray], with_unseen: bool) -> Callable[[np.ndarray], dict[str, float]]:
    def figures_of(index: np.ndarray) -> dict[str, float]:
        totals = {kind: of_kind[index].sum(axis=0).tolist() for kind, of_kind in counts.items()}
        right, total, right_unseen, unseen = totals.pop("words")
        figures = {}
        for kind, of_kind in totals.items():
            figures |= {f"f1{kind}": _f1(f"f1{kind}", *of_kind)} if "/" in kind else _span_figures(kind, *of_kind)
        figures["accuracy"] = ratio("accuracy", right, total, "there are no words")
        if with_unseen:
            figures["unseen_accuracy"] = ratio("unseen_accuracy", right_unseen, unseen, "train has all the words")
        return figures

    return figures_of


def _check(gold, predicted, scheme, words, train_words) -> None:
    if not isinstance(scheme, str) or scheme not in SCHEMES:
        raise ValueError(f"scheme={shorten(scheme)} is unknown: give one of {', '.join(SCHEMES)}.")
    check_tags(gold, predicted, None if scheme == "plain" else scheme)
    _check_words(gold, words, train_words)


def _check_words(gold, words, train_words) -> None:
    if words is None and train_words is not None:
        raise ValueError("train_words are given without words: give both, or neither.")
    if train_words is not None and (isinstance(train_words, str) or not isinstance(train_words, Collection)):
        raise ValueError(f"train_words={shorten(train_words)} ({type(train_words).__name__}): give a set of strings.")
    if words is None:
        return
    if not is_sequence(words) or len(words) != len(gold):
        raise ValueError(f"words={shorten(words)}: give a list of lists of words, as many as gold has sentences.")
    for number, (of_one, tags) in enumerate(zip(words, gold, strict=True)):
        if not is_sequence(of_one) or len(of_one) != len(tags) or not all(map(is_text, of_one)):
            raise ValueError(f"words[{number}]={shorten(of_one)}: give a string for each of the {len(tags)} tags.")


def _word_counts(pairs, words, train_words) -> np.ndarray:
    """(sentences, 4): right words, words, right words that train lacks, words that train lacks."""
    counts, known = [], frozenset(train_words or ())
    for number, tags in enumerate(pairs):
        right = [gold == predicted for gold, predicted in zip(*tags, strict=True)]
        unseen = [False] * len(right) if train_words is None else [word not in known for word in words[number]]
        right_unseen = [all(both) for both in zip(right, unseen, strict=True)]
        counts.append([sum(right), len(right), sum(right_unseen), sum(unseen)])
    return np.array(counts, dtype=np.int64)


Both = tuple[list[Span], list[Span]]
"""Spans of gold and prediction in one sentence."""


def _spans(gold, predicted) -> list[Both]:
    return [
        (default_spans(of_gold), default_spans(of_predicted))
        for of_gold, of_predicted in zip(gold, predicted, strict=True)
    ]


def _of_type(spans: list[Span], type_: str) -> list[Span]:
    return [span for span in spans if span[2] == type_]


def _span_counts(spans: list[Both]) -> np.ndarray:
    """(sentences, 3): right, gold and predicted spans."""
    counts = [[len(set(gold) & set(predicted)), len(gold), len(predicted)] for gold, predicted in spans]
    return np.array(counts, dtype=np.int64)


def _span_figures(prefix: str, right: int, gold: int, predicted: int) -> dict[str, float]:
    return {
        f"{prefix}f1": _f1(f"{prefix}f1", right, gold, predicted),
        f"{prefix}precision": ratio(f"{prefix}precision", right, predicted, "no entity is predicted"),
        f"{prefix}recall": ratio(f"{prefix}recall", right, gold, "gold has no entity"),
    }


def _f1(name: str, right: int, gold: int, predicted: int) -> float:
    return ratio(name, 2 * right, gold + predicted, "gold has no entity and none is predicted")


def _surface_figures(spans: list[Both], words: Sequence[Sequence[str]]) -> dict[str, float]:
    """A pair of words and type is right if one of the entities with these words and this type is."""
    right, gold, predicted = set(), set(), set()
    for (of_gold, of_predicted), sentence in zip(spans, words, strict=True):
        for forms, of_one in ((right, set(of_gold) & set(of_predicted)), (gold, of_gold), (predicted, of_predicted)):
            forms |= {(*sentence[first : last + 1], type_) for first, last, type_ in of_one}
    return _span_figures("surface_", len(right), len(gold), len(predicted))
