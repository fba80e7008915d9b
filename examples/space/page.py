"""The page: what visitors fill in, what is drawn of the answers, and how one follows from the other."""

from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

import gradio as gr

import drawing
import tables
from asking import LEFT_OUT, Asked, Asker, Explained

HOUR = 3600
MAX_WAITING = 64  # visitors in the queue; whoever comes then is told that the demo is busy
PLACES = [  # texts, and the words in them to ask about
    ("Camden is far too expensive, but I always felt safe there.", "Camden"),
    ("Hackney is cheap, while Kensington costs a fortune.", "Hackney, Kensington"),
    ("I love Peckham: buses all night and never a quiet weekend!", "Peckham"),
]
REVIEWS = [
    ("The soup was cold, but the waiters were lovely.", "soup, waiters"),
    ("Great screen, lovely keyboard, yet the battery is a joke.", "screen, keyboard, battery"),
    ("Good value, but a loud room.", "room"),
]
UPLOAD = "What the texts of your file say will stand here."
READ_OUT = '<div aria-live="polite">${value}</div>'
CHOOSE = """
element.addEventListener('click', event => {
    const chosen = event.target.closest('button[data-number]');
    if (!chosen) return;
    for (const button of element.querySelectorAll('button[data-number]'))
        button.setAttribute('aria-pressed', button === chosen);
    trigger('select', {number: Number(chosen.dataset.number)});
});
"""
# Answers may stand below the screen, as on a phone, or above it, beside a long text: the page goes there when they are
# asked for, and when they have come.
TO_ANSWERS = """() => requestAnimationFrame(() => requestAnimationFrame(() => {
    const result = document.getElementById('result');
    const {top} = result.getBoundingClientRect();
    if (top >= 0 && top < innerHeight * 0.4) return;
    const behavior = matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth';
    result.scrollIntoView({behavior, block: 'start'});
    document.activeElement.blur();  // closes the keyboard of a phone
    document.querySelector('#answers h3')?.focus({preventScroll: true});
}))"""
TO_SENTENCE = "() => document.getElementById('sentence').scrollIntoView({block: 'nearest'})"


def names_between_commas(written: str | None) -> list[str]:
    return list(dict.fromkeys(name.strip() for name in (written or "").split(",") if name.strip()))


def names_for(asker: Asker, written: str | None) -> list[str]:
    """The names that were written, if a model takes some."""
    return names_between_commas(written) if asker.asks_names else []


def aspects_for(asker: Asker, chosen: list[str] | None, others: str | None) -> list[str]:
    """The aspects that were chosen and those that were written, as far as a model takes them."""
    written = names_between_commas(others) if asker.takes_words else ()
    return list(dict.fromkeys([*(aspect for aspect in chosen or () if aspect in asker.aspects), *written]))


def question_fields(asker: Asker) -> dict[str, dict]:
    """What the fields for the questions show for a model."""
    guesses = bool(getattr(asker, "targets", None))
    return {
        "names": {
            "label": "Names in the text" if guesses else "Words of the text to ask about",
            "placeholder": "Camden, Soho" if guesses else "soup, waiters",
            "info": "With commas between." + " Left empty, capitalised words are taken." * guesses,
            "value": "",
            "visible": asker.asks_names,
        },
        # A hidden group keeps what it held in the browser: it keeps its choices too.
        "aspects": {"choices": list(asker.aspects), "value": list(asker.aspects), "visible": True}
        if asker.aspects
        else {"visible": False},
        "others": {"value": "", "visible": asker.takes_words},
    }


def ask_about(asker: Asker) -> list[gr.components.Component]:
    """The fields for the questions."""
    fields = question_fields(asker)
    return [
        gr.Textbox(**fields["names"], elem_id="names"),
        gr.CheckboxGroup(**fields["aspects"], label="Aspects", elem_id="aspects"),
        gr.Textbox(
            **fields["others"],
            label="Other aspects, in your own words",
            placeholder="noise at night, parking",
            info="With commas between.",
            elem_id="others",
        ),
    ]


def examples_of(asker: Asker) -> list[tuple[str, str]]:
    return PLACES if getattr(asker, "targets", None) else REVIEWS


def build(askers: Mapping[str, Asker]) -> gr.Blocks:
    """The page; each function in it takes what its inputs hold and returns what its outputs shall show.

    Args:
        askers: of the models by their names, of which visitors pick one.
    """
    first = next(iter(askers))
    methods = {key: name for asker in askers.values() for key, name in asker.methods.items()}

    def switch(model: str):
        asker = askers[model]
        fields = [gr.update(**update) for update in question_fields(asker).values()]
        samples = [text for text, _ in examples_of(asker)]
        examples = gr.Dataset(samples=[[text] for text in samples], sample_labels=samples)
        return asker.does, *fields, examples, *nothing(drawing.welcome())

    def nothing(told: str):
        """Of `results`, where there are no answers."""
        return told, "", "", (), None, gr.update(visible=False)

    def fill(number: int, model: str):
        text, names = examples_of(askers[model])[number]
        return text, names if askers[model].asks_names else ""

    def ask(
        text: str | None,
        names: str | None,
        aspects: list[str] | None,
        others: str | None = None,
        model: str | None = None,
        guess: str | None = None,
    ):
        asker = askers[model or first]
        try:  # names that were a guess are guessed anew for another text
            given = [] if names == guess else names_for(asker, names)
            asked = asker.ask(text or "", given, aspects_for(asker, aspects, others))
        except ValueError as error:
            return *nothing(drawing.message(str(error))), gr.skip(), gr.skip()
        notes, guess = list(asked.notes), ""
        if asked.guessed:
            guess = ", ".join(asked.names)
            notes.insert(0, f"Taken for names: {guess}. If that is wrong, change the names and ask again.")
        return (
            drawing.sentence(asked.text, asked.answers, asker.none_label),
            "",
            drawing.cards(asked.answers, asker.none_label, notes),
            (model or first, asked),
            None,
            gr.update(visible=False),
            guess if asked.guessed else gr.skip(),
            guess,
        )

    def choose(asked: tuple[str, Asked] | tuple[()] | None, method: str, event: gr.EventData):
        if asked is None:  # after an hour
            return gr.skip(), drawing.message("These answers are old: ask again."), *[gr.skip()] * 7
        if not asked:  # another model was taken meanwhile
            return [gr.skip()] * 9
        return explain(*asked, event.number, method)

    def explain(model: str, asked: Asked, number: int, method: str):
        asker, answer = askers[model], asked.answers[number]
        method = method if method in asker.methods else LEFT_OUT
        try:
            explained = asker.explain(asked, answer, method)
        except ValueError as error:
            return *[gr.skip()] * 4, drawing.message(str(error)), *[gr.skip()] * 4
        attended = explained.attention
        layer, head = attended.most_subtracting() if attended else (1, 1)
        return (
            drawing.sentence(asked.text, asked.answers, asker.none_label, explained),
            drawing.why(explained),
            (number, explained),
            gr.update(visible=True),
            drawing.numbers(explained, asked.text),
            gr.update(visible=len(asker.methods) > 1),
            one_of(asker.num_layers, layer),
            one_of(asker.num_heads, head),
            drawing.attention(attended, layer, head) if attended else "",
        )

    def one_of(number: int, chosen: int):
        """Of a dropdown, hidden where there is nothing to choose from."""
        return (
            gr.update(choices=list(range(1, number + 1)), value=chosen, visible=True)
            if number
            else gr.update(visible=False)
        )

    def explain_again(
        asked: tuple[str, Asked] | tuple[()] | None, explained: tuple[int, Explained] | None, method: str
    ):
        if not asked or explained is None:
            return [gr.skip()] * 9
        return explain(*asked, explained[0], method)

    def attend(explained: tuple[int, Explained] | None, layer: int, head: int) -> str:
        return drawing.attention(explained[1].attention, layer, head) if explained else ""

    def annotate(
        file: str | None,
        column: str | None,
        names: str | None,
        aspects: list[str] | None,
        others: str | None = None,
        model: str | None = None,
        progress=gr.Progress(),  # noqa: B008 (by this Gradio knows that it is wanted)
    ):
        if file is None:
            return drawing.message("Give a csv file first."), gr.update(visible=False)
        asker, column = askers[model or first], (column or "").strip()
        counts, annotated = drawing.Counts(), []
        try:
            columns, rows = tables.read(file, column)
            texts = [row[column] for row in rows]
            answered = asker.ask_all(texts, names_for(asker, names), aspects_for(asker, aspects, others))
            for row, answers in zip(rows, progress.tqdm(answered, total=len(rows), unit="texts"), strict=True):
                said = [one for one in answers if one.label is None or one.label != asker.none_label]
                annotated += tables.annotated(row, said)
                counts.add(said, truncated=any(one.truncated for one in answers))
        except ValueError as error:
            return drawing.message(str(error)), gr.update(visible=False)
        folder = Path(result.GRADIO_CACHE) / uuid4().hex  # which `delete_cache` looks after
        folder.mkdir(parents=True)
        tables.write(folder / "annotated.csv", columns, annotated)
        return drawing.chart(counts), gr.update(value=str(folder / "annotated.csv"), visible=True)

    asker = askers[first]
    with gr.Blocks(title="What do people say about this?", analytics_enabled=False, delete_cache=(HOUR, HOUR)) as page:
        asked, explained = gr.State(time_to_live=HOUR), gr.State(time_to_live=HOUR)
        # In the browser, as the names are: a question has both as they were when it was asked.
        guess = gr.Textbox("", visible=False)
        gr.Markdown("# What do people say about this?", elem_id="title")
        model = gr.Radio(list(askers), value=first, label="Model", visible=len(askers) > 1, elem_id="model")
        does = gr.Markdown(asker.does, elem_id="does")
        with gr.Row(elem_id="halves"):  # what is of one text or of many is shown by style.css
            with gr.Column(min_width=300):
                with gr.Tab("One text"):
                    text = gr.Textbox(
                        label="Text", lines=3, max_lines=12, placeholder="A review, a post", elem_id="text"
                    )
                    samples = [one for one, _ in examples_of(asker)]
                    examples = gr.Dataset(
                        components=[gr.Textbox(render=False)],
                        samples=[[one] for one in samples],
                        sample_labels=samples,
                        type="index",
                        label="Or take one of these",
                        elem_id="examples",
                    )
                with gr.Tab("Many texts", elem_id="many"):
                    limits = f"csv in UTF-8, {tables.MAX_ROWS:,} rows at most"
                    file = gr.File(label=limits, file_types=[".csv"], height=140, elem_id="file")
                    column = gr.Textbox("text", label="Its column with the texts", elem_id="column")
                questions = ask_about(asker)
                button = gr.Button("Ask", variant="primary", elem_id="ask", elem_classes="of-one")
                run = gr.Button("Annotate", variant="primary", elem_id="annotate", elem_classes="of-many")
            with gr.Column(min_width=300, elem_id="result"):
                with gr.Column(elem_classes="of-one"):
                    sentence = gr.HTML(drawing.welcome(), elem_id="sentence")
                    why = gr.HTML("", html_template=READ_OUT, elem_id="why")
                    answers = gr.HTML("", html_template=READ_OUT, js_on_load=CHOOSE, elem_id="answers")
                    with gr.Accordion("For researchers", open=False, visible=False, elem_id="numbers") as panel:
                        choices = [(name, key) for key, name in methods.items()]
                        method = gr.Radio(choices, value=LEFT_OUT, label="Weigh words by", elem_id="method")
                        numbers = gr.HTML("", html_template=READ_OUT)
                        with gr.Row():
                            layer = gr.Dropdown([1], value=1, label="Layer", elem_id="layer")
                            head = gr.Dropdown([1], value=1, label="Head", elem_id="head")
                        attention = gr.HTML("", elem_id="attention")
                with gr.Column(elem_classes="of-many"):
                    summary = gr.HTML(drawing.hint(UPLOAD), html_template=READ_OUT, elem_id="summary")
                    result = gr.File(label="Annotated csv", interactive=False, visible=False, elem_id="annotated")

        # One after the other, none left out: what is shown last is what was asked last.
        in_turn = {"trigger_mode": "multiple", "concurrency_limit": 1, "concurrency_id": "model"}
        private = {"api_visibility": "private"}
        results = [sentence, why, answers, asked, explained, panel]
        asking = {"fn": ask, "inputs": [text, *questions, model, guess], "outputs": [*results, questions[0], guess]}
        gr.on([button.click, text.submit], None, js=TO_ANSWERS, **private)
        gr.on([button.click, text.submit], **asking, api_name="ask", **in_turn).then(None, js=TO_ANSWERS, **private)
        examples.click(None, js=TO_ANSWERS, **private)
        examples.click(fill, [examples, model], [text, questions[0]], **private).then(
            **asking, **private, **in_turn
        ).then(None, js=TO_ANSWERS, **private)
        outputs = [does, *questions, examples, *results]
        model.input(switch, model, outputs, **private, **in_turn)
        shown = [sentence, why, explained, panel, numbers, method, layer, head, attention]
        answers.select(choose, [asked, method], shown, **private, **in_turn).then(None, js=TO_SENTENCE, **private)
        method.input(explain_again, [asked, explained, method], shown, **private, **in_turn)
        for choice in (layer, head):
            choice.input(attend, [explained, layer, head], attention, **private, **in_turn)
        run.click(None, js=TO_ANSWERS, **private)
        run.click(annotate, [file, column, *questions, model], [summary, result], api_name="annotate").then(
            None, js=TO_ANSWERS, **private
        )
    return page.queue(max_size=MAX_WAITING)
