"""What generating tuples costs: ways of decoding, beside a tagger that reads the same batches.

    python benchmarks/generate.py CHECKPOINT --data_dir DIR --threads 1

The checkpoint is a trained pointer model's: one of random weights would go on to the longest length. The texts are of
its test split, in batches of like length that are made before; all take turns. The tagger is an encoder of the same
sizes under a BiLSTM. Its weights are random: its time does not depend on them.

Times are CPU times, from which other programs on the machine are left out: give one thread. Ratios are of the medians
to that of the greedy search, with half the distance of the quartiles. `indices` are those that were generated of a
sentence, its end among them.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch

from absa.commands import parse
from absa.models import load_classifier
from absa.tasks.arguments import GenerationArguments
from absa.tasks.collating import CollatorOfSequences
from absa.tasks.generation import Generation
from absa.timing import medians, where
from absa.training.evaluation import check_labels
from modeling_generative_absa import PointerForABSA
from modeling_generative_absa.grammar_generative_absa import END
from modeling_global_context import GlobalContextConfig, GlobalContextForTokenClassification
from tagging import HEADS, tags
from timing import Threads, print_table

DECODINGS = {
    "greedy": {},
    "4 beams": {"num_beams": 4},
    "greedy, without the cache": {"use_cache": False},
    "greedy, without the grammar": {"constrained": False},
}
TAGGER = "tagger: encoder, BiLSTM"
NUM_TAGS = 13


@dataclass(kw_only=True)
class BenchmarkArguments(Threads):
    """What to measure."""

    checkpoint: str = field(metadata={"help": "Folder or Hub id of a pointer model over an encoder."})
    data_dir: str | None = field(default=None, metadata={"help": "Folder of the data's files (default: downloaded)."})
    dataset: str = field(default="aste_v2", metadata={"help": "As of run_absa.py."})
    data_config: str = field(default="14res", metadata={"help": "As of run_absa.py."})
    sentences: int = field(default=128, metadata={"help": "Of the test split, evenly spaced by length."})
    batch_size: int = field(default=32, metadata={"help": "Sentences of a batch."})
    rounds: int = field(default=7, metadata={"help": "Turns of each, after three that are not counted."})


def batches_of(model: PointerForABSA, tokenizer, arguments: BenchmarkArguments) -> list[dict[str, torch.Tensor]]:
    """Sentences of the test split as a model's batches, the longest ones first."""
    data = GenerationArguments(
        dataset=arguments.dataset,
        data_config=arguments.data_config,
        data_dir=arguments.data_dir,
        subtasks=list(model.config.tasks),
    )
    task = check_labels(arguments.checkpoint, model.config, Generation.load(data))
    rows = task.entries("test", data, tokenizer, model.config).dataset
    chosen = np.linspace(0, len(rows) - 1, min(arguments.sentences, len(rows))).round().astype(int)
    rows, collate = rows.select(chosen).to_list(), CollatorOfSequences(tokenizer)
    starts = range(0, len(rows), arguments.batch_size)
    return [dict(collate(rows[start : start + arguments.batch_size])) for start in starts]


def generating(model: PointerForABSA, batches: list[dict], options: dict) -> Callable[[], list[torch.Tensor]]:
    """Tuples of all sentences, as sequences (B, P + T)."""
    return lambda: [model.generate(**batch, **options, do_sample=False) for batch in batches]


def tagging(encoder_config, batches: list[dict]) -> Callable:
    """Tags of all sentences, by a new tagger over an encoder of these sizes."""
    fields = {"encoder_config": encoder_config, "lstm_size": encoder_config.hidden_size, "num_labels": NUM_TAGS}
    tagger = GlobalContextForTokenClassification(GlobalContextConfig(**fields, **HEADS["BiLSTM"]))
    answers = [tags(tagger, batch) for batch in batches]

    def answer_all():
        for answer in answers:
            answer()

    return answer_all


def indices_of(sequences: list[torch.Tensor], batches: list[dict]) -> float:
    """How many indices were generated of a sentence, up to its first end, the mean over the sentences."""
    counts = []
    for of_batch, batch in zip(sequences, batches, strict=True):
        generated = of_batch[:, batch["decoder_prompt_ids"].shape[1] :]
        ended = (generated == END).cumsum(dim=1) - (generated == END).int() > 0  # what stands behind the end
        counts += (~ended).sum(dim=1).tolist()
    return float(np.mean(counts))


def cpu_seconds(call: Callable) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def main(arguments: BenchmarkArguments):
    model, tokenizer = load_classifier(
        "checkpoint", arguments.checkpoint, GenerationArguments.auto_class, dtype="float32"
    )
    batches = batches_of(model, tokenizer, arguments)
    calls = {name: generating(model, batches, options) for name, options in DECODINGS.items()}
    indices = {name: indices_of(call(), batches) for name, call in calls.items()}
    calls[TAGGER] = tagging(model.config.backbone_config, batches)
    times, rows = medians(calls, arguments.rounds, cpu_seconds), []
    of_greedy, num_sentences = times["greedy"][0], sum(len(batch["input_ids"]) for batch in batches)
    for name, (middle, spread) in times.items():
        row = {"": name, "time, ratio": f"{middle / of_greedy:.2f} ±{spread / of_greedy:.2f}"}
        row["sentences a CPU second"] = f"{num_sentences / middle:.1f}"
        rows.append({**row, "indices": f"{indices[name]:.1f}" if name in indices else ""})
    print(f"{num_sentences} sentences, batches of {arguments.batch_size}, float32, {where('cpu')}")
    print_table(rows)


if __name__ == "__main__":
    main(parse(BenchmarkArguments, "checkpoint"))
