"""The folder of the demo, as the Hub takes it."""

import re
import sys
import tomllib
from pathlib import Path

from huggingface_hub import SpaceCard
from packaging.requirements import Requirement


def test_the_hub_installs_what_this_project_tests(repo_root: Path):
    folder = repo_root / "examples" / "space"
    card = SpaceCard.load(folder / "README.md").data
    assert card.sdk == "gradio"
    assert (folder / card.app_file).is_file()
    assert len(card.short_description) <= 60
    assert f"gradio=={card.sdk_version}" in (repo_root / "constraints.txt").read_text().split()
    project = tomllib.loads((repo_root / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    known = {Requirement(line).name: line for line in [*project["dependencies"], *extras["explain"], *extras["space"]]}
    for line in (folder / "requirements.txt").read_text().split():
        assert line == known[Requirement(line).name]


def test_it_needs_none_of_this_projects_packages(repo_root: Path):
    for file in (repo_root / "examples" / "space").glob("*.py"):
        imported = set(re.findall(r"^(?:from|import) (\w+)", file.read_text(), flags=re.MULTILINE))
        own = {other.stem for other in file.parent.glob("*.py")}
        assert imported - own - sys.stdlib_module_names <= {"gradio", "torch", "transformers"}
