"""Publishes a trained model, a data set or a metric on the Hub, in one commit. See examples/publish.py.

What will stand in the repo is first written to a folder ("staged"), checked there for tokens, and then uploaded.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from datasets import DatasetDict, load_dataset_builder
from huggingface_hub import CommitInfo, DatasetCard, HfApi
from huggingface_hub.utils import validate_repo_id

from absa.cards import dataset_card, facts_of_run, model_card
from absa.metrics.flatten import METRICS, flatten
from absa.models import load_classifier
from absa.redact import refuse_token
from absa.restricted_texts import restricted_source
from absa.tasks.registry import TASKS, task_of
from datasets_scripts import export_parquet, load_absa_dataset
from datasets_scripts.source_files import shorten

TABLES = {".csv", ".jsonl", ".parquet", ".conll"}
OWN_FILES = {"custom": (".csv", ".jsonl"), "conll": (".conll",)}  # by the builder that reads them
SOURCES = {"sentihood": "sentihood-train.json", "semeval2014": "Restaurants_Train.xml"}  # by which they are known
SPLITS = ("train", "validation", "dev", "test")
REPO_TYPES = {"model": "model", "dataset": "dataset", "metric": "space"}
REPLACED = {  # what an earlier publish may have left in a repo; other files of the repo are never deleted
    "model": ["*.safetensors", "*.safetensors.index.json", "*.bin", "tokenizer*", "vocab.txt"],
    "dataset": ["data/*.parquet"],
    "metric": ["*.py"],
}


@dataclass
class PublishArguments:
    """What to publish, and where to."""

    kind: str = field(metadata={"choices": ["dataset", "metric", "model"], "help": "What it is."})
    folder: str = field(
        metadata={
            "help": "model: a checkpoint. dataset: parquet files of export_parquet, train/validation/test .csv, "
            ".jsonl or .conll, or a data set's own files. metric: its name, such as sentihood, e2e_absa or tuple_f1."
        }
    )
    repo_id: str = field(metadata={"help": "USER/NAME or ORGANISATION/NAME; it is made where it does not exist."})
    private: bool = field(default=False, metadata={"help": "Make a repo that only you can see."})
    revision: str = field(default="main", metadata={"help": "Branch to commit to; made where it does not exist."})
    dry_run: bool = field(default=False, metadata={"help": "Only show what would be uploaded; contacts no one."})
    license: str | None = field(
        default=None, metadata={"help": "Identifier of a licence (model: apache-2.0; dataset: its card's)."}
    )
    i_have_the_right: bool = field(
        default=False, metadata={"help": "Publish data that states no licence to, on your responsibility."}
    )


def stage_model(folder: Path, staged: Path, arguments: PublishArguments):
    """A checkpoint as `save_pretrained` writes it (code, safetensors, tokenizer) and its card.

    It is loaded and saved anew, so that what is published is whole, and nothing else that lies beside it goes along.

    Raises:
        FileNotFoundError, ValueError: if it is no trained classifier, tagger or generator.
    """
    task = TASKS[task_of("folder", str(folder))]
    model, tokenizer = load_classifier("folder", str(folder), task.auto_class)
    model.save_pretrained(staged)
    tokenizer.save_pretrained(staged)
    card = model_card(model, tokenizer, facts_of_run(folder), arguments.repo_id, arguments.license or "apache-2.0")
    (staged / "README.md").write_text(card, encoding="utf-8")


def stage_dataset(folder: Path, staged: Path, arguments: PublishArguments):
    """The splits as parquet with ClassLabels, of rows or of tagged sentences, and a card.

    Raises:
        FileNotFoundError, ValueError: if rows would be left out or hold a token, the data may not be redistributed, or
            no licence is given.
    """
    own_card = DatasetCard.load(folder / "README.md") if (folder / "README.md").is_file() else None
    splits = read_splits(folder)
    for split, rows in splits.items():
        refuse_token(f"folder={folder}, split {split!r},", f"{rows.features}\n{rows.to_pandas().to_csv()}")
    source = restricted_source(text for split in splits.values() for text in split["text"])
    if source and not arguments.i_have_the_right:
        raise ValueError(
            f"folder={folder} holds texts of {source}, which states no licence that permits redistribution: do not "
            "publish it; if you have the right to, say so by --i_have_the_right"
        )
    license = arguments.license or (own_card and own_card.data.get("license"))
    if not license:
        raise ValueError("license is not given: name the licence of the data, such as --license cc-by-4.0")
    export_parquet(splits, staged)
    card = dataset_card(splits, arguments.repo_id, license, source, own_card)
    (staged / "README.md").write_text(card, encoding="utf-8")


def read_splits(folder: Path) -> DatasetDict:
    """The rows of a folder: a data set's own files, parquet, csv and jsonl, or tagged words as conll.

    Raises:
        FileNotFoundError: if there is nothing known in it.
        ValueError: if a table in it would be left out, or lies elsewhere; the readers' errors come through.
    """
    shown = [path for path in folder.rglob("*") if "/." not in f"/{path.relative_to(folder).as_posix()}"]
    tables = [path for path in shown if TABLES & {suffix.lower() for suffix in path.suffixes}]
    for path in shown:
        if not path.resolve().is_relative_to(folder.resolve()):
            raise ValueError(f"{path} is a link to {path.resolve()}, which is not in the folder: put the file there")
    source = next((name for name, file in SOURCES.items() if (folder / file).is_file()), None)
    if source is not None:
        name, data_dir, read, options = source, folder, [], {}
    elif tables and all(path.suffix == ".parquet" for path in tables):
        name, data_dir, options = str(folder), None, {}
        read = [file for files in load_dataset_builder(name).config.data_files.values() for file in files]
    elif tables:
        name = "conll" if any(path.suffix == ".conll" for path in tables) else "custom"
        data_dir, options = folder, {"config_name": "columns"} if name == "conll" else {}
        read = [folder / f"{split}{suffix}" for split in SPLITS for suffix in OWN_FILES[name]]
    else:
        raise FileNotFoundError(
            f"folder={folder} holds no data that is known: give parquet files of export_parquet, or train, validation "
            "and test as .csv, .jsonl or .conll (a word, a tab and its tag on each line)"
        )
    is_read = {Path(file).resolve() for file in read}
    left_out = sorted(str(path.relative_to(folder)) for path in tables if path.resolve() not in is_read)
    if left_out:
        raise ValueError(
            f"folder={folder} holds {shorten(', '.join(left_out))}, which would be left out: name the split in the "
            "file's name (train.csv, data/train-00000.parquet), keep one form of the data, or remove the file"
        )
    return load_absa_dataset(name, data_dir=data_dir, **options)


def stage_metric(module: Path, staged: Path, arguments: PublishArguments):
    """An `evaluate` module of this package under the repo's name, by which `evaluate.load` finds it, and its card.

    Raises:
        ValueError: if there is no such module.
    """
    flatten(str(module), staged, staged.name)
    card = METRICS / "evaluate_modules" / module / "README.md"
    (staged / "README.md").write_text(card.read_text(encoding="utf-8"), encoding="utf-8")


STAGES: dict[str, Callable] = {"model": stage_model, "dataset": stage_dataset, "metric": stage_metric}


def files_in(staged: Path) -> list[Path]:
    return sorted(path for path in staged.rglob("*") if path.is_file())


def upload(arguments: PublishArguments, staged: Path) -> CommitInfo:
    """Commits a folder to the repo, which is made if need be, and deletes what it replaces, all in one commit.

    Raises:
        PermissionError: if the repo is to be private and is not; the errors of huggingface_hub come through.
    """
    api, repo_type = HfApi(), REPO_TYPES[arguments.kind]
    repo = {"repo_id": arguments.repo_id, "repo_type": repo_type}
    # A family's code files end in its name: modeling_qacg_bert.py, attention_qacg_bert.py.
    code = {f"*_{file.name.partition('_')[2]}" for file in staged.glob("modeling_*.py")}
    space_sdk = "static" if repo_type == "space" else None
    api.create_repo(**repo, private=arguments.private or None, space_sdk=space_sdk, exist_ok=True)
    if arguments.private and not api.repo_info(**repo).private:
        raise PermissionError(f"repo_id={arguments.repo_id} exists and is public: make it private in its settings")
    if arguments.revision != "main":
        api.create_branch(**repo, branch=arguments.revision, exist_ok=True)
    return api.upload_folder(
        **repo,
        folder_path=staged,
        revision=arguments.revision,
        commit_message=f"Publish {arguments.kind}",
        delete_patterns=[*REPLACED[arguments.kind], *code],
        # Someone else's commit in between is not overwritten.
        parent_commit=api.repo_info(**repo, revision=arguments.revision).sha,
    )


def main(arguments: PublishArguments):
    validate_repo_id(arguments.repo_id)
    if "/" not in arguments.repo_id:
        raise ValueError(f"repo_id={arguments.repo_id}: give the user or organisation too, USER/{arguments.repo_id}")
    with tempfile.TemporaryDirectory() as parent:
        staged = Path(parent) / arguments.repo_id.split("/")[-1]  # named as evaluate.load expects
        staged.mkdir()
        STAGES[arguments.kind](Path(arguments.folder), staged, arguments)
        for file in files_in(staged):
            if file.suffix not in (".parquet", ".safetensors"):  # rows are checked before they are written
                refuse_token(f"{file.relative_to(staged)}, which would be published,", file.read_text("latin-1"))
        if arguments.dry_run:
            repo = f"{REPO_TYPES[arguments.kind]} {arguments.repo_id}"
            print(f"{repo}, branch {arguments.revision}; not uploaded:")
            for file in files_in(staged):
                print(f"  {file.stat().st_size:>12,}  {file.relative_to(staged)}")
            print(f"\n{(staged / 'README.md').read_text(encoding='utf-8')}")
            return
        published = upload(arguments, staged)
    print(f"{published.repo_url}/tree/{published.oid}")
    print(f'its card says how to load it; revision="{published.oid}" pins what was published now')
