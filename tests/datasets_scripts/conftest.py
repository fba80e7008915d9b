"""Fixtures of the data set tests."""

from collections.abc import Callable
from pathlib import Path

import pytest
from huggingface_hub import DatasetCard


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


@pytest.fixture(scope="session")
def card(repo_root: Path) -> Callable[[str], DatasetCard]:
    """The card of the data set in a folder of `datasets_scripts`."""
    return lambda folder: DatasetCard.load(repo_root / "datasets_scripts" / folder / "README.md")


@pytest.fixture(scope="session")
def table() -> Callable[[DatasetCard, str], dict[str, tuple[int, ...]]]:
    """Rows of the card's table whose first column is called so: {first cell: other cells as numbers}."""

    def read(card: DatasetCard, first_header: str) -> dict[str, tuple[int, ...]]:
        lines = card.text.splitlines()
        start = next(number for number, line in enumerate(lines) if line.startswith(f"| {first_header} |"))
        rows = {}
        for line in lines[start + 2 :]:
            if not line.startswith("|"):
                break
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            rows[cells[0]] = tuple(int(cell) for cell in cells[1:])
        return rows

    return read
