"""How big the quasi term is beside the softmax term, before training and after it, and what gradient its weights get.

    python study/terms.py study/grids/initialisation.yaml --sentihood_dir DIR

For each QACG-BERT of a grid, over the questions of the validation split: by guided layer the mean over heads and
tokens of |λ_A|, of |λ_A A_quasi V| / |A_self V|, and of the standard deviation of A_quasi over the keys, which is 0
where the quasi term is the same for all of them; by the number of tokens n the mean of that ratio over the layers.
Before training also the root mean square of the gradient of the new weights, over the first batch of questions; Adam
divides by it, but for an epsilon of 1e-8. What was found before in trained models that are not
there is kept.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch
from transformers import PreTrainedModel, set_seed

from absa.commands import parse
from absa.models import build_config, load_model, load_tokenizer, resolve_backbone
from absa.tasks.classification import Task, make_task
from absa.training.optimisation import NEW_MODULES
from absa.training.run import features
from datasets_scripts import load_absa_dataset
from grids import run_name
from modeling_qacg_bert import QACGBertForSequenceClassification
from modeling_qacg_bert.attention_qacg_bert import quasi_gate, softmax_attention_sdpa
from modeling_qacg_bert.layers_qacg_bert import QACGBertSelfAttention
from results import GridArguments, on_sentihood, read_analyses, write_analysis

LENGTHS = (20, 40, 60)  # tokens up to which a bin goes; one more holds the rest
BINS = [*(f"n <= {most}" for most in LENGTHS), f"n > {LENGTHS[-1]}"]


@dataclass
class TermsArguments(GridArguments):
    """Which models, and on what."""

    sentihood_dir: str | None = field(
        default=None, metadata={"help": "Folder with SentiHood's files (default: they are downloaded)."}
    )


def untrained(run: Mapping, task: Task) -> PreTrainedModel:
    """The model of a run as training finds it."""
    backbone = resolve_backbone(run["model_name_or_path"])
    config = build_config(
        run["model_type"],
        backbone,
        task.contexts,
        task.label_names,
        auxiliary_sentence=run.get("auxiliary_sentence", True),
        num_context_layers=run.get("num_context_layers"),
        overrides=run.get("config_overrides"),
    )
    return load_model(backbone, config, "sdpa")


def batches_of_one_length(model: PreTrainedModel, task: Task, backbone: str) -> Iterator[dict[str, torch.Tensor]]:
    """The validation questions as the model reads them, at most 64 at a time, without padding."""
    tokenizer = load_tokenizer(resolve_backbone(backbone), model.config)
    tokenizer.model_max_length = model.config.max_position_embeddings
    rows = task.splits["validation"]
    encoded, _ = features("validation", rows, task.label_names, tokenizer, model.config, False)
    by_length = defaultdict(list)
    for row in encoded:
        by_length[len(row["input_ids"])].append(row)
    for rows_of_length in by_length.values():
        for start in range(0, len(rows_of_length), 64):
            batch = rows_of_length[start : start + 64]
            yield {name: torch.tensor([row[name] for row in batch]) for name in batch[0]}


def quasi_attentions(model: PreTrainedModel) -> list[QACGBertSelfAttention]:
    """Of the guided layers; none of CG-BERT and BERT."""
    attentions = [layer.attention.self for layer in model.bert.encoder.layer]
    return [attention for attention in attentions if isinstance(attention, QACGBertSelfAttention)]


@torch.no_grad()
def size_of_terms(model: PreTrainedModel, batches: Iterator[dict[str, torch.Tensor]]) -> dict:
    """Means of |λ_A|, |quasi term| / |softmax term| and the spread of A_quasi by layer, and of the ratio by length."""
    layers = quasi_attentions(model)
    gates, ratios, spreads = ([0.0] * len(layers) for _ in range(3))
    by_length, counts, tokens = defaultdict(float), defaultdict(int), 0

    def watched(number, attend):
        def attend_and_look(projected, key_mask, backend):
            output, weights = attend(projected, key_mask, backend)
            softmax_half, _ = softmax_attention_sdpa(projected.query, projected.key, projected.value, key_mask)
            scales = (model.config.query_gate_scale, model.config.key_gate_scale)
            gate = quasi_gate(projected.query_gate_logits, projected.key_gate_logits, *scales)
            ratio = (output - softmax_half).norm(dim=-1) / softmax_half.norm(dim=-1)  # (B, h, n)
            scores = projected.context_query @ projected.context_key.transpose(-1, -2)  # (B, h, n, n)
            scores = scores / projected.context_query.shape[-1] ** 0.5
            quasi = model.config.quasi_attention_scale * scores.sigmoid()  # eq. 6
            gates[number] += gate.abs().mean(dim=1).sum().item()
            spreads[number] += quasi.std(dim=-1, correction=0).mean(dim=1).sum().item()
            ratios[number] += ratio.mean(dim=1).sum().item()
            by_length[bin_of(ratio.shape[2])] += ratio.mean(dim=1).sum().item() / len(layers)
            return output, weights

        return attend_and_look

    model.eval()
    for number, layer in enumerate(layers):
        layer.attend = watched(number, layer.attend)
    try:
        for batch in batches:
            model.bert(**{name: value for name, value in batch.items() if name != "labels"})
            tokens += batch["input_ids"].numel()
            counts[bin_of(batch["input_ids"].shape[1])] += batch["input_ids"].numel()
    finally:
        for layer in layers:
            del layer.attend
    return {
        "gate": [total / tokens for total in gates],
        "ratio": [total / tokens for total in ratios],
        "spread": [total / tokens for total in spreads],
        "ratio_by_length": {name: by_length[name] / counts[name] for name in BINS if counts[name]},
    }


def bin_of(length: int) -> str:
    """Name of the bin of a number of tokens."""
    return BINS[bisect_left(LENGTHS, length)]


def gradients(model: PreTrainedModel, batch: dict[str, torch.Tensor]) -> dict[str, float]:
    """Root mean square of the gradient of each kind of new weights, biases aside."""
    model.zero_grad()
    model(**batch).loss.backward()
    found = defaultdict(list)
    for name, parameter in model.named_parameters():
        kinds = [kind for kind in NEW_MODULES if f".{kind}." in name]
        if kinds and name.endswith("weight") and parameter.grad is not None:
            found[kinds[0]].append(parameter.grad.flatten())
    model.zero_grad()
    return {kind: torch.cat(parts).square().mean().sqrt().item() for kind, parts in found.items()}


def main(arguments: TermsArguments):
    grid = on_sentihood(arguments.grid)
    task = make_task(load_absa_dataset("sentihood", data_dir=arguments.sentihood_dir), "sentihood", 0.0, 0)
    before = read_analyses(arguments.results_dir).get("terms", {}).get(grid.name, {})
    seed, found = grid.seeds[0], {}
    for label, run in grid.runs.items():
        set_seed(seed)
        model = untrained(run, task)
        if "control" in run or not quasi_attentions(model):
            continue
        batches = list(batches_of_one_length(model, task, run["model_name_or_path"]))
        found[label] = {"before": {**size_of_terms(model, batches), "gradient": gradients(model, batches[0])}}
        checkpoint = arguments.output_dir / run_name(run) / f"seed-{seed}"
        if (checkpoint / "results.json").is_file():
            trained = QACGBertForSequenceClassification.from_pretrained(checkpoint)
            found[label]["after"] = size_of_terms(trained, batches)
        elif "after" in before.get(label, {}):
            found[label]["after"] = before[label]["after"]
        print(label, {when: [round(r, 3) for r in found[label][when]["ratio"]] for when in found[label]}, flush=True)
    if not found:
        raise ValueError(f"grid {arguments.grid} has no run with quasi-attention: give another grid")
    write_analysis(arguments.results_dir, "terms", grid, found)


if __name__ == "__main__":
    main(parse(TermsArguments, "grid"))
