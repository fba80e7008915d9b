"""Noise for denoising: a text is corrupted in places that matter to aspects, and a model writes the original.

Each draw comes from a generator of its own seed, epoch, document and function. So the noise of a document depends
neither on the order of the documents nor on the number of processes. (Strings seed `random.Random` by SHA-512, alike
on all platforms.)
"""

import math
import random
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

MASKED_SHARE = 0.30  # of the aspect-related words
DELETED_SHARE = 0.15
INFILLED_SHARE, INFILLED_LENGTH = 0.30, 3.0  # as BART: share of words, mean number of words behind a mask
TRIES = 10  # of infilling, for each word
SENTENCE_ENDS = (".", "!", "?", ";")
WEIGHTS = {"mask_aspects": 5, "infill": 3, "delete": 2}
STOP_WORDS = """
    a an and are as at be been but by for from had has have he her his i if in is it its me my of on or our she so
    that the their them they this to was we were which with you your
"""


class Document(NamedTuple):
    """Words, and the numbers of those that are aspect-related."""

    id: str
    words: Sequence[str]
    related: Collection[int]


def mask_aspects(words: Sequence[str], related: Collection[int], draws: random.Random, mask: str) -> list[str]:
    """A share of the aspect-related words, rounded and at least one, become a mask each."""
    return _masked(words, draws.sample(sorted(related), _num_masks(related)), mask)


def mask_uniform(words: Sequence[str], related: Collection[int], draws: random.Random, mask: str) -> list[str]:
    """As many words as of `mask_aspects` become a mask each, drawn from all: the control of that."""
    return _masked(words, draws.sample(range(len(words)), _num_masks(related)), mask)


def delete(words: Sequence[str], related: Collection[int], draws: random.Random, mask: str) -> list[str]:
    """Each word is dropped with the same probability; if none is left, the first one stays."""
    kept = [word for word in words if draws.random() >= DELETED_SHARE]
    return kept or list(words[:1])


def infill(words: Sequence[str], related: Collection[int], draws: random.Random, mask: str) -> list[str]:
    """Runs of words become one mask each, until a share of the words is covered (text infilling, Lewis et al. 2020).

    The length of a run is drawn from a Poisson distribution; a run of none puts a mask in before a word. A run that
    overlaps with another one, or passes the end, is drawn anew.
    """
    length_of, inserted, covered = {}, [0] * len(words), set()
    wanted = _rounded(INFILLED_SHARE * len(words))
    for _ in range(TRIES * len(words)):
        if len(covered) >= wanted:
            break
        length = min(_poisson(draws, INFILLED_LENGTH), wanted - len(covered))
        start = draws.randrange(len(words))
        run = range(start, start + length)
        if length == 0:
            inserted[start] += 1
        elif run.stop <= len(words) and covered.isdisjoint(run):
            length_of[start] = length
            covered.update(run)
    filled = []
    for number, word in enumerate(words):
        filled += [mask] * (inserted[number] + (number in length_of))
        if number not in covered:
            filled.append(word)
    return filled


def shuffle(words: Sequence[str], related: Collection[int], draws: random.Random) -> list[int]:
    """The order of words in which the sentences with aspect-related words have changed places among themselves."""
    sentences: list[list[int]] = [[]]
    for number, word in enumerate(words):
        sentences[-1].append(number)
        if word in SENTENCE_ENDS:
            sentences.append([])
    with_aspects = [place for place, sentence in enumerate(sentences) if not set(related).isdisjoint(sentence)]
    places = with_aspects.copy()
    draws.shuffle(places)
    moved = dict(zip(with_aspects, places, strict=True))
    return [number for place in range(len(sentences)) for number in sentences[moved.get(place, place)]]


def rotate(words: Sequence[str], related: Collection[int], draws: random.Random) -> list[int]:
    """The order of words in which the document begins with any of them, and what stood before it comes last."""
    start = draws.randrange(len(words))
    return [*range(start, len(words)), *range(start)]


Corruption = Callable[[Sequence[str], Collection[int], random.Random, str], list[str]]
CORRUPTIONS: dict[str, Corruption] = {
    "mask_aspects": mask_aspects,
    "mask_uniform": mask_uniform,
    "infill": infill,
    "delete": delete,
}
OF_RELATED_WORDS = ("mask_aspects", "mask_uniform")
ORDERS = {"shuffle": shuffle, "rotate": rotate}
NOISES: dict[str, dict[str, Any]] = {  # options of `corrupt`
    "choice": {"orders": ("shuffle",), "weights": WEIGHTS},
    "uniform": {"orders": ("shuffle",), "weights": {"mask_uniform": 5, "infill": 3, "delete": 2}},  # its control
    **{name: {"orders": (), "weights": {name: 1}} for name in CORRUPTIONS},
    **{name: {"orders": (name,), "weights": {}} for name in ORDERS},
}


def corrupt(
    document: Document,
    *,
    seed: int,
    epoch: int = 0,
    mask: str = "<mask>",
    orders: Sequence[str] = ("shuffle",),
    weights: Mapping[str, float] = WEIGHTS,
) -> list[str]:
    """A document's words with noise: first in another order, then with one corruption, which is drawn by weight.

    Args:
        document: with at least one word.
        seed, epoch: of the draws, with the document's id.
        mask: the tokenizer's; T5, which has none, takes <extra_id_0>.
        orders: some of ORDERS, one after the other.
        weights: {corruption: weight} of some of CORRUPTIONS; none for the new order alone. A document without
            aspect-related words has none to mask, and goes to the others.

    Raises:
        ValueError: a name is unknown, or the document has no words.
    """
    unknown = [
        name for names, known in ((orders, ORDERS), (weights, CORRUPTIONS)) for name in names if name not in known
    ]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no noise: choose orders of {[*ORDERS]}, weights of {[*CORRUPTIONS]}")
    if not document.words:
        raise ValueError(f"document {document.id!r} has no words: leave it out")

    def draws_of(function: str) -> random.Random:
        return random.Random(f"{seed}/{epoch}/{document.id}/{function}")

    words, related = list(document.words), set(document.related)
    for name in orders:
        order = ORDERS[name](words, related, draws_of(name))
        words, related = [words[old] for old in order], {new for new, old in enumerate(order) if old in related}
    possible = {name: weight for name, weight in weights.items() if related or name not in OF_RELATED_WORDS}
    if not possible:
        return words
    (name,) = draws_of("choice").choices(list(possible), list(possible.values()))
    return CORRUPTIONS[name](words, related, draws_of(name), mask)


def words_of_spans(sentence: Mapping[str, Any]) -> set[int]:
    """The numbers of the words of a sentence's targets and opinions, of a row of (words, tuples)."""
    spans = [fields.get(name) for fields in sentence["tuples"] for name in ("target", "opinion")]
    return {number for span in spans if span for number in range(*span)}


def lexicon_of(sentences: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """The words of the targets and opinions of training rows, in lower case, without stop words and signs.

    With `related_words` it finds aspect-related words where nothing is annotated.
    """
    words = {sentence["words"][number].lower() for sentence in sentences for number in words_of_spans(sentence)}
    return frozenset(word for word in words - {*STOP_WORDS.split()} if any(map(str.isalnum, word)))


def related_words(words: Sequence[str], lexicon: Collection[str]) -> set[int]:
    """The numbers of the words that are in a lexicon."""
    return {number for number, word in enumerate(words) if word.lower() in lexicon}


def _num_masks(related: Collection[int]) -> int:
    """A share of the aspect-related words, at least one where there are some."""
    return min(len(related), max(1, _rounded(MASKED_SHARE * len(related))))


def _masked(words: Sequence[str], masked: Collection[int], mask: str) -> list[str]:
    masked = set(masked)
    return [mask if number in masked else word for number, word in enumerate(words)]


def _rounded(number: float) -> int:
    """To the nearest whole number, halves up."""
    return math.floor(number + 0.5)


def _poisson(draws: random.Random, mean: float) -> int:
    """Knuth's method: how many uniform draws one can multiply before the product is below e^-mean."""
    count, product = 0, draws.random()
    while product > math.exp(-mean):
        count += 1
        product *= draws.random()
    return count
