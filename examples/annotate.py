"""Annotates a corpus: what each text says about each target and aspect, as parquet.

    python examples/annotate.py outputs/quickstart/seed-42 reviews.csv more.jsonl.gz --output_dir outputs/annotated
    accelerate launch --config_file configuration/accelerate/ddp.yaml examples/annotate.py CHECKPOINT FOLDER \
        --output_dir DIR

The corpus is cut into shards of rows, and each process annotates its own: with the rows of shard 12 it writes
annotations-00012.parquet, whole or not at all, and with those that are no texts rejects-00012.jsonl, which says why.
Run again, the same command goes on where it was stopped, on any number of processes, to the same rows; with other
arguments it is refused. When all shards are there, summary.json counts them. (Machines without a common disk: bring
their files into one folder, and run the command once more.)

A text is asked about the targets that it names. Where the texts have names of their own, give them:
--targets Camden=LOCATION1 Soho=LOCATION2.
"""

from absa.annotate import AnnotateArguments, main
from absa.commands import parse, user_errors

if __name__ == "__main__":
    with user_errors():
        main(parse(AnnotateArguments, "checkpoint", "inputs"))
