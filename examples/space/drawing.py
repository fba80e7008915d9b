"""Texts, answers and counts as HTML; whatever comes from a visitor is escaped."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import pairwise

from asking import LEFT_OUT, Answer, Attention, Explained

DOT = "\N{MIDDLE DOT}"
SIGNS = {
    "positive": "+",
    "negative": "\N{MINUS SIGN}",
    "neutral": "=",
    "conflict": "\N{PLUS-MINUS SIGN}",
    "none": DOT,
}
OTHER_SIGN = "\N{BLACK SMALL SQUARE}"
HARDLY = 0.02  # a change of a probability that is not worth a mark
MOST_ROWS = 12  # of a chart


def message(text: str) -> str:
    """What went wrong, or what to do; read out by screen readers."""
    return f'<p class="message" role="alert">{escape(text)}</p>'


def hint(text: str) -> str:
    """What will stand here."""
    return f'<p class="hint">{escape(text)}</p>'


def welcome() -> str:
    """What will stand in the place of answers, and how it is read."""
    marks = "".join(
        f'<mark class="target {_class(label)}" data-sign="{_sign(label)}">{label}</mark> '
        for label in ("positive", "negative", "neutral")
    )
    return (
        '<div class="hint"><p>Type a text and press Ask. What it speaks of will be marked here, by what it says:</p>'
        f'<p class="sample">{marks}</p><p>Then choose an answer, and the <mark class="for" style="--share:.8">words '
        "behind it</mark> will be marked too.</p></div>"
    )


def sentence(text: str, answers: Sequence[Answer], none_label: str | None, explained: Explained | None = None) -> str:
    """The text with its targets and opinions marked; with an explanation also the words behind an answer.

    A piece of the text has a class for each thing that it is a part of. Signs come from `data-sign`, so that what is
    copied is the text alone.
    """
    labels = {}  # of each place in the text and what stands there
    for answer in answers:
        for kind in ("target", "opinion"):
            start, end = getattr(answer, f"{kind}_start"), getattr(answer, f"{kind}_end")
            if start is not None:
                said = labels.setdefault((start, end, kind), [])
                said += [answer.label] if answer.label != none_label or answer.label is None else []
    chosen = set()
    if explained is not None:
        one = explained.answer
        chosen = {(one.target_start, one.target_end, "target"), (one.opinion_start, one.opinion_end, "opinion")}
    weights = _shares(explained) if explained else {}
    cuts = sorted({0, len(text), *(cut for span in (*labels, *weights) for cut in span[:2])})
    pieces = []
    for start, end in pairwise(cuts):
        own = [(span, said) for span, said in labels.items() if span[0] <= start and end <= span[1]]
        share = next((share for span, share in weights.items() if span[0] <= start and end <= span[1]), 0.0)
        classes, data = [], ""
        for span, said in own:
            distinct = list(dict.fromkeys(said))
            polarity = _class(distinct[0]) if len(distinct) == 1 else "mixed" if distinct else "none"
            classes += [span[2], polarity, *(["chosen"] if span in chosen else [])]
            if end == span[1] and span[2] == "target" and distinct:
                data = f' data-sign="{"".join(map(_sign, distinct))}"'
        if share:
            classes.append("for" if share > 0 else "against")
            data += f' style="--share:{abs(share):.2f}" title="{share:+.2f}"'
        written = escape(text[start:end])
        pieces.append(f'<mark class="{" ".join(classes)}"{data}>{written}</mark>' if classes else written)
    return f'<p class="sentence{" explained" if explained else ""}">{"".join(pieces)}</p>'


def _shares(explained: Explained) -> dict[tuple[int, int], float]:
    """The weights of words, the greatest 1 or -1; of a changed probability only what changes it."""
    least = HARDLY if explained.method == LEFT_OUT else 0.0
    greatest = max((abs(word.value) for word in explained.words), default=0.0) or 1.0
    return {
        (word.start, word.end): word.value / greatest
        for word in explained.words
        if abs(word.value) > least and abs(word.value / greatest) >= 0.05
    }


def why(explained: Explained) -> str:
    """What the marks of an explanation mean."""
    answer, shares = explained.answer, _shares(explained).values()
    said = f"<b>{escape(answer.label or 'this answer')} <small>{escape(about(answer))}</small></b>"
    by_method = f"by {explained.method.replace('_', ' ')}"
    speaks = "without them the answer is less probable" if explained.method == LEFT_OUT else by_method
    rests = f'rests on the <mark class="for" style="--share:.8">marked</mark> words: {speaks}.'
    if not any(share > 0 for share in shares):
        rests = "rests on no single word: without any one of them it is about as probable, or more."
    against = ' <mark class="against" style="--share:.6">Hatched</mark> words speak against it.'
    return f'<p class="why">{said} {rests}{against if any(share < 0 for share in shares) else ""}</p>'


def about(answer: Answer) -> str:
    """What an answer is about."""
    return f" {DOT} ".join(filter(None, (answer.target, answer.aspect))) or answer.opinion or "the text"


def cards(answers: Sequence[Answer], none_label: str | None, notes: Sequence[str]) -> str:
    """A button for each answer; those that say nothing in one line below the others."""
    numbered = list(enumerate(answers))
    saying = [pair for pair in numbered if pair[1].label is None or pair[1].label != none_label]
    silent = [pair for pair in numbered if pair not in saying]
    noted = "".join(f'<p class="note">{escape(text)}</p>' for text in notes)
    if not numbered:
        return f'<h3 tabindex="-1">Nothing found</h3><p class="note">The model finds nothing in this text.</p>{noted}'
    count = f"{len(saying) or 'No'} answer{'' if len(saying) <= 1 else 's'}"
    shown = "".join(f"<li>{_card(number, answer)}</li>" for number, answer in saying)
    quiet = " ".join(_chip(number, answer) for number, answer in silent)
    return (
        f'<h3 tabindex="-1">{count} <small>choose one to see why</small></h3>'
        + (f'<ul class="answers">{shown}</ul>' if shown else "")
        + (f'<p class="silent">Says nothing of {quiet}</p>' if quiet else "")
        + noted
    )


def _spoken(answer: Answer) -> str:
    said = f"{answer.label}, {_percent(answer.score)} percent" if answer.label else f"{_percent(answer.score)} percent"
    of = f", {answer.opinion}" if answer.opinion and answer.target else ""
    return f"{' '.join(filter(None, (answer.target, answer.aspect))) or answer.opinion}{of}: {said}. Show why."


def _button(number: int, answer: Answer, kind: str, content: str) -> str:
    return (
        f'<button type="button" class="{kind} {_class(answer.label)}" aria-pressed="false" data-number="{number}" '
        f'aria-label="{escape(_spoken(answer))}">{content}</button>'
    )


def _card(number: int, answer: Answer) -> str:
    opinion = f"<q>{escape(answer.opinion)}</q>" if answer.opinion and answer.target else ""
    name = f"<b>{escape(answer.target or answer.aspect or answer.opinion or '')}</b>"
    aspect = f" <span>{escape(answer.aspect)}</span>" if answer.target and answer.aspect else ""
    shares = answer.probabilities or {answer.label or "": answer.score}
    bar = "".join(
        f'<i class="{_class(label)}" style="--share:{share:.3f}"></i>' for label, share in shares.items() if share
    )
    return _button(
        number,
        answer,
        "answer",
        f'<span class="sign">{_sign(answer.label)}</span><span class="about">{name}{aspect}{opinion}</span>'
        f'<span class="says">{escape(answer.label or "found")} <small>{_percent(answer.score)} %</small></span>'
        f'<span class="bar" aria-hidden="true">{bar}</span>',
    )


def _chip(number: int, answer: Answer) -> str:
    return _button(number, answer, "quiet", escape(about(answer)))


def numbers(explained: Explained, text: str) -> str:
    """The probabilities of an answer, and the weight of each word."""
    answer = explained.answer
    labels = answer.probabilities or {answer.label or "the answer": answer.score}
    of_labels = "".join(
        f'<tr><th scope="row">{escape(label)}</th><td>{p:.4f}</td></tr>' for label, p in labels.items()
    )
    of_words = "".join(
        f'<tr><th scope="row">{escape(text[word.start : word.end])}</th><td>{word.value:+.4f}</td></tr>'
        for word in sorted(explained.words, key=lambda word: -abs(word.value))
    )
    what = "probability lost without it" if explained.method == LEFT_OUT else explained.method.replace("_", " ")

    def table(first: str, second: str, rows: str) -> str:
        head = f'<thead><tr><th scope="col">{first}</th><th scope="col">{second}</th></tr></thead>'
        return f"<table>{head}<tbody>{rows}</tbody></table>"

    return (
        f'<div class="tables">{table("label", "probability", of_labels)}'
        f'<div class="scrolled" role="region" aria-label="Words" tabindex="0">{table("word", what, of_words)}</div>'
        "</div>"
    )


def attention(attended: Attention, layer: int, head: int) -> str:
    """Bars of what [CLS] attends to in a layer and head: the softmax's and the quasi-attention's part of the whole."""
    whole, quasi = (part[:, layer - 1, head - 1].tolist() for part in (attended.whole, attended.quasi_term))
    rows = [(word, a - b, b) for word, a, b in zip(attended.words, whole, quasi, strict=True)]
    greatest = max((abs(value) for _, *values in rows for value in values), default=0.0) or 1.0
    body = "".join(
        f'<tr><th scope="row">{escape(word)}</th>'
        f'<td class="bars"><i class="softmax" style="--share:{softmax / greatest:.3f}"></i>'
        f'<i class="{"adds" if quasi >= 0 else "subtracts"}" style="--share:{abs(quasi) / greatest:.3f}"></i></td>'
        f"<td>{softmax:.4f}</td><td>{quasi:+.4f}</td></tr>"
        for word, softmax, quasi in rows
    )
    return (
        f"<h3>What layer {layer}, head {head} attends to</h3>"
        '<p class="legend"><i class="softmax"></i> softmax <i class="adds"></i> the context adds '
        '<i class="subtracts"></i> the context subtracts</p>'
        '<div class="scrolled" role="region" aria-label="Attention" tabindex="0"><table class="attention">'
        '<thead><tr><th scope="col">word</th><th scope="col"><span class="unseen">bars</span></th>'
        '<th scope="col">softmax</th><th scope="col">context</th></tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


class Counts:
    """How often texts say what of each aspect, or of each target."""

    def __init__(self):
        self.labels: dict[str, Counter] = {}
        self.num_texts = self.num_silent = self.num_truncated = 0

    def add(self, answers: Iterable[Answer], truncated: bool):
        """A text, with what it says."""
        answers = list(answers)
        self.num_texts += 1
        self.num_silent += not answers
        self.num_truncated += truncated
        for answer in answers:
            name = answer.aspect or (answer.target or answer.opinion or "").casefold()
            self.labels.setdefault(name, Counter())[answer.label or "found"] += 1


def chart(counts: Counts) -> str:
    """Bars of how often texts say what of each thing, the most frequent first."""
    totals: Mapping[str, int] = {name: of_name.total() for name, of_name in counts.labels.items()}
    names = sorted(totals, key=totals.get, reverse=True)
    greatest = max(totals.values(), default=1)
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td class="stack">'
        + "".join(
            f'<i class="{_class(label)}" style="--share:{count / greatest:.4f}"></i>'
            for label, count in sorted(counts.labels[name].items())
        )
        + "</td><td>"
        + " ".join(
            f"<span>{_sign(label)} {count} {escape(label)}</span>"
            for label, count in sorted(counts.labels[name].items())
        )
        + "</td></tr>"
        for name in names[:MOST_ROWS]
    )
    notes = [f"Without any answer: {counts.num_silent}."]
    if len(names) > MOST_ROWS:
        notes.append(f"{len(names) - MOST_ROWS} more are in the file.")
    if counts.num_truncated:
        notes.append(f"Too long for the model, their ends not read: {counts.num_truncated}.")
    return (
        f"<h3>What {counts.num_texts} {'text says' if counts.num_texts == 1 else 'texts say'}</h3>"
        f'<div class="scrolled" role="region" aria-label="Summary" tabindex="0"><table class="summary">'
        f'<tbody>{rows}</tbody></table></div><p class="note">{" ".join(notes)}</p>'
    )


def _percent(probability: float) -> str:
    return f"{100 * probability:.0f}"


def _sign(label: str | None) -> str:
    return SIGNS.get(label, OTHER_SIGN)


def _class(label: str | None) -> str:
    return label if label in SIGNS else "other"
