"""Modules of examples/study/, which import each other as a script there would."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def study(repo_root: Path) -> Callable:
    """Imports a module of examples/study/."""

    def load(name: str):
        paths = [str(repo_root / "examples" / "study"), str(repo_root / "examples")]
        sys.path[:0] = paths
        try:
            return importlib.import_module(name)
        finally:
            for path in paths:
                sys.path.remove(path)

    return load
