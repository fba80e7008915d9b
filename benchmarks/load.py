"""Many clients at once, of a pipeline and of the demo: wrong answers, errors, memory over time, a queue that is full.

    python benchmarks/load.py CHECKPOINT
    python benchmarks/load.py CHECKPOINT --clients 50 --seconds 300 --cases pipeline demo

Each client asks about one text after the other, of texts that were answered to one client alone before. Memory is the
resident set of the process that answers, of which the third and the last quarter of the time are compared: caches have
grown by then, and what still grows is lost.
"""

import json
import os
import random
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import torch
from gradio_client import Client
from gradio_client.utils import QueueError
from transformers import AutoConfig

from absa.commands import parse
from absa.models import load_classifier
from modeling_qacg_bert import AspectSentimentPipeline
from timing import print_table

ROOT = Path(__file__).resolve().parents[1]

NAMES = ("Camden", "Soho", "Hackney", "Peckham", "Brixton")
OPINIONS = ("dear", "safe", "cheap", "far from the tube", "dull, and far too loud at night, as I have often said")
TEXTS = [f"{name} is {opinion}." for name in NAMES for opinion in OPINIONS]
EXPLANATIONS = (False, False, "gradient", "attention")  # of which a client draws one
LOOK_EVERY_S = 0.5  # at memory
START_WITHIN_S = 180


@dataclass
class BenchmarkArguments:
    """What to measure."""

    checkpoint: str = field(metadata={"help": "Folder or Hub id of a classifier that knows LOCATION1."})
    clients: int = field(default=50, metadata={"help": "That ask at once (default: 50)."})
    seconds: float = field(default=300.0, metadata={"help": "That each case takes (default: 300)."})
    burst: int = field(default=200, metadata={"help": "Visitors of the demo who then come at once (default: 200)."})
    cases: list[str] = field(
        default_factory=lambda: ["pipeline", "demo"],
        metadata={"choices": ["pipeline", "demo"], "help": "What is asked (default: both)."},
    )


def load(arguments: BenchmarkArguments, process: int, clients: list[Callable[[random.Random], bool]]) -> dict:
    """Has the clients ask until time is up; a row of the table. A client returns whether its answer was right."""
    waits, memory = [], []
    end = time.monotonic() + arguments.seconds

    def ask(number: int) -> Counter:
        generator, outcomes = random.Random(number), Counter()
        while (asked := time.monotonic()) < end:
            try:
                outcomes["right" if clients[number](generator) else "wrong"] += 1
            except Exception as error:  # whatever it is, it is counted and told
                outcomes[f"{type(error).__name__}: {error}"[:200]] += 1
            waits.append(time.monotonic() - asked)
        return outcomes

    def look():
        while time.monotonic() < end:
            memory.append(psutil.Process(process).memory_info().rss / 2**20)
            time.sleep(LOOK_EVERY_S)

    with ThreadPoolExecutor(len(clients) + 1) as pool:
        pool.submit(look)
        outcomes = sum(pool.map(ask, range(len(clients))), Counter())
    *_, third, last = map(np.mean, np.array_split(memory, 4))
    requests, wrong, right = outcomes.total(), outcomes.pop("wrong", 0), outcomes.pop("right", 0)
    for error, times in outcomes.most_common():
        print(f"  {times} x {error}", file=sys.stderr)
    return {
        "clients": len(clients),
        "requests": f"{requests:,}",
        "wrong": wrong,
        "errors": requests - wrong - right,
        "median s": f"{np.median(waits):.2f}",
        "longest s": f"{max(waits):.2f}",
        "MB at first": f"{memory[0]:.0f}",
        "MB in the 3rd quarter": f"{third:.0f}",
        "last": f"{last:.0f}",
    }


def ask_pipeline(arguments: BenchmarkArguments) -> Iterator[dict]:
    """One pipeline, called by many threads; also for what explains an answer."""
    torch.set_num_threads(1)
    model, tokenizer = load_classifier("checkpoint", arguments.checkpoint)
    pipe = AspectSentimentPipeline(model=model, tokenizer=tokenizer, device="cpu")

    def answers(text: str, explain: bool | str) -> list[dict]:
        return pipe(text, targets={text.split()[0]: "LOCATION1"}, return_all=True, explain=explain)

    expected = {(text, explain): answers(text, explain) for text in TEXTS for explain in set(EXPLANATIONS)}

    def client(generator: random.Random) -> bool:
        question = generator.choice(TEXTS), generator.choice(EXPLANATIONS)
        return answers(*question) == expected[question]

    yield {"": "pipeline"} | load(arguments, os.getpid(), [client] * arguments.clients)


def ask_demo(arguments: BenchmarkArguments) -> Iterator[dict]:
    """The demo in a process of its own, asked over its port; then by more visitors at once than may wait."""
    checkpoint = arguments.checkpoint
    aspects = AutoConfig.from_pretrained(checkpoint).aspects
    server, address, _ = start_demo(str(Path(checkpoint).resolve()) if Path(checkpoint).exists() else checkpoint)
    try:
        alone = Client(address, max_workers=arguments.burst, verbose=False)

        def shown(outputs: tuple) -> tuple:
            sentence, _, answers, *_ = outputs
            return sentence, answers

        expected = {text: shown(alone.predict(text, "", aspects, api_name="/ask")) for text in TEXTS}
        if len({answers for _, answers in expected.values()}) < len(TEXTS):
            raise ValueError(f"checkpoint={checkpoint} answers texts alike, which would hide a mix-up")

        def client(visitor: Client, generator: random.Random) -> bool:
            text = generator.choice(TEXTS)
            return shown(visitor.predict(text, "", aspects, api_name="/ask")) == expected[text]

        visitors = [partial(client, Client(address, verbose=False)) for _ in range(arguments.clients)]
        yield {"": "demo"} | load(arguments, server.pid, visitors)
        texts = (TEXTS * arguments.burst)[: arguments.burst]
        jobs = [(text, alone.submit(text, "", aspects, api_name="/ask")) for text in texts]
        outcomes = Counter()
        for text, job in jobs:
            try:
                outcomes["answered" if shown(job.result()) == expected[text] else "wrong"] += 1
            except QueueError:
                outcomes["told that the demo is busy"] += 1
        print(f"\n{arguments.burst} at once: {json.dumps(outcomes)}")
        one_more = shown(alone.predict(TEXTS[0], "", aspects, api_name="/ask")) == expected[TEXTS[0]]
        print(f"One more afterwards: {'answered' if one_more else 'wrong'}")
    finally:
        server.terminate()
        server.wait()


def start_demo(models: str) -> tuple[subprocess.Popen, str, list[str]]:
    """The demo's process, its address, and what it prints, to which lines are added as they come.

    Args:
        models: as its variable MODEL has them.
    """
    process = subprocess.Popen(
        [sys.executable, "-u", "examples/space/app.py"],
        cwd=ROOT,
        env={**os.environ, "MODEL": models},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    killer, printed = threading.Timer(START_WITHIN_S, process.kill), []
    killer.start()
    for line in process.stdout:
        printed.append(line)
        if address := re.search(r"http://127\.0\.0\.1:\d+", line):
            killer.cancel()
            threading.Thread(target=lambda: printed.extend(process.stdout), daemon=True).start()
            return process, address[0], printed
    raise RuntimeError(f"the demo did not start on {models}: {''.join(printed)}")


def main(arguments: BenchmarkArguments):
    cases = {"pipeline": ask_pipeline, "demo": ask_demo}
    print_table(row for case in arguments.cases for row in cases[case](arguments))


if __name__ == "__main__":
    main(parse(BenchmarkArguments, "checkpoint"))
