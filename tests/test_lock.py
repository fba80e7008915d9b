"""requirements.lock holds what constraints.txt does, every file of it by its hash."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
NOT_LOCKED = ("docs", "setfit")  # the tools that build the site, and the library of a baseline of the study


def versions(file: str, at_least: int = 80) -> dict[str, str]:
    lines = re.findall(r"^([\w.-]+)==([^\s+]+)", (ROOT / file).read_text(), flags=re.MULTILINE)
    assert len({name for name, _ in lines}) == len(lines) >= at_least
    return {re.sub(r"[._-]+", "-", name).lower(): version for name, version in lines}


def test_lock_and_constraints_agree():
    constraints, lock = versions("constraints.txt"), versions("requirements.lock")
    assert {name: lock[name] for name in constraints} == constraints
    assert lock.keys() - constraints.keys() <= {"setuptools"}  # which torch needs and every venv has


def test_every_package_has_hashes_of_its_files():
    packages = re.split(r"^(?=\w)", (ROOT / "requirements.lock").read_text(), flags=re.MULTILINE)[1:]
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", package) for package in packages)


def requirements() -> dict[str, Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    lines = [
        *project["dependencies"],
        *(line for name, extra in extras.items() if name not in NOT_LOCKED for line in extra),
    ]
    named = {requirement.name: requirement for requirement in map(Requirement, lines)}
    return {re.sub(r"[._-]+", "-", name).lower(): named[name] for name in named.keys() - {project["name"]}}


def test_lower_bounds_are_at_most_what_is_installed():
    lock = versions("requirements.lock")
    for name, requirement in requirements().items():
        assert requirement.specifier.contains(lock[name]), requirement


def test_lower_bounds_are_what_is_tested():
    """`make test-oldest` has the versions of requirements-oldest.txt and, of all else, those of constraints.txt."""
    tested = versions("constraints.txt") | versions("tests/released/requirements-oldest.txt", at_least=15)
    for name, requirement in requirements().items():
        (bound,) = requirement.specifier
        assert f"{tested[name]}.".startswith(f"{bound.version}."), f"{requirement}, tested with {tested[name]}"
