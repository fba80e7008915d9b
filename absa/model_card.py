"""The card of a model repo: what is known of a checkpoint from its configuration and from the run that made it."""

import json
from dataclasses import dataclass
from pathlib import Path
from pprint import pformat

import yaml
from huggingface_hub import EvalResult, ModelCard, ModelCardData
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id
from transformers import PreTrainedConfig

from absa.models import MINILM
from absa.outside_text import told
from absa.run_files import check_all_results, check_calibration, part, read_results

MINILM_ON_THE_HUB = "sentence-transformers/all-MiniLM-L6-v2"
NAMES = {"qacg_bert": "QACG-BERT", "cg_bert": "CG-BERT", "bert": "BERT-pair"}
DATASETS = {"sentihood": "SentiHood", "semeval2014": "SemEval-2014 Task 4, restaurants"}
SAMPLE_CORPUS = "sample corpus (synthetic)"
BASELINE_INPUT = {
    True: "The input is a pair: the text, with `location - 1` for `LOCATION1`, and `location - 1 - price`.",
    False: "The input is the text alone, with `location - 1` for `LOCATION1`: the model knows one question.",
}
PATHS = ("data_dir", "train_file", "validation_file", "test_file", "model_preset")  # of the machine that trained
LIMITS = {
    "SentiHood": (
        "The training sentences are about neighbourhoods of London, in English, from answers on one web site; places "
        "are masked as LOCATION1 and LOCATION2. Of other places, domains and languages nothing was measured.",
        "The literature's macro-F1 leaves out the (sentence, place) groups without an annotated aspect, about half of "
        "the test set: an aspect wrongly found there costs nothing in that figure. Strict accuracy does see it.",
    ),
    "SemEval-2014 Task 4, restaurants": (
        "The training sentences are English reviews of restaurants. Of other domains and languages nothing was "
        "measured.",
    ),
    SAMPLE_CORPUS: (
        "The training sentences are synthetic and few: this model shows that the code works and is no use for real "
        "text. Its figures say nothing of any model's quality.",
    ),
}
CITATIONS = {
    "model": """@inproceedings{wu-ong-2021-context,
  title = {Context-Guided {BERT} for Targeted Aspect-Based Sentiment Analysis},
  author = {Wu, Zhengxuan and Ong, Desmond C.},
  booktitle = {Proceedings of the AAAI Conference on Artificial Intelligence},
  year = {2021},
  doi = {10.1609/aaai.v35i16.17659}
}""",
    "SentiHood": """@inproceedings{saeidi-etal-2016-sentihood,
  title = {{S}enti{H}ood: Targeted Aspect Based Sentiment Analysis Dataset for Urban Neighbourhoods},
  author = {Saeidi, Marzieh and Bouchard, Guillaume and Liakata, Maria and Riedel, Sebastian},
  booktitle = {Proceedings of COLING 2016},
  year = {2016}
}""",
    "SemEval-2014 Task 4, restaurants": """@inproceedings{pontiki-etal-2014-semeval,
  title = {{S}em{E}val-2014 Task 4: Aspect Based Sentiment Analysis},
  author = {Pontiki, Maria and Galanis, Dimitris and Pavlopoulos, John and Papageorgiou, Harris and
    Androutsopoulos, Ion and Manandhar, Suresh},
  booktitle = {Proceedings of SemEval 2014},
  year = {2014}
}""",
}


@dataclass(frozen=True)
class Run:
    """What a training run has left beside a checkpoint.

    Args:
        all_results: of all_results.json.
        results: of the results.json of the checkpoint's own seed.
    """

    all_results: dict
    results: dict

    @classmethod
    def of(cls, checkpoint: Path) -> "Run | None":
        """The run that made a checkpoint, None where it is not known.

        Raises:
            ValueError: if the checkpoint is of another run than the all_results.json above it, or one of the two files
                does not hold what `run_absa.py` writes.
        """
        checkpoint = checkpoint.resolve()
        above, own = checkpoint.parent / "all_results.json", checkpoint / "results.json"
        if not (above.is_file() and own.is_file()):
            return None
        all_results, results = read_results(above), read_results(own)
        seed = str(part(own, results, "seed", kinds=(int,)))
        seeds = part(above, all_results, "seeds", kinds=(dict,))
        if seed not in seeds:
            raise ValueError(
                f"{above} has the seeds {told(', '.join(seeds))}, the checkpoint {checkpoint} has {seed}: they are "
                "not of one run; run the training script again, it brings them together"
            )
        check_all_results(above, all_results, seed)
        check_calibration(own, results, all_results["split"])
        return cls(all_results, results)

    @property
    def data(self) -> str:
        """Name of the data."""
        arguments = self.all_results["arguments"]
        if Path(arguments.get("data_dir") or "").name == "sample_corpus":
            return SAMPLE_CORPUS
        return DATASETS.get(arguments["dataset"], "own data")

    @property
    def base_model(self) -> str | None:
        """The backbone's id on the Hub; None for a folder of the machine that trained."""
        name = self.all_results["arguments"]["model_name_or_path"]
        if name == MINILM:
            return MINILM_ON_THE_HUB
        try:
            validate_repo_id(name)
        except HFValidationError:
            return None
        return None if Path(name).exists() else name

    @property
    def scores(self) -> dict[str, float]:
        """The main scores of this checkpoint, as far as they are defined."""
        own = self.all_results["seeds"][str(self.results["seed"])][self.all_results["split"]]
        return {name: own[name] for name in self.all_results["main_scores"] if own[name] is not None}


def model_card(
    config: PreTrainedConfig, answered: list[dict] | None, run: Run | None, repo_id: str, license: str
) -> ModelCard:
    """The card of a checkpoint; every figure in it is the run's.

    Args:
        config: the checkpoint's, with names of aspects and labels.
        answered: what its pipeline answers to `example_text`; None for a baseline, which has no pipeline.
        run: what made it; without one the card has no figures and says so.
        repo_id: where the card will stand.
        license: identifier of a licence of the Hub.
    """
    example = example_text(config)
    data = ModelCardData(
        language="en" if run and run.data != "own data" else None,
        license=license,
        library_name="transformers",
        pipeline_tag="text-classification",
        base_model=run.base_model if run else None,
        tags=["aspect-based-sentiment-analysis", "sentiment-analysis", config.model_type.replace("_", "-")],
        model_name=repo_id.split("/")[-1],
        eval_results=eval_results(run) or None,
        widget=[{"text": example}],
    )
    parts = [introduction(config, run), usage(config, repo_id, example, answered), answers(config)]
    parts += (
        [figures(config, run), training(run)]
        if run
        else ["## Figures\n\nNone are known: no results lay beside the checkpoint."]
    )
    parts += [limits(run), citation(run)]
    return ModelCard(f"---\n{data.to_yaml()}\n---\n\n# {repo_id.split('/')[-1]}\n\n" + "\n\n".join(parts) + "\n")


def eval_results(run: Run | None) -> list[EvalResult]:
    """The main scores for the Hub's model index, between 0 and 1; those on synthetic data are not for comparison."""
    if run is None or run.data == SAMPLE_CORPUS:
        return []
    return [
        EvalResult(
            task_type="text-classification",
            task_name="Aspect-based sentiment analysis",
            dataset_type=run.all_results["arguments"]["dataset"],
            dataset_name=run.data,
            dataset_split=run.all_results["split"],
            metric_type=name,
            metric_name=name.replace("_", " "),
            metric_value=value,
        )
        for name, value in run.scores.items()
    ]


def example_text(config: PreTrainedConfig) -> str:
    """A text that the model finds something to be asked about in."""
    if config.targets:
        return f"{config.targets[0]} is expensive, but I always felt safe there."
    return "The food was great, but we waited an hour for it."


def introduction(config: PreTrainedConfig, run: Run | None) -> str:
    name = NAMES[config.model_type] if config.auxiliary_sentence else NAMES[config.model_type].removesuffix("-pair")
    base = f" from [{run.base_model}](https://huggingface.co/{run.base_model})" if run and run.base_model else ""
    on = f" on {run.data}" if run else ""
    number = getattr(config, "num_context_layers", None)
    layers = {None: "every layer's attention", 1: "the last layer's attention"}.get(
        number, f"the attention of the upper {number} layers"
    )
    what = (
        "the baseline without context guidance, which reads the question behind the text (Sun et al., NAACL 2019)"
        if config.model_type == "bert"
        else f"which guides {layers} by the (target, aspect) it is asked about (Wu & Ong, AAAI 2021)"
    )
    return f"{name}, {what}, fine-tuned{base}{on}. It says what a text says about each aspect of each target."


def usage(config: PreTrainedConfig, repo_id: str, example: str, answered: list[dict] | None) -> str:
    if answered is None:
        exchanged = ""
        if getattr(config, "symmetric_targets", False):
            exchanged = (
                f" Each target is asked about as {config.targets[0]}: in text and question, the two change names."
            )
        return f"""## Use

```python
from transformers import AutoModelForSequenceClassification, AutoTokenizer

model = AutoModelForSequenceClassification.from_pretrained("{repo_id}", revision="COMMIT")
tokenizer = AutoTokenizer.from_pretrained("{repo_id}", revision="COMMIT")
```

{BASELINE_INPUT[config.auxiliary_sentence]}{exchanged}"""
    own_names = ""
    if config.targets:
        own_names = f"""

# Your own names for the targets, any number of them:
pipe("Camden is expensive, but I felt safe there.", targets={{"Camden": "{config.targets[0]}"}})"""
    return f"""## Use

`trust_remote_code` runs the code of this repo: read it, then pin the commit that you have read.

```python
from transformers import pipeline

pipe = pipeline(
    "aspect-sentiment", model="{repo_id}", revision="COMMIT", code_revision="COMMIT", trust_remote_code=True
)
pipe("{example}")
{as_comment(answered)}{own_names}
```

`AutoConfig`, `AutoModel` and `AutoModelForSequenceClassification.from_pretrained` load it with the same arguments. It
needs PyTorch and Transformers, and nothing else."""


def as_comment(answered: list[dict]) -> str:
    """The first two answers as a session would show them, probabilities with two digits."""
    shown = json.loads(json.dumps(answered[:2]), parse_float=lambda number: round(float(number), 2))
    lines = pformat(shown, sort_dicts=False, width=110).splitlines()
    if len(answered) > 2:
        lines.append(f"and {len(answered) - 2} more")
    return "\n".join(f"# {line}" for line in lines)


def answers(config: PreTrainedConfig) -> str:
    labels = ", ".join(config.id2label[index] for index in range(config.num_labels))
    targets = f"\n- targets: {', '.join(config.targets)}" if config.targets else ""
    return f"""## What it answers

- labels: {labels}{targets}
- aspects: {", ".join(config.aspects)}
- at most {config.max_position_embeddings} tokens; of longer texts the end is not read, and the answer says so"""


def percent(score: dict[str, float | None]) -> str:
    if score["mean"] is None:
        return "undefined"
    deviation = "-" if score["std"] is None else f"{100 * score['std']:.1f}"
    return f"{100 * score['mean']:.1f} ({deviation})"


def figures(config: PreTrainedConfig, run: Run) -> str:
    """The main scores of this checkpoint and of all seeds, the protocol, and the calibration."""
    seeds = list(run.all_results["seeds"])
    lines = [
        f"| {run.all_results['split']} split, % | this checkpoint (seed {run.results['seed']}) | mean (std) over "
        f"{len(seeds)} seed{'s' if len(seeds) > 1 else ''}: {', '.join(seeds)} |",
        "|---|---|---|",
    ]
    for name in run.all_results["main_scores"]:
        own = f"{100 * run.scores[name]:.1f}" if name in run.scores else "undefined"
        lines.append(f"| {name.replace('_', ' ')} | {own} | {percent(run.all_results['summary'][name])} |")
    text = "## Figures\n\n" + "\n".join(lines) + f"\n\n{run.all_results['protocol']}"
    calibration = run.results.get("calibration", {}).get(run.all_results["split"])
    return f"{text}\n\n{calibrated(config, run.all_results['split'], calibration)}" if calibration else text


def calibrated(config: PreTrainedConfig, split: str, errors: dict) -> str:
    """Whether the probabilities are calibrated, and their calibration errors on a split with and without."""
    temperature = getattr(config, "calibration_temperature", 1.0)
    if temperature == 1:
        said = (
            "The pipeline's probabilities are the model's own: a temperature fitted on the validation split did not "
            "bring rows that it was not fitted to nearer to what they say."
        )
    elif errors["after"]["label"] < errors["before"]["label"]:
        said = (
            f"The pipeline's probabilities are calibrated by one temperature, {temperature:.2f}, fitted on the "
            "validation split."
        )
    else:
        said = (
            f"The pipeline divides logits by a temperature, {temperature:.2f}, fitted on the validation split. It did "
            f"not help on the {split} split: do not take its probabilities for calibrated."
        )
    whens = ("before",) if temperature == 1 else ("before", "after")
    rows = "\n".join(
        f"| {kind} | " + " | ".join(f"{100 * errors[when][kind]:.1f}" for when in whens) + " |"
        for kind, before in errors["before"].items()
        if before is not None
    )
    heading = " | ".join(("error",) if temperature == 1 else whens)
    return f"""{said} Expected calibration error on the {split} split, 15 bins:

| probability of, % | {heading} |
|---{"|---" * len(whens)}|
{rows}"""


def training(run: Run) -> str:
    """The arguments of the run, but for paths of the machine it ran on."""
    arguments = {
        name: value
        for name, value in run.all_results["arguments"].items()
        if name not in (*PATHS, "hub_token", "model_name_or_path") and value is not None
    }
    base = {"model_name_or_path": run.base_model} if run.base_model else {}
    if run.data == SAMPLE_CORPUS:
        base["data_dir"] = "datasets_scripts/sample_corpus"  # without it the recipe would be for SentiHood
    recipe = yaml.safe_dump({**base, **arguments}, sort_keys=False, allow_unicode=True)
    return f"## Training\n\nOn {run.data}, which is not part of this repo.\n\n```yaml\n{recipe}```"


def limits(run: Run | None) -> str:
    known = LIMITS.get(run.data, ()) if run else ()
    general = (
        "Each (target, aspect) of a text is judged apart; irony, and what needs knowledge beyond it, is often missed."
    )
    lines = "\n".join(f"- {limit}" for limit in (*known, general))
    return f"""## Intended use and limits

Research, and summing up what many texts say about known aspects. Not for decisions about persons, nor for single texts
whose answer matters and that no one reads.

{lines}"""


def citation(run: Run | None) -> str:
    entries = [CITATIONS["model"], *([CITATIONS[run.data]] if run and run.data in CITATIONS else [])]
    return "## Citation\n\n```bibtex\n" + "\n".join(entries) + "\n```"
