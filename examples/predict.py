"""Says what texts say about each target and aspect.

    python examples/predict.py outputs/quickstart/seed-42 "LOCATION1 is dear but safe." "Is LOCATION1 near a park?"
    python examples/predict.py outputs/quickstart/seed-42 "Camden is dear but safe." --targets Camden=LOCATION1

A text is asked about the targets that occur in it (about all aspects, where the model has no targets).
"""

from absa.commands import parse, user_errors
from absa.predict import PredictArguments, main

if __name__ == "__main__":
    with user_errors():
        main(parse(PredictArguments, "model", "texts"))
