"""Compares trained models of any family on the same test rows: scores, differences from the first, size and speed.

    python examples/compare.py outputs/bert outputs/af_lstm --names BERT-pair AF-LSTM --output comparison.html

A run is a folder that examples/run_absa.py has written, with one or several seeds. Prints a table in Markdown. The
page shows the rows that are answered differently, too.
"""

from absa.commands import parse, user_errors
from absa.comparison.page import ComparisonArguments, compare, page


def main(arguments: ComparisonArguments):
    comparison = compare(arguments)
    print(comparison)
    if arguments.output is not None:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(page(comparison), encoding="utf-8")


if __name__ == "__main__":
    with user_errors():
        main(parse(ComparisonArguments, "runs"))
