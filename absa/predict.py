"""Answers of a trained model, whichever its family."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import Any, ClassVar

from transformers import (
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    Pipeline,
    PreTrainedModel,
)

from absa.found_targets import FoundTargetPipeline
from absa.models import auto_class_of, load_classifier, takes
from absa.open_questions import GivenTermPipeline, OpenQuestionPipeline, labels_left_out
from absa.opinions import Opinion, from_answer
from absa.text_answers import GivenTermTextPipeline, TextAnswerPipeline
from modeling_generative_absa import TASKS, AspectOpinionPipeline
from modeling_global_context import AspectTermSentimentPipeline
from modeling_qacg_bert import AspectSentimentPipeline, Contexts
from modeling_qacg_bert.processing_qacg_bert import is_readable, occurrence

logger = logging.getLogger(__name__)
NOTHING_TO_READ = "has nothing to read"


class Predictor:
    """Says of texts what they say.

    Args:
        pipe: the pipeline of a trained model, or of two.
    """

    pipeline_class: ClassVar[type[Pipeline]]
    all_answers: ClassVar[Mapping[str, Any]] = {}
    """Parameters of a call that leave no answer out."""

    def __init__(self, pipe: Pipeline | FoundTargetPipeline):
        self.pipe = pipe
        self._told: set[str] = set()  # aspects of which it was said that training had none

    @property
    def models(self) -> list[PreTrainedModel]:
        """What answers; of two models the one that finds the targets comes first."""
        return [self.pipe.model]

    def __call__(
        self,
        texts: str | Mapping | Iterable[str | Mapping],
        *,
        text_ids: Sequence[str | int] | None = None,
        **parameters,
    ) -> list[Opinion] | list[list[Opinion]]:
        """The opinions of a text, or of each of several texts.

        Args:
            texts: a text, or any number of them; instead of a text also what else the pipeline takes for one.
            text_ids: what the opinions name their text by; None for its number.
            parameters: of the pipeline, for this call: `targets={"Camden": "LOCATION1"}`, `aspects`,
                `split_sentences`, `return_all`, `abstain_below`; of a tagger `decoding`; of a model that generates
                `task`, `num_beams`, `abstain_below`, and `targets=["battery life"]`, words of the texts, where it is
                given aspect terms; of a classifier that is asked about any words these `targets` too, and
                `aspects=["price"]`; of two models `aspects` and `return_all`.
        Raises:
            ValueError: for a text that is none, or an unknown name, or for more or fewer `text_ids` than texts; for
                `explain`, since an opinion has no weights of words: `pipe` gives them.
            TypeError: for a parameter that the pipeline does not have.
        """
        if explain := parameters.get("explain"):
            raise ValueError(f"explain={explain!r}: an opinion has no weights of words; ask .pipe(texts, ...)")
        if isinstance(texts, str | Mapping):
            return self([texts], text_ids=text_ids, **parameters)[0]
        if isinstance(texts, Iterator):
            texts = list(texts)
        if text_ids is not None and isinstance(texts, Sized) and len(text_ids) != len(texts):
            raise ValueError(f"text_ids has {len(text_ids)} ids for {len(texts)} texts: give one for each")
        left_out = self._left_out(parameters.pop("return_all", None)) if self.all_answers else set()
        answered, are_cut, unseen = [], [], {}
        # All are asked for: those that are left out say too that a text was cut.
        for answers in self.pipe(texts, **{**parameters, **self.all_answers}):
            is_question = isinstance(answers, Mapping)
            every = [answers] if is_question else answers
            are_cut.append(any(answer.get("truncated") for answer in every))
            unseen |= dict.fromkeys(answer["aspect"] for answer in every if answer.get("in_training") is False)
            answered.append(every if is_question else [one for one in every if one.get("label") not in left_out])
        text_ids = list(range(len(answered)) if text_ids is None else text_ids)
        opinions = [
            [from_answer(answer, text_id) for answer in answers]
            for text_id, answers in zip(text_ids, answered, strict=True)
        ]
        if cut := [text_id for text_id, is_cut in zip(text_ids, are_cut, strict=True) if is_cut]:
            told = "%d of %d texts are longer than the model reads, the first is %s: their ends were not read"
            logger.warning(told, len(cut), len(answered), cut[0])
        if untold := [aspect for aspect in unseen if aspect not in self._told]:
            self._told.update(untold)
            logger.warning("not in the model's training, so that answers are less sure: %s", ", ".join(untold))
        return opinions

    def _left_out(self, return_all: bool | None) -> set[str]:
        """The label of answers that are not given.

        Args:
            return_all: of a call; None for the pipeline's.
        """
        if return_all is None:
            return_all = getattr(self.pipe, "_postprocess_params", vars(self.pipe)).get("return_all", False)
        return labels_left_out(self.models[-1].config, return_all)

    def why_silent(self, text: str, targets: list[str] | dict[str, str] | None = None) -> str:
        """Why there is no opinion of a text.

        Args:
            targets: those it was asked about, as `named_targets` gives them.
        """
        return "says nothing that the model finds" if is_readable(text) else NOTHING_TO_READ


class PredictorOfQuestions(Predictor):
    """Asks a classifier about each target in a text and each aspect."""

    pipeline_class = AspectSentimentPipeline
    all_answers: ClassVar = {"return_all": True}

    def why_silent(self, text: str, targets: list[str] | dict[str, str] | None = None) -> str:
        return why_not_asked(self.pipe, text, targets)


class PredictorOfWords(Predictor):
    """Asks a model about words of its user."""

    def why_silent(self, text: str, targets: list[str] | dict[str, str] | None = None) -> str:
        if not is_readable(text) or not targets:
            return NOTHING_TO_READ
        named = [target for target in targets if occurrence(target).search(text)]
        return f"names {', '.join(named)} behind what is read" if named else f"names none of {', '.join(targets)}"


class PredictorOfOpenQuestions(PredictorOfWords):
    """Asks a classifier."""

    pipeline_class = OpenQuestionPipeline
    all_answers: ClassVar = {"return_all": True}


class PredictorOfTerms(Predictor):
    """Has a tagger find the targets."""

    pipeline_class = AspectTermSentimentPipeline


class PredictorOfTuples(Predictor):
    """Has a model generate aspect terms, opinion terms and labels."""

    pipeline_class = AspectOpinionPipeline


class PredictorOfWrittenTuples(PredictorOfTuples):
    """Has a model write them."""

    pipeline_class = TextAnswerPipeline


class PredictorOfGivenTerms(PredictorOfWords):
    """Has a model generate the label of aspect terms, or their opinion terms."""

    pipeline_class = GivenTermPipeline


class PredictorOfGivenTermsInText(PredictorOfGivenTerms):
    """Has a model write it."""

    pipeline_class = GivenTermTextPipeline


class PredictorOfFoundTargets(Predictor):
    """Has a model find the targets, and asks a classifier about them."""

    all_answers: ClassVar = {"return_all": True}

    @property
    def models(self) -> list[PreTrainedModel]:
        return [self.pipe.finder.model, self.pipe.classifier.model]


PREDICTORS: dict[type, type[Predictor]] = {
    AutoModelForSequenceClassification: PredictorOfQuestions,
    AutoModelForTokenClassification: PredictorOfTerms,
    AutoModelForSeq2SeqLM: PredictorOfTuples,
}


def predictor_of(auto_class: type, model: PreTrainedModel) -> type[Predictor]:
    """What answers with a model of a task; one that reads questions is asked about any words, unless its configuration
    names all that it knows."""
    config = model.config
    if auto_class is AutoModelForSeq2SeqLM:
        if not getattr(config, "tasks", None):
            raise ValueError(
                f"a {type(model).__name__} that was trained for no subtask: train it with examples/run_absa.py "
                "--task generation"
            )
        is_given, points = TASKS[config.tasks[0]].is_given, hasattr(config, "grammar")
        if points:
            return PredictorOfGivenTerms if is_given else PredictorOfTuples
        return PredictorOfGivenTermsInText if is_given else PredictorOfWrittenTuples
    return PredictorOfOpenQuestions if takes_any_words(model) else PREDICTORS[auto_class]


def takes_any_words(model: PreTrainedModel) -> bool:
    """Whether a classifier reads the words that it is asked about, and its configuration does not name all of them."""
    config = model.config
    is_open = getattr(config, "context_source", "id") == "text" or not getattr(config, "aspects", None)
    return getattr(config, "auxiliary_sentence", False) and not takes(model, "context_ids") and is_open


def load(model: str, classifier: str | None = None, **parameters) -> Predictor:
    """A trained model, a classifier, a tagger or one that generates tuples, ready for texts; or two for the two steps.

        opinions = absa.load("outputs/quickstart/seed-42")("LOCATION1 is far too expensive, but safe.")
        opinions = absa.load("outputs/rest14_minilm/seed-42", "outputs/restaurants/seed-42")("The fish is great.")

    Args:
        model: folder or Hub id of a checkpoint that examples/run_absa.py has trained.
        classifier: of one that can be asked about any words, which judges the targets that `model` finds, see
            `FoundTargetPipeline`.
        parameters: of the pipeline, for all calls, see `Predictor`; `device` and `batch_size` too. None stands for the
            default. Of two models the classifier has `aspects`, `return_all` and `abstain_below`, the other one what
            else there is, such as `decoding` and `task`.
    Raises:
        FileNotFoundError, ValueError: if there is no such checkpoint, it cannot be read, or its pipeline has no such
            parameter; of two models, if the first finds no targets, or the second knows some targets only.
    """
    given = {name: value for name, value in parameters.items() if value is not None}
    if classifier is None:
        return load_one("model", model, given)
    of_answers = {name: given.pop(name) for name in ("aspects", "return_all") if name in given}
    of_classifier = {name: given[name] for name in ("device", "batch_size", "abstain_below") if name in given}
    given.pop("abstain_below", None)  # of the labels, which are the classifier's
    finder = load_one("model", model, given)
    if not finds_targets(finder, given.get("task")):
        raise ValueError(
            f"model={model} is a {type(finder.pipe.model).__name__} that finds no targets in texts: give first a "
            "tagger, or a generator of ate, aesc, aope or aste, and then the classifier"
        )
    judge = load_one("classifier", classifier, of_classifier)
    if not takes_any_target(judge):
        raise ValueError(
            f"classifier={classifier} is a {type(judge.pipe.model).__name__} that cannot be asked about any words of "
            "a text: give a classifier that was trained on terms of texts, or with context_source=text"
        )
    return PredictorOfFoundTargets(FoundTargetPipeline(finder.pipe, judge.pipe, **of_answers))


def load_one(argument: str, name: str, parameters: Mapping[str, Any]) -> Predictor:
    """A trained model.

    Args:
        argument: what the user calls it, for the error.
        name: its folder or Hub id.
        parameters: of its pipeline.
    Raises:
        FileNotFoundError, ValueError: as `load`.
    """
    auto_class = auto_class_of(argument, name, PREDICTORS)
    loaded, tokenizer = load_classifier(argument, name, auto_class)
    try:
        predictor_class = predictor_of(auto_class, loaded)
    except ValueError as error:
        raise ValueError(f"{argument}={name} is {error}") from error
    try:
        if "task" in parameters and auto_class is not AutoModelForSeq2SeqLM:
            raise TypeError("task: no parameter")  # every pipeline takes it, as its own name
        pipe = predictor_class.pipeline_class(model=loaded, tokenizer=tokenizer, **parameters)
    except TypeError as error:  # of a parameter that this family's pipeline does not have
        raise ValueError(f"{argument}={name} is a {type(loaded).__name__}; {error}: leave it out") from error
    return predictor_class(pipe)


def finds_targets(predictor: Predictor, task: str | None = None) -> bool:
    """Whether a model finds targets in texts.

    Args:
        task: that a generator is asked for; None for its first.
    """
    if tasks := getattr(predictor.pipe.model.config, "tasks", None):
        return "target" in TASKS[task or tasks[0]].fields
    return isinstance(predictor, PredictorOfTerms)


def takes_any_target(predictor: Predictor) -> bool:
    """Whether a model can be asked about any words of a text."""
    reads_contexts = getattr(predictor.pipe.model.config, "context_source", "id") == "text"
    return isinstance(predictor, PredictorOfOpenQuestions) or reads_contexts


@dataclass
class AskArguments:
    """Which model, which texts, which questions; taggers and most generators find the targets, and take none."""

    model: str = field(metadata={"help": "Folder or Hub id of a checkpoint that examples/run_absa.py has trained."})
    texts: list[str] = field(
        metadata={"help": "The texts; for a classifier with targets as in its config (LOCATION1)."}
    )
    targets: list[str] | None = field(
        default=None,
        metadata={
            "help": "Ask about these targets only, or own names for them: Camden=LOCATION1 (default: all). "
            "Generators that are given targets (alsc, aoe) need them, as words of the texts."
        },
    )
    aspects: list[str] | None = field(default=None, metadata={"help": "Ask about these aspects only (default: all)."})


def named_targets(words: list[str] | None) -> list[str] | dict[str, str] | None:
    """Targets as the pipeline takes them: a list, or a dict where each word is name=target.

    Raises:
        ValueError: if some words are the one and some the other, or a name is given twice.
    """
    if words is None or not any("=" in word for word in words):
        return words
    plain = [word for word in words if "=" not in word]
    if plain:
        raise ValueError(f"targets {', '.join(plain)} beside name=target: give {plain[0]}={plain[0]}, or names only")
    pairs = [word.rsplit("=", 1) for word in words]
    named = dict(pairs)
    if len(named) < len(pairs):
        raise ValueError(f"targets {' '.join(words)}: a name is given twice; keep one target for it")
    return named


def looked_for(targets: list[str] | dict[str, str] | None, known: list[str], any_words: bool = False) -> str:
    """What a text has to name to be asked about, and what to do where it does not.

    Args:
        targets: as `named_targets` gives them.
        known: the model's.
        any_words: whether the model takes words of the texts as targets.
    """
    if isinstance(targets, dict) or (targets and any_words):
        return f"{', '.join(targets)}: give --targets the names as the texts have them"
    asked = targets or known
    return f"{', '.join(asked)}: map the names in the texts to them, --targets Camden={asked[0]}"


def why_not_asked(pipe: AspectSentimentPipeline, text: str, targets: list[str] | dict[str, str] | None) -> str:
    """Why a text is asked nothing; "" where it is asked."""
    if not is_readable(text):
        return NOTHING_TO_READ
    if not pipe.targets_in(text):
        config = pipe.model.config
        return f"names none of {looked_for(targets, config.targets, Contexts.from_config(config).is_open)}"
    return ""
