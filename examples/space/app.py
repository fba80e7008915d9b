"""A demo: what a text says about each target and aspect, and which words make the model say so.

    make space
    MODEL=USER/MODEL python examples/space/app.py

The folder is a Space of the Hub as it is: set the variable MODEL there, and REVISION to pin the model's code.
"""

import os
from collections import Counter
from pathlib import Path
from uuid import uuid4

import gradio as gr
import torch
from transformers import pipeline

import drawing
import tables
from asking import Asked, Asker, Explained

HOUR = 3600
MAX_WAITING = 64  # visitors in the queue; whoever comes then is told that the demo is busy
EXAMPLES = {
    True: [  # for models that know targets
        "Camden is far too expensive, but I always felt safe there.",
        "Hackney is cheap, while Kensington costs a fortune.",
        "I love Peckham: buses all night and never a quiet weekend!",
    ],
    False: ["The soup was cold, but nobody minded: the waiters were lovely.", "Good value, but a loud room."],
}
ASK = "Type a text and ask: the answers will stand here."
WHY = "Choose an answer above to see why the model gives it."
UPLOAD = "Give a csv file: what its texts say will stand here."
METHODS = [("gradient", "gradient"), ("integrated gradients (slower; with a sign)", "integrated_gradients")]
READ_OUT = '<div aria-live="polite">${value}</div>'
CHOOSE = """
element.addEventListener('click', event => {
    const chosen = event.target.closest('button[data-aspect]');
    if (!chosen) return;
    for (const button of element.querySelectorAll('button[data-aspect]'))
        button.setAttribute('aria-pressed', button === chosen);
    trigger('select', {name: chosen.dataset.target, aspect: chosen.dataset.aspect});
});
"""
# The visitor's own fonts, so that the page loads nothing from elsewhere.
THEME = gr.themes.Default(font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"])
STYLE = Path(__file__).with_name("style.css")


def load_asker(model: str, revision: str | None) -> Asker:
    """The pipeline of a folder or Hub repo.

    Raises:
        SystemExit: saying what to do, if there is no such model.
    """
    device = 0 if torch.cuda.is_available() else -1
    try:
        pipe = pipeline("aspect-sentiment", model=model, revision=revision, trust_remote_code=True, device=device)
    except (OSError, KeyError, ValueError) as error:  # the last two are for models of another task
        raise SystemExit(
            f"MODEL={model!r} is no classifier that examples/run_absa.py or publish.py has written (a tagger is asked "
            f"with examples/predict.py): {str(error).splitlines()[0][:120]}"
        ) from error
    return Asker(pipe)


def names_between_commas(written: str | None) -> list[str]:
    return list(dict.fromkeys(name.strip() for name in (written or "").split(",") if name.strip()))


def with_others(aspects: list[str], others: str | None) -> list[str]:
    """The aspects that were chosen and those that were written."""
    return list(dict.fromkeys([*aspects, *names_between_commas(others)]))


def build(asker: Asker) -> gr.Blocks:
    """The page; each function in it takes what its inputs hold and returns what its outputs shall show."""

    def ask(text: str | None, names: str | None, aspects: list[str], others: str | None = None):
        try:
            asked = asker.ask(text or "", names_between_commas(names), with_others(aspects, others))
        except ValueError as error:
            return drawing.message(str(error)), None, None, drawing.hint(WHY), ""
        return drawing.table(asked.answers, asked.notes), asked, None, drawing.hint(WHY), ""

    def choose(asked: Asked, method: str, event: gr.EventData):
        try:
            explained = asker.explain(asked, event.name, event.aspect, method)
        except ValueError as error:
            return None, drawing.message(str(error)), gr.skip(), gr.skip(), ""
        layer, head = asker.most_subtracting(explained)
        return explained, draw_relevance(asked, explained), layer, head, attend(explained, layer, head)

    def explain_again(asked: Asked | None, explained: Explained | None, method: str):
        if explained is None:
            return None, drawing.hint(WHY)
        try:
            again = asker.explain(asked, explained.answer["target"], explained.answer["aspect"], method)
        except ValueError as error:
            return explained, drawing.message(str(error))
        return again, draw_relevance(asked, again)

    def draw_relevance(asked: Asked, explained: Explained) -> str:
        names = {method: name for name, method in METHODS}
        return drawing.relevance(asked.text, explained.answer, names[explained.method].partition(" (")[0])

    def attend(explained: Explained | None, layer: int, head: int) -> str:
        if explained is None:
            return ""
        words = [word["word"] for word in explained.answer["words"]]
        whole, quasi = (part[:, layer - 1, head - 1].tolist() for part in (explained.attention, explained.quasi_term))
        return drawing.attention(words, whole, quasi, layer, head)

    def annotate(
        file: str | None,
        column: str | None,
        names: str | None,
        aspects: list[str],
        others: str | None = None,
        progress=gr.Progress(),  # noqa: B008 (by this Gradio knows that it is wanted)
    ):
        if file is None:
            return drawing.message("Give a csv file first."), None
        column, aspects = (column or "").strip(), with_others(aspects, others)
        try:
            columns, rows = tables.read(file, column)
            texts = [row[column] for row in rows]
            counts = {aspect: Counter() for aspect in aspects}
            annotated, num_silent, num_truncated = [], 0, 0
            answered = asker.ask_all(texts, names_between_commas(names), aspects)
            for row, answers in zip(rows, progress.tqdm(answered, total=len(rows), unit="texts"), strict=True):
                said = [answer for answer in answers if answer["label"] != asker.none_label]
                annotated += tables.annotated(row, said)
                num_silent += not said
                num_truncated += any(answer["truncated"] for answer in answers)
                for answer in said:
                    counts[answer["aspect"]][answer["label"]] += 1
        except ValueError as error:
            return drawing.message(str(error)), None
        folder = Path(result.GRADIO_CACHE) / uuid4().hex  # which `delete_cache` looks after
        folder.mkdir(parents=True)
        tables.write(folder / "annotated.csv", columns, annotated)
        return drawing.chart(counts, len(rows), num_silent, num_truncated), str(folder / "annotated.csv")

    has_targets = bool(asker.targets)
    with gr.Blocks(title="Context-Guided BERT", analytics_enabled=False, delete_cache=(HOUR, HOUR)) as page:
        asked, explained = gr.State(time_to_live=HOUR), gr.State(time_to_live=HOUR)
        gr.Markdown(
            "# What do people say about this?\nA context-guided BERT answers for each target and aspect of a text, "
            "and shows what its answer goes by. It makes mistakes: see the limits in its model card."
        )
        with gr.Accordion("What to ask about", open=True):
            names = gr.Textbox(
                "",
                label="Names of places or things, as in the text, with commas between",
                placeholder="none: they are looked for",
                visible=has_targets,
                elem_id="names",
            )
            aspects = gr.CheckboxGroup(asker.aspects, value=asker.aspects, label="Aspects", elem_id="aspects")
            others = gr.Textbox(
                "",
                label="Other aspects, in your own words, with commas between",
                placeholder="noise at night, parking",
                visible=asker.takes_words,
                elem_id="others",
            )
        with gr.Tab("One text"):
            text = gr.Textbox(label="Text", lines=3, max_lines=12, elem_id="text")
            button = gr.Button("Ask", variant="primary", elem_id="ask")
            gr.Examples(EXAMPLES[has_targets], text)
            answers = gr.HTML(
                drawing.hint(ASK),
                html_template=READ_OUT,
                js_on_load=CHOOSE,
                min_height=80 + 76 * len(asker.aspects),  # so that nothing below it moves
                elem_id="answers",
            )
            method = gr.Radio(METHODS, value="gradient", label="Relevance of words by", elem_id="method")
            relevance = gr.HTML(drawing.hint(WHY), html_template=READ_OUT, min_height=140, elem_id="relevance")
            gr.Markdown("A new answer is shown in the layer and head where the context subtracts most.")
            with gr.Row():
                layers, heads = range(1, asker.num_layers + 1), range(1, asker.num_heads + 1)
                layer = gr.Dropdown(list(layers), value=layers[-1], label="Layer", elem_id="layer")
                head = gr.Dropdown(list(heads), value=1, label="Head", elem_id="head")
            attention = gr.HTML("", min_height=360, elem_id="attention")
        with gr.Tab("Many texts"):
            file = gr.File(
                label=f"csv in UTF-8, {tables.MAX_ROWS:,} rows at most", file_types=[".csv"], elem_id="file"
            )
            column = gr.Textbox("text", label="Its column with the texts", elem_id="column")
            run = gr.Button("Annotate", variant="primary", elem_id="annotate")
            summary = gr.HTML(drawing.hint(UPLOAD), html_template=READ_OUT, min_height=220, elem_id="summary")
            result = gr.File(label="Annotated csv", interactive=False, elem_id="result")

        # One after the other, none left out: what is shown last is what was asked last.
        in_turn = {"trigger_mode": "multiple", "concurrency_limit": 1, "concurrency_id": "model"}
        shown = [answers, asked, explained, relevance, attention]
        gr.on([button.click, text.submit], ask, [text, names, aspects, others], shown, api_name="ask", **in_turn)
        shown = [explained, relevance, layer, head, attention]
        answers.select(choose, [asked, method], shown, api_visibility="private", **in_turn)
        shown = [explained, relevance]
        method.input(explain_again, [asked, explained, method], shown, api_visibility="private", **in_turn)
        for choice in (layer, head):
            choice.input(attend, [explained, layer, head], attention, api_visibility="private", **in_turn)
        run.click(annotate, [file, column, names, aspects, others], [summary, result], api_name="annotate")
    return page.queue(max_size=MAX_WAITING)


def main():
    asker = load_asker(os.environ.get("MODEL", "outputs/quickstart/seed-42"), os.environ.get("REVISION"))
    build(asker).launch(theme=THEME, css_paths=STYLE, max_file_size="5mb", show_error=True)


if __name__ == "__main__":
    main()
