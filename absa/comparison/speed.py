"""Size of trained models, and how fast they answer the same texts."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from absa.comparison.runs import Run
from absa.predict import Predictor, PredictorOfQuestions, PredictorOfWords, load
from absa.timing import medians
from datasets_scripts.source_files import parse_json, read_utf8

FILES = ("*.safetensors", "tokenizer*", "vocab*")  # of a checkpoint: weights and tokenizer
ROUNDS = 3
SIZES = ("parameters", "texts/s", "MB")


def megabytes(folder: Path) -> float:
    """Of a checkpoint's weights and tokenizer on disk."""
    files = {file for pattern in FILES for file in folder.glob(pattern)}
    return sum(file.stat().st_size for file in files) / 1e6


def parameters(predictor: Predictor) -> int:
    """How many numbers a model holds, trained or not."""
    return sum(weights.numel() for weights in predictor.pipe.model.parameters())


def asking(predictor: Predictor, questions: Mapping[str, Sequence[Mapping[str, Any]]]) -> Callable[[], Any]:
    """What asks a model about some texts.

    A model that finds targets reads the texts; any other one is asked the questions, and no more.

    Args:
        questions: of each text, with text, target, target_start, target_end and perhaps aspect.
    """
    if isinstance(predictor, PredictorOfQuestions | PredictorOfWords):
        return partial(predictor.pipe, [dict(question) for of_text in questions.values() for question in of_text])
    return partial(predictor, list(questions), **predictor.all_answers)


def size_said(results: Path) -> dict[str, float] | None:
    """What a seed's results.json says of the size of its model.

    Raises:
        ValueError: if it cannot be read.
    """
    size = parse_json(read_utf8(results), results).get("size")
    if size is not None and not all(isinstance(size.get(name), int | float) for name in ("parameters", "megabytes")):
        raise ValueError(f"{results}: size={size}: give parameters and megabytes, two numbers")
    return size


def size_cells(
    runs: Sequence[Run], questions: Mapping[str, Sequence[Mapping[str, Any]]], most_texts: int, device: str
) -> list[dict[str, str]]:
    """Of each run cells of `SIZES`, by the checkpoint of its first seed; "" for what is not known.

    The models take turns with the same texts. A run whose model `absa.load` cannot load may say of itself in its
    results.json how large that is, under "size" `parameters` and `megabytes`; its speed is not known.

    Args:
        questions: by text, see `asking`.
        most_texts: so many of the first texts are asked about; 0 measures no speed.
        device: where the models are.
    """
    said, predictors = [size_said(run.checkpoint / "results.json") for run in runs], {}
    for run, size in zip(runs, said, strict=True):
        if size is None and (run.checkpoint / "config.json").is_file():  # BERT-single has a model for each context
            try:
                predictors[run.name] = load(str(run.checkpoint), device=device)
            except (ValueError, OSError) as error:
                warnings.warn(f"{run.name}: neither size nor speed, since {error}", stacklevel=2)
    asked = dict(islice(questions.items(), most_texts))
    calls = {name: asking(predictor, asked) for name, predictor in predictors.items()}
    times = medians(calls, ROUNDS) if asked else {}
    cells = []
    for run, size in zip(runs, said, strict=True):
        cell = dict.fromkeys(SIZES, "")
        if size is not None:
            cell |= {"parameters": f"{size['parameters']:,}", "MB": f"{size['megabytes']:.0f}"}
        elif run.name in predictors:
            cell["parameters"] = f"{parameters(predictors[run.name]):,}"
            cell["MB"] = f"{megabytes(run.checkpoint):.0f}"
        if run.name in times:
            median, half = times[run.name]
            # Without exponents, which `g` has from so many digits on.
            speed, error = float(f"{len(asked) / median:.3g}"), float(f"{len(asked) * half / median**2:.2g}")
            cell["texts/s"] = f"{speed:g} ± {error:g}"
        cells.append(cell)
    return cells
