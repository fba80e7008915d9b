"""What only a GPU can show, in stages of less than eight minutes that need no network and no pretrained weights.

    PYTHONPATH=. python benchmarks/gpu.py            # all stages, each in a process of its own
    PYTHONPATH=. python benchmarks/gpu.py recipes

It runs from a clone that is not installed, with PyTorch and Transformers; a stage that lacks another package says so.
Each stage prints a table and writes it to `outputs/gpu/STAGE.json`. The exit status is 1 if a row says "no".
"""

import itertools
import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import torch
import yaml
from transformers.utils.logging import disable_progress_bar

import attention  # from benchmarks/
import step
from absa.commands import parse, reason
from absa.timing import where
from modeling_qacg_bert.attention_qacg_bert import QUASI_ATTENTION
from modeling_qacg_bert.triton_qacg_bert import is_available
from timing import make_batch, make_model, print_table

ROOT = Path(__file__).resolve().parents[1]

CONFIGURATION = ROOT / "configuration"
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
LOSS_SCALE = 1024  # for small gradients in float16
# Of the norm of all gradients; logits and loss are nearer.
TOLERANCE = {torch.float32: 1e-3, torch.float16: 0.02, torch.bfloat16: 0.1}


def kernel(device: str) -> Iterator[dict]:
    """Each backend against eager in float64: Triton's error is at most three times that of eager in the same dtype."""
    lengths = (7, 128, 512) if device == "cuda" else (7,)
    for dtype, length, padded in itertools.product(TOLERANCE, lengths, (False, True)):
        torch.manual_seed(0)
        tensors = attention.make_tensors(4, length, device, dtype)
        key_mask = torch.arange(length, device=device).expand(4, 1, 1, length) < length // 2 if padded else None
        errors = {name: attention.errors(QUASI_ATTENTION[name], tensors, key_mask) for name in backends()}
        for name, (of_output, *of_gradients) in errors.items():
            row = {"dtype": name_of(dtype), "length": length, "padding": verdict(padded), "backend": name}
            row |= {"output, largest error": of_output, "gradients, largest error": max(of_gradients)}
            yield row | {"ok": verdict(max(errors[name]) <= 3 * max(errors["eager"])) if name == "triton" else ""}


def tests(device: str) -> Iterator[dict]:
    """The kernel's own tests: dropout, strides, masks, torch.compile."""
    file = "tests/modeling_qacg_bert/test_triton.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=420)
    if finished.returncode:
        print(finished.stdout[-4000:])
    yield {"file": file, "result": finished.stdout.strip().rpartition("\n")[2], "ok": verdict(not finished.returncode)}


def time_attention(device: str) -> Iterator[dict]:
    return attention.rows(attention.BenchmarkArguments())


def time_step(device: str, **options) -> Iterator[dict]:
    if device == "cpu":
        options = {"size": "tiny", "lengths": [5], "batch_sizes": [2], "rounds": 1, "bf16": "false"}
    return step.rows(step.BenchmarkArguments(**{"size": "base", "bf16": True, "device": device, **options}))


def half_precision(device: str) -> Iterator[dict]:
    """Loss, logits and gradients of a batch, on a CPU and in each dtype, beside those of float32 and sdpa."""
    size, length = ("base", 128) if device == "cuda" else ("tiny", 9)
    for model_type in ("qacg_bert", "cg_bert"):
        reference = answer(model_type, size, length, device, "sdpa", torch.float32, False)
        halves = itertools.product((torch.bfloat16, torch.float16), (True, False))
        ways = [*itertools.product([(torch.float32, False), *halves], backends())]
        for place, (dtype, autocast), backend in [("cpu", ways[0][0], "sdpa"), *((device, *way) for way in ways)]:
            found = answer(model_type, size, length, place, backend, dtype, autocast)
            off = [((a - b).norm() / b.norm()).item() for a, b in zip(found, reference, strict=True)]
            yield {
                "model": model_type,
                "device": place,
                "dtype": name_of(dtype) + (", autocast" if autocast else ""),
                "backend": backend,
                "loss": found[0].item(),
                **dict(zip(("loss off by", "logits off by", "gradients off by"), off, strict=True)),
                "ok": verdict(max(off) <= TOLERANCE[dtype]),
            }


def answer(model_type, size, length, device, backend, dtype, autocast) -> tuple[torch.Tensor, ...]:
    """Loss, logits and all gradients of a training step, on the CPU in float32; weights and texts are of seed 0."""
    torch.manual_seed(0)
    model = make_model(model_type, size, "cpu", backend, **NO_DROPOUT)
    batch = make_batch(model, 8, length)
    batch["attention_mask"][1::2, length // 2 :] = 0
    model = model.to(device, torch.float32 if autocast else dtype).train()
    with torch.autocast(device, dtype, enabled=autocast):
        outputs = model(**{key: tensor.to(device) for key, tensor in batch.items()})
    (outputs.loss.float() * LOSS_SCALE).backward()
    gradients = [parameter.grad.flatten().float().cpu() / LOSS_SCALE for parameter in model.parameters()]
    return outputs.loss.detach().float().cpu(), outputs.logits.detach().float().cpu(), torch.cat(gradients)


def determinism(device: str) -> Iterator[dict]:
    """--full_determinism: two trainings give the same bits."""
    for recipe, backend in itertools.product(("sentihood", "sentihood_minilm"), backends()):
        words = ("--full_determinism=true", f"--attn_implementation={backend}")
        one, other = (train(f"{recipe}.yaml", device, *words)[0].model.state_dict() for _ in range(2))
        differ = sum(not torch.equal(weight, other[name]) for name, weight in one.items())
        row = {"recipe": f"{recipe}.yaml", "backend": backend, "weights": len(one), "of them differ": differ}
        yield row | {"ok": verdict(not differ)}


def recipes(device: str) -> Iterator[dict]:
    """A few steps of every recipe, and its answers, on random texts and from random weights of its sizes."""
    for recipe in sorted(path.name for path in (CONFIGURATION / "recipes").iterdir()):
        task = yaml.safe_load((CONFIGURATION / "recipes" / recipe).read_text()).get("task")
        if task == "generation" and os.environ.get("ACCELERATE_USE_FSDP") == "true":  # which the Trainer refuses
            continue
        try:
            trainer, logits = train(recipe, device)
        except Exception as error:  # the other recipes are to be seen too
            traceback.print_exc()
            yield {"recipe": recipe, "ok": f"no: {reason(error)}"}
            continue
        losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
        arguments = trainer.args
        yield {
            "recipe": recipe,
            "parameters": trainer.model.num_parameters(),
            "batch": arguments.per_device_train_batch_size,
            "precision": "bfloat16" if arguments.bf16 else "float16" if arguments.fp16 else "float32",
            **{f"loss {number}": loss for number, loss in enumerate(losses, start=1)},
            "peak MB": torch.cuda.max_memory_allocated() // 10**6 if device == "cuda" else "",
            "ok": verdict(torch.tensor(losses).isfinite().all() and torch.tensor(logits).isfinite().all()),
        }


def train(recipe: str, device: str, *words: str):
    import random_training  # what it imports is not everywhere

    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    return random_training.train(CONFIGURATION / "recipes" / recipe, device, *words)


def launch(device: str) -> Iterator[dict]:
    """The stage `recipes` under `accelerate launch`, one process, with each file of configuration/accelerate."""
    for file in sorted((CONFIGURATION / "accelerate").iterdir()):
        if file.name.startswith("cpu") != (device == "cpu"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            launcher = ["-m", "accelerate.commands.launch", f"--config_file={file}", "--num_processes=1"]
            stage = [__file__, "recipes", f"--device={device}", f"--output_dir={folder}"]
            finished = subprocess.run([sys.executable, *launcher, *stage], capture_output=True, text=True, timeout=150)
            written = Path(folder, "recipes.json")
            for row in json.loads(written.read_text())["rows"] if written.is_file() else []:
                yield {"file": file.name, **row}
            if finished.returncode:
                print(finished.stderr[-4000:])
                yield {"file": file.name, "ok": f"no: exit status {finished.returncode}"}


CUDA = "a CUDA device"
TRAINING = ("accelerate", "pandas")
STAGES = {  # and what they need beside PyTorch and Transformers
    "kernel": (kernel, ("triton",)),
    "tests": (tests, (CUDA, "triton", "pytest")),
    "attention": (time_attention, (CUDA, "triton")),
    "step": (time_step, ()),
    "step_compiled": (partial(time_step, compile=True, lengths=[128]), (CUDA, "triton")),
    "half_precision": (half_precision, ()),
    "determinism": (determinism, TRAINING),
    "recipes": (recipes, TRAINING),
    "launch": (launch, TRAINING),
}


@dataclass
class GPUArguments:
    """What to run."""

    stage: str | None = field(default=None, metadata={"choices": [*STAGES], "help": "A stage (default: all)."})
    output_dir: str = field(default="outputs/gpu", metadata={"help": "Where STAGE.json is written."})
    device: str = field(
        default="cuda",
        metadata={"choices": ["cuda", "cpu"], "help": "With cpu models are tiny, to test the stages."},
    )


def backends() -> list[str]:
    return ["eager", "sdpa", *(["triton"] if is_available() else [])]


def name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def verdict(is_right: bool) -> str:
    return "yes" if is_right else "no"


def rows_of(stage: str, device: str) -> Iterator[dict]:
    """The rows of a stage; where something is missing or fails, the last one says so."""
    function, needs = STAGES[stage]
    missing = [needed for needed in needs if (device != "cuda" if needed == CUDA else find_spec(needed) is None)]
    if missing:
        yield {"ok": f"skipped: needs {', '.join(missing)}"}
        return
    try:
        yield from function(device)
    except (Exception, SystemExit) as error:
        traceback.print_exc()
        yield {"ok": f"no: {reason(error)}"}


def recorded(arguments: GPUArguments, found: list[dict]) -> Iterator[dict]:
    """The rows of a stage, each in the file and in `found` as soon as it is there."""
    versions = {name: version(name) for name in ("transformers", "triton") if find_spec(name)}
    described = {"stage": arguments.stage, "device": where(arguments.device), **versions}
    print("\n" + ", ".join(f"{name} {value}" for name, value in described.items()))
    file = Path(arguments.output_dir, f"{arguments.stage}.json")
    file.parent.mkdir(parents=True, exist_ok=True)
    for row in rows_of(arguments.stage, arguments.device):
        found.append(row)
        file.write_text(json.dumps({**described, "rows": found}, indent=1) + "\n")
        yield row


def main(arguments: GPUArguments):
    if arguments.device == "cuda" and not torch.cuda.is_available():
        sys.exit("benchmarks/gpu.py measures a CUDA device, and PyTorch finds none here")
    if arguments.stage is None:
        options = (f"--output_dir={arguments.output_dir}", f"--device={arguments.device}")
        sys.exit(max(subprocess.run([sys.executable, __file__, stage, *options]).returncode for stage in STAGES))
    found = []
    disable_progress_bar()
    print_table(recorded(arguments, found))
    sys.exit(any(str(row.get("ok", "")).startswith("no") for row in found))


if __name__ == "__main__":
    main(parse(GPUArguments, "stage"))
