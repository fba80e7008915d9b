"""How big the quasi term is beside the softmax term, before training and after it, and what gradient its weights get.

    python study/terms.py study/grids/initialisation.yaml --data_dir DIR

For each QACG-BERT of a grid, over the questions of the validation split: by guided layer the mean over heads and
tokens of
- |λ_A|;
- |λ_A A_quasi V| / |A_self V|, the ratio;
- the spread of A_quasi: its standard deviation over the keys, in units of a weight, which is 0 where the quasi term is
  the same for all keys. Rows of the normalised and softmax forms sum to α, so that it is of the order of 1/n there;
- the relative spread: that standard deviation over the mean of |A_quasi| over the same keys, which has no unit. It
  does not depend on what a row sums to, so that the forms can be compared. Rows of the centred form are of both signs:
  theirs is of the order of 1 however small the weights are.
The mean of the ratio over the layers is also kept by the number of tokens n, and before training the root mean square
of the gradient of the new weights, over the first batch of questions; Adam divides by it, but for an epsilon of 1e-8.
A seed is looked at where its trained model is there, and the first one in any case. What was found before of a seed
whose trained model is not there is kept.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import product

import numpy as np
import pandas as pd
import torch
from transformers import PreTrainedModel, set_seed

from absa.commands import parse
from absa.tasks.arguments import ClassificationArguments
from absa.tasks.base import Task
from absa.tasks.classification import Classification
from absa.training.arguments import parse_arguments, recipe_words
from absa.training.optimisation import GUIDANCE
from absa.training.run import build
from grids import read_grid, run_name
from modeling_qacg_bert import QACGBertForSequenceClassification
from modeling_qacg_bert.layers_qacg_bert import QACGBertSelfAttention, for_each_context
from results import GridAndDataArguments, read_analysis, write_analysis

LENGTHS = {"n <= 20": 20, "n <= 40": 40, "n <= 60": 60, "n > 60": np.inf}  # tokens up to which a bin goes
NEW_MODULES = {"context_embeddings", *GUIDANCE}
SIZES = ["gate", "ratio", "spread", "relative_spread"]


def untrained(run: Mapping, task: Task) -> tuple[PreTrainedModel, list[dict[str, torch.Tensor]]]:
    """The model of a run as training finds it, and the validation questions as the model reads them.

    The questions are in batches of at most 64 texts of one length and number of contexts, so that nothing is padded.
    """
    model_arguments, data_arguments, _ = parse_arguments(recipe_words(run))
    model, tokenizer = build(task, model_arguments, data_arguments)
    by_size = defaultdict(list)
    for row in task.entries("validation", data_arguments, tokenizer, model.config).dataset:
        by_size[len(row["input_ids"]), np.size(row["context_ids"])].append(row)
    batches = [rows[start : start + 64] for rows in by_size.values() for start in range(0, len(rows), 64)]
    return model, [{name: torch.tensor([row[name] for row in batch]) for name in batch[0]} for batch in batches]


def quasi_attentions(model: PreTrainedModel) -> dict[int, QACGBertSelfAttention]:
    """Of the guided layers, by their number among all layers; none of CG-BERT and BERT."""
    attentions = enumerate(layer.attention.self for layer in model.bert.encoder.layer)
    return {number: attention for number, attention in attentions if isinstance(attention, QACGBertSelfAttention)}


@torch.no_grad()
def size_of_terms(model: PreTrainedModel, batches: Iterable[dict[str, torch.Tensor]]) -> dict:
    """Means of `SIZES` by layer, and of the ratio by length."""
    found = []
    model.eval()
    for batch in batches:
        inputs = {name: value for name, value in batch.items() if name != "labels"}
        outputs = model.bert(**inputs, output_attentions=True, output_hidden_states=True)
        weights = zip(outputs.self_attentions, outputs.quasi_attentions, outputs.quasi_gates, strict=True)
        for (number, attention), (softmax, quasi, gate) in zip(quasi_attentions(model).items(), weights, strict=True):
            states = outputs.hidden_states[number]
            if softmax.dim() == 5:  # of several contexts, which are texts of their own here
                states = states.flatten(0, 1) if states.dim() == 4 else for_each_context(states, softmax.shape[1])
                softmax, quasi, gate = (quantity.flatten(0, 1) for quantity in (softmax, quasi, gate))
            value = attention.value(states)
            value = value.unflatten(-1, (softmax.shape[1], -1)).transpose(1, 2)  # (B, h, n, d)
            ratio = (gate * (quasi @ value)).norm(dim=-1) / (softmax @ value).norm(dim=-1)  # (B, h, n)
            spread = quasi.std(dim=-1, correction=0)  # (B, h, n)
            relative_spread = spread / quasi.abs().mean(dim=-1).clamp(min=torch.finfo(quasi.dtype).tiny)
            means = [sizes.mean().item() for sizes in (gate.abs(), ratio, spread, relative_spread)]
            found.append([number, ratio.shape[2], batch["input_ids"].numel(), *means])
    table = pd.DataFrame(found, columns=["layer", "length", "tokens", *SIZES])
    table["length"] = pd.cut(table["length"], [0, *LENGTHS.values()], labels=list(LENGTHS))

    def by(column: str) -> pd.DataFrame:
        weighted = table[SIZES].mul(table["tokens"], axis="index")
        groups = table[column]
        sums = weighted.groupby(groups, observed=True).sum()
        return sums.div(table["tokens"].groupby(groups, observed=True).sum(), axis="index")

    return {**by("layer").to_dict("list"), "ratio_by_length": by("length")["ratio"].to_dict()}


def gradients(model: PreTrainedModel, batch: dict[str, torch.Tensor]) -> dict[str, float]:
    """Root mean square of the gradient of each kind of new weights, biases aside."""
    model.zero_grad()
    model(**batch).loss.backward()
    found = defaultdict(list)
    for name, parameter in model.named_parameters():
        kinds = [kind for kind in NEW_MODULES if f".{kind}." in name]
        if kinds and name.endswith("weight") and parameter.grad is not None:
            found[kinds[0]].append(parameter.grad.flatten())
    return {kind: torch.cat(parts).square().mean().sqrt().item() for kind, parts in found.items()}


def main(arguments: GridAndDataArguments):
    grid = read_grid(arguments.grid)
    task = Classification.load(ClassificationArguments(dataset=grid.dataset, data_dir=arguments.data_dir))
    before, found = read_analysis(arguments.results_dir, "terms", grid), {}
    for (label, run), seed in product(grid.runs.items(), grid.seeds):
        checkpoint = arguments.output_dir / run_name(run) / f"seed-{seed}"
        is_trained, earlier = (checkpoint / "results.json").is_file(), before.get(label, {}).get(str(seed), {})
        if earlier and not is_trained:
            found.setdefault(label, {})[str(seed)] = earlier
            continue
        if "control" in run or not (is_trained or seed == grid.seeds[0]):
            continue
        set_seed(seed)
        model, batches = untrained(run, task)
        if not quasi_attentions(model):
            continue
        sizes = {"before": {**size_of_terms(model, batches), "gradient": gradients(model, batches[0])}}
        if is_trained:
            trained = QACGBertForSequenceClassification.from_pretrained(checkpoint)
            sizes["after"] = size_of_terms(trained, batches)
        found.setdefault(label, {})[str(seed)] = sizes
        print(label, seed, {when: [round(r, 3) for r in sizes[when]["ratio"]] for when in sizes}, flush=True)
    write_analysis(arguments.results_dir, "terms", grid, found)


if __name__ == "__main__":
    main(parse(GridAndDataArguments, "grid"))
