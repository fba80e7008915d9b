"""Questions a second: the pipeline against a loop that asks the model one question about one text at a time.

    python benchmarks/pipeline.py CHECKPOINT --data_dir DIR

CHECKPOINT is a SentiHood classifier, DIR holds sentihood-test.json. Both answer all contexts of the same texts, in one
run on as many threads, in float32; the loop first. Each warms up before it is timed.
"""

import sys
import time

import torch

from absa.commands import parse
from absa.models import load_classifier
from absa.timing import where
from datasets_scripts import load_absa_dataset
from modeling_qacg_bert import AspectSentimentPipeline, Contexts, encode
from timing import OnSentiHood, print_table

NUM_TEXTS = 1000  # of the test split, from its start
TOLERANCE = 1e-5


@torch.no_grad()
def loop(model, tokenizer, texts: list[str]) -> torch.Tensor:
    """Probabilities of every context of every text, (questions, labels), one forward pass each."""
    contexts, auxiliary_sentence = Contexts.from_config(model.config), model.config.auxiliary_sentence
    logits = []
    for text in texts:
        for target, aspect in contexts.in_text(text):
            row = encode(tokenizer, contexts, [text], [target], [aspect], auxiliary_sentence=auxiliary_sentence)
            logits.append(model(**{name: torch.tensor(column) for name, column in row.items()}).logits)
    return (torch.cat(logits) / model.config.calibration_temperature).softmax(-1)


def main(arguments: OnSentiHood):
    model, tokenizer = load_classifier("checkpoint", arguments.checkpoint, dtype=torch.float32)
    pipe = AspectSentimentPipeline(model=model, tokenizer=tokenizer, device="cpu", return_all=True)
    rows = load_absa_dataset("sentihood", data_dir=arguments.data_dir)["test"]
    texts = list(dict.fromkeys(rows["text"]))[:NUM_TEXTS]

    def asked(texts: list[str]) -> torch.Tensor:
        answers = [answer for of_text in pipe(texts) for answer in of_text]
        return torch.tensor([list(answer["probabilities"].values()) for answer in answers])

    found, table = [], []
    for name, ask in (("loop", lambda texts: loop(model, tokenizer, texts)), ("pipeline", asked)):
        ask(texts[:20])
        start = time.perf_counter()
        found.append(ask(texts))
        seconds = time.perf_counter() - start
        table.append({"": name, "seconds": f"{seconds:.1f}", "questions a second": f"{len(found[0]) / seconds:.0f}"})
    print(f"{len(texts)} texts, {len(found[0])} questions, float32, {where('cpu')}")
    print_table(table)
    difference = (found[0] - found[1]).abs().max().item()
    same = found[0].argmax(-1).eq(found[1].argmax(-1)).sum().item()
    print(f"\nsame labels {same} of {len(found[0])}, largest difference of a probability {difference:.1e}")
    if same < len(found[0]) or difference > TOLERANCE:
        sys.exit(f"the two do not agree to {TOLERANCE}")


if __name__ == "__main__":
    main(parse(OnSentiHood, "checkpoint"))
