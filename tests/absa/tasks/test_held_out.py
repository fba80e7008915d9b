"""Training data without the texts that a model is tested on later, as other data sets write them."""

from functools import partial
from pathlib import Path

import pytest

from absa.tasks.arguments import ClassificationArguments, GenerationArguments, TaggingArguments
from absa.tasks.registry import load_task
from datasets_scripts import documents
from datasets_scripts.loading import load_absa_dataset
from datasets_scripts.sentihood.sentihood import SentiHood

LATER = "Lovely garden, out there\n"
KEPT, LIKE = "the fish was good", "lovely garden out there"


@pytest.fixture
def later(tmp_path: Path) -> str:
    file = tmp_path / "later.txt"
    file.write_text(LATER)
    return str(file)


def rows(folder: Path, split: str, *texts: str) -> str:
    file = folder / f"{split}.csv"
    lines = [f"{number},{text},,food,good\n" for number, text in enumerate(texts)]
    file.write_text("id,text,target,aspect,label\n" + "".join(lines))
    return str(file)


def sentences(folder: Path, split: str, *texts: str) -> str:
    file = folder / f"{split}.txt"
    file.write_text("".join(f"{text}####[([1], [0], 'POS')]\n" for text in texts))
    return str(file)


def columns(folder: Path, split: str, *texts: str) -> str:
    file = folder / f"{split}.tsv"
    file.write_text("\n".join("".join(f"{word}\tO\n" for word in text.split()) for text in texts))
    return str(file)


def arguments(kind: type, write, folder: Path, train: tuple[str, ...], **options):
    files = {"train": train, "validation": (KEPT, LIKE), "test": (KEPT, LIKE)}
    return kind(**{f"{split}_file": write(folder, split, *texts) for split, texts in files.items()}, **options)


CASES = {
    "classification": (ClassificationArguments, rows, {"dataset": "custom"}),
    "tagging": (TaggingArguments, columns, {"dataset": "conll", "data_config": "columns"}),
    "generation": (GenerationArguments, sentences, {"dataset": "aste_v2", "data_config": "own"}),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_like_a_text_that_is_held_out_is_not_trained_on(name: str, later: str, tmp_path: Path):
    kind, write, options = CASES[name]
    train = (KEPT, LIKE, "they were lovely")
    whole = load_task(arguments(kind, write, tmp_path, train, **options))
    task = load_task(arguments(kind, write, tmp_path, train, held_out=[later], **options))
    assert list(whole.splits["train"]["text"]) == list(train)
    assert list(task.splits["train"]["text"]) == [KEPT, "they were lovely"]
    assert task.splits["train"].keys() == whole.splits["train"].keys()
    assert list(task.splits["validation"]["text"]) == [KEPT]
    assert list(task.splits["test"]["text"]) == [KEPT, LIKE], "what is asked for is not changed"


def test_held_out_of_every_data_set_of_a_mixture(later: str, tmp_path: Path):
    entries = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        train = rows(tmp_path / name, "train", KEPT, LIKE, f"a {name} text of its own")
        validation = rows(tmp_path / name, "validation", f"what the {name} one asks")
        entries.append({"dataset": "custom", "name": name, "train_file": train, "validation_file": validation})
    task = load_task(ClassificationArguments(mixture=entries, held_out=[later]))
    for name in ("first", "second"):
        assert list(task.tasks[name].splits["train"]["text"]) == [KEPT, f"a {name} text of its own"]


def test_a_data_set_is_held_out_by_its_name(repo_root: Path, tmp_path: Path, monkeypatch):
    """The sample corpus in the place of what would be downloaded."""
    corpus = repo_root / "datasets_scripts" / "sample_corpus"
    monkeypatch.setattr(documents, "load_absa_dataset", partial(load_absa_dataset, data_dir=corpus))
    like = {split: SentiHood.read(corpus / file)[0]["text"] for split, file in SentiHood.FILES.items()}
    kind, write, options = CASES["classification"]
    texts = tuple(text.replace(",", "") for text in like.values())
    task = load_task(arguments(kind, write, tmp_path, (*texts, KEPT), held_out=["sentihood"], **options))
    assert list(task.splits["train"]["text"]) == [texts[0], KEPT], "what it trains on is not held out"

    def fail(name: str):
        raise ConnectionError(f"{name} could not be downloaded")

    monkeypatch.setattr(documents, "load_absa_dataset", fail)
    told = "held_out=sentihood: sentihood could not be downloaded; or give the files of its validation and test splits"
    with pytest.raises(ConnectionError, match=told):
        load_task(arguments(kind, write, tmp_path, texts, held_out=["sentihood"], **options))


def test_bad_input(later: str, tmp_path: Path):
    kind, write, options = CASES["generation"]
    with pytest.raises(ValueError, match="held_out leaves nothing of train: each of its texts is like one in these"):
        load_task(arguments(kind, write, tmp_path, (LIKE,), held_out=[later], **options))
    with pytest.raises(FileNotFoundError, match=r"not_there\.txt"):
        load_task(arguments(kind, write, tmp_path, (KEPT,), held_out=[str(tmp_path / "not_there.txt")], **options))
