"""What a stranger does with a checkpoint: run in a process of its own, where none of our packages can be imported.

    python stranger.py CHECKPOINT BATCH.safetensors RESULTS_FOLDER JSON

CHECKPOINT is a folder or Hub id. JSON holds `texts` for the pipeline and keyword arguments for all that loads, as
`loading`. Writes results.json and results.safetensors.
"""

import json
import sys
from pathlib import Path


class NotInstalled:
    """Hides our packages, which are installed where tests run."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("absa", "modeling_qacg_bert", "modeling_global_context", "datasets_scripts"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def main(checkpoint: str, batch_file: str, results: str, options: str):
    sys.meta_path.insert(0, NotInstalled())
    try:
        import modeling_qacg_bert  # noqa: F401  # it must fail
    except ModuleNotFoundError:
        pass
    else:
        sys.exit("the package can be imported: this would prove nothing")

    import torch
    from safetensors.torch import load_file, save_file
    from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification, AutoTokenizer, pipeline

    torch.set_num_threads(1)
    options = json.loads(options)
    batch = load_file(batch_file)
    loading = {"trust_remote_code": True, **options["loading"]}
    config = AutoConfig.from_pretrained(checkpoint, **loading)
    model = AutoModelForSequenceClassification.from_pretrained(checkpoint, attn_implementation="eager", **loading)
    headless = AutoModel.from_pretrained(checkpoint, attn_implementation="eager", **loading)
    tokenizer = AutoTokenizer.from_pretrained(checkpoint, **loading)
    pipe = pipeline("aspect-sentiment", model=checkpoint, **loading)
    with torch.no_grad():
        tensors = {"logits": model(**batch).logits, "pooler_output": headless(**batch).pooler_output}
    save_file(tensors, Path(results) / "results.safetensors")

    saved_again = Path(results) / "again"
    model.save_pretrained(saved_again)
    tokenizer.save_pretrained(saved_again)
    second = pipeline("aspect-sentiment", model=str(saved_again), trust_remote_code=True)
    everything = (config, model, headless, pipe)
    report = {
        "classes": [type(one).__name__ for one in everything],
        "packages": sorted({type(one).__module__.partition(".")[0] for one in everything}),
        "answers": pipe(options["texts"], return_all=True),
        "answers_of_what_was_saved_again": second(options["texts"], return_all=True),
    }
    (Path(results) / "results.json").write_text(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
