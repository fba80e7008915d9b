"""What a stranger does with a tagger: run in a process of its own, where none of our packages can be imported.

    python stranger.py CHECKPOINT BATCH.safetensors RESULTS_FOLDER TEXT...

Writes results.json and results.safetensors.
"""

import json
import sys
from pathlib import Path


class NotInstalled:
    """Hides our packages, which are installed where tests run."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("absa", "modeling_global_context", "datasets_scripts"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def main(checkpoint: str, batch_file: str, results: str, *texts: str):
    sys.meta_path.insert(0, NotInstalled())
    try:
        import modeling_global_context  # noqa: F401  # it must fail
    except ModuleNotFoundError:
        pass
    else:
        sys.exit("the package can be imported: this would prove nothing")

    import torch
    from safetensors.torch import load_file, save_file
    from transformers import AutoConfig, AutoModel, AutoModelForTokenClassification, AutoTokenizer, pipeline

    torch.set_num_threads(1)
    batch = load_file(batch_file)
    config = AutoConfig.from_pretrained(checkpoint, trust_remote_code=True)
    model = AutoModelForTokenClassification.from_pretrained(checkpoint, trust_remote_code=True)
    headless = AutoModel.from_pretrained(checkpoint, trust_remote_code=True)
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    with torch.no_grad():
        tensors = {"logits": model(**batch).logits, "states": headless(**batch).last_hidden_state}
    save_file(tensors, Path(results) / "results.safetensors")

    again = Path(results) / "again"
    model.save_pretrained(again)
    tokenizer.save_pretrained(again)
    answers, grouped, everything = [], [], [config, model, headless]
    for folder in (checkpoint, str(again)):
        terms = pipeline("aspect-term-sentiment", model=folder, trust_remote_code=True)
        groups = pipeline("ner", model=folder, trust_remote_code=True, aggregation_strategy="first")
        everything += [terms, groups]
        answers.append(terms(list(texts)))
        grouped.append([[(one["entity_group"], one["start"], one["end"]) for one in groups(text)] for text in texts])
    report = {
        "classes": [type(one).__name__ for one in everything],
        "packages": sorted({type(one).__module__.partition(".")[0] for one in everything}),
        "answers": answers,
        "grouped": grouped,
    }
    (Path(results) / "results.json").write_text(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
