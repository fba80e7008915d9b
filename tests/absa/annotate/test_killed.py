"""What a run of hours meets: processes that are killed, memory that runs out, machines that share the work."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from absa import annotate as module

pytestmark = pytest.mark.slow
KILLS = 20


@pytest.fixture(scope="module")
def corpus(make_texts, tmp_path_factory) -> tuple[Path, dict[str, str]]:
    """Four files of a thousand texts."""
    folder = tmp_path_factory.mktemp("corpus")
    ids = {}
    for number, start in enumerate(range(0, 4000, 1000)):
        texts = make_texts(4000)[start : start + 1000]
        lines = (json.dumps({"text": text}) + "\n" for text in texts)
        (folder / f"{number}.jsonl").write_text("".join(lines))
        ids |= {f"{folder.name}/{number}.jsonl:{row}": text for row, text in enumerate(texts, start=1)}
    return folder, ids


def ray_processes(driver: psutil.Process) -> list[psutil.Process]:
    """Workers of a run: the actors that answer, tasks that read and write, and Ray Data's own."""
    found = []
    for process in driver.children(recursive=True):
        try:
            name = "".join(process.cmdline()[:1])
            # Without one of its agents a node counts as lost, and with it the driver that is there.
            if name.startswith("ray::") and "Agent" not in name:
                found.append(process)
        except psutil.Error:  # it has ended
            continue
    return found


def test_killed_twenty_times_every_row_is_answered_once(
    repo_root: Path, tiny_classifier: Path, corpus, assert_same_as_pipe, tmp_path: Path
):
    """The driver, with which all else should end, or a worker, each after some more commits."""
    output, generator, killed = tmp_path / "run", random.Random(0), []
    words = [
        sys.executable,
        "examples/annotate.py",
        tiny_classifier,
        corpus[0],
        "--output_dir",
        output,
        "--bf16",
        "false",
    ]
    words += ["--return_all", "--rows_per_commit", "20", "--batch_size", "4"]
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "HF_HUB_OFFLINE": "1"}

    def start() -> subprocess.Popen:
        with open(tmp_path / "log", "a") as log:
            return subprocess.Popen([*map(str, words)], cwd=repo_root, env=environment, stdout=log, stderr=log)

    run, commits = start(), 0
    while len(killed) < KILLS:
        deadline, wanted = time.monotonic() + 120, commits + generator.randint(0, 6)
        while len(list(output.glob("*.parquet"))) <= wanted or not ray_processes(psutil.Process(run.pid)):
            assert run.poll() is None, (tmp_path / "log").read_text()[-3000:]
            assert time.monotonic() < deadline, (tmp_path / "log").read_text()[-3000:]
            time.sleep(0.02)
        time.sleep(generator.random() / 10)
        commits = len(list(output.glob("*.parquet")))
        if generator.random() < 0.35:
            run.send_signal(signal.SIGKILL)
            run.wait()
            killed.append("driver")
            run = start()
        else:
            victims = ray_processes(psutil.Process(run.pid))
            if victims:
                actors = [one for one in victims if "Annotator" in "".join(one.cmdline())]
                victim = generator.choice(actors if actors and generator.random() < 0.5 else victims)
                killed.append(victim.cmdline()[0])
                victim.kill()
    assert run.wait(timeout=600) == 0, (tmp_path / "log").read_text()[-3000:]
    print(f"killed: {sorted(killed)}, {commits} commits before the last")
    assert 4 <= killed.count("driver") <= 16
    assert commits < 200
    assert_same_as_pipe(output, tiny_classifier, corpus[1])


class Balloon(module.Annotator):
    """A worker that takes memory without end, once."""

    def __call__(self, chunks):
        once = Path(os.environ["BALLOON"])
        if not once.exists():
            once.touch()
            held = []
            while True:
                held.append(bytearray(os.urandom(1 << 20) * 50))
        return super().__call__(chunks)


class Named(module.Annotator):
    """A worker that says on which machine it has answered."""

    def __call__(self, chunks):
        import ray

        (Path(os.environ["NODES"]) / ray.get_runtime_context().get_node_id()).touch()
        return super().__call__(chunks)


@pytest.fixture
def by_value(monkeypatch):
    """Sends this module's classes to workers, who cannot import it, and ends Ray before and behind the test."""
    ray = pytest.importorskip("ray", reason="pip install '.[annotate]'")
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    ray.shutdown()
    yield ray
    ray.shutdown()
    ray.cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def test_a_worker_that_dies_of_memory_is_replaced(
    by_value, corpus, tiny_classifier, run, assert_same_as_pipe, tmp_path: Path, monkeypatch
):
    """Ray's monitor kills it where the machine has used 2 GB more than before."""
    memory = psutil.virtual_memory()
    if memory.available < 6e9:
        pytest.skip("less than 6 GB of memory are free")
    monkeypatch.setenv("RAY_memory_usage_threshold", str((memory.total - memory.available + 3e9) / memory.total))
    monkeypatch.setenv("BALLOON", str(tmp_path / "balloon"))
    monkeypatch.setattr(module, "Annotator", Balloon)
    output = run(tiny_classifier, tmp_path / "run", corpus[0], rows_per_commit=500)
    assert (tmp_path / "balloon").exists()
    assert_same_as_pipe(output, tiny_classifier, corpus[1])


def test_two_machines_share_the_work(
    by_value, corpus, tiny_classifier, run, assert_same_as_pipe, tmp_path: Path, monkeypatch
):
    from ray.cluster_utils import Cluster

    (tmp_path / "nodes").mkdir()
    monkeypatch.setenv("NODES", str(tmp_path / "nodes"))
    monkeypatch.setattr(module, "Annotator", Named)
    size = {"num_cpus": 1, "object_store_memory": 128 * 1024 * 1024, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=size)
    try:
        cluster.add_node(**{name: value for name, value in size.items() if name != "include_dashboard"})
        options = {"address": cluster.address, "workers": None, "rows_per_commit": 50, "batch_size": 4}
        output = run(tiny_classifier, tmp_path / "run", corpus[0], **options)
    finally:
        by_value.shutdown()
        cluster.shutdown()
    assert len(list((tmp_path / "nodes").iterdir())) == 2
    assert_same_as_pipe(output, tiny_classifier, corpus[1])
