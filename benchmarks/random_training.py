"""Some steps of a recipe without what it starts from: random texts, and random weights of its backbone's sizes."""

import random
import tempfile
from pathlib import Path

import numpy as np
from transformers import (
    CONFIG_MAPPING,
    BertTokenizer,
    DataCollatorWithPadding,
    PreTrainedModel,
    PrinterCallback,
    Trainer,
    set_seed,
)

from absa.models import parse_overrides, takes
from absa.packages import MINILM, MPNET
from absa.tasks.collating import CollatorOfContexts, CollatorOfSequences, CollatorOfTexts, CollatorOfWords
from absa.training.arguments import parse_arguments, recipe_words
from absa.training.trainer import ABSATrainer, predict
from modeling_generative_absa import WordTuple
from timing import make_model

SIZE_OF = {  # by model_name_or_path
    MINILM: "minilm",
    MPNET: "base",
    **{f"google-bert/bert-base-{name}": "base" for name in ("uncased", "cased", "chinese")},
    "facebook/bart-base": "base",  # an encoder of this size, under a new decoder
    "outputs/sentihood_small_corpus/seed-42": "minilm",  # what sentihood_small_corpus.yaml trains
    "outputs/sentihood_corpus/seed-42": "base",
}
STEPS = 3


class Rows(list):
    """Rows as dictionaries, whose columns can be read by name, as those of a data set."""

    def __getitem__(self, key):
        return [row[key] for row in self] if isinstance(key, str) else super().__getitem__(key)


def random_rows(count: int, model: PreTrainedModel, together: bool) -> Rows:
    """Texts of 16 to 64 tokens, each with one context and label, or with four, or with a label for each token, or with
    a tuple."""
    rows, config = Rows(), model.config
    for _ in range(count):
        length = random.randint(16, 64)
        vocabulary = config.get_text_config(encoder=True).vocab_size
        row = {"input_ids": random.choices(range(1000, vocabulary), k=length), "attention_mask": [1] * length}
        if takes(model, "word_ids"):
            tuples = [WordTuple((0, 1), (length - 2, length), config.labels[0])]
            prompt, labels = model.grammar.encode(config.tasks[0], tuples)
            rows.append({**row, "word_ids": list(range(length)), "decoder_prompt_ids": prompt, "labels": labels})
            continue
        row["token_type_ids"] = [0] * (length - 3) + [1] * 3  # a pair of texts
        if takes(model, "word_mask"):
            labels = random.choices(range(config.num_labels), k=length)
            rows.append({**row, "word_mask": [1] * length, "labels": labels})
            continue
        labels = random.choices(range(config.num_labels), k=4)
        row["labels"] = labels if together else labels[0]
        if takes(model, "context_input_ids") and config.context_source == "text":
            contexts = [random.choices(range(1000, vocabulary), k=size) for size in (3, 3, 4, 6)]
            row["context_input_ids"] = contexts if together else contexts[0]
        elif takes(model, "context_ids"):
            contexts = random.sample(range(config.num_contexts), 4)
            row["context_ids"] = contexts if together else contexts[0]
        rows.append(row)
    return rows


def train(recipe: Path, device: str, *words: str) -> tuple[Trainer, np.ndarray]:
    """Takes `STEPS` steps as run_absa.py does, scores, saves and loads a checkpoint.

    Args:
        recipe: file of configuration/recipes.
        device: on which; on "cpu" the model is tiny.
        words: of the command line, over the recipe.
    Returns:
        The Trainer, and the logits of its rows.
    Raises:
        KeyError: if the sizes of the recipe's backbone are not known here.
    """
    with tempfile.TemporaryDirectory() as folder:
        fixed = {"output_dir": folder, "max_steps": STEPS, "logging_steps": 1, "metric_for_best_model": "loss"}
        fixed |= {"eval_strategy": "steps", "eval_steps": STEPS, "save_strategy": "steps", "save_steps": STEPS}
        fixed |= {"report_to": "none", "disable_tqdm": True, "remove_unused_columns": False}
        fixed |= {"logging_nan_inf_filter": False, "use_cpu": device == "cpu"}  # the filter would hide a loss of NaN
        model_arguments, data, arguments = parse_arguments([str(recipe), *recipe_words(fixed), *words])
        set_seed(arguments.seed)
        model_type, attention = model_arguments.model_type, model_arguments.attn_implementation
        overrides = parse_overrides(model_type, model_arguments.all_overrides)
        if model_arguments.word_vectors is None:
            if getattr(data, "context_source", "id") == "text":
                overrides["context_source"] = "text"
            size = "tiny" if device == "cpu" else SIZE_OF[model_arguments.model_name_or_path]
            model = make_model(model_type, size, "cpu", attention, data.auto_class, **overrides)
        else:
            config = CONFIG_MAPPING[model_type](num_labels=3, vocab_size=50_000, **overrides)
            model = data.auto_class.from_config(config)
        model.accepts_loss_kwargs = False  # as `load_model` has it
        together = getattr(data, "contexts_together", False)
        rows = random_rows(4 * arguments.train_batch_size, model, together)
        tokenizer = BertTokenizer(vocab={"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4})  # for padding
        collator = CollatorOfTexts if together else DataCollatorWithPadding
        collator = CollatorOfContexts if "context_input_ids" in rows[0] else collator
        collator = CollatorOfWords if takes(model, "word_mask") else collator
        collator = CollatorOfSequences if takes(model, "word_ids") else collator
        trainer = ABSATrainer(
            model=model,
            args=arguments,
            train_dataset=rows,
            eval_dataset=rows,
            data_collator=collator(tokenizer, pad_to_multiple_of=8 if arguments.bf16 else None),
            processing_class=tokenizer,
            balance_labels=getattr(data, "class_balanced_sampling", False),
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
        return trainer, predict(trainer, rows)
