"""What a user says of the data, whatever the task."""

from dataclasses import dataclass, field


@dataclass
class DataArguments:
    """Which data, and how it is shown to the model."""

    dataset: str = field(
        default="sentihood",
        metadata={"help": "sentihood, semeval2014, custom (own csv/jsonl), or a folder or Hub id of parquet files."},
    )
    data_dir: str | None = field(
        default=None, metadata={"help": "Folder with the data set's files (default: they are downloaded)."}
    )
    data_version: str | None = field(
        default=None,
        metadata={
            "choices": ["v1", "v2"],
            "help": "Training file of semeval2014: 3044 (v1, default) or 3041 sentences.",
        },
    )
    train_file: str | None = field(default=None, metadata={"help": "csv or jsonl, with dataset=custom."})
    validation_file: str | None = field(default=None, metadata={"help": "csv or jsonl, with dataset=custom."})
    test_file: str | None = field(default=None, metadata={"help": "csv or jsonl, with dataset=custom."})
    deduplicate: bool = field(default=False, metadata={"help": "Drop training texts that stand in another split."})
    validation_fraction: float = field(
        default=0.1, metadata={"help": "Part of the training texts held out where the data has no validation split."}
    )
    validation_seed: int = field(default=0, metadata={"help": "Seed of that choice, the same for all seeds of a run."})
    absent_label: str | None = field(
        default=None,
        metadata={"help": "Label of the pairs that own files have no row for (default: no such rows)."},
    )
    metric: str | None = field(
        default=None,
        metadata={
            "choices": ["sentihood", "semeval2014", "absa"],
            "help": "How predictions are scored (default: the data set's own, absa for others).",
        },
    )
    max_length: int = field(
        default=512,
        metadata={
            "help": "Most tokens of a row, and no more than the model has positions; texts are cut, contexts never."
        },
    )
