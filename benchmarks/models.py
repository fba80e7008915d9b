"""Trains the models of a recipe in the same budget and prints the README's table of their test scores.

    python benchmarks/models.py configuration/recipes/sentihood_minilm.yaml --output_dir outputs/models \
        --models bert qacg_bert cg_bert -- --data_dir DIR

What follows `--` goes to every run. Runs that are finished are read, not repeated.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NAMES = {"bert": "BERT", "qacg_bert": "QACG-BERT", "cg_bert": "CG-BERT"}


def run(recipe: str, model_type: str, folder: Path, options: list[str]) -> dict:
    """Trains one model, or reads what an earlier call has trained, and returns its all_results.json."""
    command = [sys.executable, str(ROOT / "examples" / "run_absa.py"), recipe, "--model_type", model_type]
    subprocess.run([*command, *options, "--output_dir", str(folder)], check=True)
    return json.loads((folder / "all_results.json").read_text(encoding="utf-8"))


def cell(score: dict[str, float | None]) -> str:
    """A mean in percent, with the standard deviation where there are several seeds."""
    if score["mean"] is None:
        return "undefined"
    deviation = f" ({100 * score['std']:.1f})" if score["std"] is not None else ""
    return f"{100 * score['mean']:.1f}{deviation}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe", help="a file of configuration/recipes")
    parser.add_argument("--models", nargs="+", choices=sorted(NAMES), default=["bert", "qacg_bert", "cg_bert"])
    parser.add_argument("--output_dir", type=Path, default=Path("outputs/models"), help="one folder a model")
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    arguments, options = parser.parse_args(words[:split]), words[split + 1 :]
    results = {
        model: run(arguments.recipe, model, arguments.output_dir / model, options) for model in arguments.models
    }
    names = next(iter(results.values()))["main_scores"]
    print("| test, % | " + " | ".join(name.replace("_", " ") for name in names) + " |")
    print("|---|" + "---|" * len(names))
    for model, result in results.items():
        cells = [cell(result["summary"][name]) for name in names]
        print(f"| {NAMES[model]} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
