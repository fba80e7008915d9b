"""Weights of 8 bits, for CPUs."""

import logging
import warnings

import torch
from torch import nn


def int8(model: nn.Module) -> nn.Module:
    """A copy whose linear layers have weights of 8 bits; activations are quantised as they come."""
    logging.disable(logging.WARNING)  # PyTorch would have this done by torchao, a package of its own
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)
    finally:
        logging.disable(logging.NOTSET)
