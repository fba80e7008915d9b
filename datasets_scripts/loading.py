"""One function for every data set: the project's, people's own files, and what has been exported to parquet."""

from pathlib import Path

from datasets import DatasetDict

from .custom_absa.custom_absa import CustomABSA
from .parquet import load_parquet
from .semeval2014.semeval2014 import SemEval2014
from .sentihood.sentihood import SentiHood
from .source_files import quoted

BUILDERS = {  # and the options that each takes
    "sentihood": (SentiHood, ("data_dir", "deduplicate")),
    "semeval2014": (SemEval2014, ("data_dir", "deduplicate", "validation_fraction", "validation_seed", "version")),
    "custom": (CustomABSA, ("data_dir", "data_files", "deduplicate", "absent_label")),
}


def load_absa_dataset(name: str | Path, *, cache_dir: str | Path | None = None, **options) -> DatasetDict:
    """Load a data set as rows of (id, text, target, aspect, label), one per text, target and aspect.

    Args:
        name: "sentihood", "semeval2014" or "custom", see `SentiHood`, `SemEval2014`, `CustomABSA`; or a folder of
            parquet files or the id ("owner/name") of a Hub data set with these five columns, of which aspect and
            label are ClassLabels (`export_parquet` writes such a folder). Other columns of theirs are left out.
        cache_dir: where rows are cached, default that of `datasets`.
        **options: those of the builder; None and False stand for its default.
            data_dir: folder of the source files (sentihood, semeval2014, custom).
            data_files: {"train": path, "validation": path, "test": path} (custom).
            deduplicate: drop texts that stand in a later split too (sentihood, semeval2014, custom).
            validation_fraction, validation_seed: held-out share of train, default 0, and which one, default 0
                (semeval2014).
            version: training file "v1" or "v2", default "v1" (semeval2014).
            absent_label: label of pairs that have no row (custom).

    Raises:
        ValueError: the name is unknown, an option does not apply to it, or files, columns or values are not as
            described.
        FileNotFoundError, ConnectionError: see the builders, whose ValueErrors come through too.
    """
    name = str(name)
    options = {option: value for option, value in options.items() if value is not None and value is not False}
    if not name or (name not in BUILDERS and "/" not in name and not Path(name).is_dir()):
        raise ValueError(f"{name=} is unknown; choose one of {', '.join(BUILDERS)}, a folder, or a Hub id owner/name")
    builder_class, known = BUILDERS.get(name, (None, ()))
    for option, value in options.items():
        if option not in known:
            takes = ", ".join(known) or "no option"
            raise ValueError(f"{option}={quoted(value)} does not apply to {name!r}, which takes {takes}; drop it")
    cache_dir = None if cache_dir is None else str(cache_dir)
    if builder_class is None:
        return load_parquet(name, cache_dir)
    if "version" in options:
        options["train_version"] = options.pop("version")  # a builder's own `version` is that of its rows
    builder = builder_class(cache_dir=cache_dir, **options)
    builder.download_and_prepare()
    return builder.as_dataset()
