"""Denoising before fine-tuning: a model that writes is trained to restore texts of the domain.

A corrupted document is the input, the original the label. An encoder-decoder is trained as it is. Over an encoder, a
pointer model's small decoder writes word pieces with a head that is tied to the encoder's word embeddings; what is
saved is the pointer model, with its encoder, decoder and the attention between them trained.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from accelerate import PartialState
from datasets import disable_progress_bars
from torch import nn
from transformers import (
    AutoConfig,
    AutoModelForSeq2SeqLM,
    DataCollatorForSeq2Seq,
    PreTrainedModel,
    set_seed,
)
from transformers.modeling_outputs import Seq2SeqLMOutput

from absa.models import load_tokenizer, loading, most_tokens, quietly, refuse_weights, takes
from absa.noise import NOISES, Document, corrupt
from absa.packages import resolve_backbone
from absa.tasks.collating import NO_LABEL
from absa.tasks.generation import Generation
from absa.tasks.registry import TASKS
from absa.training.arguments import ABSATrainingArguments, Arguments, ModelArguments, parse_all
from absa.training.noisy_rows import Corpus, DenoisingArguments, NoisyRows, Restoring, corpus_of, mask_of
from absa.training.optimisation import freeze
from absa.training.run import build, decisive, digest, digest_of_start, each_seed, one_seed
from absa.training.sampling import TrainingOrder
from absa.training.trainer import ABSATrainer, predict
from modeling_generative_absa import PointerForABSA
from modeling_generative_absa.grammar_generative_absa import START

FEWEST_PIECES = 32  # that a decoder must have room for
HELD_OUT_SEED = 0  # of the noise of held-out texts, the same for all runs


class OrderWithEpochs(TrainingOrder):
    """Numbers for `NoisyRows`, which say the epoch too: so workers that load rows need not be told."""

    def __iter__(self) -> Iterator[int]:
        return (number + self.epoch * len(self) for number in super().__iter__())


class DenoisingTrainer(ABSATrainer):
    """The Trainer, for `NoisyRows`."""

    order_class = OrderWithEpochs

    def lengths_of(self, rows: NoisyRows) -> list[int]:
        return [len(document.words) for document in rows.documents]


class PieceWriter(nn.Module):
    """A pointer model's encoder and small decoder under a head for word pieces, which has no weights of its own.

    It reads the start as the pointer model does, and the embeddings of the pieces before. Names of weights are those
    of the pointer model.
    """

    base_model_prefix = PointerForABSA.base_model_prefix
    accepts_loss_kwargs = False

    def __init__(self, pointers: PointerForABSA):
        super().__init__()
        self.config = pointers.config
        self.model = pointers.base_model

    @property
    def base_model(self) -> PreTrainedModel:
        return self.model

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, labels: torch.Tensor) -> Seq2SeqLMOutput:
        """
        Args:
            input_ids: pieces of the corrupted documents, (B, L)
            attention_mask: 1 at pieces, (B, L)
            labels: pieces of the originals, -100 at padding, (B, T)
        Returns:
            `logits` of all pieces, (B, T, vocabulary), and `loss`, the mean over pieces.
        """
        table = self.model.get_input_embeddings()
        encoded = self.model.backbone(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        start = self.model.embeddings.classes.weight[START].expand(len(labels), 1, -1)
        before = table(labels[:, :-1].clamp(min=0))  # what stands at padding is before no piece
        states = self.model.decoder(
            inputs_embeds=self.model.embeddings.projection(torch.cat([start, before], dim=1)),
            encoder_hidden_states=encoded,
            encoder_attention_mask=attention_mask,
            use_cache=False,
        ).last_hidden_state
        logits = states @ table.weight.T
        in_float = logits.to(torch.promote_types(logits.dtype, torch.float32))
        loss = nn.functional.cross_entropy(in_float.flatten(0, 1), labels.flatten(), ignore_index=NO_LABEL)
        return Seq2SeqLMOutput(loss=loss, logits=logits)


class Start(NamedTuple):
    """What training starts from."""

    trained: nn.Module
    saved: PreTrainedModel
    restoring: Restoring


def start(task: Generation, arguments: Arguments) -> Start:
    """A pointer model over an encoder, as it is built for fine-tuning; or an encoder-decoder, as it is.

    Raises:
        FileNotFoundError, ValueError: if it cannot be loaded, or is a pointer model over an encoder-decoder.
    """
    model_arguments, data_arguments, _ = arguments
    name, revision = resolve_backbone(model_arguments.model_name_or_path), model_arguments.model_revision
    with loading("model_name_or_path", name):
        config = AutoConfig.from_pretrained(name, revision=revision)
    if getattr(config, "has_small_decoder", not config.is_encoder_decoder):
        saved, tokenizer = build(task, model_arguments, data_arguments)
        trained, most = PieceWriter(saved), min(tokenizer.model_max_length, saved.config.max_target_length)
        if most < FEWEST_PIECES:
            raise ValueError(
                f"max_tuples={saved.config.max_tuples}: the decoder has {most} positions, too few to write a "
                "sentence. Allow more tuples, leave denoising out, or denoise an encoder-decoder"
            )
    else:
        trained = saved = load_seq2seq(name, model_arguments)
        tokenizer = load_tokenizer(name, config, revision)
        most = tokenizer.model_max_length = most_tokens(data_arguments.max_length, config)
    return Start(trained, saved, Restoring(tokenizer, mask_of(tokenizer), most))


def load_seq2seq(name: str, arguments: ModelArguments) -> PreTrainedModel:
    """An encoder-decoder that writes text, with all of its weights."""
    with loading("model_name_or_path", name), quietly():
        model, found = AutoModelForSeq2SeqLM.from_pretrained(
            name,
            attn_implementation=arguments.attention,
            dtype=torch.float32,
            revision=arguments.model_revision,
            output_loading_info=True,
        )
    if takes(model, "word_ids"):
        raise ValueError(
            f"model_name_or_path={name} holds pointers over an encoder-decoder, whose head for text is gone: denoise "
            "the encoder-decoder, and train the pointers after that"
        )
    refuse_weights(f"model_name_or_path={name}", {"lacks": found["missing_keys"]}, "Give a complete checkpoint")
    model.accepts_loss_kwargs = False  # as in `absa.models.load_model`
    return model


def loss_and_hit(logits: torch.Tensor | tuple, labels: torch.Tensor) -> torch.Tensor:
    """Of each label its loss, and whether it is the likeliest, (B, T, 2)."""
    logits = logits[0] if isinstance(logits, tuple) else logits
    losses = nn.functional.cross_entropy(logits.float().transpose(1, 2), labels.clamp(min=0), reduction="none")
    return torch.stack([losses, (logits.argmax(dim=-1) == labels).float()], dim=-1)


def measure(trainer: DenoisingTrainer, documents: Sequence[Document]) -> dict[str, float]:
    """How well documents are restored, given all that stands before: the same noise whatever the run's own.

    Returns:
        `loss_per_token`, the mean over all pieces of words, under the noise "choice"; `recovered`, the share of words
        masked by "mask_aspects" all of whose pieces are the likeliest; and of how many `tokens` and `masked_words`.
    """
    restoring = trainer.train_dataset.restoring
    word_ids = [np.array(restoring.original(document.words)["word_ids"]) for document in documents]

    def losses_and_hits(noise: str) -> tuple[list[list[str]], np.ndarray]:
        options = {"seed": HELD_OUT_SEED, "mask": restoring.mask, **NOISES[noise]}
        noisy = [corrupt(document, **options) for document in documents]
        rows = [restoring.row(words, document.words) for words, document in zip(noisy, documents, strict=True)]
        return noisy, predict(trainer, rows)[: len(rows)]  # several processes repeat some, to have equally many

    _, by_choice = losses_and_hits("choice")
    losses = [one[: len(ids), 0][ids >= 0] for one, ids in zip(by_choice, word_ids, strict=True)]
    noisy, by_masks = losses_and_hits("mask_aspects")
    recovered = [
        one[: len(ids), 1][ids == number].all()
        for words, one, ids in zip(noisy, by_masks, word_ids, strict=True)
        for number, word in enumerate(words)
        if word == restoring.mask
    ]
    losses = np.concatenate(losses)
    return {
        "loss_per_token": float(losses.mean(dtype=np.float64)),
        "recovered": float(np.mean(recovered)) if recovered else float("nan"),
        "tokens": len(losses),
        "masked_words": len(recovered),
    }


def training_arguments_of(arguments: ABSATrainingArguments, folder: Path, seed: int, task: Generation, new: bool):
    """Of one seed: nothing is chosen, the last step's weights are saved. `new`: whether some weights are."""
    told = {"eval_strategy": "no", "load_best_model_at_end": False, "patience": None, "oracle": False}
    told |= {} if new else {"new_learning_rate": None}
    of_seed = one_seed(replace(arguments, **told), folder, seed, task, "loss")
    # A batch of logits is as large as in training.
    batch_size = of_seed.per_device_train_batch_size
    # Texts are corrupted anew in each epoch: R-Drop is for what is seen again and again.
    return replace(of_seed, predict_with_generate=False, per_device_eval_batch_size=batch_size, r_drop=False)


def train_one(folder: Path, seed: int, task: Generation, texts: Corpus, noise: str, arguments: Arguments, begin):
    """Trains with one seed, and saves the model in `folder`.

    Args:
        begin: is called when all that training needs is there.
    Returns:
        What results.json says.
    """
    set_seed(seed)
    trained, saved, restoring = start(task, arguments)
    training_arguments = training_arguments_of(arguments.training, folder, seed, task, trained is not saved)
    task.trainer_options(arguments.data, restoring.tokenizer, training_arguments)  # for its errors
    freeze(trained, training_arguments.learning_rates)
    documents, held_out = list(restoring.parts(texts.documents)), list(restoring.parts(texts.held_out))
    if not documents:
        raise ValueError(f"no text is left of {', '.join(texts.counts)}: give --texts that are not held out")
    begin()
    trainer = DenoisingTrainer(
        model=trained,
        args=training_arguments,
        train_dataset=NoisyRows(documents, restoring, seed, noise),
        processing_class=restoring.tokenizer,
        data_collator=DataCollatorForSeq2Seq(restoring.tokenizer),
        preprocess_logits_for_metrics=loss_and_hit,
    )
    before = measure(trainer, held_out)
    seconds = trainer.go_on()
    after = measure(trainer, held_out)
    if trainer.is_world_process_zero():
        saved.save_pretrained(folder)
        restoring.tokenizer.save_pretrained(folder)
    return {
        "seed": seed,
        "noise": noise,
        "corpus": texts.counts,
        "documents": len(documents),
        "held_out": {"documents": len(held_out), "before": before, "after": after},
        "steps": trainer.state.global_step,
        "train_runtime_s": seconds,
        "log": trainer.state.log_history,
    }


def main(argv: list[str]):
    """Trains, for each seed, what the words of a command ask for."""
    arguments, denoising = parse_all(argv, DenoisingArguments)
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    disable_progress_bars()
    state = PartialState()
    task_class = TASKS[arguments.model.task]
    if not task_class.generates:
        raise ValueError(f"task={arguments.model.task} writes nothing: denoising is for --task generation")
    task = task_class.load(arguments.data)
    texts = corpus_of(task, denoising, arguments.data.held_out)
    described = {**decisive(arguments.training), **asdict(arguments.model), **asdict(arguments.data)}
    described |= {"world_size": arguments.training.world_size, **asdict(denoising)}
    described["data_sha256"] = digest({"texts": texts.documents, "held_out": texts.held_out})
    described["start_sha256"] = digest_of_start(arguments.model)
    if state.is_main_process:
        for source, counts in texts.counts.items():
            print(f"{source}: {', '.join(f'{count} {name}' for name, count in counts.items())}", flush=True)

    def train(seed: int, folder: Path, begin: Callable[[], None]) -> dict:
        result = train_one(folder, seed, task, texts, denoising.noise, arguments, begin)
        if state.is_main_process:
            for name, value in result["held_out"].items():
                print(f"seed {seed}, held out, {name}: {value}", flush=True)
        return result

    each_seed(arguments.training, described, train)
    if state.is_main_process:
        start = Path(arguments.training.output_dir) / "seed-{seed}"
        print(f"checkpoints and results, for fine-tuning with these seeds: --model_name_or_path {start}")
