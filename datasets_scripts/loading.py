"""One function for every data set: the project's, people's own files, and what has been exported to parquet."""

from pathlib import Path

from datasets import DatasetDict

from .aspect_polarity.aspect_polarity import AspectPolarity
from .aste_v2.aste_v2 import ASTEV2
from .bartabsa.bartabsa import BARTABSA
from .conll.conll import CoNLL
from .conllu.conllu import CoNLLU
from .custom_absa.custom_absa import CustomABSA
from .e2e_absa.e2e_absa import E2EABSA
from .mams.mams import MAMS
from .parquet import load_parquet
from .semeval2014.semeval2014 import SemEval2014
from .semeval2016.semeval2016 import SemEval2015, SemEval2016
from .sentihood.sentihood import SentiHood
from .source_files import quoted

BUILDERS = {  # and the options that each takes
    "sentihood": (SentiHood, ("data_dir", "deduplicate")),
    "semeval2014": (SemEval2014, ("data_dir", "deduplicate", "validation_fraction", "validation_seed", "version")),
    "semeval2015": (SemEval2015, ("config_name", "data_dir", "deduplicate")),
    "semeval2016": (SemEval2016, ("config_name", "data_dir", "deduplicate")),
    "aspect_polarity": (AspectPolarity, ("config_name", "data_dir", "deduplicate", "dev_split", "dev_seed", "labels")),
    "custom": (CustomABSA, ("config_name", "data_dir", "data_files", "deduplicate", "absent_label")),
    "e2e_absa": (E2EABSA, ("config_name", "data_dir", "deduplicate", "scheme", "conversion")),
    "conll": (
        CoNLL,
        (
            *("config_name", "data_dir", "data_files", "deduplicate"),
            *("columns", "separator", "tag_column", "scheme_in", "scheme_out"),
        ),
    ),
    "conllu": (CoNLLU, ("config_name", "data_dir", "data_files", "deduplicate", "tags", "units")),
    "aste_v2": (ASTEV2, ("config_name", "data_dir", "data_files", "deduplicate")),
    "bartabsa": (BARTABSA, ("config_name", "data_dir", "deduplicate")),
    "mams": (MAMS, ("config_name", "data_dir", "deduplicate")),
}


def load_absa_dataset(
    name: str | Path, config_name: str | None = None, *, cache_dir: str | Path | None = None, **options
) -> DatasetDict:
    """Load a data set: rows of (id, text, target, aspect, label), one per text, target and aspect; or tagged texts; or
    texts with tuples.

    Args:
        name: "sentihood", "semeval2014", "semeval2015", "semeval2016", "aspect_polarity" or "custom", see
            `SentiHood`, `SemEval2014`, `SemEval2015`, `SemEval2016`, `AspectPolarity` (whose rows have target_start
            and target_end too), `CustomABSA`; or a folder of parquet files or the id ("owner/name") of a Hub data set
            with these five columns, of which aspect and label are ClassLabels (`export_parquet` writes such a folder),
            or with the four or the five below. Other columns of theirs are left out.
            "e2e_absa", "conll" or "conllu", see `E2EABSA`, `CoNLL`, `CoNLLU`, have rows of (id, text, tokens, tags),
            one per sentence: tokens are strings, tags a ClassLabel for each token.
            "aste_v2", "bartabsa" or "mams", see `ASTEV2`, `BARTABSA`, `MAMS`, have rows of (id, text, words, offsets,
            tuples), one per sentence, see `TuplesBuilder`; "mams" has configurations of rows of the first kind, too.
        config_name: which data set of semeval2015 and semeval2016 ("restaurants", the default, "laptops"), of
            aspect_polarity ("laptops_terms", "restaurants_terms", "restaurants_categories"), of e2e_absa ("laptop14",
            "rest14", "rest15", "rest16"), of conll ("wnut17", "conll2003", "weibo", "columns"), of conllu ("en_ewt",
            the default), of aste_v2 ("14lap", "14res", "15res", "16res", "own"), of bartabsa ("penga_14lap" and so
            on) or of mams ("terms", "categories", and with rows "term_rows", "category_rows",
            "given_categories"). Of custom what its files are about ("aspects", the default, or "terms").
        cache_dir: where rows are cached, default that of `datasets`.
        **options: those of the builder; None and False stand for its default.
            data_dir: folder of the source files (all builders).
            data_files: {"train": path, "validation": path, "test": path} (custom, conll, conllu, aste_v2).
            deduplicate: drop texts that stand in a later split too (all builders).
            validation_fraction, validation_seed: held-out share of train, default 0, and which one, default 0
                (semeval2014).
            dev_split, dev_seed, labels: rows held out of train, default "paper", the seed of their choice, default 0,
                and the number of labels, 3 (default) or 2 (aspect_polarity).
            version: training file "v1" or "v2", default "v1" (semeval2014).
            absent_label: label of pairs that have no row (custom).
            scheme, conversion: of the tags, default "BIEOS" and "cut" (e2e_absa).
            columns, separator, tag_column, scheme_in, scheme_out: of the files and the tags (conll).
            tags, units: "upos" or "xpos" of "words" or "tokens" (conllu).

    Raises:
        ValueError: the name is unknown, an option does not apply to it, or files, columns or values are not as
            described.
        FileNotFoundError, ConnectionError: see the builders, whose ValueErrors come through too.
    """
    name = str(name)
    options = {"config_name": config_name, **options}
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
