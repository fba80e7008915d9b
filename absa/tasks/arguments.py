"""What a user says of the data, for each task; for command lines, and without the libraries of data."""

import re
from argparse import ArgumentError
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar

from transformers import AutoModelForSeq2SeqLM, AutoModelForSequenceClassification, AutoModelForTokenClassification

from absa.commands import make_parser, read_json, recipe_words
from datasets_scripts.source_files import quoted
from modeling_generative_absa import TASKS as SUBTASKS

FILE_HELP = "csv or jsonl with dataset=custom; columns with dataset=conll and data_config=columns."
MIXTURE = "mixture"  # the dataset of several


@dataclass
class DataArguments:
    """Which data, and how it is shown to the model."""

    task: ClassVar[str] = ""
    datasets: ClassVar[tuple[str, ...]] = ()
    """Names of the builders whose rows the task learns from."""
    auto_class: ClassVar[type] = AutoModelForSequenceClassification
    """What finds a family's model for the task."""

    dataset: str = field(
        default="sentihood",
        metadata={
            "help": "sentihood, semeval2014, semeval2015, semeval2016, aspect_polarity, mams, custom (own csv/jsonl), "
            "or a folder or Hub id of parquet files."
        },
    )
    data_dir: str | None = field(default=None, metadata={"help": "Folder with its files (default: downloaded)."})
    train_file: str | None = field(default=None, metadata={"help": FILE_HELP})
    validation_file: str | None = field(default=None, metadata={"help": FILE_HELP})
    test_file: str | None = field(default=None, metadata={"help": FILE_HELP})
    deduplicate: bool = field(default=False, metadata={"help": "Drop training texts that stand in another split."})
    held_out: list[str] = field(
        default_factory=list, metadata={"help": "Files (XML, JSON, lines) or data sets: their like is not trained on."}
    )
    validation_fraction: float = field(
        default=0.1, metadata={"help": "Part of the training texts held out where the data has no validation split."}
    )
    validation_seed: int = field(default=0, metadata={"help": "Seed of that choice, the same for all seeds of a run."})
    max_length: int = field(
        default=512,
        metadata={"help": "Most tokens of a row, at most the model's positions; texts are cut, contexts never."},
    )

    def __post_init__(self):
        for other in ARGUMENTS.values():
            if self.dataset in other.datasets and self.dataset not in self.datasets:
                raise ValueError(
                    f"dataset={self.dataset} is for task={other.task}; task={self.task} takes "
                    f"{', '.join(self.datasets)}, or a folder or Hub id of parquet files: give one of these, or "
                    f"--task {other.task} with a recipe and a model of that task"
                )

    @property
    def files(self) -> dict[str, str] | None:
        """Files by split, where some are given."""
        files = {"train": self.train_file, "validation": self.validation_file, "test": self.test_file}
        return {split: name for split, name in files.items() if name} or None


@dataclass
class ClassificationArguments(DataArguments):
    """Which data, and how it is shown to the model."""

    task: ClassVar[str] = "classification"
    datasets: ClassVar[tuple[str, ...]] = (
        *("sentihood", "semeval2014", "semeval2015", "semeval2016", "aspect_polarity", "mams", "custom"),
    )

    data_config: str | None = field(
        default=None,
        metadata={
            "help": "Of aspect_polarity laptops_terms, restaurants_terms, restaurants_categories; semeval2015/6 "
            "restaurants, laptops; mams category_rows, given_categories, term_rows; custom aspects, terms. "
            "Default: the first."
        },
    )
    dev_split: str | None = field(
        default=None,
        metadata={
            "choices": ["paper", "rows", "sentences", "none"],
            "help": "Rows of aspect_polarity that are held out for validation (default: paper).",
        },
    )
    dev_seed: int | None = field(default=None, metadata={"help": "Seed of the choice of rows or sentences."})
    labels: int | None = field(
        default=None,
        metadata={"choices": [3, 2], "help": "Of aspect_polarity: 3 (default), or 2 without neutral rows."},
    )
    data_version: str | None = field(
        default=None,
        metadata={
            "choices": ["v1", "v2"],
            "help": "Training file of semeval2014: 3044 (v1, default) or 3041 sentences.",
        },
    )
    absent_label: str | None = field(
        default=None, metadata={"help": "Label of the pairs that own files have no row for (default: no such rows)."}
    )
    metric: str | None = field(
        default=None,
        metadata={
            "choices": ["sentihood", "semeval2014", "aspect_polarity", "absa"],
            "help": "How predictions are scored (default: the data set's own, absa for others).",
        },
    )
    mixture: list | str | None = field(
        default=None,
        metadata={
            "help": "Train on several data sets at once: what is said of each, with its weight and name, as a list, "
            'in a recipe or as JSON, \'[{"dataset": "sentihood", "weight": 0.5}, {"dataset": "semeval2014"}]\'.'
        },
    )
    data_dirs: dict | str | None = field(
        default=None, metadata={"help": 'Folders of a mixture\'s data sets by name, such as \'{"sentihood": "DIR"}\'.'}
    )
    auxiliary_sentence: bool = field(
        default=True, metadata={"help": "Write the context behind the text: [SEP] location - 1 - price."}
    )
    symmetric_targets: bool | None = field(
        default=None,
        metadata={
            "help": "Read a text once for each target, as one about the first: what is learnt of one holds for all "
            "(default: with context_source=text, where their contexts are almost one; else a text once for all)."
        },
    )
    contexts_together: bool = field(
        default=False,
        metadata={
            "help": "A row of a batch is a text with all the contexts it has rows for, in one pass; needs "
            "auxiliary_sentence=false and a model_type with contexts (default: a text with one context)."
        },
    )
    context_source: str | None = field(
        default=None,
        metadata={
            "choices": ["id", "text"],
            "help": "Contexts as rows of an embedding, or in words: then any aspect can be asked about (default: id; "
            "text of a mixture).",
        },
    )
    unseen_aspects: list[str] | None = field(
        default=None,
        metadata={
            "help": "Aspects that training and validation leave out, the test split not, with context_source=text; of "
            "data whose targets are words of its texts: what targets say (default: none)."
        },
    )
    absent_terms: int = field(
        default=0,
        metadata={
            "help": "Of data whose targets are words of its texts: so many terms of other texts, for each text, as "
            "rows with the label none (default: 0)."
        },
    )
    joined_texts: float = field(
        default=0.0, metadata={"help": "For each training text so many new ones, of two texts each (default: 0)."}
    )
    class_balanced_sampling: bool = field(
        default=False, metadata={"help": "Draw training rows so that each label is as frequent as any other."}
    )
    class_weighted_loss: bool = field(
        default=False, metadata={"help": "Weigh training rows so that each label counts as much as any other."}
    )

    def __post_init__(self):
        super().__post_init__()
        if self.mixture is not None:
            self._read_mixture()
        elif self.data_dirs is not None:
            raise ValueError(f"data_dirs={quoted(self.data_dirs)} without mixture: one data set has --data_dir")
        self.context_source = self.context_source or ("id" if self.mixture is None else "text")
        if self.unseen_aspects and self.context_source != "text":
            raise ValueError(
                f"unseen_aspects={' '.join(self.unseen_aspects)} with context_source=id: a row of an embedding is "
                "learnt or random; give --context_source text"
            )
        if self.contexts_together and self.class_balanced_sampling:
            raise ValueError(
                "class_balanced_sampling=true draws rows, contexts_together=true texts, which have rows of all "
                "labels: leave one out"
            )
        if self.contexts_together and self.auxiliary_sentence:
            raise ValueError(
                "contexts_together=true with auxiliary_sentence=true: a text has one form for all contexts only "
                "without auxiliary sentences"
            )
        if self.class_weighted_loss and self.class_balanced_sampling:
            raise ValueError(
                "class_weighted_loss=true with class_balanced_sampling=true: both balance the labels; leave one out"
            )
        if self.dataset == "mams":
            self.data_config = self.data_config or "category_rows"

    def _read_mixture(self):
        """Brings `mixture` and `data_dirs` into one form: what each entry says, but for its folder; all folders."""
        for one in fields(self):
            if one.name in OF_AN_ENTRY and (value := getattr(self, one.name)) not in (one.default, MIXTURE):
                raise ValueError(f"{one.name}={quoted(value)} with mixture: write it into the entry that it is for")
        for name in ("class_balanced_sampling", "class_weighted_loss"):
            if getattr(self, name):
                raise ValueError(f"{name} with mixture, whose data sets have labels of their own: leave it out")
        entries = read_entries(self.mixture)
        names = [entry.name for entry in entries]
        if repeated := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"mixture has the name {repeated[0]} twice: give each entry a name of its own")
        folders = read_json("data_dirs", self.data_dirs or {}, dict, '{"sentihood": "DIR"}')
        if unknown := sorted(folders.keys() - {*names}):
            raise ValueError(f"data_dirs has {unknown[0]}, the mixture {', '.join(names)}: give one of these names")
        folders = {entry.name: folders.get(entry.name, entry.data_dir) for entry in entries}
        self.data_dirs = {name: str(folder) for name, folder in folders.items() if folder is not None} or None
        self.mixture = [entry.said for entry in entries]
        self.dataset = MIXTURE

    @property
    def entries(self) -> "dict[str, MixtureEntry]":
        """The data sets of the mixture by name."""
        folders = self.data_dirs or {}
        return {one["name"]: MixtureEntry(**one, data_dir=folders.get(one["name"])) for one in self.mixture}


@dataclass
class MixtureEntry(ClassificationArguments):
    """One data set of a mixture."""

    weight: float = field(
        default=1.0,
        metadata={"help": "How many times as often as it has rows its rows are drawn in an epoch (default: 1)."},
    )
    name: str | None = field(default=None, metadata={"help": "Of its scores and files (default: the data set's)."})
    own_contexts: bool = field(default=False, metadata={"help": "Ask about `price (NAME)`, not price (default: no)."})
    context_source: str | None = "text"

    def __post_init__(self):
        super().__post_init__()
        if not 0 < self.weight < float("inf"):
            raise ValueError(f"weight={self.weight}: give a number above 0")
        if self.name is None:
            parts = filter(None, (Path(self.dataset).name, self.data_config))
            self.name = re.sub(r"\W+", "_", "_".join(parts))
        if not re.fullmatch(r"\w+", self.name):
            raise ValueError(f"name={quoted(self.name)}: give letters, digits and underscores")

    @property
    def said(self) -> dict[str, Any]:
        """Data set, weight and name, and what else is not default, but for the folder."""
        always = {"dataset": self.dataset, "weight": self.weight, "name": self.name}
        others = {name: getattr(self, name) for name in sorted(OF_AN_ENTRY - {"data_dir", *always})}
        return {**always, **{name: value for name, value in others.items() if value != getattr(type(self), name)}}


@dataclass
class TaggingArguments(DataArguments):
    """Which tagged sentences."""

    task: ClassVar[str] = "tagging"
    datasets: ClassVar[tuple[str, ...]] = ("e2e_absa", "conll", "conllu")
    auto_class: ClassVar[type] = AutoModelForTokenClassification

    dataset: str = field(
        default="e2e_absa",
        metadata={"help": "e2e_absa, conll, conllu, or a folder or Hub id of parquet files (default: e2e_absa)."},
    )
    data_config: str | None = field(
        default=None,
        metadata={
            "help": "laptop14, rest14, rest15 or rest16 of e2e_absa; wnut17, conll2003, weibo or columns (own files) "
            "of conll."
        },
    )
    scheme: str | None = field(
        default=None,
        metadata={
            "choices": ["BIEOS", "BIO"],
            "help": "Of the tags that the model learns (default: BIEOS of e2e_absa, BIO of conll).",
        },
    )
    tags: str | None = field(
        default=None, metadata={"choices": ["upos", "xpos"], "help": "Which tags of conllu (default: upos)."}
    )
    columns: int | None = field(
        default=None, metadata={"help": "Of a line of own files of conll (default: 2); the first has the token."}
    )
    tag_column: int | None = field(default=None, metadata={"help": "The column of the tag, from 1 (default: 2)."})
    separator: str | None = field(
        default=None, metadata={"choices": ["tab", "blanks"], "help": "Of these columns (default: tab)."}
    )

    def __post_init__(self):
        super().__post_init__()
        if self.files and self.dataset == "e2e_absa":
            split, name = next(iter(self.files.items()))
            raise ValueError(
                f"{split}_file={name} with dataset=e2e_absa, whose files lie in data_dir: tagging reads own files, a "
                "word and its tag on each line, with --dataset conll --data_config columns"
            )

    @property
    def builder_options(self) -> dict[str, Any]:
        """What `load_absa_dataset` takes beside the name."""
        names = ("data_dir", "deduplicate", "tags", "columns", "tag_column", "separator")
        options = {name: getattr(self, name) for name in names}
        scheme = "scheme_out" if self.dataset == "conll" else "scheme"
        return {**options, "config_name": self.data_config, "data_files": self.files, scheme: self.scheme}


@dataclass
class GenerationArguments(DataArguments):
    """Which sentences with tuples, and what of them is generated."""

    task: ClassVar[str] = "generation"
    datasets: ClassVar[tuple[str, ...]] = ("aste_v2", "bartabsa", "mams", "e2e_absa")
    auto_class: ClassVar[type] = AutoModelForSeq2SeqLM

    dataset: str = field(
        default="aste_v2",
        metadata={
            "help": "aste_v2, bartabsa, mams, e2e_absa, or a folder or Hub id of parquet files (default: aste_v2)."
        },
    )
    data_config: str | None = field(
        default=None,
        metadata={
            "help": "14lap, 14res, 15res, 16res or own of aste_v2; penga_14lap, pengb_, fan_, wang_ and so on of "
            "bartabsa; terms of mams; laptop14, rest14, rest15 or rest16 of e2e_absa."
        },
    )
    subtasks: list[str] = field(
        default_factory=lambda: ["aste"],
        metadata={
            "help": "What is generated: targets (ate), opinions (ote), targets and labels (aesc), targets and "
            "opinions (aope), all three (aste); or of a given target its label (alsc), its opinions (aoe) (default: "
            "aste). The first of several chooses the checkpoint."
        },
    )

    def __post_init__(self):
        super().__post_init__()
        if unknown := set(self.subtasks) - SUBTASKS.keys():
            raise ValueError(f"subtasks={sorted(unknown)[0]}: choose of {', '.join(SUBTASKS)}")
        asks = {SUBTASKS[subtask].is_given for subtask in self.subtasks}
        if len(asks) > 1:
            raise ValueError(
                f"subtasks={' '.join(self.subtasks)}: some are given a target (alsc, aoe) and some find it; train a "
                "model for each kind"
            )

    @property
    def builder_options(self) -> dict[str, Any]:
        """What `load_absa_dataset` takes beside the name."""
        options = {"data_dir": self.data_dir, "deduplicate": self.deduplicate, "data_files": self.files}
        return {**options, "config_name": self.data_config}


ARGUMENTS: dict[str, type[DataArguments]] = {
    kind.task: kind for kind in (ClassificationArguments, TaggingArguments, GenerationArguments)
}

SAID_ONCE = {  # of all data sets of a mixture: how they are shown to the model
    *("mixture", "data_dirs", "max_length", "auxiliary_sentence", "symmetric_targets", "contexts_together"),
    *("joined_texts", "held_out", "context_source", "class_balanced_sampling", "class_weighted_loss"),
}
OF_AN_ENTRY = {one.name for one in fields(MixtureEntry)} - SAID_ONCE


def read_entries(mixture: list | str) -> list[MixtureEntry]:
    """The entries of a mixture, as a recipe or JSON has them.

    Raises:
        ValueError: naming the entry and the key that does not fit.
    """
    example = '[{"dataset": "sentihood", "weight": 0.5}, {"dataset": "custom", "train_file": "own.csv"}]'
    mixture = read_json("mixture", mixture, list, example)
    if not mixture or not all(isinstance(entry, dict) for entry in mixture):
        raise ValueError(f"mixture={quoted(mixture)}: give a list of data sets, such as {example}")
    entries = []
    for number, entry in enumerate(mixture, 1):
        place = f"mixture, entry {number} ({entry.get('name') or entry.get('dataset')})"
        if unknown := sorted(map(str, entry.keys() - OF_AN_ENTRY)):
            remedy = "say it once, outside of the entries" if unknown[0] in SAID_ONCE else "see docs/training.md"
            raise ValueError(f"{place}: {unknown[0]} is no key of an entry: {remedy}")
        if entry.get("dataset") is None:
            raise ValueError(f"{place} has no dataset: give one, such as custom")
        for key, value in entry.items():
            if isinstance(value, list | dict) and key != "unseen_aspects":
                raise ValueError(f"{place}: {key}={quoted(value)}: give one value")
        try:
            parser = make_parser(MixtureEntry, exit_on_error=False)
            entries += parser.parse_args_into_dataclasses(recipe_words(entry), look_for_args_file=False)
        except (ArgumentError, ValueError) as error:
            raise ValueError(f"{place}: {error}") from error
    return entries
