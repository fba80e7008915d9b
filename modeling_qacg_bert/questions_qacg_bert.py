"""What the pipeline asks of a text, checked, and in which batches."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from torch.utils.data import Dataset

from .names_qacg_bert import OwnNames
from .processing_qacg_bert import Contexts, Origins, is_readable, occurrence, written_aspect

MOST_CHARACTERS = 100_000  # of a text that can be among what a model reads of it


class Question(NamedTuple):
    """One (target, aspect) of one text, or of a passage of it."""

    text: str  # with the model's own targets in it
    target: str  # as the model knows it, "" where it has no targets
    aspect: str
    name: str  # the target as the user calls it
    source: str  # the user's text, or the passage
    names: OwnNames | None  # where that has others than the model's
    span: tuple[int, int] | None  # [start, end) of the passage in the user's text, None for texts that are not split
    is_of_word: bool  # whether it is about a word of the text as such, not whether the text speaks of something

    def origins(self) -> Origins:
        """What the characters of the text stand for in the user's; of a very long one, of its beginning."""
        source = beginning(self.source)
        if self.names is None or self.name not in self.names.targets:
            return Origins.of(source)
        return self.names.origins_about(self.name, source)


def beginning(text: str) -> str:
    """What of a text can be among what a model reads of it."""
    blanks = len(text) - len(text.lstrip())
    return text[: blanks + MOST_CHARACTERS]


class Asked(NamedTuple):
    """What one input asks: a text any number of questions, a dict a single one."""

    questions: list[Question]
    single: bool
    names_no_target: bool = False  # though there is something to read


def question_of(
    asked: Mapping, contexts: Contexts, names: OwnNames | None, split_sentences: bool, tokenizer
) -> Question:
    """The question of a dict.

    Raises:
        ValueError: if a key is missing, there is nothing to read or a name is unknown.
    """
    needed = ("text", "target", "aspect") if contexts.targets and not contexts.is_open else ("text", "aspect")
    missing = [key for key in needed if key not in asked and not (contexts.is_open and asked.get("target"))]
    if missing:
        raise ValueError(f"it has the keys {shorten(repr(list(asked)))}, a question needs {', '.join(missing)} too")
    text, name, aspect = asked.get("text"), asked.get("target") or "", asked.get("aspect", "")
    if not isinstance(text, str) or not is_readable(text):
        raise ValueError(f"its text is {shown(text)}: a question needs a text with something to read")
    if not isinstance(name, str) or not isinstance(aspect, str):
        raise ValueError(f"its target is {shown(name)} and its aspect {shown(aspect)}: give names")
    target, source = name, text
    if names is not None and name in names.targets:
        target, text = names.targets[name], names.text_about(name, text)
    contexts.including([target], [aspect]).id(target, aspect)  # for what it raises
    if contexts.is_open:
        if not is_readable(target + written_aspect(aspect)):
            raise ValueError("its target and aspect are empty: a question needs one of them, in words")
        check_vocabulary([aspect], tokenizer)
    span = (0, len(source)) if split_sentences else None
    # Who found the target may find it in a part of a word, "was" in "wasn't".
    start = asked.get("target_start")
    stands = isinstance(start, int) and source.startswith(name, start)
    stands = bool(target) and (stands or occurrence(target).search(text) is not None)
    return Question(text, target, aspect, name, source, names, span, stands and not aspect)


def items_of(inputs: Iterable | Dataset) -> Iterable:
    """The texts and questions of a list or column.

    Raises:
        ValueError: if it is none.
    """
    if hasattr(inputs, "columns"):  # of pandas, polars and others, whose tables iterate over names or columns
        raise ValueError(
            f"the input is a table ({type(inputs).__name__}): give its column of texts, table['text'], or its rows as "
            "questions, in pandas table.to_dict('records')"
        )
    if not isinstance(inputs, (Iterable, Dataset)) or isinstance(inputs, (bytes, bytearray)):
        raise ValueError(f"the input is {shown(inputs)}: give a text, a question, or a list or column of them")
    if isinstance(inputs, Iterable):
        return inputs
    if not hasattr(inputs, "__len__"):  # else Python would ask for items until there is an IndexError
        raise ValueError(f"the input is {shown(inputs)}, which has no length: give it a __len__, or a generator")
    return (inputs[number] for number in range(len(inputs)))


def listed(field: str, names: Iterable[str]) -> list[str]:
    """Names that may come from a generator, which gives them once."""
    try:
        return list(names)
    except TypeError:
        raise ValueError(f"{field}={shorten(repr(names))}: give a list of names") from None


def check_names(field: str, names: Iterable[str], known: tuple[str, ...] | None):
    """Names are a list, and the model's; None for words of the user's own."""
    if isinstance(names, (str, Mapping)):
        as_list = [names] if isinstance(names, str) else list(names)
        raise ValueError(f"{field}={shorten(repr(names))}: give a list, {shorten(repr(as_list))}")
    if known is None:
        if wrong := [name for name in names if not isinstance(name, str) or not is_readable(written_aspect(name))]:
            raise ValueError(f"{field} has {shown(wrong[0])}: give words")
        return
    unknown = [name for name in names if name not in known]
    if unknown:
        remedy = f"give some of {list(known)}" if known else "this model has none; leave them out"
        raise ValueError(f"{field} {shorten(', '.join(map(repr, unknown)))}: unknown to the model; {remedy}")


def check_vocabulary(aspects: Iterable[str], tokenizer):
    """Aspects in words are not unknown to the model, which would read them as any others that are."""
    for aspect in filter(None, aspects):
        # Of how many a model reads, there is an error of its own.
        pieces = tokenizer.tokenize(Contexts((), (aspect,)).auxiliary_sentence(None, aspect), verbose=False)
        if set(pieces) <= {tokenizer.unk_token}:
            raise ValueError(
                f"aspect {shown(aspect)}: the model's vocabulary has no piece of it; ask in other words, or a model "
                "of this language"
            )


def windows(asked: Iterator[Asked], num_questions: int) -> Iterator[list[Asked]]:
    """Inputs that have so many questions in all, the last of them perhaps more; at the end what is left.

    An error in an input comes after the window of those before it.
    """
    window, count = [], 0
    while True:
        try:
            one = next(asked)
        except StopIteration:
            break
        except ValueError:
            if window:
                yield window
            raise
        window.append(one)
        count += len(one.questions) or 1  # so that texts without questions do not pile up
        if count >= num_questions:
            yield window
            window, count = [], 0
    if window:
        yield window


def shown(value: Any) -> str:
    return f"{shorten(repr(value), 40)} ({type(value).__name__})"


def shorten(written: str, most: int = 80) -> str:
    """What is written, short enough for an error."""
    return written if len(written) <= most else written[:most] + "..."


def batches(rows: Mapping[str, list], batch_size: int) -> Iterator[list[tuple[int, slice]]]:
    """Rows of like numbers of contexts and like length, at most `batch_size` contexts with the padding among them.

    Each is the row's number and the part of its contexts, since a row may have more than `batch_size`.
    """
    parts = []
    for row, (input_ids, context_ids) in enumerate(zip(rows["input_ids"], rows["context_ids"], strict=True)):
        for start in range(0, len(context_ids), batch_size):
            count = min(batch_size, len(context_ids) - start)
            parts.append((count, len(input_ids), row, slice(start, start + count)))
    parts.sort(key=lambda part: (-part[0], -part[1]))
    while parts:
        size = batch_size // parts[0][0]  # the first has the most contexts
        yield [(row, part) for _, _, row, part in parts[:size]]
        parts = parts[size:]
