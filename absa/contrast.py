"""How well a model tells two differing opinions of one sentence apart, which the usual test sets hardly ask."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from transformers import Pipeline

from absa.metrics.sentihood import ASPECTS, LABELS
from modeling_qacg_bert import Contexts

CONTEXTS = Contexts(("LOCATION1", "LOCATION2"), ASPECTS)
OF = {"opinions right": "opinions", "whole sentences right": "sentences", "false mentions": "unmentioned"}


class Answered(NamedTuple):
    """A sentence, and the label of each target in it and each aspect."""

    text: str
    gold: Mapping[tuple[str, str], str]
    """Without those that are none."""
    given: Mapping[tuple[str, str], str]

    @property
    def wrong(self) -> dict[tuple[str, str], str]:
        """What is given and not right."""
        return {pair: label for pair, label in self.given.items() if label != self.gold.get(pair, "none")}


def ask(pipe: Pipeline, sentences: Iterable[Mapping]) -> list[Answered]:
    """What a classifier answers about each target in a sentence and each aspect, among SentiHood's labels.

    Args:
        pipe: of a model that knows SentiHood's labels, and its targets and aspects or any words.
        sentences: as SentiHood's files have them, such as the sample corpus' `contrast.json`.
    Raises:
        ValueError: if the model knows other names.
    """
    if missing := sorted({*LABELS} - {*pipe.model.config.label2id}):
        known = ", ".join(pipe.model.config.label2id)
        raise ValueError(f"the model has no label {missing[0]}, but {known}: give one that was trained on SentiHood")
    sentences = list(sentences)
    questions = [
        {"text": sentence["text"], "target": target, "aspect": aspect}
        for sentence in sentences
        for target, aspect in CONTEXTS.in_text(sentence["text"])
    ]
    labels = iter([max(LABELS, key=answer["probabilities"].get) for answer in pipe(questions)])
    return [
        Answered(
            sentence["text"],
            {(one["target_entity"], one["aspect"]): one["sentiment"].lower() for one in sentence["opinions"]},
            {pair: next(labels) for pair in CONTEXTS.in_text(sentence["text"])},
        )
        for sentence in sentences
    ]


def counts(answered: Iterable[Answered]) -> dict[str, tuple[int, int]]:
    """How many opinions are right, in how many sentences all answers are, and how often a model speaks of what a
    sentence does not mention, each beside the number of such: of all sentences, and of those about one place and two.
    """
    totals = {where: Counter() for where in ("", ", one place", ", two places")}
    for one in answered:
        found = {
            "opinions": len(one.gold),
            "opinions right": sum(one.given.get(pair) == label for pair, label in one.gold.items()),
            "sentences": 1,
            "whole sentences right": not one.wrong,
            "unmentioned": len(one.given) - len(one.gold),
            "false mentions": sum(pair not in one.gold for pair in one.wrong),
        }
        for where in ("", ", two places" if CONTEXTS.targets[1] in one.text else ", one place"):
            totals[where].update(found)
    return {name + where: (total[name], total[of]) for where, total in totals.items() for name, of in OF.items()}
