"""Ray, once for all tests here, and what the pipeline says of texts, to compare with."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest

import absa
from absa.annotate import AnnotateArguments, annotate
from absa.opinions import to_table
from modeling_global_context import labels_of

# Ray's workers are nice to others by default, and would wait for the other worker of pytest.
os.environ.setdefault("RAY_worker_niceness", "0")

WORDS = ["safe", "dangerous", "cheap", "dear", "near", "far", "nice", "dull"]


@pytest.fixture(scope="session")
def make_texts() -> Callable[[int], list[str]]:
    """Texts of different lengths, so that batches by length mix them; every fourth names no target."""

    def make(number: int) -> list[str]:
        targets = ("LOCATION1", "LOCATION2", "LOCATION1 and LOCATION2", "nowhere")
        return [f"{'but nice and ' * (n % 5)}{targets[n % 4]} is {WORDS[n % 8]} {n}" for n in range(number)]

    return make


@pytest.fixture(scope="session")
def tagger(make_tagger) -> Path:
    """A tagger that finds something by either decoding."""
    return make_tagger(labels_of("BIO", ["POS", "NEG"]))


@pytest.fixture(scope="session")
def ray_here() -> Iterator[None]:
    """Ray on this machine, with two processors and without reports to its makers."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray = pytest.importorskip("ray", reason="pip install '.[annotate]'")
    options = {"num_cpus": 2, "object_store_memory": 128 * 1024 * 1024, "include_dashboard": False}
    ray.init("local", **options, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


@pytest.fixture(scope="session")
def run() -> Callable[..., Path]:
    """Annotates here, and returns the folder."""

    def call(checkpoint: Path, output_dir: Path, *inputs: Path, **options) -> Path:
        options = {"return_all": True, "bf16": "false", "cpus_per_worker": 1, "workers": 1, **options}
        annotate(AnnotateArguments(str(checkpoint), [*map(str, inputs)], str(output_dir), **options))
        return output_dir

    return call


@pytest.fixture(scope="session")
def assert_same_as_pipe() -> Callable[..., None]:
    """What was written is what the pipeline says of a list, in any order."""

    def check(output_dir: Path, checkpoint: Path, texts: dict[str, str], **parameters):
        said = absa.load(str(checkpoint), return_all=True, **parameters)(list(texts.values()), text_ids=list(texts))
        expected = to_table(opinion for of_text in said for opinion in of_text).to_pandas(maps_as_pydicts="strict")
        written = pd.read_parquet(output_dir, to_pandas_kwargs={"maps_as_pydicts": "strict"})
        key = ["text_id", "target", "aspect"]
        assert not written.duplicated(key).any()
        both = [frame.sort_values(key, ignore_index=True) for frame in (written[expected.columns], expected)]
        probabilities = [pd.DataFrame(frame.pop("probabilities").tolist()) for frame in both]
        pd.testing.assert_frame_equal(*both, check_exact=False, rtol=0, atol=1e-6)
        pd.testing.assert_frame_equal(*probabilities, check_exact=False, rtol=0, atol=1e-6)

    return check
