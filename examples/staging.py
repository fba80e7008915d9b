"""What a repo will hold, written to a folder: of a model, a data set or a metric."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import evaluate
import yaml
from datasets import DatasetDict
from huggingface_hub import DatasetCardData, RepoCard

from backbones import load_classifier
from datasets_scripts import export_parquet, load_absa_dataset
from model_card import Run, model_card
from modeling_qacg_bert import Contexts
from restricted_texts import restricted_source


def stage_model(folder: Path, staged: Path, arguments):
    """A checkpoint as `save_pretrained` writes it (code, safetensors, tokenizer) and its card.

    It is loaded and saved anew, so that what is published is whole, and nothing else that lies beside it goes along.

    Raises:
        FileNotFoundError, ValueError: if it is no trained classifier, or one of several.
    """
    checkpoint = checkpoint_in(folder)
    model, tokenizer = load_classifier("folder", str(checkpoint))
    Contexts.from_config(model.config)  # for its error: without names no one can ask the model anything
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        raise ValueError(f"folder={checkpoint} has no tokenizer: put the one it was trained with beside the weights")
    model.save_pretrained(staged)
    tokenizer.save_pretrained(staged)
    card = model_card(model.config, Run.of(checkpoint), arguments.repo_id, arguments.license or "apache-2.0")
    card.save(staged / "README.md")


def checkpoint_in(folder: Path) -> Path:
    """The checkpoint that a folder is, or the only one of the run that it is.

    Raises:
        FileNotFoundError, ValueError: if there is none, or several.
    """
    if (folder / "config.json").is_file():
        return folder
    seeds = sorted(path.parent for path in folder.glob("seed-*/results.json"))
    if not seeds:
        raise FileNotFoundError(
            f"folder={folder} holds no config.json and no finished seed-*: give a checkpoint or the output_dir of "
            "examples/run_absa.py"
        )
    if len(seeds) > 1:
        shown = ", ".join(f"{seed} ({chosen_by(seed)})" for seed in seeds)
        raise ValueError(f"folder={folder} holds several checkpoints: name one, {shown}")
    if not (seeds[0] / "config.json").is_file():
        raise ValueError(f"folder={seeds[0]} holds one model a context (BERT-single): publish them one by one")
    return seeds[0]


def chosen_by(seed: Path) -> str:
    """The first of a seed's main scores on the validation split: by what a seed may be chosen."""
    results = json.loads((seed / "results.json").read_text(encoding="utf-8"))["validation"]
    name, score = next((name, score) for name, score in results.items() if score is not None)
    return f"validation {name} {100 * score:.1f}"


def stage_dataset(folder: Path, staged: Path, arguments):
    """The splits as parquet with ClassLabels, and a card.

    Raises:
        ValueError: if the data may not be redistributed, or no licence is given.
    """
    splits = read_dataset(folder)
    source = restricted_source(text for split in splits.values() for text in split["text"])
    if source and not arguments.i_have_the_right:
        raise ValueError(
            f"folder={folder} holds texts of {source}, which states no licence that permits redistribution: do not "
            "publish it; if you have the right to, say so by --i_have_the_right"
        )
    own_card = (
        RepoCard((folder / "README.md").read_text(encoding="utf-8")) if (folder / "README.md").is_file() else None
    )
    license = arguments.license or (own_card.data.get("license") if own_card else None)
    if license is None:
        raise ValueError("license is not given: name the licence of the data, such as --license cc-by-4.0")
    export_parquet(splits, staged)
    card = dataset_card(splits, arguments.repo_id, license, source, own_card)
    (staged / "README.md").write_text(card, encoding="utf-8")


def read_dataset(folder: Path) -> DatasetDict:
    """The rows in a folder, by what files it has.

    Raises:
        FileNotFoundError: if there is nothing known in it; the readers' errors come through.
    """
    if any(folder.rglob("*.parquet")):
        return load_absa_dataset(str(folder))
    if (folder / "sentihood-train.json").is_file():
        return load_absa_dataset("sentihood", data_dir=folder)
    if (folder / "Restaurants_Train.xml").is_file():
        return load_absa_dataset("semeval2014", data_dir=folder)
    files = {path.stem: path for path in sorted(folder.iterdir()) if path.suffix in (".csv", ".jsonl")}
    files = {split: files[split] for split in ("train", "validation", "test") if split in files}
    if not files:
        raise FileNotFoundError(
            f"folder={folder} holds no data that is known: give parquet files of export_parquet, or train, validation "
            "and test as .csv or .jsonl"
        )
    return load_absa_dataset("custom", data_files=files)


def dataset_card(
    splits: DatasetDict, repo_id: str, license: str, source: str | None, own_card: RepoCard | None
) -> str:
    """What can be said of rows of (id, text, target, aspect, label), and behind it what a card of theirs says."""
    first = next(iter(splits.values()))
    labels = first.features["label"].names
    files = [{"split": name, "path": f"data/{name}-*.parquet"} for name in splits]
    known = {
        "task_categories": ["text-classification"],
        "tags": ["aspect-based-sentiment-analysis"],
        "pretty_name": repo_id.split("/")[-1],
        **(own_card.data.to_dict() if own_card else {}),
    }
    data = DatasetCardData(
        **{**known, "license": license, "configs": [{"config_name": "default", "data_files": files}]}
    )
    rows = []
    for name, split in splits.items():
        counts = [sum(value == number for value in split["label"]) for number in range(len(labels))]
        rows.append(f"| {name} | {len(set(split['text']))} | {len(split)} | {' | '.join(map(str, counts))} |")
    table = "\n".join(rows)
    origin = f"The texts are those of {source}.\n\n" if source else ""
    own_text = f"\n## From the card of the original files\n\n{own_card.text.strip()}\n" if own_card else ""
    return f"""---
{data.to_yaml()}
---

# {repo_id.split("/")[-1]}

{origin}One row for each text, target and aspect: `id`, `text`, `target` (empty where the task has none), `aspect` and
`label`.

- aspects: {", ".join(first.features["aspect"].names)}
- labels: {", ".join(labels)}

| split | distinct texts | rows | {" | ".join(labels)} |
|---|---|---|{"---|" * len(labels)}
{table}

```python
from datasets import load_dataset

rows = load_dataset("{repo_id}")
```
{own_text}"""


def stage_metric(folder: Path, staged: Path, arguments):
    """An `evaluate` module: its script under the repo's name, by which `evaluate.load` finds it, and what it imports.

    Raises:
        FileNotFoundError, ValueError: if the folder is no module, or it does not load.
    """
    script = folder / f"{folder.resolve().name}.py"
    for file in (script, folder / "README.md"):
        if not file.is_file():
            raise FileNotFoundError(f"folder={folder} has no {file.name}: give a folder such as metrics/sentihood")
    try:
        evaluate.load(str(folder))
    except Exception as error:
        raise ValueError(f"folder={folder} is no module that evaluate can load: {error}") from error
    for file in sorted(folder.glob("*.py")):
        if file.name != "__init__.py":
            shutil.copy(file, staged / (f"{arguments.repo_id.split('/')[-1]}.py" if file == script else file.name))
    card = RepoCard((folder / "README.md").read_text(encoding="utf-8"))
    metadata = yaml.safe_dump({"title": folder.resolve().name, **card.data.to_dict()}, sort_keys=False)
    (staged / "README.md").write_text(f"---\n{metadata}---\n{card.text}", encoding="utf-8")


STAGES: dict[str, Callable] = {"model": stage_model, "dataset": stage_dataset, "metric": stage_metric}
