"""requirements.lock holds what constraints.txt does, every file of it by its hash."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]


def versions(file: str) -> dict[str, str]:
    lines = re.findall(r"^([\w.-]+)==([^\s+]+)", (ROOT / file).read_text(), flags=re.MULTILINE)
    assert len({name for name, _ in lines}) == len(lines) > 80
    return {re.sub(r"[._-]+", "-", name).lower(): version for name, version in lines}


def test_lock_and_constraints_agree():
    constraints, lock = versions("constraints.txt"), versions("requirements.lock")
    assert {name: lock[name] for name in constraints} == constraints
    assert lock.keys() - constraints.keys() <= {"setuptools"}  # which torch needs and every venv has


def test_every_package_has_hashes_of_its_files():
    packages = re.split(r"^(?=\w)", (ROOT / "requirements.lock").read_text(), flags=re.MULTILINE)[1:]
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", package) for package in packages)


def test_lower_bounds_are_at_most_what_is_installed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [
        *project["dependencies"],
        *(line for extra in project["optional-dependencies"].values() for line in extra),
    ]
    lock = versions("requirements.lock")
    for requirement in map(Requirement, lines):
        if requirement.name != project["name"]:
            name = re.sub(r"[._-]+", "-", requirement.name).lower()
            assert requirement.specifier.contains(lock[name]), requirement
