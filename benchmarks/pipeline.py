"""Questions a second: the pipeline against a loop that asks the model one question about one text at a time.

    python benchmarks/pipeline.py CHECKPOINT --data_dir DIR

CHECKPOINT is a SentiHood classifier, DIR holds sentihood-test.json. Both answer all contexts of the same texts, in one
run on as many threads, in float32; the loop first, after both have warmed up.
"""

import sys
import time
from dataclasses import dataclass, field

import torch

from absa.commands import parse
from absa.models import load_classifier
from datasets_scripts import load_absa_dataset
from modeling_qacg_bert import AspectSentimentPipeline, Contexts, encode
from timing import Threads

TOLERANCE = 1e-5


@dataclass
class BenchmarkArguments(Threads):
    """What to measure."""

    checkpoint: str = field(metadata={"help": "Folder or Hub id of a SentiHood classifier."})
    data_dir: str | None = field(default=None, metadata={"help": "Folder of the SentiHood files (default: download)."})
    num_texts: int = field(default=1000, metadata={"help": "Texts of the test split, from its start (default: 1000)."})


@torch.no_grad()
def loop(model, tokenizer, texts: list[str]) -> list[list[float]]:
    """Probabilities of every context of every text, one forward pass each."""
    contexts = Contexts.from_config(model.config)
    temperature = model.config.calibration_temperature
    answers = []
    for text in texts:
        for target, aspect in contexts.in_text(text):
            rows = encode(
                tokenizer, contexts, [text], [target], [aspect], auxiliary_sentence=model.config.auxiliary_sentence
            )
            logits = model(**{name: torch.tensor(column) for name, column in rows.items()}).logits
            answers.append((logits[0] / temperature).softmax(-1).tolist())
    return answers


def main(arguments: BenchmarkArguments):
    model, tokenizer = load_classifier("checkpoint", arguments.checkpoint, dtype=torch.float32)
    pipe = AspectSentimentPipeline(model=model, tokenizer=tokenizer, device="cpu", return_all=True)
    rows = load_absa_dataset("sentihood", data_dir=arguments.data_dir)["test"]
    texts = list(dict.fromkeys(rows["text"]))[: arguments.num_texts]
    loop(model, tokenizer, texts[:20])
    pipe(texts[:20])

    start = time.perf_counter()
    expected = loop(model, tokenizer, texts)
    loop_s = time.perf_counter() - start
    start = time.perf_counter()
    answers = [answer for of_text in pipe(texts) for answer in of_text]
    pipeline_s = time.perf_counter() - start

    given = torch.tensor([list(answer["probabilities"].values()) for answer in answers])
    expected = torch.tensor(expected)
    difference = (given - expected).abs().max().item()
    same = given.argmax(-1).eq(expected.argmax(-1)).sum().item()
    print(f"{len(texts)} texts, {len(answers)} questions, {torch.get_num_threads()} threads, float32")
    print(f"loop      {loop_s:7.1f} s  {len(answers) / loop_s:7.0f} questions/s")
    print(f"pipeline  {pipeline_s:7.1f} s  {len(answers) / pipeline_s:7.0f} questions/s")
    print(f"ratio     {loop_s / pipeline_s:7.2f}")
    print(f"same labels {same} of {len(answers)}, largest difference of a probability {difference:.1e}")
    if same < len(answers) or difference > TOLERANCE:
        sys.exit(f"the two do not agree to {TOLERANCE}")


if __name__ == "__main__":
    main(parse(BenchmarkArguments, "checkpoint"))
