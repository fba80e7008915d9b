"""What a stranger does with a checkpoint: run in a process of its own, where none of our packages can be imported.

    python stranger.py CHECKPOINT FOLDER

CHECKPOINT is a folder or Hub id. FOLDER holds batch.safetensors and options.json: `auto_class`, the name of the Auto
class of the task; `pipelines`, parameters of a call by the name of the pipeline; and `texts` for these. Writes
results.json and results.safetensors into it.
"""

import json
import sys
from pathlib import Path


class NotInstalled:
    """Hides our packages, which are installed where tests run."""

    def find_spec(self, name, path=None, target=None):
        package = name.partition(".")[0]
        if package in ("absa", "datasets_scripts") or package.startswith("modeling_"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def main(checkpoint: str, folder: str):
    sys.meta_path.insert(0, NotInstalled())
    try:
        import modeling_qacg_bert  # noqa: F401  # it must fail
    except ModuleNotFoundError:
        pass
    else:
        sys.exit("the package can be imported: this would prove nothing")

    import torch
    import transformers
    from safetensors.torch import load_file, save_file
    from transformers import AutoConfig, AutoModel, AutoTokenizer, pipeline

    torch.set_num_threads(1)
    folder = Path(folder)
    options = json.loads((folder / "options.json").read_text())
    batch = load_file(folder / "batch.safetensors")
    config = AutoConfig.from_pretrained(checkpoint, trust_remote_code=True)
    model, headless = (
        auto_class.from_pretrained(checkpoint, attn_implementation="eager", trust_remote_code=True)
        for auto_class in (getattr(transformers, options["auto_class"]), AutoModel)
    )
    tokenizer = AutoTokenizer.from_pretrained(checkpoint, trust_remote_code=True)
    with torch.no_grad():
        tensors = {f"headless.{name}": value for name, value in headless(**batch).items()}
        tensors["logits"] = model(**batch).logits
    save_file(tensors, folder / "results.safetensors")

    saved_again = folder / "again"
    model.save_pretrained(saved_again)
    tokenizer.save_pretrained(saved_again)
    everything, answers = [config, model, headless], {}
    for name in (checkpoint, str(saved_again)):
        pipes = {task: pipeline(task, model=name, trust_remote_code=True) for task in options["pipelines"]}
        answers[name] = {task: pipes[task](options["texts"], **options["pipelines"][task]) for task in pipes}
        everything += pipes.values()
    report = {
        "classes": [type(one).__name__ for one in everything],
        "packages": sorted({type(one).__module__.partition(".")[0] for one in everything}),
        "answers": answers[checkpoint],
        "answers_of_what_was_saved_again": answers[str(saved_again)],
    }
    (folder / "results.json").write_text(json.dumps(report, default=float))  # of NumPy's numbers


if __name__ == "__main__":
    main(*sys.argv[1:])
