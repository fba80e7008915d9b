"""Rows about words of the training texts, labelled by similarity, from data that has rows about a few aspects only.

Three or four names are learnt by heart: a model of these answers about any other as about one of them. Of hundreds of
words it learns to read.
"""

import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import torch
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from transformers import AutoModel, AutoTokenizer

from absa.packages import MINILM, resolve_backbone
from absa.tasks.base import Rows

WORD = re.compile(r"\b[^\W\d_]{3,}\b(?!['\u2019])")
LEAST_TEXTS = 4  # that a word is in
BEGINNING = 4  # letters; words that have these in common are taken for one, such as "price" and "pricey"
PRESENT, ABSENT = 1.5, 0.3  # of what `similarities` gives: above, a text speaks of a word; below, it does not
BATCH_SIZE = 64
SEED = 0


def with_similar_words(rows: Rows, number: int, none_label: str, names: Iterable[str]) -> Rows:
    """Rows and, behind those of each text and target, some with words of all texts as aspects.

    - The words that the text speaks of most, and does not have, get the label of its own rows about the target, if
      those that are not none agree. If all are none, but not those of another target, the words are none of this one.
      Words that the text has, which would teach to look a word up, are taken only where there are no others.
    - Some of the words that the text does not speak of get the label none.

    So whether a text speaks of a word is taught by a sentence encoder, and what it says by the text's own rows.

    Args:
        rows: of the training split, with targets and aspects by name.
        number: of words of each of the two kinds, for each text and target; fewer where there are no more.
        none_label: the label of what a text does not speak of.
        names: of aspects and targets; words that begin like one of theirs are left out.
    Raises:
        ValueError: if the texts share no words.
    """
    texts = sorted(set(rows["text"]))
    words = words_of_texts(texts, names)
    if not words:
        raise ValueError(f"similar_words={number}: no word stands in {LEAST_TEXTS} training texts: leave it out")
    score_of = dict(zip(texts, similarities(texts, words), strict=True))
    numbers_of, said_of = {}, {}
    for row_number, (text, target) in enumerate(zip(rows["text"], rows["target"], strict=True)):
        numbers_of.setdefault((text, target), []).append(row_number)
        said_of.setdefault(text, {}).setdefault(target, set()).add(rows["label"][row_number])
    draw = random.Random(SEED)
    columns = {name: [] for name in rows}
    for (text, target), numbers in numbers_of.items():
        own = [{name: column[row_number] for name, column in rows.items()} for row_number in numbers]
        has = set(WORD.findall(text.lower()))
        scores = score_of[text]
        spoken_of = [words[place] for place in np.argsort(-scores, kind="stable") if scores[place] > PRESENT]
        spoken_of = [word for word in spoken_of if word not in has] or spoken_of
        others = [words[place] for place in np.flatnonzero(scores < ABSENT)]
        label = label_of(said_of[text], target, none_label)
        asked = [(word, label) for word in spoken_of[:number]] if label else []
        asked += [(word, none_label) for word in draw.sample(others, min(len(others), number))]
        for row in [*own, *({**own[0], "aspect": word, "label": label} for word, label in asked)]:
            for name, column in columns.items():
                column.append(row[name])
    return columns


def label_of(said: dict[str, set[str]], target: str, none_label: str) -> str | None:
    """What a text says of a target, by its labels for each; None where they disagree, or it says nothing of any."""
    of_target, of_any = said[target] - {none_label}, set().union(*said.values()) - {none_label}
    if not of_any or len(of_target) > 1:
        return None
    return next(iter(of_target), none_label)


def words_of_texts(texts: Iterable[str], names: Iterable[str]) -> list[str]:
    """The words that several texts have, in lower case, without stop words and those that begin like one of a name."""
    counts = Counter(word for text in texts for word in set(WORD.findall(text.lower())))
    beginnings = {word[:BEGINNING] for name in names for word in WORD.findall(name.lower())}
    frequent = {word for word, count in counts.items() if count >= LEAST_TEXTS} - ENGLISH_STOP_WORDS
    return sorted(word for word in frequent if word[:BEGINNING] not in beginnings)


def similarities(texts: Sequence[str], words: Sequence[str], backbone: str = MINILM) -> np.ndarray:
    """How like texts are to words, (texts, words), beside the other texts: of each word mean 0 and deviation 1.

    The sum of two cosines, each standardised over the texts: of the whole text and the word, and of that word of the
    text which is nearest to it.
    """
    words_in = [WORD.findall(text.lower()) or [text] for text in texts]
    vectors = embedded(backbone, [*texts, *words, *(word for own in words_in for word in own)])
    asked = np.stack([vectors[word] for word in words])
    whole = np.stack([vectors[text] for text in texts]) @ asked.T
    nearest = np.stack([(np.stack([vectors[word] for word in own]) @ asked.T).max(0) for own in words_in])
    return standardised(standardised(whole) + standardised(nearest))


def standardised(scores: np.ndarray) -> np.ndarray:
    return (scores - scores.mean(0)) / scores.std(0)


@torch.no_grad()
def embedded(backbone: str, texts: Iterable[str]) -> dict[str, np.ndarray]:
    """Unit vectors of a sentence encoder: of each distinct text the mean of its last states."""
    folder = resolve_backbone(backbone)
    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    found, distinct = {}, sorted(set(texts), key=lambda text: (len(text), text))
    for start in range(0, len(distinct), BATCH_SIZE):
        batch = distinct[start : start + BATCH_SIZE]
        inputs = tokenizer(batch, padding=True, truncation=True, return_tensors="pt")
        mask = inputs["attention_mask"][..., None]
        mean = (model(**inputs).last_hidden_state * mask).sum(1) / mask.sum(1)
        found |= dict(zip(batch, torch.nn.functional.normalize(mean, dim=-1).numpy(), strict=True))
    return found
