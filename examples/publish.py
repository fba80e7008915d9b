"""Publishes a trained model, a data set or a metric on the Hub, complete and in one commit.

    python examples/publish.py model outputs/quickstart/seed-42 USER/MODEL --dry_run
    python examples/publish.py dataset my_data USER/DATASET --license cc-by-4.0
    python examples/publish.py metric sentihood USER/sentihood

`--dry_run` lists what would be uploaded, prints the card and contacts no one. Otherwise a token with the right to
write is needed (`hf auth login`, or HF_TOKEN). Tokens are taken out of cards, and files that hold one are refused.
"""

from absa.commands import parse, user_errors
from absa.hub import PublishArguments, main

if __name__ == "__main__":
    with user_errors():
        main(parse(PublishArguments, "kind", "folder", "repo_id"))
