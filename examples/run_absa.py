"""Fine-tunes QACG-BERT, CG-BERT or BERT for (targeted) aspect-based sentiment analysis and tests it once.

    python examples/run_absa.py configuration/recipes/sentihood_minilm.yaml --data_dir DIR --seeds 1 2 3
    accelerate launch --config_file configuration/accelerate/cpu_2_processes.yaml examples/run_absa.py RECIPE

A recipe (YAML or JSON) holds any of the arguments; the command line overrides it. Run again, the same command goes on
where it was stopped.
"""

import sys

from absa.commands import user_errors
from absa.training.run import main

if __name__ == "__main__":
    with user_errors():
        main(sys.argv[1:])
