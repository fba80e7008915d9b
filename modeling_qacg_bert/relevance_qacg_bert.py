"""What a model looks at: how much each word matters for its answer (Captum does the work), and its attention."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import signature

import torch
from transformers import PreTrainedModel

from .configuration_qacg_bert import positions_of
from .contexts_qacg_bert import vectors_of
from .encoding_qacg_bert import TOKENS, encode
from .processing_qacg_bert import Contexts, Origins, Word
from .questions_qacg_bert import Question

METHODS = ("gradient", "integrated_gradients")
STEPS = 64  # points of the integral
ATTENTION = "attention"


def token_relevance(
    model: PreTrainedModel,
    inputs: Mapping[str, torch.Tensor],
    labels: torch.Tensor,
    is_text: torch.Tensor,
    method: str = "gradient",
    steps: int = STEPS,
) -> torch.Tensor:
    """Relevance of each token of the texts for the logits of some labels.

    "gradient" is the paper's gradient sensitivity (section 4.5): the squared gradient of the logit with respect to the
    token's word embedding, summed over the hidden dimension. "integrated_gradients" (Sundararajan et al., ICML 2017)
    is signed: over the tokens it sums to the logit minus that of the same input with [PAD] for each token of the text.

    Args:
        model: a classifier, in evaluation mode.
        inputs: of the model, one context a text: `input_ids` (B, n), `context_ids` (B,) and so on.
        labels: (B,) whose logit is explained.
        is_text: (B, n) booleans, false for special tokens, auxiliary sentences and padding.
        method: one of `METHODS`.
        steps: of the integral's approximation (Gauss-Legendre), for "integrated_gradients".
    Returns:
        (B, n)
    Raises:
        ImportError: if Captum is not installed.
    """
    captum = _captum()
    inputs = dict(inputs)
    input_ids = inputs.pop("input_ids")
    embed = model.get_input_embeddings()
    embeddings = embed(input_ids).detach().requires_grad_()  # (B, n, H)

    def logits(embeddings: torch.Tensor, *others: torch.Tensor) -> torch.Tensor:
        return model(inputs_embeds=embeddings, **dict(zip(inputs, others, strict=True))).logits

    arguments = {"target": labels, "additional_forward_args": tuple(inputs.values())}
    with torch.enable_grad():
        if method == "gradient":
            gradient = captum.Saliency(logits).attribute(embeddings, abs=False, **arguments)
            return gradient.square().sum(-1).detach()
        without = input_ids.masked_fill(is_text, model.config.pad_token_id or 0)
        relevance = captum.IntegratedGradients(logits).attribute(
            embeddings,
            baselines=embed(without).detach(),
            n_steps=steps,
            internal_batch_size=len(input_ids),
            **arguments,
        )
        return relevance.sum(-1).detach()


def encode_words(
    model: PreTrainedModel, tokenizer, origins: Sequence[Origins], targets: Sequence[str], aspects: Sequence[str]
) -> dict[str, list]:
    """`encode` as the model reads questions, one context each, with the `words` of each text; and of contexts in words
    the `context_embeds`, (H,)."""
    config = model.config
    contexts = Contexts.from_config(config).including(targets, aspects)
    rows = encode(
        tokenizer,
        contexts,
        [text.text for text in origins],
        targets,
        aspects,
        auxiliary_sentence=config.auxiliary_sentence,
        max_length=min(positions_of(config), tokenizer.model_max_length),
        origins=origins,
    )
    if contexts.is_open and hasattr(model.base_model, "embed_contexts"):
        vectors = vectors_of(model, tokenizer, contexts, rows["context_ids"])
        rows["context_embeds"] = [vectors[context_id] for context_id in rows["context_ids"]]
    return rows


def padded_batches(
    model: PreTrainedModel, tokenizer, rows: Mapping[str, list], batch_size: int
) -> Iterator[tuple[list[int], Mapping[str, torch.Tensor]]]:
    """Numbers of rows of like length, the longest first, and the model's inputs for them, on its device."""
    by_length = sorted(range(len(rows["input_ids"])), key=lambda row: -len(rows["input_ids"][row]))
    for start in range(0, len(by_length), batch_size):
        batch = by_length[start : start + batch_size]
        columns = {name: [rows[name][row] for row in batch] for name in TOKENS}
        inputs = tokenizer.pad(columns, padding_side="right", return_tensors="pt").to(model.device)
        if "context_embeds" in rows:
            inputs["context_embeds"] = torch.stack([rows["context_embeds"][row] for row in batch])
        elif "context_ids" in signature(model.forward).parameters:  # the baseline reads its context in the text alone
            inputs["context_ids"] = torch.tensor([rows["context_ids"][row] for row in batch], device=model.device)
        yield batch, inputs


def relevance_of_words(
    model: PreTrainedModel,
    tokenizer,
    rows: Mapping[str, list],
    labels: Sequence[int],
    method: str = "gradient",
    batch_size: int = 32,
) -> list[dict[Word, float]]:
    """Relevance of the words of each row, which `merged` defines.

    Args:
        model, method: as of `token_relevance`.
        tokenizer: pads the rows.
        rows: of `encode_words`.
        labels: of each row, whose logit is explained.
        batch_size: rows at a time; "integrated_gradients" reads each `STEPS` times.
    """
    found = [{}] * len(labels)
    for batch, inputs in padded_batches(model, tokenizer, rows, batch_size):
        tokens = inputs["attention_mask"].bool()  # (B, n)
        is_text = torch.zeros_like(tokens)
        is_text[tokens] = torch.tensor(
            [word is not None for row in batch for word in rows["words"][row]], device=model.device
        )
        of_labels = torch.tensor([labels[row] for row in batch], device=model.device)
        relevance = token_relevance(model, inputs, of_labels, is_text, method)
        for row, values, is_token in zip(batch, relevance, tokens, strict=True):
            found[row] = merged(rows["words"][row], values[is_token].tolist())
    return found


@torch.no_grad()
def attention_of_words(
    model: PreTrainedModel, tokenizer, rows: Mapping[str, list], batch_size: int = 32
) -> list[dict[Word, dict[str, list[list[float]]]]]:
    """What the first token, which the classifier reads, attends to: the paper's figure 5, for all layers and heads.

    Args:
        As of `relevance_of_words`.
    Returns:
        For each row and word, means over its tokens, as lists of layers of heads: `attention`, the weight A that
        acts on the values, and `quasi_term`, λ_A A_quasi, what of it is not softmax attention; that one is 0 in the
        layers that the contexts of a text share, and there is none for models without quasi-attention.
    """
    found = [{}] * len(rows["input_ids"])
    for batch, inputs in padded_batches(model, tokenizer, rows, batch_size):
        tokens = inputs["attention_mask"].bool()  # (B, n)
        at = torch.arange(len(batch), device=model.device), slice(None), tokens.int().argmax(-1)  # the first token's
        with _weights_shown(model):
            outputs = model(**inputs, output_attentions=True)
        attention = torch.stack([layer.float()[at] for layer in outputs.attentions], 1)  # (B, L, h, n)
        of_tokens = {"attention": attention}
        if getattr(outputs, "quasi_gates", None):
            quasi_term = torch.zeros_like(attention)
            for layer in range(1, len(outputs.quasi_gates) + 1):  # from the last, since shared layers come first
                gate, quasi_attention = outputs.quasi_gates[-layer], outputs.quasi_attentions[-layer]
                quasi_term[:, -layer] = (gate.float() * quasi_attention.float())[at]
            of_tokens["quasi_term"] = quasi_term
        for number, row in enumerate(batch):
            own = {name: values[number][..., tokens[number]].cpu() for name, values in of_tokens.items()}
            found[row] = _by_word(rows["words"][row], own)
    return found


def _by_word(
    words: Sequence[Word | None], of_tokens: Mapping[str, torch.Tensor]
) -> dict[Word, dict[str, list[list[float]]]]:
    """Means over the tokens of each word, of quantities (L, h, n)."""
    numbers = {}
    for number, word in enumerate(words):
        if word is not None:
            numbers.setdefault(word, []).append(number)
    return {
        word: {name: values[..., own].mean(-1).tolist() for name, values in of_tokens.items()}
        for word, own in numbers.items()
    }


@contextmanager
def _weights_shown(model: PreTrainedModel):
    """Transformers' own models give attention weights on their eager backend only; ours see to that themselves."""
    backend = model.config._attn_implementation
    if hasattr(type(model.config), "num_contexts") or backend == "eager":
        yield
        return
    model.set_attn_implementation("eager")
    try:
        yield
    finally:
        model.set_attn_implementation(backend)


def merged(words: Sequence[Word | None], relevance: Sequence[float]) -> dict[Word, float]:
    """Relevance of the words of a text, in their order: the sum over the tokens of each.

    Args:
        words: of each token, as `encode` marks them.
        relevance: of each token.
    Returns:
        Divided by the greatest absolute relevance of a token of the text.
    """
    own = [(word, value) for word, value in zip(words, relevance, strict=True) if word is not None]
    greatest = max((abs(value) for _, value in own), default=0.0) or 1.0
    found = {}
    for word, value in own:
        found[word] = found.get(word, 0.0) + value / greatest
    return found


def said_at(answer: Mapping) -> int:
    """The number of an answer's label; of an abstention that of the most probable one."""
    probabilities = answer["probabilities"]  # in the order of the labels
    return list(probabilities).index(answer["label"] or max(probabilities, key=probabilities.get))


def _captum():
    try:
        from captum import attr
    except ImportError as error:
        raise ImportError("explain needs Captum: pip install captum") from error
    return attr


def explain_answers(
    model: PreTrainedModel,
    tokenizer,
    answered: Sequence[tuple[Question, dict]],
    batch_size: int,
    method: str,
):
    """Puts the words of each question's text, with what explains the answer, into it."""
    questions, answers = ([pair[part] for pair in answered] for part in (0, 1))
    asked = ([getattr(question, field) for question in questions] for field in ("target", "aspect"))
    rows = encode_words(model, tokenizer, [question.origins() for question in questions], *asked)
    if method == ATTENTION:
        found = attention_of_words(model, tokenizer, rows, batch_size)
    else:
        labels = [said_at(answer) for answer in answers]
        relevance = relevance_of_words(model, tokenizer, rows, labels, method, batch_size)
        found = [{word: {"relevance": value} for word, value in of_text.items()} for of_text in relevance]
    for question, answer, of_words in zip(questions, answers, found, strict=True):
        before, _ = question.span or (0, 0)
        answer["words"] = [
            {"word": question.source[start:end], "start": before + start, "end": before + end, **values}
            for (start, end), values in of_words.items()
        ]
