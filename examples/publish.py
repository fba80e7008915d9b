"""Publishes a trained model, a data set or a metric on the Hub, complete and in one commit.

    python examples/publish.py model outputs/quickstart/seed-42 USER/MODEL --dry_run
    python examples/publish.py dataset my_data USER/DATASET --license cc-by-4.0
    python examples/publish.py metric absa/metrics/sentihood USER/sentihood

`--dry_run` lists what would be uploaded, prints the card and contacts no one. Otherwise a token with the right to
write is needed (`hf auth login`, or HF_TOKEN). If anything fails, the repo is left as it was. No token is printed, and
none goes along: from cards they are removed, and files that hold one are refused.
"""

import sys

from absa.commands import parse
from absa.hub import PublishArguments, PublishError, main
from absa.outside_text import redacted, without_tokens

if __name__ == "__main__":
    with without_tokens():
        try:
            main(parse(PublishArguments, "kind", "folder", "repo_id"))
        except (PublishError, ValueError, OSError) as error:
            sys.exit(redacted(str(error)))
