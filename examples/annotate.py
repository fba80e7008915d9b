"""Annotates a corpus: what its texts say, as parquet, on this machine or a Ray cluster.

    python examples/annotate.py outputs/quickstart/seed-42 reviews.csv --output_dir outputs/annotated
    python examples/annotate.py USER/MODEL s3://bucket/reviews --output_dir s3://bucket/annotated --address auto

`pd.read_parquet("outputs/annotated")` has a row for each opinion. The same command goes on where a run was stopped.
A text is asked about the targets that it names. Where the texts have names of their own, give them:
--targets Camden=LOCATION1 Soho=LOCATION2.
"""

from absa.annotate import AnnotateArguments, annotate
from absa.commands import parse, user_errors

if __name__ == "__main__":
    with user_errors():
        annotate(parse(AnnotateArguments, "checkpoint", "inputs"))
