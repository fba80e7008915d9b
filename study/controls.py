"""Trains a model that differs from those of `run_absa.py` in what the study asks about and nothing else.

    python study/controls.py context_in_input RECIPE ...

Takes what `run_absa.py` takes after the name of the control. The weights load into the model's own class, which does
not know of the difference: what is published of a control is its scores.
"""

import sys
from pathlib import Path

import torch
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from transformers import PreTrainedModel

from absa.training import run
from absa.training.arguments import parse_arguments


def context_in_input(model: PreTrainedModel):
    """Adds the context embedding to the input embeddings, before their LayerNorm, as BERT adds those of segments."""
    context_ids = []

    def keep(module, args, kwargs):
        context_ids[:] = [kwargs["context_ids"]]

    def add(module, args, output):
        return output + model.bert.context_embeddings(context_ids[0], len(output))[:, None]

    model.bert.register_forward_pre_hook(keep, with_kwargs=True)
    model.bert.embeddings.token_type_embeddings.register_forward_hook(add)


def moving_average(model: PreTrainedModel, decay: float = 0.998):
    """Shows, and saves, an exponential moving average of the weights instead of those that are trained.

    The average changes place with the weights when the model is put into evaluation mode after training steps, and
    again when it is put back. So what is saved after an evaluation is the average, from which training could not go
    on.
    """
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(decay))
    put, shown, has_new = model.train, False, True

    @torch.no_grad()
    def change_places():
        for weight, averaged in zip(model.parameters(), average.parameters(), strict=True):
            before = weight.clone()
            weight.copy_(averaged)
            averaged.copy_(before)

    def follow():
        nonlocal has_new
        if has_new:
            average.update_parameters(model)  # with what the last step has made of the weights
        has_new = False

    def before_forward(module, args):
        nonlocal has_new
        if not shown:
            follow()
            has_new = True  # after the step that this is for

    def train(mode: bool = True) -> PreTrainedModel:  # which `eval` calls too
        nonlocal shown
        if shown == mode:
            if not shown:
                follow()
            change_places()
            shown = not mode
        return put(mode)

    model.register_forward_pre_hook(before_forward)
    model.train = train


CONTROLS = {"context_in_input": context_in_input, "moving_average": moving_average}


def main(argv: list[str]):
    control, *argv = argv
    _, _, arguments = parse_arguments(argv)
    folders = [Path(arguments.output_dir) / f"seed-{seed}" for seed in arguments.seeds]
    begun = [folder for folder in folders if any(folder.glob("**/checkpoint-*"))]
    if control == "moving_average" and begun:  # whose checkpoints hold averages
        raise ValueError(f"moving_average cannot go on from the checkpoints in {begun[0]}: remove it to begin again")
    run.main(argv, prepare=CONTROLS[control], control=control)


if __name__ == "__main__":
    main(sys.argv[1:])
