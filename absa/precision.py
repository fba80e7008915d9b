"""bfloat16 where the hardware computes in it, float32 elsewhere."""

import warnings
from typing import Literal, get_args

import torch

BFloat16 = Literal["auto", "true", "false"]
# For a field of this type: `--bf16` alone is `--bf16 true`, as of the Trainer.
BFLOAT16_METADATA = {
    "nargs": "?",
    "const": "true",
    "help": "Compute in bfloat16: auto where the hardware has it natively, else float32 (default: auto).",
}


def has_bfloat16(device_type: str) -> bool:
    """Whether a kind of device ("cpu", "cuda", ...) multiplies bfloat16 itself, and does not emulate it."""
    if device_type == "cpu":
        has = torch.cpu.get_capabilities()
        return any(has.get(name, False) for name in ("avx512_bf16", "amx_bf16", "bf16"))
    if device_type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device_type == "xpu":
        return torch.xpu.is_bf16_supported(including_emulation=False)
    return False


def use_bfloat16(bf16: BFloat16 | bool, device_type: str) -> bool:
    """What `bf16` means on a kind of device; a bool is what it became before.

    "true" is obeyed where the hardware lacks it, with a warning.

    Raises:
        ValueError: if it is something else.
    """
    if isinstance(bf16, bool):
        return bf16
    if bf16 not in get_args(BFloat16):
        raise ValueError(f"bf16={bf16}: auto, true or false")
    if bf16 == "auto":
        return has_bfloat16(device_type)
    wanted = bf16 == "true"
    if wanted and not has_bfloat16(device_type):
        warnings.warn(
            f"bf16=true: this {device_type} emulates bfloat16, which is up to 20 times slower than float32; bf16=auto "
            "would choose float32",
            stacklevel=2,
        )
    return wanted
