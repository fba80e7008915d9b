"""What generating tuples costs: ways of decoding, beside a tagger and a model that writes text, on the same sentences.

    python benchmarks/generate.py CHECKPOINT --data_dir DIR --threads 1

The checkpoint is a trained pointer model's: one of random weights would go on to the longest length. The texts are of
its test split, in batches of like length that are made before; all take turns. The other two have random weights. The
tagger is an encoder of the same sizes under a BiLSTM: its time does not depend on its weights. The model of texts is a
BART of the same sizes, greedy and free to write any token. Since random weights do not stop, each batch is as long as
the longest of its gold targets.

A training step is forward, backward and the optimizer's step of all weights, on the batch in the middle.

Times are CPU times, from which other programs on the machine are left out: give one thread. Ratios are of the medians
to that of the first row, with half the distance of the quartiles. `written` is what a sentence takes, its end among
it: the indices that were generated, and the tokens of its gold target as text.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field

import numpy as np
import torch
from transformers import BartConfig, BartForConditionalGeneration, PreTrainedConfig, PreTrainedTokenizerBase

from absa.commands import parse
from absa.models import load_classifier
from absa.tasks.arguments import GenerationArguments
from absa.tasks.collating import NO_LABEL, CollatorOfSequences
from absa.tasks.generation import Generation
from absa.timing import cpu_seconds, medians, where
from absa.training.evaluation import check_labels
from modeling_generative_absa import PointerABSAConfig, PointerForABSA
from modeling_generative_absa.grammar_generative_absa import END
from modeling_generative_absa.text_generative_absa import TextFormat, WordTuple
from modeling_global_context import GlobalContextConfig, GlobalContextForTokenClassification
from tagging import HEADS, tags
from timing import Threads, print_table, training_step

DECODINGS = {
    "greedy": {},
    "4 beams": {"num_beams": 4},
    "greedy, without the cache": {"use_cache": False},
    "greedy, without the grammar": {"constrained": False},
}
TAGGER, WRITER = "tagger: encoder, BiLSTM", "text: BART of these sizes"
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


def sentences_of(
    config: PointerABSAConfig, tokenizer: PreTrainedTokenizerBase, arguments: BenchmarkArguments
) -> list[tuple[dict, dict]]:
    """Of sentences of the test split, the longest ones first, what the pointer model reads and the row of the data."""
    data = GenerationArguments(
        dataset=arguments.dataset,
        data_config=arguments.data_config,
        data_dir=arguments.data_dir,
        subtasks=list(config.tasks),
    )
    task = check_labels(arguments.checkpoint, config, Generation.load(data))
    entries, columns = task.entries("test", data, tokenizer, config), task.splits["test"]
    size = len(entries.dataset)
    chosen = np.linspace(0, size - 1, min(arguments.sentences, size)).round().astype(int)
    numbers = [entries.rows_of[entry][0] for entry in chosen]
    rows = [{name: column[number] for name, column in columns.items()} for number in numbers]
    return list(zip(entries.dataset.select(chosen).to_list(), rows, strict=True))


def as_text(rows: list[dict], labels: list[str], tokenizer: PreTrainedTokenizerBase) -> dict[str, torch.Tensor]:
    """Prompts, (B, L), and gold targets as text, (B, T), with -100 at padding."""
    prompts, targets = [], []
    for row in rows:
        text_format, given = TextFormat(row["subtask"], labels), row["target"]
        prompts.append(text_format.prompt(row["words"], given))
        tuples = [WordTuple(**{"target": given, **one}) for one in row["tuples"]]
        targets.append(text_format.target(row["words"], tuples, given))
    options = {"padding": True, "return_tensors": "pt", "return_token_type_ids": False}
    read, written = (tokenizer(texts, **options) for texts in (prompts, targets))
    ids, mask = (written[name][:, 1:] for name in ("input_ids", "attention_mask"))  # without [CLS]
    return {**read, "labels": ids.masked_fill(mask == 0, NO_LABEL)}


def writer_of(config: PointerABSAConfig, tokenizer: PreTrainedTokenizerBase) -> BartForConditionalGeneration:
    """A new model of texts: the encoder's sizes and vocabulary, and the decoder layers of the pointer model."""
    encoder = config.backbone_config
    sizes = BartConfig(
        vocab_size=encoder.vocab_size,
        d_model=encoder.hidden_size,
        encoder_layers=encoder.num_hidden_layers,
        decoder_layers=config.decoder_layers,
        encoder_attention_heads=encoder.num_attention_heads,
        decoder_attention_heads=config.num_attention_heads,
        encoder_ffn_dim=encoder.intermediate_size,
        decoder_ffn_dim=4 * encoder.hidden_size,
        pad_token_id=tokenizer.pad_token_id,
        decoder_start_token_id=tokenizer.cls_token_id,
        eos_token_id=tokenizer.sep_token_id,
    )
    return BartForConditionalGeneration(sizes).eval()


def generating(model: PointerForABSA, batches: list[dict], options: dict) -> Callable[[], list[torch.Tensor]]:
    """Tuples of all sentences, as sequences (B, P + T)."""
    return lambda: [model.generate(**batch, **options, do_sample=False) for batch in batches]


def writing(model: BartForConditionalGeneration, batches: list[dict]) -> Callable:
    """As many tokens as the longest gold target of each batch has."""

    def write_all():
        for batch in batches:
            length = batch["labels"].shape[1]
            prompts = {name: batch[name] for name in ("input_ids", "attention_mask")}
            model.generate(**prompts, min_new_tokens=length, max_new_tokens=length, do_sample=False)

    return write_all


def tagging(tagger: GlobalContextForTokenClassification, batches: list[dict]) -> Callable:
    """Tags of all sentences."""
    answers = [tags(tagger, batch) for batch in batches]

    def answer_all():
        for answer in answers:
            answer()

    return answer_all


def tagger_of(encoder_config: PreTrainedConfig) -> GlobalContextForTokenClassification:
    """A new tagger over an encoder of these sizes."""
    fields = {"encoder_config": encoder_config, "lstm_size": encoder_config.hidden_size, "num_labels": NUM_TAGS}
    return GlobalContextForTokenClassification(GlobalContextConfig(**fields, **HEADS["BiLSTM"]))


def as_tagged(batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The same sentences with one and the same tag for all pieces."""
    ids, mask = batch["input_ids"], batch["attention_mask"]
    return {"input_ids": ids, "attention_mask": mask, "labels": torch.zeros_like(ids).masked_fill(mask == 0, NO_LABEL)}


def indices_of(sequences: list[torch.Tensor], batches: list[dict]) -> float:
    """How many indices were generated of a sentence, up to its first end, the mean over the sentences."""
    counts = []
    for of_batch, batch in zip(sequences, batches, strict=True):
        generated = of_batch[:, batch["decoder_prompt_ids"].shape[1] :]
        ended = (generated == END).cumsum(dim=1) - (generated == END).int() > 0  # what stands behind the end
        counts += (~ended).sum(dim=1).tolist()
    return float(np.mean(counts))


def rows_of(times: dict[str, tuple[float, float]], num_sentences: int) -> Iterator[dict[str, str]]:
    """A row for each call."""
    first, _ = next(iter(times.values()))
    for name, (middle, spread) in times.items():
        row = {"": name, "time, ratio": f"{middle / first:.2f} ±{spread / first:.2f}"}
        yield {**row, "sentences a CPU second": f"{num_sentences / middle:.1f}"}


def main(arguments: BenchmarkArguments):
    model, tokenizer = load_classifier(
        "checkpoint", arguments.checkpoint, GenerationArguments.auto_class, dtype="float32"
    )
    sentences, size = sentences_of(model.config, tokenizer, arguments), arguments.batch_size
    parts = [sentences[start : start + size] for start in range(0, len(sentences), size)]
    collate = CollatorOfSequences(tokenizer)
    batches = [dict(collate([entry for entry, _ in part])) for part in parts]
    texts = [as_text([row for _, row in part], model.config.labels, tokenizer) for part in parts]
    tagger, writer = tagger_of(model.config.backbone_config), writer_of(model.config, tokenizer)

    calls = {name: generating(model, batches, options) for name, options in DECODINGS.items()}
    written = {name: indices_of(call(), batches) for name, call in calls.items()}
    written[WRITER] = sum((batch["labels"] != NO_LABEL).sum().item() for batch in texts) / len(sentences)
    calls |= {TAGGER: tagging(tagger, batches), WRITER: writing(writer, texts)}
    print(f"{len(sentences)} sentences, batches of {size}, float32, {where('cpu')}")
    times = medians(calls, arguments.rounds, cpu_seconds)
    print_table(
        {**row, "written": f"{written[row['']]:.1f}" if row[""] in written else ""}
        for row in rows_of(times, len(sentences))
    )

    middle = len(batches) // 2
    trained = {
        "pointer model": (model, batches),
        TAGGER: (tagger, list(map(as_tagged, batches))),
        WRITER: (writer, texts),
    }
    steps = {
        f"training step, {name}": training_step(one, of_model[middle], nullcontext)
        for name, (one, of_model) in trained.items()
    }
    print_table(rows_of(medians(steps, arguments.rounds, cpu_seconds), len(parts[middle])))


if __name__ == "__main__":
    main(parse(BenchmarkArguments, "checkpoint"))
