"""What the benchmarks of the models share: sizes, batches, what is timed, and the table that shows it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import torch
from transformers import CONFIG_MAPPING, AutoModelForSequenceClassification, BertConfig, PreTrainedModel

from absa.models import classifier_of, takes

SIZES = {
    "minilm": {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536},
    "base": {},
    "tiny": {  # to see that a benchmark runs
        "vocab_size": 2000,
        "hidden_size": 32,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "intermediate_size": 64,
    },
}
MODELS = {"BERT": "bert", "CG-BERT": "cg_bert", "QACG-BERT": "qacg_bert"}


@dataclass(kw_only=True)
class Threads:
    """Arguments of a benchmark that is run on some threads, which are set as soon as they are given."""

    threads: int | None = field(default=None, metadata={"help": "Threads of PyTorch (default: as it finds)."})

    def __post_init__(self):
        if self.threads:
            torch.set_num_threads(self.threads)


@dataclass(kw_only=True)
class OnSentiHood(Threads):
    """Arguments of a benchmark of a checkpoint."""

    checkpoint: str = field(metadata={"help": "Folder or Hub id of a SentiHood classifier."})
    data_dir: str | None = field(default=None, metadata={"help": "Folder of the SentiHood files (default: download)."})


def make_model(
    model_type: str,
    size: str,
    device: str = "cpu",
    attention: str = "sdpa",
    auto_class: type = AutoModelForSequenceClassification,
    **fields,
) -> PreTrainedModel:
    """A classifier of three labels with random weights; of a family around an encoder, over a BERT."""
    config_class, sizes = CONFIG_MAPPING[model_type], SIZES[size]
    if config_class.sub_configs:
        sizes = {next(iter(config_class.sub_configs)): BertConfig(**sizes)}
    config = config_class(num_labels=3, **sizes, **fields)
    return classifier_of(model_type, auto_class)._from_config(config, attn_implementation=attention).to(device)


def make_batch(
    model, num_texts: int, length: int, device: str = "cpu", num_contexts: int | None = None, padded: bool = False
) -> dict:
    """Random texts (num_texts, length), with one context each or (num_texts, num_contexts).

    With `padded` texts have evenly spaced lengths from half of `length` to all of it; else no text is padded.
    """
    vocab_size = model.config.get_text_config(encoder=True).vocab_size
    shortest = length // 2 if padded else length
    lengths = torch.linspace(shortest, length, num_texts, device=device).round()
    asked = (num_texts,) if num_contexts is None else (num_texts, num_contexts)
    batch = {
        "input_ids": torch.randint(1000, vocab_size, (num_texts, length), device=device),
        "attention_mask": (torch.arange(length, device=device) < lengths[:, None]).long(),
        "token_type_ids": torch.zeros(num_texts, length, dtype=torch.long, device=device),
        "labels": torch.randint(3, asked, device=device),
    }
    if takes(model, "context_ids"):
        batch["context_ids"] = torch.randint(8, asked, device=device)
    return batch


def training_step(model, batch: dict, autocast: Callable) -> Callable:
    """Forward, backward and the optimizer's step, with dropout."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)

    def step():
        model.train()
        with autocast():
            loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def inference(model, batch: dict, autocast: Callable) -> Callable:
    """Logits."""
    unlabelled = {name: tensor for name, tensor in batch.items() if name != "labels"}

    def forward():
        model.eval()
        with torch.inference_mode(), autocast():
            model(**unlabelled)

    return forward


def peak_megabytes(call: Callable) -> float:
    """The most memory of a CUDA device that a call takes beside what is held before it."""
    call()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call()
    return (torch.cuda.max_memory_allocated() - before) / 1e6


def print_table(rows: Iterable[Mapping]):
    """Prints each row as it comes; a heading stands above the first, and above one with a new column."""
    columns = []
    for row in rows:
        if not row.keys() <= set(columns):
            columns = list(row)
            print("\n| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
        cells = (row.get(column, "") for column in columns)
        cells = (f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in cells)
        print("| " + " | ".join(cells) + " |", flush=True)
