"""Targets that one model finds in texts, and another one judges."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from transformers import Pipeline

from absa.models import most_tokens
from absa.open_questions import NOT_ASKED, check_return_all, labels_left_out, word_list
from absa.tasks.targets import contexts_of
from modeling_qacg_bert.processing_qacg_bert import NO_ASPECT, is_readable
from modeling_qacg_bert.questions_qacg_bert import shown

FOUND = ("target", "target_start", "target_end", "opinion", "opinion_start", "opinion_end")


class FoundTargetPipeline:
    """Asks a classifier about each target that a tagger, or a model that generates tuples, finds in a text.

    Inputs:
        A text gives the list of its answers, a list or a column of texts a list of these.

    Parameters, at construction or in a call:
        aspects: what each target is asked about, in words (default: the target as such).
        return_all: whether answers about `aspects` with the `none_label` of the classifier are given too (default:
            False). That a target is spoken of as such it cannot deny: the finder has said so.
        batch_size: texts in a forward pass of the finder, then questions in one of the classifier (default: 32).

    An answer has the places that the finder gives: `target`, which is text[target_start:target_end], `target_start`,
    `target_end` and, of a generator of aope or aste, `opinion`, `opinion_start`, `opinion_end`. All else is what the
    classifier answers about that target, such as `label`, `score` and `probabilities`; `truncated` says that one of
    the two did not read the end of the text. Labels of the finder are not looked at: what it gives twice with
    different labels is one target.

    `score` and `probabilities` are P(label | text, target), calibrated by the classifier's temperature. How sure the
    finder is of the target is no part of them: the two probabilities were calibrated apart, and their product was not.
    `finder(text)` has the finder's own answers.

    A target that the classifier does not read has the label None: one that stands behind its cut of a long text, one
    without a word that it knows, or one so long that it leaves no room for the text.

    Args:
        finder: the pipeline of a tagger or generator.
        classifier: the pipeline of a classifier that is asked about any words.

    Raises:
        ValueError: if an input is no text, it gives the input's number; for aspects that are no words, or so many that
            they leave no room for a text.
    """

    def __init__(self, finder: Pipeline, classifier: Pipeline, aspects: Iterable[str] = (), return_all: bool = False):
        self.finder, self.classifier, self.return_all = finder, classifier, check_return_all(return_all)
        self.aspects = word_list("aspects", aspects)

    def __call__(
        self,
        inputs: Any,
        *,
        aspects: Iterable[str] | None = None,
        return_all: bool | None = None,
        batch_size: int | None = None,
    ) -> list[dict] | list[list[dict]]:
        if isinstance(inputs, str | Mapping):
            return self([inputs], aspects=aspects, return_all=return_all, batch_size=batch_size)[0]
        if isinstance(inputs, Iterator):
            inputs = list(inputs)
        aspects = (self.aspects if aspects is None else word_list("aspects", aspects)) or [NO_ASPECT]
        for aspect in aspects:
            if not self._leaves_room("", aspect):
                raise ValueError(f"aspects has {shown(aspect)}, which leaves no room for a text: give fewer words")
        answers, are_cut = [], []  # of each text; questions until they are answered
        for number, (text, found) in enumerate(zip(inputs, self.finder(inputs, batch_size=batch_size), strict=True)):
            if not isinstance(text, str):
                raise ValueError(f"input {number}: it is {shown(text)}: give a text")
            terms = dict.fromkeys(tuple(one.get(name) for name in FOUND) for one in found)
            places = [{"text": text, **dict(zip(FOUND, term, strict=True)), **NOT_ASKED} for term in terms]
            answers.append([{**place, "aspect": aspect} for place in places for aspect in aspects])
            are_cut.append(any(one.get("truncated") for one in found))
        every = [answer for own in answers for answer in own]
        pairs = {(answer["target"], answer["aspect"]) for answer in every}
        readable = {pair for pair in pairs if self._is_readable(*pair)}
        asked = [answer for answer in every if (answer["target"], answer["aspect"]) in readable]
        for answer, judged in zip(asked, self.classifier(asked, batch_size=batch_size), strict=True):
            answer |= judged
        for own, is_cut in zip(answers, are_cut, strict=True):
            for answer in own:
                del answer["text"]
                answer["truncated"] = is_cut or answer.get("truncated", False)
        left_out = labels_left_out(self.classifier.model.config, self.return_all if return_all is None else return_all)
        return [[answer for answer in own if answer["label"] not in left_out] for own in answers]

    def _is_readable(self, target: str, aspect: str) -> bool:
        """Whether there is something to read of a target, and its question leaves room for a text."""
        return is_readable(target) and bool(self._tokens(target, NO_ASPECT)) and self._leaves_room(target, aspect)

    def _leaves_room(self, target: str, aspect: str) -> bool:
        tokenizer = self.classifier.tokenizer
        taken = len(self._tokens(target, aspect)) + tokenizer.num_special_tokens_to_add(pair=True)
        return taken < most_tokens(tokenizer.model_max_length, self.classifier.model.config)

    def _tokens(self, target: str, aspect: str) -> list[str]:
        contexts = contexts_of({"target": [target], "aspect": [aspect]})
        return self.classifier.tokenizer.tokenize(contexts.auxiliary_sentence(target, aspect))
