"""Answers, words and counts as HTML; whatever comes from a visitor is escaped."""

from collections.abc import Mapping, Sequence
from html import escape

DOT = "\N{MIDDLE DOT}"
SIGNS = {"positive": "+", "negative": "\N{MINUS SIGN}", "conflict": "\N{PLUS-MINUS SIGN}", "none": DOT}
OTHER_SIGN = "\N{WHITE CIRCLE}"


def message(text: str) -> str:
    """What went wrong, or what to do; read out by screen readers."""
    return f'<p class="message" role="alert">{escape(text)}</p>'


def hint(text: str) -> str:
    """What will stand here."""
    return f'<p class="hint">{escape(text)}</p>'


def table(answers: Sequence[Mapping], notes: Sequence[str]) -> str:
    """A row for each aspect, a column for each target, and in each cell a button with the answer."""
    targets = list(dict.fromkeys(answer["target"] for answer in answers))
    by_aspect = {}
    for answer in answers:
        by_aspect.setdefault(answer["aspect"], {})[answer["target"]] = answer
    columns = "".join(f'<th scope="col">{escape(target or "answer")}</th>' for target in targets)
    rows = "".join(
        f'<tr><th scope="row">{escape(aspect)}</th>'
        + "".join(f"<td>{_cell(by_target[target])}</td>" for target in targets)
        + "</tr>"
        for aspect, by_target in by_aspect.items()
    )
    note = "".join(f"<p>{escape(text)}</p>" for text in notes)
    return (
        '<div class="scrolled" role="region" aria-label="Answers" tabindex="0"><table class="answers">'
        "<caption>Choose an answer to see why.</caption>"
        f'<thead><tr><th scope="col">aspect</th>{columns}</tr></thead><tbody>{rows}</tbody></table></div>{note}'
    )


def _cell(answer: Mapping) -> str:
    label = answer["label"]
    others = f" {DOT} ".join(
        f"{escape(name)} {_percent(value)}" for name, value in answer["probabilities"].items() if name != label
    )
    spoken = f"{answer['target']} {answer['aspect']}: {label}, {_percent(answer['score'])} percent. Show why."
    return (
        f'<button type="button" class="{_label_class(label)}" aria-pressed="false" '
        f'aria-label="{escape(spoken.strip())}" data-target="{escape(answer["target"])}" '
        f'data-aspect="{escape(answer["aspect"])}"><b>{_sign(label)} {escape(label)} {_percent(answer["score"])} %</b>'
        f"<small>{others}</small></button>"
    )


def relevance(text: str, answer: Mapping, method: str) -> str:
    """The text, with its words the stronger coloured the more relevant they are; hatched where against the label."""
    words = answer["words"]
    greatest = max((abs(word["relevance"]) for word in words), default=0.0) or 1.0
    parts, done = [], 0
    for word in words:
        share = word["relevance"] / greatest
        kind = "for" if share >= 0 else "against"
        parts += [
            escape(text[done : word["start"]]),
            f'<mark class="{kind}" style="--share:{abs(share):.3f}" title="{share:.2f}">{escape(word["word"])}</mark>',
        ]
        done = word["end"]
    question = f"{answer['target']} {answer['aspect']}".strip()
    return (
        f"<h3>Which words make it say {escape(answer['label'])} of {escape(question)}, by {escape(method)}</h3>"
        f'<p class="text" data-why="{escape(question)}">{"".join(parts)}{escape(text[done:])}</p>'
        '<p class="legend"><mark class="for" style="--share:0.6">word</mark> for the answer '
        '<mark class="against" style="--share:0.6">word</mark> against it (integrated gradients only)</p>'
    )


def attention(words: Sequence[str], whole: Sequence[float], quasi: Sequence[float], layer: int, head: int) -> str:
    """Bars of what [CLS] attends to in a layer and head: the softmax's and the quasi-attention's part of the whole."""
    rows = [(word, a - b, b, a) for word, a, b in zip(words, whole, quasi, strict=True)]
    greatest = max((abs(value) for _, *values in rows for value in values), default=0.0) or 1.0
    body = "".join(
        f'<tr><th scope="row">{escape(word)}</th>'
        f'<td class="bars"><i class="softmax" style="--share:{softmax / greatest:.3f}"></i>'
        f'<i class="{"adds" if quasi >= 0 else "subtracts"}" style="--share:{abs(quasi) / greatest:.3f}"></i></td>'
        f"<td>{softmax:.4f}</td><td>{quasi:+.4f}</td><td>{whole:.4f}</td></tr>"
        for word, softmax, quasi, whole in rows
    )
    return (
        f"<h3>What layer {layer}, head {head} attends to</h3>"
        '<p class="legend"><i class="softmax"></i> softmax <i class="adds"></i> the context adds '
        '<i class="subtracts"></i> the context subtracts</p>'
        '<div class="scrolled words" role="region" aria-label="Attention" tabindex="0"><table class="attention">'
        '<thead><tr><th scope="col">word</th><th scope="col"><span class="unseen">bars</span></th>'
        '<th scope="col">softmax</th><th scope="col">context</th><th scope="col">sum</th></tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def chart(counts: Mapping[str, Mapping[str, int]], num_texts: int, num_silent: int, num_truncated: int) -> str:
    """Bars of how many texts say what of each aspect.

    Args:
        counts: of each aspect how often each label was given, without none.
        num_texts: that were asked.
        num_silent, num_truncated: those of them without an answer, and those whose ends were not read.
    """
    greatest = max((sum(of_aspect.values()) for of_aspect in counts.values()), default=0) or 1
    rows = "".join(
        f'<tr><th scope="row">{escape(aspect)}</th><td class="stack">'
        + "".join(
            f'<i class="{_label_class(label)}" style="--share:{count / greatest:.4f}"></i>'
            for label, count in of_aspect.items()
        )
        + "</td><td>"
        + (", ".join(f"{_sign(label)} {count} {escape(label)}" for label, count in of_aspect.items()) or "nothing")
        + "</td></tr>"
        for aspect, of_aspect in counts.items()
    )
    return (
        f"<h3>What {num_texts} {'text says' if num_texts == 1 else 'texts say'}</h3>"
        f'<div class="scrolled" role="region" aria-label="Summary" tabindex="0"><table class="summary">'
        f"<tbody>{rows}</tbody></table></div><p>Without any answer: {num_silent}.</p>"
        + (f"<p>Too long for the model, their ends not read: {num_truncated}.</p>" if num_truncated else "")
    )


def _percent(probability: float) -> str:
    return f"{100 * probability:.0f}"


def _sign(label: str) -> str:
    return SIGNS.get(label, OTHER_SIGN)


def _label_class(label: str) -> str:
    return f"label {label if label in SIGNS else 'other'}"
