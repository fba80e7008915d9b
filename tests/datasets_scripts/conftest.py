"""Fixtures of the data set tests."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def sentihood_dir(shared_dir: Path) -> Path:
    return shared_dir / "data" / "sentihood"


@pytest.fixture(scope="session")
def semeval2014_dir(shared_dir: Path) -> Path:
    return shared_dir / "data" / "semeval2014"


@pytest.fixture(scope="session")
def rows_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for the tests that only read: each data set is built once."""
    return tmp_path_factory.mktemp("rows_cache")
