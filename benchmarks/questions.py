"""Size and speed of models that are asked about any words: the same questions to each, the models in turn.

    python benchmarks/questions.py CHECKPOINT CHECKPOINT --data_dir DIR --threads 1

The questions are the aspect terms of the test split of SemEval-2014, restaurants. MB are those of the weights and the
tokenizer on disk; of an AF-LSTM most are word vectors, which are not trained.
"""

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import absa
from absa.commands import parse
from absa.comparison.speed import megabytes
from absa.timing import medians, where
from datasets_scripts import load_absa_dataset
from timing import Threads, print_table


@dataclass(kw_only=True)
class BenchmarkArguments(Threads):
    """What to measure."""

    checkpoints: list[Path] = field(metadata={"help": "Folders of models that know no names of aspects."})
    data_dir: str = field(metadata={"help": "Folder of the organisers' XML files."})
    rounds: int = field(default=5, metadata={"help": "Turns of each, after three that are not counted."})


def main(arguments: BenchmarkArguments):
    rows = load_absa_dataset("aspect_polarity", "restaurants_terms", data_dir=arguments.data_dir)["test"]
    asked = rows.select_columns(["text", "target", "target_start", "target_end"]).to_list()
    pipes = {str(folder): absa.load(str(folder), device="cpu").pipe for folder in arguments.checkpoints}
    times = medians({name: partial(pipe, asked) for name, pipe in pipes.items()}, arguments.rounds)
    table = []
    for name, pipe in pipes.items():
        parameters = list(pipe.model.parameters())
        median, half = times[name]
        table.append(
            {
                "checkpoint": name,
                "trained parameters": sum(weights.numel() for weights in parameters if weights.requires_grad),
                "all": sum(weights.numel() for weights in parameters),
                "MB": f"{megabytes(Path(name)):.0f}",
                "s": f"{median:.2f} ± {half:.2f}",
                "questions a second": f"{len(asked) / median:.0f}",
            }
        )
    print(f"{len(asked)} questions about {len(set(rows['text']))} texts, {where('cpu')}")
    print_table(table)


if __name__ == "__main__":
    main(parse(BenchmarkArguments, "checkpoints"))
