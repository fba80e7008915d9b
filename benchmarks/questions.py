"""Size and speed of models that are asked about any words: the same questions to each, the models in turn.

    python benchmarks/questions.py CHECKPOINT CHECKPOINT --data_dir DIR --threads 1
    python benchmarks/questions.py CHECKPOINT CHECKPOINT --data_dir DIR --threads 1 --num_aspects 4 8 --num_texts 100

The questions are the aspect terms of the test split of SemEval-2014, restaurants; with `num_aspects`, so many aspects
of each of its texts. MB are those of the weights and the tokenizer on disk; of an AF-LSTM most are word vectors, which
are not trained. Seconds are of CPU time; the last column is the rate over that of the first model.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import absa
from absa.commands import parse
from absa.comparison.speed import megabytes
from absa.timing import cpu_seconds, medians, where
from datasets_scripts import load_absa_dataset
from timing import Threads, print_table

ASPECTS = ("food", "service", "price", "ambience", "waiting time", "noise at night", "parking", "size of portions")


@dataclass(kw_only=True)
class BenchmarkArguments(Threads):
    """What to measure."""

    checkpoints: list[Path] = field(metadata={"help": "Folders of models that know no names of aspects."})
    data_dir: str = field(metadata={"help": "Folder of the organisers' XML files."})
    num_aspects: list[int] = field(
        default_factory=list, metadata={"help": f"Aspects of each text, up to {len(ASPECTS)} (default: its terms)."}
    )
    num_texts: int | None = field(default=None, metadata={"help": "Texts that are asked about (default: all)."})
    rounds: int = field(default=5, metadata={"help": "Turns of each, after three that are not counted."})


def questions(arguments: BenchmarkArguments) -> Iterator[tuple[str, int, dict]]:
    """What each model is asked: what it is called, the number of questions, and the arguments of the pipeline."""
    rows = load_absa_dataset("aspect_polarity", "restaurants_terms", data_dir=arguments.data_dir)["test"]
    texts = list(dict.fromkeys(rows["text"]))[: arguments.num_texts]
    for aspects in (list(ASPECTS[:number]) for number in arguments.num_aspects):
        of_texts = {"inputs": texts, "aspects": aspects, "return_all": True}
        yield f"{len(aspects)} aspects of {len(texts)} texts", len(aspects) * len(texts), of_texts
    if not arguments.num_aspects:
        terms = rows.select_columns(["text", "target", "target_start", "target_end"]).to_list()
        terms = [term for term in terms if term["text"] in texts]
        yield f"terms of {len(texts)} texts", len(terms), {"inputs": terms}


def rows_of(arguments: BenchmarkArguments) -> Iterator[dict]:
    """A row for each kind of questions and model."""
    pipes = {str(folder): absa.load(str(folder), device="cpu").pipe for folder in arguments.checkpoints}
    for what, number, asked in questions(arguments):
        calls = {name: partial(pipe, **asked) for name, pipe in pipes.items()}
        times = medians(calls, arguments.rounds, cpu_seconds)
        first, _ = next(iter(times.values()))
        for name, pipe in pipes.items():
            parameters = list(pipe.model.parameters())
            median, half = times[name]
            yield {
                "questions": f"{number}: {what}",
                "checkpoint": name,
                "trained parameters": sum(weights.numel() for weights in parameters if weights.requires_grad),
                "all": sum(weights.numel() for weights in parameters),
                "MB": f"{megabytes(Path(name)):.0f}",
                "s": f"{median:.2f} ± {half:.2f}",
                "questions a second": f"{number / median:.0f}",
                "to the first": f"{first / median:.2f} ± {first / median * half / median:.2f}",
            }


def main(arguments: BenchmarkArguments):
    print(where("cpu"))
    print_table(rows_of(arguments))


if __name__ == "__main__":
    main(parse(BenchmarkArguments, "checkpoints"))
