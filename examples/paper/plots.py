"""Draws the numbers of `figures.py`, `gates.py` and `layers.py`: in lightness, hatches and marks, never hue alone, for
those who see no colours."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

MAP = "cividis"  # its lightness grows evenly, also for colour-blind readers
DARK, LIGHT = "#1f2f4a", "#c9b458"
SYMBOLS = {
    "attention": r"$\hat{A}$",
    "gate": r"$\lambda_A$",
    "self_attention": r"$A_{\mathrm{Self\text{-}Attn}}$",
    "quasi_attention": r"$A_{\mathrm{Quasi\text{-}Attn}}$",
    "quasi_term": r"$\lambda_A A_{\mathrm{Quasi\text{-}Attn}}$",
}
GATES = {"hidden": r"$i_H$, of the word's own state", "global": r"$i_G$, of the whole sentence's state"}
LINEAR = ("gate",)  # as in the paper's figure 4
matplotlib.rcParams["svg.hashsalt"] = "figures"  # the same drawing gives the same file


def draw(numbers: Mapping, question: str, folder: Path):
    """All figures of figures.json; `question` names the one of the tokens figure."""
    folder.mkdir(parents=True, exist_ok=True)
    of_tokens, weights = numbers["tokens"], numbers["weights"]
    relevance([(panel["words"], panel["relevance"]) for panel in numbers["relevance"]], folder)
    histograms(weights["counts"], weights["ranges"], folder)
    title = f"{question}, layer {of_tokens['layer']}, head {of_tokens['head']}"
    tokens(of_tokens["words"], of_tokens["self_attention"], of_tokens["quasi_term"], title, folder)
    negative_share(np.array(numbers["negative_share"]), folder)
    lowest_words(numbers["lowest_words"], folder)


def save(figure, folder: Path, name: str):
    """As a vector and as PNG, without what would differ from one run to the next."""
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    figure.savefig(folder / f"{name}.png", dpi=150, metadata={"Software": None})


def heat_map(axes, values: np.ndarray, rows: Sequence[str], columns: Sequence[str], decimals: int):
    """A table of numbers in [0, 1], each in its cell."""
    axes.imshow(values, cmap=MAP, vmin=0, vmax=max(1e-9, values.max()), aspect="auto")
    axes.set_xticks(range(len(columns)), columns, rotation=45, ha="right")
    axes.set_yticks(range(len(rows)), rows)
    for row, column in np.ndindex(values.shape):
        colour = "white" if values[row, column] < 0.6 * values.max() else "black"
        axes.text(column, row, f"{values[row, column]:.{decimals}f}", ha="center", va="center", color=colour, size=7)


def relevance(panels: Sequence[tuple[list[str], Mapping[str, list[float]]]], folder: Path):
    """Figure 3: of each text its words, and their relevance for each (target, aspect)."""
    widths = [len(words) for words, _ in panels]
    figure = Figure(figsize=(2.5 + 0.55 * max(widths), 2.2 * len(panels)), layout="constrained")
    axes = figure.subplots(len(panels), squeeze=False)[:, 0]
    for (words, of_contexts), panel in zip(panels, axes, strict=True):
        heat_map(panel, np.array(list(of_contexts.values())), list(of_contexts), words, decimals=2)
    save(figure, folder, "relevance")


def word_attention(questions: Sequence[Mapping], folder: Path):
    """Of each question its words, what each model gives them, and what it is about."""
    width = 2.5 + 0.55 * max(len(question["words"]) for question in questions)
    figure = Figure(figsize=(width, 2.2 * len(questions)), layout="constrained")
    for axes, question in zip(figure.subplots(len(questions), squeeze=False)[:, 0], questions, strict=True):
        heat_map(axes, np.array(question["attention"]), question["models"], question["words"], decimals=2)
        axes.set_title(question["target"])
    save(figure, folder, "word_attention")


def histograms(counts: Mapping[str, list[int]], ranges: Mapping[str, tuple[float, float]], folder: Path):
    """Figure 4: how often each value occurs."""
    figure = Figure(figsize=(13, 3), layout="constrained")
    axes = figure.subplots(1, 4)
    for letter, (name, of_bins), panel in zip("abcd", counts.items(), axes, strict=True):
        edges = np.linspace(*ranges[name], len(of_bins) + 1)
        panel.stairs(of_bins, edges, fill=True, color=DARK)
        panel.axvline(0, color=LIGHT, linestyle="--", linewidth=1)
        panel.set_yscale("linear" if name in LINEAR else "log")
        panel.set_title(f"({letter}) {SYMBOLS[name]}")
        used = np.flatnonzero(of_bins)
        panel.set_xlim(edges[used[0]] - 0.05, edges[used[-1] + 1] + 0.05)
    axes[0].set_ylabel("weights")
    save(figure, folder, "weights")


def tokens(words: Sequence[str], self_attention: Sequence[float], quasi: Sequence[float], title: str, folder: Path):
    """Figure 5: both terms of the attention of [CLS] on each word, over their greatest absolute value."""
    figure = Figure(figsize=(1.5 + 0.5 * len(words), 3), layout="constrained")
    axes = figure.subplots()
    places, greatest = np.arange(len(words)), max(map(abs, [*self_attention, *quasi]))
    axes.bar(places - 0.2, np.array(self_attention) / greatest, 0.4, color=DARK, label=SYMBOLS["self_attention"])
    hatched = {"color": LIGHT, "edgecolor": "black", "hatch": "///", "linewidth": 0.5}
    axes.bar(places + 0.2, np.array(quasi) / greatest, 0.4, label=SYMBOLS["quasi_term"], **hatched)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_xticks(places, words, rotation=45, ha="right")
    axes.set_title(title)
    axes.legend()
    save(figure, folder, "tokens")


def negative_share(shares: np.ndarray, folder: Path):
    """Share of negative weights, (layers, heads)."""
    num_layers, num_heads = shares.shape
    figure = Figure(figsize=(1 + 0.6 * num_heads, 1 + 0.4 * num_layers), layout="constrained")
    axes = figure.subplots()
    heads = [str(number) for number in range(1, num_heads + 1)]
    heat_map(axes, shares, [f"layer {number}" for number in range(1, num_layers + 1)], heads, 2)
    axes.set_xlabel("head")
    save(figure, folder, "negative_share")


def lowest_words(by_aspect: Mapping[str, list[dict]], folder: Path):
    """The words with the lowest mean quasi term, of each aspect."""
    figure = Figure(figsize=(3.2 * len(by_aspect), 3.2), layout="constrained")
    axes = figure.subplots(1, len(by_aspect), squeeze=False)[0]
    for (aspect, entries), panel in zip(by_aspect.items(), axes, strict=True):
        panel.barh([entry["word"] for entry in entries], [entry["mean"] for entry in entries], color=DARK)
        panel.invert_yaxis()
        panel.axvline(0, color="black", linewidth=0.8)
        panel.set_title(aspect)
        panel.locator_params(axis="x", nbins=3)
    save(figure, folder, "lowest_words")


def gates(panels: Sequence[Mapping], folder: Path):
    """Of each text its words, and the mean of both gates in each division of the state."""
    widest, rows = (max(len(panel[key]) for panel in panels) for key in ("words", "divisions"))
    figure = Figure(figsize=(2 + 0.9 * widest, (1.3 + 0.25 * rows) * len(panels)), layout="constrained")
    axes = figure.subplots(len(panels), 2, squeeze=False)
    for panel, of_text in zip(panels, axes, strict=True):
        divisions = [f"{first}-{last}" for first, last in panel["divisions"]]
        for (name, title), one in zip(GATES.items(), of_text, strict=True):
            heat_map(one, np.array(panel[name]), divisions, panel["words"], decimals=2)
            one.set_title(title)
    save(figure, folder, "gates")


def layers(runs: Mapping[str, Mapping], folder: Path):
    """Of each run the share and the contribution of each layer, with deviations over seeds."""
    figure = Figure(figsize=(10, 3.5), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for panel, name in zip(axes, ("s", "contribution"), strict=True):
        for number, (run, of_run) in enumerate(runs.items()):
            mean, std = of_run[name]["mean"], of_run[name]["std"]
            style = {"marker": "osD^v"[number % 5], "linestyle": ("-", "--", ":")[number % 3], "capsize": 3}
            panel.errorbar(range(len(mean)), mean, std, color=(DARK, LIGHT)[number % 2], label=run, **style)
        panel.set_title(name)
        panel.set_xlabel("layer (0: embeddings)")
    axes[0].set_ylim(bottom=0)  # of both, when both are drawn
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper left")
    save(figure, folder, "layers")
