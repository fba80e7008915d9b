"""Many clients at once, of a pipeline and of the demo: wrong answers, errors, memory over time, a queue that is full.

    python benchmarks/load.py CHECKPOINT
    python benchmarks/load.py CHECKPOINT --clients 50 --seconds 300 --cases pipeline demo

Each client asks about one text after the other, of texts that were answered to one client alone before. Memory is the
resident set of the process that answers, of which the third and the last quarter of the time are compared: caches have
grown by then, and what still grows is lost.
"""

import os
import random
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median

import psutil
import torch
from gradio_client import Client
from gradio_client.utils import QueueError

import drawing
from absa.commands import parse
from absa.models import load_classifier
from asking import Asker
from modeling_qacg_bert import AspectSentimentPipeline

ROOT = Path(__file__).resolve().parents[1]

NAMES = ("Camden", "Soho", "Hackney", "Peckham", "Brixton")
OPINIONS = ("dear", "safe", "cheap", "far from the tube", "dull, and far too loud at night, as I have often said")
TEXTS = [f"{name} is {opinion}." for name in NAMES for opinion in OPINIONS]
EXPLANATIONS = (False, False, "gradient", "attention")  # of which a client draws one
MEGABYTE = 1 << 20
LOOK_EVERY_S = 0.5  # at memory
START_WITHIN_S = 180
SAME = 1e-4  # difference of two numbers that texts beside a text may make


@dataclass
class BenchmarkArguments:
    """What to measure."""

    checkpoint: str = field(metadata={"help": "Folder or Hub id of a classifier that knows LOCATION1."})
    clients: int = field(default=50, metadata={"help": "That ask at once (default: 50)."})
    seconds: float = field(default=300.0, metadata={"help": "That each case takes (default: 300)."})
    burst: int = field(default=200, metadata={"help": "Visitors of the demo who then come at once (default: 200)."})
    cases: list[str] = field(
        default_factory=lambda: ["pipeline", "demo"], metadata={"help": "Of pipeline and demo (default: both)."}
    )


def load(arguments: BenchmarkArguments, name: str, process: int, clients: list[Callable[[random.Random], bool]]):
    """Has the clients ask until time is up and prints a row. A client returns whether its answer was right."""
    waits, memory = [], []
    start = time.monotonic()
    end = start + arguments.seconds

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
            memory.append(psutil.Process(process).memory_info().rss / MEGABYTE)
            time.sleep(LOOK_EVERY_S)

    looking = threading.Thread(target=look)
    looking.start()
    with ThreadPoolExecutor(len(clients)) as pool:
        outcomes = sum(pool.map(ask, range(len(clients))), Counter())
    looking.join()
    quarter = max(len(memory) // 4, 1)
    right, wrong = outcomes.pop("right", 0), outcomes.pop("wrong", 0)
    print(
        f"| {name} | {len(clients)} | {right + wrong + outcomes.total():,} | {wrong} | {outcomes.total()} "
        f"| {median(waits):.2f} | {max(waits):.2f} | {memory[0]:.0f} | {mean(memory[-2 * quarter : -quarter]):.0f} "
        f"| {mean(memory[-quarter:]):.0f} |",
        flush=True,
    )
    for error, times in outcomes.most_common():
        print(f"  {times} x {error}", file=sys.stderr)


def same(given, expected) -> bool:
    """Whether answers are the same, up to rounding."""
    if isinstance(expected, float):
        return abs(given - expected) <= SAME
    if isinstance(expected, dict):
        return given.keys() == expected.keys() and all(same(given[name], expected[name]) for name in expected)
    if isinstance(expected, list):
        return len(given) == len(expected) and all(map(same, given, expected))
    return given == expected


def pipeline_case(arguments: BenchmarkArguments, pipe: AspectSentimentPipeline):
    """One pipeline, called by many threads; also for what explains an answer."""

    def answers(text: str, explain: bool | str) -> list[dict]:
        return pipe(text, targets={text.split()[0]: "LOCATION1"}, return_all=True, explain=explain)

    expected = {(text, explain): answers(text, explain) for text in TEXTS for explain in set(EXPLANATIONS)}

    def client(generator: random.Random) -> bool:
        question = generator.choice(TEXTS), generator.choice(EXPLANATIONS)
        return same(answers(*question), expected[question])

    load(arguments, "pipeline", os.getpid(), [client] * arguments.clients)


def demo_case(arguments: BenchmarkArguments, pipe: AspectSentimentPipeline):
    """The demo in a process of its own, asked over its port."""
    asker = Asker(pipe)
    expected = {}
    for text in TEXTS:
        asked = asker.ask(text, [], asker.aspects)
        expected[text] = drawing.table(asked.answers, asked.notes)
    server, address = start_demo(arguments.checkpoint)
    try:

        def make_client() -> Callable[[random.Random], bool]:
            client = Client(address, verbose=False)

            def ask(generator: random.Random) -> bool:
                text = generator.choice(TEXTS)
                return client.predict(text, "", asker.aspects, api_name="/ask")[0] == expected[text]

            return ask

        load(arguments, "demo", server.pid, [make_client() for _ in range(arguments.clients)])
        burst(arguments, address, asker.aspects, expected)
    finally:
        server.terminate()
        server.wait()


def start_demo(checkpoint: str) -> tuple[subprocess.Popen, str]:
    """The demo's process and address; all it prints afterwards is dropped."""
    process = subprocess.Popen(
        [sys.executable, "-u", "examples/space/app.py"],
        cwd=ROOT,
        env={**os.environ, "MODEL": str(Path(checkpoint).resolve()) if Path(checkpoint).exists() else checkpoint},
        stdout=subprocess.PIPE,
        text=True,
    )
    killer = threading.Timer(START_WITHIN_S, process.kill)
    killer.start()
    for line in process.stdout:
        if address := re.search(r"http://127\.0\.0\.1:\d+", line):
            killer.cancel()
            threading.Thread(target=lambda: list(process.stdout), daemon=True).start()
            return process, address[0]
    raise RuntimeError(f"the demo did not start on {checkpoint}")


def burst(arguments: BenchmarkArguments, address: str, aspects: list[str], expected: dict[str, str]):
    """More visitors than the queue has places come at once; each is answered, or told that the demo is busy."""
    client = Client(address, max_workers=arguments.burst, verbose=False)
    jobs = [
        (text, client.submit(text, "", aspects, api_name="/ask"))
        for text in (TEXTS * arguments.burst)[: arguments.burst]
    ]
    outcomes = Counter()
    for text, job in jobs:
        try:
            outcomes["right" if job.result()[0] == expected[text] else "wrong"] += 1
        except QueueError:
            outcomes["busy"] += 1
    print(
        f"\n{arguments.burst} at once: {outcomes['right']} answered, {outcomes['busy']} told that the demo is busy, "
    )
    print(f"{outcomes['wrong']} wrong. One more afterwards: ", end="")
    print("answered" if client.predict(TEXTS[0], "", aspects, api_name="/ask")[0] == expected[TEXTS[0]] else "wrong")


CASES = {"pipeline": pipeline_case, "demo": demo_case}


def main(arguments: BenchmarkArguments):
    if unknown := set(arguments.cases) - set(CASES):
        raise ValueError(f"cases={sorted(unknown)}: give some of {', '.join(CASES)}")
    torch.set_num_threads(1)
    model, tokenizer = load_classifier("checkpoint", arguments.checkpoint)
    pipe = AspectSentimentPipeline(model=model, tokenizer=tokenizer)
    print(
        "| | clients | requests | wrong | errors | median s | longest s | MB at first | MB in the 3rd quarter | last |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|", flush=True)
    for name in arguments.cases:
        CASES[name](arguments, pipe)


if __name__ == "__main__":
    main(parse(BenchmarkArguments, "checkpoint"))
