"""Trains a model that differs from QACG-BERT in what the study asks about and nothing else.

    python examples/study/controls.py context_in_input RECIPE ...

Takes what `run_absa.py` takes after the name of the control. The weights load into the model's own class, which does
not know of the difference: what is published of a control is its scores.
"""

import sys
from pathlib import Path

from transformers import PreTrainedModel

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import run_absa  # from examples/


def context_in_input(model: PreTrainedModel):
    """Adds the context embedding to the input embeddings, before their LayerNorm, as BERT adds those of segments."""
    context_ids = []

    def keep(module, args, kwargs):
        if kwargs["context_ids"].dim() > 1:
            raise ValueError(
                "context_in_input with contexts_together=true: a text has one input for all: leave it out"
            )
        context_ids[:] = [kwargs["context_ids"]]

    def add(module, args, output):
        return output + model.bert.context_embeddings(context_ids[0], len(output))[:, None]

    model.bert.register_forward_pre_hook(keep, with_kwargs=True)
    model.bert.embeddings.token_type_embeddings.register_forward_hook(add)


CONTROLS = {"context_in_input": context_in_input}


def main(argv: list[str]):
    if not argv or argv[0] not in CONTROLS:
        raise ValueError(f"control={argv[0] if argv else ''}: give one of {', '.join(CONTROLS)}")
    load_model, check_same_run = run_absa.load_model, run_absa.check_same_run

    def load_control(*arguments):
        model = load_model(*arguments)
        CONTROLS[argv[0]](model)
        return model

    run_absa.load_model = load_control
    run_absa.check_same_run = lambda folder, described, own: check_same_run(
        folder, {**described, "control": argv[0]}, own
    )
    run_absa.main(argv[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
