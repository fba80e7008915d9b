"""The README's snippets run and print what it says; its tables quote figures that are in the repo's tests."""

import doctest
import re
import shlex
from pathlib import Path

import pytest
from datasets import load_dataset

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = ("README.md", "docs/accuracy.md", "docs/attention.md", "docs/reliability.md", "SECURITY.md")


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


README = text_of("README.md")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_python_snippets_print_what_the_readme_says(tiny_bert: Path, tiny_classifier: Path):
    """On a tiny BERT and on a classifier saved from it: nothing printed depends on the weights."""
    source = "\n".join(blocks("python"))
    assert "outputs/quickstart/seed-42" in source
    source = source.replace("outputs/quickstart/seed-42", str(tiny_classifier))
    source = source.replace("google-bert/bert-base-uncased", str(tiny_bert))
    snippets = doctest.DocTestParser().get_doctest(source, {}, "README.md", "README.md", 0)
    runner = doctest.DocTestRunner()
    runner.run(snippets)
    assert runner.tries >= 12
    assert runner.failures == 0


def test_own_data_as_the_readme_shows_it(tiny_bert: Path, tmp_path: Path, run_script):
    (csv,) = blocks("csv")
    command = next(block for block in blocks("bash") if "own_data.yaml" in block)
    for name in ("train.csv", "dev.csv", "test.csv"):
        (tmp_path / name).write_text(csv)
        command = command.replace(name, str(tmp_path / name))
    training, asking = command.replace("outputs/own", str(tmp_path / "own")).splitlines()
    quick = ("--max_steps=2", "--eval_steps=1", "--save_steps=1", "--model_name_or_path", tiny_bert)
    assert "macro_f1" in run_script(*training.removeprefix("python ").split(), *quick).stdout
    assert "food" in run_script(*shlex.split(asking.removeprefix("python "))).stdout


@pytest.mark.slow
def test_export_as_the_readme_shows_it(tiny_classifier: Path, tmp_path: Path, run_script):
    (command,) = re.findall(r"^python (examples/export_onnx.py .*)$", README, flags=re.MULTILINE)
    words = command.replace("outputs/quickstart/seed-42", str(tiny_classifier)).replace("outputs", str(tmp_path))
    run_script(*words.split())
    assert (tmp_path / "onnx" / "model.int8.onnx").is_file()


def test_annotation_as_the_readme_shows_it(tiny_classifier: Path, tmp_path: Path, run_script):
    (command,) = re.findall(r"^python (examples/annotate.py .*)$", README, flags=re.MULTILINE)
    (tmp_path / "reviews.csv").write_text("id,text\n7,Camden is dear\n8,\n9,Soho is safe\n", encoding="utf-8")
    words = command.replace("outputs/quickstart/seed-42", str(tiny_classifier)).replace("outputs", str(tmp_path))
    printed = run_script(*words.replace("reviews.csv", str(tmp_path / "reviews.csv")).split(), "--return_all").stdout
    assert "1 rows were rejected" in printed
    assert 'load_dataset("parquet", data_files="outputs/annotated/annotations-*.parquet")["train"]' in README
    rows = load_dataset("parquet", data_files=str(tmp_path / "annotated" / "annotations-*.parquet"))["train"]
    assert rows["target"][:] == ["Camden"] * 4 + ["Soho"] * 4
    (described,) = re.findall(r"each thing that a text says: (.*?)\. With", README, flags=re.DOTALL)
    given = dict.fromkeys(re.sub("probability_.*", "probability_<label>", name) for name in rows.column_names)
    assert re.findall(r"`([\w<>]+)`", described) == [*given]


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


@pytest.mark.parametrize("name", DOCUMENTS[:3])
def test_commands_name_files_that_exist(name: str):
    named = re.findall(r"(?<!/)\b(?:examples|benchmarks|configuration)/[\w/.-]+\.(?:py|yaml|json)", text_of(name))
    assert named
    for file in named:
        assert (ROOT / file).is_file(), file


def test_every_test_that_a_promise_names_is_there():
    tests = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("test_*.py"))
    files = {file.name for file in (ROOT / "tests").rglob("test_*.py")}
    named = re.findall(r"`(test_\w+)(\.py)?`", text_of("docs/reliability.md"))
    assert len(named) > 15
    for name, is_file in named:
        assert f"{name}.py" in files if is_file else f"def {name}(" in tests, name
