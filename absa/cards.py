"""The cards of published models and data sets: facts from files, put into card.md.jinja and dataset_card.md.jinja."""

import json
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from pprint import pformat

import yaml
from datasets import DatasetDict
from huggingface_hub import DatasetCard, DatasetCardData, EvalResult, ModelCard, ModelCardData, RepoCard
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from absa.models import MINILM, takes
from absa.redact import redact
from datasets_scripts.source_files import read_utf8, shorten
from modeling_qacg_bert import AspectSentimentPipeline

PACKAGE = "qacg-bert"
MINILM_ON_THE_HUB = "sentence-transformers/all-MiniLM-L6-v2"
NAMES = {"qacg_bert": "QACG-BERT", "cg_bert": "CG-BERT", "bert": "BERT"}  # for display only
DATASETS = {"sentihood": "SentiHood", "semeval2014": "SemEval-2014 Task 4, restaurants"}
SAMPLE_CORPUS = "sample corpus (synthetic)"
PATHS = ("data_dir", "train_file", "validation_file", "test_file")  # of the machine that trained


@dataclass(frozen=True)
class Run:
    """What a training run says of one of its checkpoints, as the card shows it.

    Args:
        scores: the checkpoint's main scores, without undefined ones, from 0 to 1.
        figures: lines of a table: score, this checkpoint, mean (std) over the seeds; the last two in percent.
        calibration: lines of a table: probability, its calibration error before and after the temperature, in percent.
        helped: whether the temperature lowered the calibration error of the label.
        dataset, base_model: ids that others can use, not folders of the machine that trained.
        recipe: the run's arguments as YAML, without paths.
    """

    seed: int
    seeds: list[str]
    split: str
    protocol: str
    scores: dict[str, float]
    figures: list[tuple[str, str, str]]
    calibration: list[tuple[str, str, str]]
    helped: bool
    data: str
    dataset: str
    base_model: str | None
    recipe: str

    @classmethod
    def of(cls, checkpoint: Path) -> "Run | None":
        """The run that made a checkpoint; None without results.json in its folder and all_results.json above it.

        Raises:
            ValueError: if the checkpoint is of another run than all_results.json, or the files are not what
                `run_absa.py` writes.
        """
        checkpoint = checkpoint.resolve()
        above, beside = checkpoint.parent / "all_results.json", checkpoint / "results.json"
        if not (above.is_file() and beside.is_file()):
            return None
        try:
            of_all, own = json.loads(read_utf8(above)), json.loads(read_utf8(beside))
            scored = {name: value for name, value in own.items() if name != "training"}
            is_of_this_run = of_all["seeds"].get(str(own["seed"])) == scored
            run = cls.from_results(of_all, own)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(
                f"{above} or {beside} is not what run_absa.py writes: {shorten(redact(repr(error)), 200)}. Copy both "
                "again from the run. Without them, the card has no figures"
            ) from error
        if not is_of_this_run:
            raise ValueError(
                f"{above} has other scores for seed {run.seed} than {beside}, or none: the files are not of one run; "
                "run the training script again, which brings them together"
            )
        return run

    @classmethod
    def from_results(cls, of_all: dict, own: dict) -> "Run":
        """From the contents of all_results.json and of the checkpoint's results.json."""
        split, arguments = of_all["split"], of_all["arguments"]
        scores = {name: own[split][name] for name in of_all["main_scores"]}
        calibration = own["calibration"][split]
        before, after = calibration["before"], calibration["after"]
        is_sample_corpus = Path(arguments["data_dir"] or "").name == "sample_corpus"
        data = SAMPLE_CORPUS if is_sample_corpus else DATASETS.get(arguments["dataset"], "own data")
        is_known = arguments["dataset"] in DATASETS
        dataset = arguments["dataset"] if is_known else hub_id(arguments["dataset"]) or "custom"
        base_model = hub_id(arguments["model_name_or_path"])
        recipe = {**arguments, **dict.fromkeys(PATHS), "model_name_or_path": base_model, "dataset": dataset}
        if is_sample_corpus:
            recipe["data_dir"] = "datasets_scripts/sample_corpus"  # without it the recipe would be for SentiHood
        recipe = {name: value for name, value in recipe.items() if value is not None}
        return cls(
            seed=own["seed"],
            seeds=list(of_all["seeds"]),
            split=split,
            protocol=of_all["protocol"],
            scores={name: score for name, score in scores.items() if score is not None},
            figures=[
                (name.replace("_", " "), percent(score), mean_and_deviation(of_all["summary"][name]))
                for name, score in scores.items()
            ],
            calibration=[(kind, percent(before[kind]), percent(after[kind])) for kind in before],
            helped=after["label"] < before["label"],
            data=data,
            dataset=dataset,
            base_model=base_model,
            recipe=yaml.safe_dump(recipe, sort_keys=False, allow_unicode=True).strip(),
        )


def hub_id(name: str) -> str | None:
    """The id on the Hub that a name stands for; None for a folder of this machine."""
    if name == MINILM:
        return MINILM_ON_THE_HUB
    try:
        validate_repo_id(name)
    except HFValidationError:
        return None
    return None if Path(name).exists() else name


def percent(score: float | None) -> str:
    return "undefined" if score is None else f"{100 * score:.1f}"


def mean_and_deviation(summary: dict[str, float | None]) -> str:
    deviation = "-" if summary["std"] is None else f"{100 * summary['std']:.1f}"
    return "undefined" if summary["mean"] is None else f"{percent(summary['mean'])} ({deviation})"


def model_card(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, run: Run | None, repo_id: str, license: str
) -> str:
    """The card of a checkpoint, without tokens; every figure in it is the run's.

    Args:
        model: with names of aspects and labels in its configuration.
        tokenizer: the model's.
        run: what made the checkpoint; without it the card has no figures and says so.
        repo_id: where the card will stand.
        license: identifier of a licence of the Hub.
    """
    config, name = model.config, repo_id.split("/")[-1]
    takes_context = takes(model, "context_ids")
    example = "The food was great, but we waited an hour for it."
    if getattr(config, "targets", None):
        example = f"{config.targets[0]} is expensive, but I always felt safe there."
    data = ModelCardData(
        language="en" if run and run.data != "own data" else None,
        license=license,
        library_name="transformers",
        pipeline_tag="text-classification",
        base_model=run.base_model if run else None,
        tags=["aspect-based-sentiment-analysis", "sentiment-analysis", config.model_type.replace("_", "-")],
        model_name=name,
        eval_results=eval_results(run) or None,
        widget=[{"text": example}],
    )
    card = ModelCard.from_template(
        data,
        template_path=str(Path(__file__).with_name("card.md.jinja")),
        name=name,
        repo_id=repo_id,
        family=NAMES.get(config.model_type, type(model).__name__.partition("For")[0]),
        takes_context=takes_context,
        config=config,
        labels=[config.id2label[number] for number in range(config.num_labels)],
        temperature=getattr(config, "calibration_temperature", 1.0),
        example=example,
        answered=as_comment(model, tokenizer, example) if takes_context else None,
        run=run,
        package=PACKAGE,
        url=project_url(),
    )
    return redact(str(card))


def project_url() -> str | None:
    """Where the project's code is, as the installed package states it; None where it does not."""
    try:
        stated = metadata(PACKAGE).get_all("Project-URL") or []
    except PackageNotFoundError:
        return None
    urls = dict(line.split(", ", 1) for line in stated)
    return urls.get("Repository") or urls.get("Homepage")


def eval_results(run: Run | None) -> list[EvalResult]:
    """The main scores for the Hub's model index, from 0 to 1; those on synthetic data are not for comparison."""
    if run is None or run.data == SAMPLE_CORPUS:
        return []
    return [
        EvalResult(
            task_type="text-classification",
            task_name="Aspect-based sentiment analysis",
            dataset_type=run.dataset,
            dataset_name=run.data,
            dataset_split=run.split,
            metric_type=name,
            metric_name=name.replace("_", " "),
            metric_value=score,
        )
        for name, score in run.scores.items()
    ]


def as_comment(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, text: str) -> str:
    """The pipeline's first two answers on a text as Python shows them, probabilities with two digits."""
    answered = AspectSentimentPipeline(model=model, tokenizer=tokenizer)(text)
    shown = json.loads(json.dumps(answered[:2]), parse_float=lambda number: round(float(number), 2))
    lines = pformat(shown, sort_dicts=False, width=110).splitlines()
    if len(answered) > 2:
        lines.append(f"and {len(answered) - 2} more")
    return "\n".join(f"# {line}" for line in lines)


def read_card(file: Path) -> RepoCard:
    """A card that a user has written.

    Raises:
        ValueError: if it is not UTF-8, or its metadata is no YAML mapping.
    """
    content = read_utf8(file)
    try:
        return RepoCard(content)
    except (ValueError, TypeError, yaml.YAMLError) as error:
        reason = shorten(redact(" ".join(str(error).split())), 200)
        raise ValueError(f"{file} has metadata that cannot be read ({reason}): correct its YAML") from error


def dataset_card(
    splits: DatasetDict, repo_id: str, license: str | list[str], source: str | None, own_card: RepoCard | None
) -> str:
    """What can be said of rows of (id, text, target, aspect, label), and then what a card of theirs says.

    Args:
        splits: as `load_absa_dataset` gives them.
        repo_id: where the card will stand.
        license: identifiers of licences of the Hub.
        source: the data set that the texts are known to come from.
        own_card: the card beside the original files; what it says of the data goes before what is said here.
    """
    name = repo_id.split("/")[-1]
    features = next(iter(splits.values())).features
    num_labels = features["label"].num_classes
    files = [{"split": split, "path": f"data/{split}-*.parquet"} for split in splits]
    known = {
        "task_categories": ["text-classification"],
        "tags": ["aspect-based-sentiment-analysis"],
        "pretty_name": name,
        **(own_card.data.to_dict() if own_card else {}),
        "license": license,
        "configs": [{"config_name": "default", "data_files": files}],
    }
    card = DatasetCard.from_template(
        DatasetCardData(**known),
        template_path=str(Path(__file__).with_name("dataset_card.md.jinja")),
        name=name,
        repo_id=repo_id,
        source=source,
        aspects=features["aspect"].names,
        labels=features["label"].names,
        counts=[
            [split, len(set(rows["text"])), len(rows), *map(list(rows["label"]).count, range(num_labels))]
            for split, rows in splits.items()
        ],
        own_text=own_card.text.strip() if own_card else None,
    )
    return redact(str(card))
