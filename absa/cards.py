"""The cards of published models and data sets: facts from files, put into the templates beside this file.

The card of a model is card.md.jinja; card_<task>.md.jinja fills in what holds for all models of a task, and
card_<package>.md.jinja what holds for a family.
"""

import json
from collections import Counter
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from pprint import pformat

import yaml
from datasets import DatasetDict
from huggingface_hub import DatasetCard, DatasetCardData, EvalResult, ModelCardData
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id
from jinja2 import Environment, FileSystemLoader
from transformers import Pipeline, PreTrainedModel, PreTrainedTokenizerBase, pipeline

from absa.models import FAMILIES, most_tokens
from absa.packages import MINILM, MPNET
from absa.predict import predictor_of
from absa.redact import redact
from absa.tasks.registry import TASKS, task_for
from absa.training.results import cell, interval
from datasets_scripts.loading import BUILDERS
from modeling_global_context import scheme_of, spans_of

ON_THE_HUB = {  # by model_name_or_path
    MINILM: "sentence-transformers/all-MiniLM-L6-v2",
    MPNET: "sentence-transformers/all-mpnet-base-v2",
}
SAMPLE_CORPUS, OWN_DATA = "sample corpus (synthetic)", "own data"
SAMPLES = ("sample_corpus", "sample_reviews")  # folders of datasets_scripts
ENGLISH = {  # by the arguments dataset and data_config
    "sentihood": "SentiHood",
    "semeval2014": "SemEval-2014 Task 4, restaurants",
    "aspect_polarity/laptops_terms": "SemEval-2014 Task 4, aspect terms of laptops",
    "aspect_polarity/restaurants_terms": "SemEval-2014 Task 4, aspect terms of restaurants",
    "aspect_polarity/restaurants_categories": "SemEval-2014 Task 4, aspect categories of restaurants",
    **{
        f"semeval{year}{config}": f"SemEval-{year} Task {number}, {domain}"
        for year, number in ((2015, 12), (2016, 5))
        for config, domain in (("", "restaurants"), ("/restaurants", "restaurants"), ("/laptops", "laptops"))
    },
    **{f"e2e_absa/{name}": f"E2E-ABSA, {name}" for name in ("laptop14", "rest14", "rest15", "rest16")},
    **{f"aste_v2/{name}": f"ASTE-Data-V2, {name}" for name in ("14lap", "14res", "15res", "16res")},
    **{
        f"bartabsa/{part}_{name}": f"BARTABSA's data, {part}_{name}"
        for part in ("penga", "pengb", "fan", "wang")
        for name in ("14lap", "14res", "15res", "16res")
    },
    **{f"mams/{name}": f"MAMS, {name}" for name in ("terms", "categories")},
    "mams/term_rows": "MAMS, aspect terms",
    "mams/category_rows": "MAMS, aspect categories",
    "mams/given_categories": "MAMS, given aspect categories",
    "conll/wnut17": "WNUT-17",
    "conll/conll2003": "CoNLL-2003",
    "conllu": "the English Web Treebank (Universal Dependencies)",
}
DATASETS = {**ENGLISH, "conll/weibo": "Weibo NER"}
TEMPLATES = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=False)
LONGEST = 2**16  # tokens; what a tokenizer without a limit says is more
PATHS = ("data_dir", "train_file", "validation_file", "test_file")  # of the machine that trained


def facts_of_run(checkpoint: Path) -> dict | None:
    """What a training run says of one of its checkpoints; None without the files that a run leaves behind.

    Returns:
        `split`, `protocol`, `seed` and `seeds`; `scores`, main ones of the checkpoint from 0 to 1, without undefined
        ones; `figures`, lines of a table: score, this checkpoint with its interval, mean (std) over the seeds;
        `has_intervals`, whether there are such; `calibration`, lines of a table: probability, its calibration error
        before and after the temperature; `helped`, whether that lowered the first of these errors; `data`, `dataset`,
        `data_config` and `base_model`, names that others can use, not folders of this machine; `before`, the data of
        trainings that it has started from; `language`, where it is known; `recipe`, the run's arguments as YAML,
        without paths.
    Raises:
        ValueError: if the checkpoint is of another run than all_results.json.
    """
    checkpoint = checkpoint.resolve()
    above, beside = checkpoint.parent / "all_results.json", checkpoint / "results.json"
    if not (above.is_file() and beside.is_file()):
        return None
    run, own = (json.loads(file.read_text(encoding="utf-8")) for file in (above, beside))
    if run["seeds"].get(str(own["seed"])) != {name: value for name, value in own.items() if name != "training"}:
        raise ValueError(
            f"{above} has other scores for seed {own['seed']} than {beside}, or none: the files are not of one run; "
            "run the training script again, which brings them together"
        )
    split, arguments = run["split"], run["arguments"]
    scores = {name: own[split][name] for name in run["main_scores"]}
    before, after = (own["calibration"][split][name] for name in ("before", "after"))
    first = next(iter(before))
    names, recipe = of_data(arguments)
    earlier = trained_before(arguments, own["seed"])
    backbone = [arguments, *earlier][-1]["model_name_or_path"]  # none of a model over word vectors
    if arguments.get("mean_of") and earlier and of_data(earlier[0])[0] == names:
        del earlier[0]  # the training of the mean's members is the one that the card is of
    names_before = [of_data(one)[0] for one in reversed(earlier)]
    language = "en" if {*names, *chain(*names_before)} <= {SAMPLE_CORPUS, *ENGLISH.values()} else None
    base_model = hub_id(backbone) if backbone else None
    recipe = {name: value for name, value in {**recipe, "model_name_or_path": base_model}.items() if value is not None}
    if arguments.get("word_vectors"):
        recipe["word_vectors"] = Path(arguments["word_vectors"]).name  # without the folder on this machine
    for name in ("teachers", "mean_of"):
        if models := arguments.get(name):
            recipe[name] = [hub_id(model) or Path(model).name for model in models]
    return {
        "split": split,
        "protocol": run["protocol"],
        "seed": own["seed"],
        "seeds": list(run["seeds"]),
        "scores": {name: score for name, score in scores.items() if score is not None},
        "figures": [
            (name.replace("_", " "), cell(score) + interval(own[split], name), cell(**run["summary"][name]))
            for name, score in scores.items()
        ],
        "has_intervals": any(interval(own[split], name) for name in scores),
        "calibration": [(kind, cell(before[kind]), cell(after[kind])) for kind in before],
        "helped": None not in (before[first], after[first]) and after[first] < before[first],
        "data": "; ".join(names),
        "before": ", then ".join(
            ("restoring noisy texts like those of " if "noise" in one else "") + "; ".join(some)
            for one, some in zip(reversed(earlier), names_before, strict=True)
        ),
        "dataset": recipe["dataset"],
        "data_config": arguments.get("data_config"),
        "language": language,
        "base_model": base_model,
        "recipe": yaml.safe_dump(recipe, sort_keys=False, allow_unicode=True).strip(),
    }


def trained_before(arguments: Mapping, seed: int) -> list[Mapping]:
    """The arguments of trainings that a run has started from, the last first, as far as their folders are there."""
    found = []
    while start := next(iter(arguments.get("mean_of") or ()), None) or arguments["model_name_or_path"]:
        folder = Path(start.replace("{seed}", str(seed)))
        record = folder.parent / "arguments.json"
        if not (folder.is_dir() and record.is_file()):
            break
        arguments = json.loads(record.read_text(encoding="utf-8"))
        found.append(arguments)
    return found


def of_data(arguments: Mapping) -> tuple[list[str], dict]:
    """What the data of a run or of its mixture are called, and its arguments without what is of this machine."""
    if not (entries := arguments.get("mixture")):
        name, recipe = shared(arguments)
        return [name], recipe
    folders = arguments["data_dirs"] or {}
    named = [shared({**entry, "data_dir": folders.get(entry["name"])}) for entry in entries]
    recipe = {**arguments, "mixture": [of_entry for _, of_entry in named], "data_dirs": None}
    return list(dict.fromkeys(name for name, _ in named)), recipe


def shared(arguments: Mapping) -> tuple[str, dict]:
    """What the data of a run is called, and its arguments without what is of this machine."""
    folder, dataset = Path(arguments["data_dir"] or "").name, arguments["dataset"]
    known = "/".join(filter(None, (dataset, arguments.get("data_config"))))
    own_files = [name for name in PATHS if name != "data_dir" and arguments.get(name)]
    data = SAMPLE_CORPUS if folder in SAMPLES else OWN_DATA if own_files else DATASETS.get(known, OWN_DATA)
    dataset = dataset if dataset in BUILDERS else hub_id(dataset) or "custom"
    kept = {name: value for name, value in {**arguments, "dataset": dataset}.items() if name not in PATHS}
    if folder in SAMPLES:
        kept["data_dir"] = f"datasets_scripts/{folder}"  # without it the recipe would be for other data
    return data, kept


def hub_id(name: str) -> str | None:
    """The id on the Hub that a name stands for; None for a folder of this machine."""
    if name in ON_THE_HUB:
        return ON_THE_HUB[name]
    try:
        validate_repo_id(name)
    except HFValidationError:
        return None
    return None if Path(name).exists() else name


def model_card(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, run: dict | None, repo_id: str, license: str
) -> str:
    """The card of a checkpoint, without tokens; every figure in it is the run's.

    Args:
        model: with names of aspects and labels in its configuration.
        tokenizer: the model's.
        run: `facts_of_run`; without it the card has no figures and says so.
        repo_id: where the card will stand.
        license: identifier of a licence of the Hub.
    """
    config, name, task_name = model.config, repo_id.split("/")[-1], task_for(model)
    task = TASKS[task_name]
    about = task.on_card(config)
    pipe = pipeline_of(model, tokenizer)
    data = ModelCardData(
        language=run["language"] if run else None,
        license=license,
        library_name="transformers",
        pipeline_tag=task.hub_task,
        base_model=run["base_model"] if run else None,
        tags=[*about["tags"], config.model_type.replace("_", "-")],
        model_name=name,
        eval_results=eval_results(run, task.hub_task, about["task_name"]) or None,
        widget=[{"text": about["example"]}],
    )
    family = FAMILIES[config.model_type]
    templates = [f"card_{name}.md.jinja" for name in (f"{family}_{task_name}", family, task_name)]
    max_length = most_tokens(tokenizer.model_max_length, config)
    card = TEMPLATES.select_template(templates).render(
        card_data=data.to_yaml(),
        name=name,
        repo_id=repo_id,
        config=config,
        own_pipelines=bool(getattr(config, "custom_pipelines", None)),
        labels=[config.id2label[number] for number in range(config.num_labels)],
        max_length=max_length if max_length <= LONGEST else None,
        temperature=getattr(config, "calibration_temperature", 1.0),
        answered=as_comment(pipe, about.get("question", about["example"])),
        run=run,
        **about,
    )
    return redact(card)


def pipeline_of(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> Pipeline:
    """What answers with a model: its family's pipeline, or Transformers' own for tags that make no spans.

    Raises:
        ValueError: if no one can ask the model anything, for lack of names in its configuration.
    """
    task = TASKS[task_for(model)]
    if getattr(model.config, "tag_scheme", None) == "plain":
        return pipeline(task.hub_task, model=model, tokenizer=tokenizer, aggregation_strategy="first")
    return predictor_of(task.auto_class, model).pipeline_class(model=model, tokenizer=tokenizer)


def eval_results(run: dict | None, task_type: str, task_name: str) -> list[EvalResult]:
    """The main scores for the Hub's model index, from 0 to 1; those on synthetic data are not for comparison."""
    if run is None or SAMPLE_CORPUS in run["data"]:
        return []
    return [
        EvalResult(
            task_type=task_type,
            task_name=task_name,
            dataset_type=run["dataset"],
            dataset_name=run["data"],
            dataset_config=run["data_config"],
            dataset_split=run["split"],
            metric_type=name,
            metric_name=name.replace("_", " "),
            metric_value=score,
        )
        for name, score in run["scores"].items()
    ]


def as_comment(pipe: Pipeline, asked: str | Mapping) -> str:
    """The pipeline's first two answers, or the only one to a question, as Python shows them, probabilities with two
    digits."""
    answered = pipe(asked)
    first = answered if isinstance(answered, Mapping) else answered[:2]
    written = json.dumps(first, default=float)  # of NumPy's numbers in Transformers' pipelines
    shown = json.loads(written, parse_float=lambda number: round(float(number), 2))
    lines = pformat(shown, sort_dicts=False, width=110).splitlines()
    if not isinstance(answered, Mapping) and len(answered) > 2:
        lines.append(f"and {len(answered) - 2} more")
    return "\n".join(f"# {line}" for line in lines)


def dataset_card(
    splits: DatasetDict, repo_id: str, license: str | list[str], source: str | None, own_card: DatasetCard | None
) -> str:
    """What can be said of rows of (id, text, target, aspect, label), of tagged sentences or of sentences of tuples;
    then what a card of theirs says.

    Args:
        splits: as `load_absa_dataset` gives them.
        repo_id: where the card will stand.
        license: identifiers of licences of the Hub.
        source: the data set that the texts are known to come from.
        own_card: the card beside the original files; what it says of the data goes before what is said here.
    """
    name = repo_id.split("/")[-1]
    features = next(iter(splits.values())).features
    about = next(say for column, say in ABOUT.items() if column in features)(splits)
    files = [{"split": split, "path": f"data/{split}-*.parquet"} for split in splits]
    known = {
        **about.pop("metadata"),
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
        **about,
        own_text=own_card.text.strip() if own_card else None,
    )
    return redact(str(card))


def about_rows(splits: DatasetDict) -> dict:
    """What the template says of rows of (id, text, target, aspect, label)."""
    features = next(iter(splits.values())).features
    labels = features["label"].names
    return {
        "metadata": {"task_categories": ["text-classification"], "tags": ["aspect-based-sentiment-analysis"]},
        "aspects": features["aspect"].names,
        "labels": labels,
        "counted": ["distinct texts", "rows", *labels],
        "counts": [
            [split, len(set(rows["text"])), len(rows), *map(list(rows["label"]).count, range(len(labels)))]
            for split, rows in splits.items()
        ],
    }


def about_tags(splits: DatasetDict) -> dict:
    """What the template says of sentences of (id, text, tokens, tags): how many spans, or plain tags, of each type."""
    names = next(iter(splits.values())).features["tags"].feature.names
    scheme = scheme_of(names)
    types = names
    if scheme != "plain":
        types = list(dict.fromkeys(name.partition("-")[2] for name in names if name != "O"))
    counts = []
    for split, rows in splits.items():
        sentences = [[names[tag] for tag in tags] for tags in rows["tags"]]
        spans = (tags if scheme == "plain" else [span[-1] for span in spans_of(tags, scheme)] for tags in sentences)
        number_of = Counter(chain.from_iterable(spans))
        counts.append([split, len(sentences), sum(map(len, sentences)), *(number_of[type_] for type_ in types)])
    return {
        "metadata": {"task_categories": ["token-classification"]},
        "tags_of_words": names,
        "scheme": scheme,
        "counted": ["sentences", "tokens", *types],
        "counts": counts,
    }


def about_tuples(splits: DatasetDict) -> dict:
    """What the template says of sentences of (id, text, words, offsets, tuples): how many tuples, of each label."""
    fields = next(iter(splits.values())).features["tuples"].feature
    labels = fields["label"].names if "label" in fields else []
    counts = []
    for split, rows in splits.items():
        tuples = list(chain.from_iterable(rows["tuples"]))
        number_of = Counter(one.get("label") for one in tuples)
        counts.append([split, len(rows), len(tuples), *(number_of[label] for label in range(len(labels)))])
    return {
        "metadata": {"task_categories": ["token-classification"], "tags": ["aspect-based-sentiment-analysis"]},
        "fields_of_tuples": list(fields),
        "labels": labels,
        "counted": ["sentences", "tuples", *labels],
        "counts": counts,
    }


ABOUT = {"tags": about_tags, "tuples": about_tuples, "label": about_rows}
