"""Trains a model that writes to restore corrupted texts of the domain, before it is fine-tuned.

    python examples/denoise.py configuration/recipes/aste_14res_minilm.yaml --data_dir DIR --num_train_epochs 6 \
        --texts ABSA16_Restaurants_Train_SB1_v2.xml --output_dir outputs/denoised
    python examples/run_absa.py configuration/recipes/aste_14res_minilm.yaml --data_dir DIR \
        --model_name_or_path outputs/denoised/seed-{seed} --output_dir outputs/aste_after_denoising

The arguments are those of the fine-tuning, of which those of its evaluation have no effect, and --noise, --texts and
--held_out. Run again, the same command goes on where it was stopped. results.json of each seed says how many texts
were read and left out, and how well validation texts are restored before and after.
"""

import sys

from absa.commands import user_errors
from absa.training.denoising import main

if __name__ == "__main__":
    with user_errors():
        main(sys.argv[1:])
