"""A demo: what a text says about what it speaks of, and which words make a model say so.

    make space
    MODEL="places=USER/MODEL, reviews=USER/TAGGER" python examples/space/app.py

The folder is a Space of the Hub as it is: set the variable MODEL there.
"""

import os
import re
from pathlib import Path

import gradio as gr
import torch

import kinds
from asking import Asker
from page import build

DEFAULT = "outputs/quickstart/seed-42"
ENTRY = re.compile(r"(?:(?P<name>[^=]+)=)?(?P<model>.+?)(?:@(?P<revision>[^@/\\]+))?")
FONT, MONOSPACE = ["system-ui", "sans-serif"], ["ui-monospace", "monospace"]  # the visitor's own: nothing is loaded
INK, PAPER, NIGHT, CHALK = "#1f2430", "#f7f3ea", "#15181f", "#ece7dc"
STYLE = Path(__file__).with_name("style.css")


def load_askers(models: str, revision: str | None = None) -> dict[str, Asker]:
    """The models by their names.

    Args:
        models: `name=model` or `model`, with commas, semicolons or line ends between; a model is a folder or Hub id,
            perhaps with `@` and a commit.
        revision: of models without one of their own.
    Raises:
        SystemExit: saying what to do, if one is no model that can be asked.
    """
    device = 0 if torch.cuda.is_available() else -1
    askers = {}
    for entry in filter(None, map(str.strip, re.split(r"[,;\n]", models))):
        name, model, own = (part and part.strip() for part in ENTRY.fullmatch(entry).groups())
        name = name or model
        if name in askers:
            raise SystemExit(f"MODEL={models!r} has the name {name!r} twice: give each model a name of its own")
        try:
            askers[name] = kinds.load(model, own or revision, device)
        except (OSError, KeyError, ValueError) as error:
            raise SystemExit(
                f"MODEL={model!r} is no model that examples/run_absa.py or publish.py has written and that this demo "
                f"can ask: {str(error).splitlines()[0][:160]}"
            ) from error
    if not askers:
        raise SystemExit("MODEL is empty: give a folder or Hub id")
    return askers


COLOURS = {  # of Gradio's variables: on light pages and on dark ones
    "body_background_fill": (PAPER, NIGHT),
    "body_text_color": (INK, CHALK),
    "body_text_color_subdued": ("*neutral_600", "*neutral_300"),
    "background_fill_primary": ("white", "#1d212a"),
    "block_background_fill": ("white", "#1d212a"),
    "block_border_color": ("#d9d2c3", "#3a3f4b"),
    "block_title_text_color": (INK, CHALK),
    "block_label_text_color": ("*neutral_600", "*neutral_300"),
    "input_background_fill": ("white", "#15181f"),
    "input_border_color": ("#8a8475", "#7b8090"),
    "input_border_color_focus": (INK, CHALK),
    "input_placeholder_color": ("*neutral_500", "*neutral_400"),
    "checkbox_background_color_selected": (INK, "#7b8090"),
    "checkbox_border_color": ("#8a8475", "#7b8090"),
    "checkbox_label_background_fill": ("#f1ecdf", "#2a2f3a"),
    "table_even_background_fill": ("*background_fill_primary", "*background_fill_primary"),
    "table_odd_background_fill": ("*background_fill_primary", "*background_fill_primary"),
    **{
        f"button_primary_{part}{state}": colours
        for state in ("", "_hover")
        for part, colours in {
            "background_fill": (INK, CHALK),
            "border_color": (INK, CHALK),
            "text_color": ("white", NIGHT),
        }.items()
    },
    **{f"link_text_color{state}": (INK, CHALK) for state in ("", "_hover", "_visited", "_active")},
}


def theme() -> gr.themes.Base:
    """Ink on paper; colours are left to what a text says."""
    by_mode = {
        f"{name}{mode}": colour
        for name, pair in COLOURS.items()
        for mode, colour in zip(("", "_dark"), pair, strict=True)
    }
    return gr.themes.Base(
        primary_hue="stone", secondary_hue="stone", neutral_hue="stone", font=FONT, font_mono=MONOSPACE
    ).set(
        **by_mode,
        block_title_text_weight="600",
        block_radius="10px",
        input_border_width="1px",
        checkbox_border_color_selected=INK,
        color_accent=INK,
    )


def main():
    askers = load_askers(os.environ.get("MODEL") or DEFAULT, os.environ.get("REVISION"))
    build(askers).launch(theme=theme(), css_paths=STYLE, footer_links=[], max_file_size="5mb", show_error=True)


if __name__ == "__main__":
    main()
