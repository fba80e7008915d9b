"""The documents: snippets print what is said, commands run, links lead somewhere, and promised tests exist."""

import doctest
import os
import re
import shlex
import sys
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [f"docs/{file.name}" for file in sorted((ROOT / "docs").glob("*.md"))]
DOCUMENTS = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs/tour.ipynb", *PAGES]


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text_of(name), flags=re.DOTALL)


def command(name: str, script: str, tiny_classifier: Path, outputs: Path) -> list[str]:
    """The words of a document's command, for a tiny model and another folder of outputs."""
    line = re.search(rf"^python ({script} .*)$", text_of(name), flags=re.MULTILINE)[1]
    line = line.replace("outputs/quickstart/seed-42", str(tiny_classifier)).replace("outputs/", f"{outputs}/")
    return shlex.split(line)


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if ">>> " in text_of(name)])
def test_python_snippets_print_what_is_said(name: str, tiny_bert: Path, tiny_classifier: Path):
    """On a tiny BERT and on a classifier saved from it: nothing printed depends on the weights."""
    source = "\n".join(blocks(name, "python"))
    source = source.replace("outputs/quickstart/seed-42", str(tiny_classifier))
    source = source.replace("google-bert/bert-base-uncased", str(tiny_bert))
    runner = doctest.DocTestRunner()
    runner.run(doctest.DocTestParser().get_doctest(source, {}, name, name, 0))
    assert runner.tries >= 5
    assert runner.failures == 0


@pytest.mark.slow
def test_own_data_as_the_readme_shows_it(tiny_bert: Path, tmp_path: Path, run_script):
    (csv,) = blocks("README.md", "csv")
    commands = next(block for block in blocks("README.md", "bash") if "own_data.yaml" in block)
    for name in ("train.csv", "dev.csv", "test.csv"):
        (tmp_path / name).write_text(csv)
        commands = commands.replace(name, str(tmp_path / name))
    training, asking = commands.replace("outputs/own", str(tmp_path / "own")).splitlines()
    quick = ("--max_steps=2", "--eval_steps=1", "--save_steps=1", "--model_name_or_path", tiny_bert)
    assert "macro_f1" in run_script(*training.removeprefix("python ").split(), *quick).stdout
    assert "food" in run_script(*shlex.split(asking.removeprefix("python "))).stdout


@pytest.mark.parametrize("name", ["README.md", "docs/prediction.md"])
def test_predicting_as_the_documents_show_it(name: str, tiny_classifier: Path, tmp_path: Path, run_script):
    words = command(name, "examples/predict.py", tiny_classifier, tmp_path)
    printed = run_script(*words, launcher=(sys.executable,)).stdout
    assert "Camden price" in printed


@pytest.mark.slow
def test_export_as_the_documents_show_it(tiny_classifier: Path, tmp_path: Path, run_script):
    run_script(*command("docs/prediction.md", "examples/export_onnx.py", tiny_classifier, tmp_path))
    assert (tmp_path / "onnx" / "model.int8.onnx").is_file()
    asking = command("docs/prediction.md", "examples/predict_onnx.py", tiny_classifier, tmp_path)
    assert "LOCATION1 price" in run_script(*asking).stdout


@pytest.mark.slow
def test_annotation_as_the_documents_show_it(tiny_classifier: Path, tmp_path: Path, run_script):
    reviews = tmp_path / "reviews.csv"
    reviews.write_text("id,text\n7,Camden is dear\n8,\n9,Soho is safe\n", encoding="utf-8")
    words = command("docs/annotation.md", "examples/annotate.py", tiny_classifier, tmp_path)
    words[words.index("reviews.csv")] = str(reviews)
    assert "1 rows were rejected" in run_script(*words, "--return_all").stdout
    rows = pd.read_parquet(tmp_path / "annotated")
    assert rows["target"].tolist() == ["Camden"] * 4 + ["Soho"] * 4
    assert rows["text_id"].tolist() == ["7"] * 4 + ["9"] * 4
    (described,) = re.findall(r"The columns are: (.*?)\. With", text_of("docs/annotation.md"), flags=re.DOTALL)
    assert re.findall(r"`(\w+)`", described) == rows.columns.tolist()


FAMILY_OF_THE_PAGE = """
import runpy, sys
import absa, absa.models, modeling_toy
absa.models.FAMILIES["toy"] = "modeling_toy"
sys.argv = ["examples/run_absa.py", *sys.argv[1:]]
runpy.run_path("examples/run_absa.py", run_name="__main__")
read = absa.load(sys.argv[sys.argv.index("--output_dir") + 1] + "/seed-42")
print([type(read.pipe.model).__name__, len(read("LOCATION1 is safe", return_all=True))])
"""


@pytest.mark.slow
def test_the_family_of_the_page_trains_and_answers(recipe: Path, tmp_path: Path, run_script, monkeypatch):
    files = re.findall(r"```python\n# (modeling_toy/\w+\.py)\n(.*?)```", text_of("docs/adding_a_family.md"), re.DOTALL)
    assert len(files) == 3
    (tmp_path / "modeling_toy").mkdir()
    for name, code in files:
        (tmp_path / name).write_text(code, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{ROOT}")
    quick = ("--model_type=toy", "--max_steps=2", "--eval_steps=1", "--save_steps=1", "--eval_strategy=steps")
    words = (recipe, *quick, "--save_strategy=steps", "--output_dir", tmp_path / "run")
    run = run_script(FAMILY_OF_THE_PAGE, *words, launcher=(sys.executable, "-c"))
    assert run.stdout.splitlines()[-1] == "['ToyForSequenceClassification', 4]"


def links() -> list[tuple[str, str]]:
    """The documents and the places in the repo that they link to."""
    found = {(name, link) for name in DOCUMENTS for link in re.findall(r"\]\((?!http)([^)]+)\)", text_of(name))}
    return sorted(found)


@pytest.mark.parametrize(("name", "link"), links())
def test_links_lead_somewhere(name: str, link: str):
    path, _, anchor = link.partition("#")
    place = (ROOT / name).parent / path if path else ROOT / name
    assert place.exists()
    if anchor:
        headings = re.findall(r"^#+ (.+)$", place.read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert anchor in {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if name != "CHANGELOG.md"])
def test_files_that_are_named_exist(name: str):
    folders = "absa|benchmarks|configuration|datasets_scripts|docs|examples|study|tests"
    folders += "|modeling_qacg_bert|modeling_global_context"
    for file in re.findall(rf"(?<![\w/])(?:{folders})/[\w/.-]+\.(?:json|jsonl|md|py|txt|yaml)\b", text_of(name)):
        assert (ROOT / file).is_file(), file


def test_every_test_that_a_promise_names_is_there():
    files = sorted((ROOT / "tests").rglob("*.py"))
    code, names = "".join(file.read_text(encoding="utf-8") for file in files), {file.name for file in files}
    named = re.findall(r"`(test_\w+)(\.py)?`", text_of("docs/reliability.md"))
    assert len(named) > 15
    for name, is_file in named:
        assert f"{name}.py" in names if is_file else f"def {name}(" in code, name
