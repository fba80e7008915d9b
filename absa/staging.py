"""What a repo will hold, written to a folder: of a model, a data set or a metric."""

import re
from collections.abc import Callable
from pathlib import Path

import evaluate
import yaml
from datasets import DatasetDict
from huggingface_hub import DatasetCardData, RepoCard

from absa.data_folder import check_tokens, files_within, read_dataset
from absa.metrics.flatten import flatten
from absa.model_card import NAMES, Run, example_text, model_card
from absa.models import load_classifier
from absa.outside_text import told
from absa.restricted_texts import restricted_source
from absa.run_files import part, read_results, score
from absa.user_card import read_card
from datasets_scripts import export_parquet
from modeling_qacg_bert import AspectSentimentPipeline, Contexts


def stage_model(folder: Path, staged: Path, arguments):
    """A checkpoint as `save_pretrained` writes it (code, safetensors, tokenizer) and its card.

    It is loaded and saved anew, so that what is published is whole, and nothing else that lies beside it goes along.

    Raises:
        FileNotFoundError, ValueError: if it is no trained classifier, or one of several.
    """
    checkpoint = checkpoint_in(folder)
    model, tokenizer = load_classifier("folder", str(checkpoint))
    if model.config.model_type not in NAMES:
        raise ValueError(
            f"folder={checkpoint} holds a {told(model.config.model_type)}: give a {', '.join(NAMES)} of run_absa.py"
        )
    Contexts.from_config(model.config)  # for its error: without names no one can ask the model anything
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        raise ValueError(f"folder={checkpoint} has no tokenizer: put the one it was trained with beside the weights")
    model.save_pretrained(staged)
    tokenizer.save_pretrained(staged)
    answered = None
    if model.config.model_type != "bert":
        answered = AspectSentimentPipeline(model=model, tokenizer=tokenizer)(example_text(model.config))
    license = arguments.license or "apache-2.0"
    card = model_card(model.config, answered, Run.of(checkpoint), arguments.repo_id, license)
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
    file = seed / "results.json"
    results = read_results(file)
    for name in part(file, results, "validation", kinds=(dict,)):
        value = score(file, results, "validation", name)
        if value is not None:
            return f"validation {told(name)} {100 * value:.1f}"
    return "validation scores undefined"


def stage_dataset(folder: Path, staged: Path, arguments):
    """The splits as parquet with ClassLabels, and a card.

    Raises:
        ValueError: if the data may not be redistributed, or no licence is given.
    """
    own_card = read_card(folder / "README.md") if (folder / "README.md").is_file() else None
    splits = read_dataset(folder)
    check_tokens(folder, splits)
    source = restricted_source(text for split in splits.values() for text in split["text"])
    if source and not arguments.i_have_the_right:
        raise ValueError(
            f"folder={folder} holds texts of {source}, which states no licence that permits redistribution: do not "
            "publish it; if you have the right to, say so by --i_have_the_right"
        )
    license = arguments.license
    if license is None and own_card:
        license = own_card.data.get("license")
    if not license:
        raise ValueError("license is not given: name the licence of the data, such as --license cc-by-4.0")
    check_license("license" if arguments.license else f"{folder / 'README.md'}: license", license)
    export_parquet(splits, staged)
    card = dataset_card(splits, arguments.repo_id, license, source, own_card)
    (staged / "README.md").write_text(card, encoding="utf-8")


def check_license(where: str, license: object):
    """A licence, or a list of them, is written as the Hub writes it; whether it knows it, it says itself.

    Raises:
        ValueError: naming where it stands.
    """
    for identifier in license if isinstance(license, list) else [license]:
        if not isinstance(identifier, str) or not re.fullmatch(r"[a-z0-9][a-z0-9.+-]{1,50}", identifier):
            raise ValueError(
                f"{where}={told(identifier)} is no identifier of a licence, such as apache-2.0 or cc-by-4.0: see "
                "https://huggingface.co/docs/hub/repositories-licenses, and for one that is not there say other"
            )


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
    labels = [in_a_cell(label) for label in labels]
    aspects = [in_a_cell(aspect) for aspect in first.features["aspect"].names]
    return f"""---
{data.to_yaml()}
---

# {repo_id.split("/")[-1]}

{origin}One row for each text, target and aspect: `id`, `text`, `target` (empty where the task has none), `aspect` and
`label`.

- aspects: {", ".join(aspects)}
- labels: {", ".join(labels)}

| split | distinct texts | rows | {" | ".join(labels)} |
|---|---|---|{"---|" * len(labels)}
{table}

```python
from datasets import load_dataset

rows = load_dataset("{repo_id}")
```
{own_text}"""


def in_a_cell(name: str) -> str:
    """A name as it can stand in a table of Markdown."""
    return " ".join(name.split()).replace("|", "\\|")


def stage_metric(folder: Path, staged: Path, arguments):
    """An `evaluate` module: its script under the repo's name, by which `evaluate.load` finds it, and what it imports.

    Raises:
        FileNotFoundError, ValueError: if the folder is no module, or it does not load.
    """
    files_within(folder)  # for its error
    script = folder / f"{folder.resolve().name}.py"
    for file in (script, folder / "README.md"):
        if not file.is_file():
            raise FileNotFoundError(
                f"folder={folder} has no {file.name}: give a folder such as absa/metrics/evaluate_modules/sentihood"
            )
    card = read_card(folder / "README.md")
    try:
        evaluate.load(str(folder))
    except Exception as error:
        raise ValueError(f"folder={folder} is no module that evaluate can load: {told(error, 300)}") from error
    flatten(script.stem, staged, arguments.repo_id.split("/")[-1])
    metadata = yaml.safe_dump({"title": folder.resolve().name, **card.data.to_dict()}, sort_keys=False)
    (staged / "README.md").write_text(f"---\n{metadata}---\n{card.text}", encoding="utf-8")


STAGES: dict[str, Callable] = {"model": stage_model, "dataset": stage_dataset, "metric": stage_metric}
