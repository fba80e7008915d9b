"""Texts of a domain without annotations, as documents of several sentences: what a model is pretrained on.

Nothing of what it is tested on may be among them. The data sets take their texts from one another, correct the
spelling, and cut words and signs in other ways: so texts are compared by what they have in common, not for equality.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from .loading import BUILDERS, load_absa_dataset
from .semeval_xml import read_root
from .sentihood.sentihood import SentiHood
from .source_files import read_utf8, value_error
from .words import word_offsets

LIKE = 0.75  # of the trigrams of letters: corrected spellings have 0.78 and more in common, other texts 0.71 and less
ROWS_AT_ONCE = 500
RUN = 4
TABLES = {".csv", ".jsonl", ".tsv"}


def read_reviews(file: Path) -> list[list[str]]:
    """The texts of the sentences of each review, in the XML format of SemEval-2015 Task 12 and 2016 Task 5.

    Raises:
        ValueError: the file is not in the format.
    """
    reviews = []
    for review in read_root(file, "Reviews", "Review"):
        texts = [text.text for text in review.iterfind("sentences/sentence/text") if text.text and text.text.strip()]
        if not texts:
            raise value_error(f"{file}, line {review.sourceline}", review.tag, "has no text; correct or remove it")
        reviews.append(texts)
    return reviews


def read_texts(file: Path) -> list[list[str]]:
    """The texts of a file in documents: reviews as `read_reviews` has them, or else runs of sentences, see `runs_of`.

    Args:
        file: XML of reviews; XML of sentences, as of SemEval-2014 Task 4 and MAMS; JSON of SentiHood; or lines, of
            which what follows #### is left out, so that files of ASTE-Data-V2 are read too.
    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is XML or JSON of another kind, or a table.
    """
    if not file.is_file():
        told = f"{file} is no file: give one of texts, as held_out of a training takes it, or a data set's name"
        raise FileNotFoundError(told)
    if file.suffix in TABLES:
        raise ValueError(
            f"{file}: expected XML, SentiHood's JSON or a text a line; write its texts alone to a file, a line each"
        )
    if file.suffix == ".json":
        return runs_of([sentence["text"] for sentence in SentiHood.read(file)])
    content = read_utf8(file)
    if not content.lstrip().startswith("<"):
        return runs_of([text for line in content.splitlines() if (text := line.partition("####")[0].strip())])
    if "<Reviews" in content:
        return read_reviews(file)
    root = read_root(file, "sentences", "sentence")
    return runs_of([text.text for text in root.iterfind("sentence/text") if text.text and text.text.strip()])


def all_texts(places: Iterable[str | Path]) -> list[str]:
    """Those of several places, one after the other.

    Args:
        places: files as `read_texts` takes them, and names of data sets, whose validation and test splits are
            downloaded. The errors of `read_texts` and `load_absa_dataset` come through.
    """
    texts = []
    for place in places:
        if place in BUILDERS:
            try:
                splits = load_absa_dataset(place)
            except ConnectionError as error:
                told = f"held_out={place}: {error}; or give the files of its validation and test splits as held_out"
                raise ConnectionError(told) from error
            for name in splits.keys() - {"train"}:
                texts += dict.fromkeys(splits[name]["text"])  # which has one row for each question
        else:
            texts += [text for document in read_texts(Path(place)) for text in document]
    return texts


def runs_of(texts: Sequence[str], length: int = RUN) -> list[list[str]]:
    """Texts that are no longer in reviews, so many in a row for a document."""
    return [list(texts[start : start + length]) for start in range(0, len(texts), length)]


def corpus(
    sources: Mapping[str, Sequence[Sequence[str]]], held_out: Iterable[str]
) -> tuple[list[dict], dict[str, dict[str, int]]]:
    """Documents without the texts that are held out, and without repetitions.

    Args:
        sources: {name: documents, each the texts of its sentences}. A text that several sources have stays in the
            first one: name those with whole reviews first.
        held_out: all texts of validation and test splits that the model will meet, of every data set. A sentence that
            is like one of them (see `are_like`) is dropped.

    Returns:
        The documents that are left, dicts with id ("name/number") and words; and for each source, how many `sentences`
        it has, how many of these are `held_out`, `repeated` (in this source or an earlier one; case, blanks and signs
        aside) and `kept`, and how many `documents` are left.
    """
    held_out = list(held_out)
    documents, counts, seen = [], {}, set()
    for name, of_source in sources.items():
        texts = [text for document in of_source for text in document]
        dropped = iter(are_like(texts, held_out))
        count = {"sentences": len(texts), "held_out": 0, "repeated": 0, "kept": 0, "documents": 0}
        for number, document in enumerate(of_source):
            words = []
            for text in document:
                if next(dropped):
                    count["held_out"] += 1
                elif letters_of(text) in seen:
                    count["repeated"] += 1
                else:
                    count["kept"] += 1
                    words += [text[start:end] for start, end in word_offsets(text)]
                    seen.add(letters_of(text))
            if words:
                documents.append({"id": f"{name}/{number}", "words": words})
                count["documents"] += 1
        counts[name] = count
    return documents, counts


def letters_of(text: str) -> str:
    """Letters and digits alone, case folded."""
    return "".join(filter(str.isalnum, text.casefold()))


def are_like(texts: Sequence[str], others: Sequence[str]) -> list[bool]:
    """Whether each text is much like one of the others.

    That is: of the distinct trigrams of their letters and digits, LIKE or more of those that either has are in both.
    """
    if not texts or not others:
        return [False] * len(texts)
    vectorizer = CountVectorizer(analyzer=_trigrams, binary=True, dtype=np.int32)
    every = vectorizer.fit_transform([*texts, *others])
    sizes = np.asarray(every.sum(axis=1)).ravel()
    ours, theirs = every[: len(texts)], every[len(texts) :].T.tocsr()
    likeness = []
    for start in range(0, len(texts), ROWS_AT_ONCE):
        common = (ours[start : start + ROWS_AT_ONCE] @ theirs).toarray()
        either = sizes[start : start + len(common), None] + sizes[None, len(texts) :] - common
        likeness += (common / np.maximum(either, 1)).max(axis=1).tolist()
    return [value >= LIKE for value in likeness]


def _trigrams(text: str) -> set[str]:
    letters = f" {letters_of(text)} "
    return {letters[place : place + 3] for place in range(len(letters) - 2)}
