"""Texts to restore: which there are, how they are corrupted, and how they become rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from torch.utils.data import Dataset
from transformers import PreTrainedTokenizerBase

from absa.noise import NOISES, Document, corrupt, lexicon_of, related_words, words_of_spans
from absa.tasks.base import Rows
from absa.tasks.generation import Generation
from datasets_scripts.documents import all_texts, corpus, read_texts
from modeling_generative_absa import encode_words

TRAIN = "train"  # the source of the annotated sentences, beside files
MASK_OF_T5 = "<extra_id_0>"


@dataclass
class DenoisingArguments:
    """Which texts, and how they are corrupted."""

    noise: str = field(
        default="choice",
        metadata={
            "choices": list(NOISES),
            "help": "choice shuffles sentences, and then masks aspect-related words, infills or deletes; uniform is "
            "the same with as many masks on any words, its control; the others are one of these alone (default: "
            "choice).",
        },
    )
    texts: list[Path] = field(
        default_factory=list,
        metadata={
            "help": "Further texts of the domain: XML of SemEval or MAMS, or a text a line; those with whole reviews "
            "first (default: the training sentences alone)."
        },
    )

    def __post_init__(self):
        names = [file.name for file in self.texts]
        if repeated := [name for name in names if names.count(name) > 1 or name == TRAIN]:
            raise ValueError(f"texts has {repeated[0]} twice: give each file a name of its own, and none {TRAIN}")


class Corpus(NamedTuple):
    """What a model restores."""

    documents: list[Document]
    held_out: list[Document]
    """of the validation split, on which it is measured"""
    counts: Mapping[str, Mapping[str, int]]
    """of each source, see `datasets_scripts.documents.corpus`"""


def sentences_of(rows: Rows) -> list[dict[str, Any]]:
    """The sentences of a split with the tuples of all of their rows, to which a given target belongs."""
    sentences = {}
    columns = (rows[name] for name in ("id", "text", "words", "target", "tuples"))
    for id_, text, words, given, tuples in zip(*columns, strict=True):
        sentence = sentences.setdefault(id_, {"id": id_, "text": text, "words": words, "tuples": []})
        sentence["tuples"] += [{"target": given}, *tuples]
    return list(sentences.values())


def corpus_of(task: Generation, arguments: DenoisingArguments, held_out: Sequence[str]) -> Corpus:
    """The training sentences of a task and the files' texts, without what is like a validation or test text, or one
    of `held_out`."""
    texts = [text for split, rows in task.splits.items() if split != "train" for text in rows["text"]]
    texts += all_texts(held_out)
    train = sentences_of(task.splits["train"])
    sources = {file.name: read_texts(file) for file in arguments.texts}
    kept, counts = corpus({**sources, TRAIN: [[sentence["text"]] for sentence in train]}, texts)
    documents, lexicon = [], lexicon_of(train)
    for one in kept:
        source, _, number = one["id"].rpartition("/")
        if source == TRAIN:
            words, related = train[int(number)]["words"], words_of_spans(train[int(number)])
        else:
            words, related = one["words"], related_words(one["words"], lexicon)
        documents.append(Document(one["id"], words, sorted(related)))
    validation = [
        Document(sentence["id"], sentence["words"], sorted(words_of_spans(sentence)))
        for sentence in sentences_of(task.splits["validation"])
    ]
    return Corpus(documents, validation, counts)


def mask_of(tokenizer: PreTrainedTokenizerBase) -> str:
    """The mask token of a tokenizer, or T5's first sentinel.

    Raises:
        ValueError: if it has neither.
    """
    if tokenizer.mask_token is not None:
        return tokenizer.mask_token
    if MASK_OF_T5 in tokenizer.get_vocab():
        return MASK_OF_T5
    raise ValueError(
        f"the tokenizer of model_name_or_path={tokenizer.name_or_path} has neither a mask token nor {MASK_OF_T5}: "
        "give a model that was trained with masks, such as BERT, BART or T5"
    )


class Restoring(NamedTuple):
    """How documents become rows."""

    tokenizer: PreTrainedTokenizerBase
    mask: str
    most: int
    """tokens of an original, those that the tokenizer adds included"""

    def parts(self, documents: Sequence[Document]) -> Iterator[Document]:
        """The documents, those that are too long in several of them. A word that is too long is left out."""
        for document in documents:
            start = 0
            while start < len(document.words):
                read = self.original(document.words[start:])["num_words"]
                end = start + read
                if read:
                    related = {number - start for number in document.related if start <= number < end}
                    yield Document(f"{document.id}/{start}", document.words[start:end], related)
                start = max(end, start + 1)

    def original(self, words: Sequence[str]) -> dict:
        """As `encode_words`, of words that are to be written."""
        return encode_words(self.tokenizer, words, len(words), self.most)

    def row(self, noisy: Sequence[str], words: Sequence[str]) -> dict[str, list[int]]:
        """The inputs and labels of a corrupted document."""
        encoded = encode_words(self.tokenizer, noisy, len(noisy), self.tokenizer.model_max_length)
        inputs = {name: encoded[name] for name in ("input_ids", "attention_mask")}
        return {**inputs, "labels": self.original(words)["input_ids"]}


class NoisyRows(Dataset):
    """Rows with noise that is drawn when they are asked for: number n + epoch * length is document n in that epoch."""

    def __init__(self, documents: Sequence[Document], restoring: Restoring, seed: int, noise: str):
        self.documents, self.restoring, self.seed, self.noise = documents, restoring, seed, noise

    def __len__(self) -> int:
        return len(self.documents)

    def __getitem__(self, number: int) -> dict[str, list[int]]:
        epoch, number = divmod(number, len(self))
        document, mask = self.documents[number], self.restoring.mask
        noisy = corrupt(document, seed=self.seed, epoch=epoch, mask=mask, **NOISES[self.noise])
        return self.restoring.row(noisy, document.words)
