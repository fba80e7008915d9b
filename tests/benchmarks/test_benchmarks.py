"""The benchmarks run, on tiny models: what they measure is not tested, only that they measure and check it."""

from pathlib import Path

import pytest

from absa import models
from absa.tasks.classification import describe
from modeling_qacg_bert import Contexts


def cells_of(printed: str) -> list[list[str]]:
    """The cells of the rows of all tables, headings and rules left out."""
    lines = [line for line in printed.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def test_pipeline(tiny_classifier: Path, tiny_sentihood: Path, run_here):
    printed = run_here("benchmarks/pipeline.py", tiny_classifier, "--data_dir", tiny_sentihood)
    # 16 texts, every other one with both targets.
    assert printed.startswith("16 texts, 96 questions, float32, ")
    assert [row[0] for row in cells_of(printed)[2:]] == ["loop", "pipeline"]
    assert "same labels 96 of 96" in printed


@pytest.mark.slow
def test_onnx_int8(tiny_classifier: Path, tiny_sentihood: Path, run_here):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install 'qacg-bert[onnx]'")
    printed = run_here("benchmarks/onnx_int8.py", tiny_classifier, "--data_dir", tiny_sentihood)
    rows = {row[0]: row for row in cells_of(printed)[2:]}
    assert list(rows) == ["PyTorch float32", "ONNX float32", "ONNX int8"]
    assert float(rows["ONNX float32"][-1]) < 1e-4
    assert rows["ONNX float32"][3:8] == rows["PyTorch float32"][3:8]
    assert 0 < float(rows["ONNX int8"][-1]) < 0.5


def test_step(run_here):
    words = ["--size", "tiny", "--lengths", "5", "64", "--batch_sizes", "8", "--bf16", "false"]
    printed = run_here("benchmarks/step.py", *words)
    heading, _, *rows = cells_of(printed)
    assert [row[:3] for row in rows] == [
        ["8", length, what] for length in ("5", "64") for what in ("inference", "training step")
    ]
    for row in rows:
        bert, ours = (float(row[heading.index(f"{name}, ms")].split()[0]) for name in ("BERT", "QACG-BERT"))
        assert float(row[-2]) == pytest.approx(ours / bert, rel=0.1)
    assert float(rows[3][-1]) > float(rows[3][4]) > 0  # in float32 QACG-BERT keeps more for its backward pass


def test_any_encoder(run_here):
    printed = run_here("benchmarks/any_encoder.py", "--size", "tiny", "--lengths", "5", "--rounds", "1")
    heading, _, *rows = cells_of(printed)
    assert [row[:3] for row in rows[::2]] == [
        [name, "5", "inference"]
        for name in (
            *("bert", "roberta", "xlm-roberta", "electra", "distilbert", "modernbert", "mpnet", "deberta-v2"),
        )
    ]
    assert all(float(row[heading.index(name)]) > 0 for row in rows for name in ("QACG", "CG"))


def test_associations(run_here):
    printed = run_here("benchmarks/associations.py", "--sizes", "5", "8", "--rounds", "3")
    heading, _, *rows = cells_of(printed)
    assert [row[:3] for row in rows] == [
        [size, name, what]
        for size in "58"
        for name in ("conv", "corr")
        for what in ("forward", "forward and backward")
    ]
    assert all(float(row[heading.index("direct / fft")]) > 0 for row in rows)


def test_questions(save_word_model, shared_dir: Path, run_here):
    folders = [save_word_model("the soup was good"), save_word_model("bad", architecture="lstm")]
    data_dir = shared_dir / "data" / "semeval2014"
    printed = run_here("benchmarks/questions.py", *folders, "--data_dir", data_dir, "--rounds", "1")
    heading, _, *rows = cells_of(printed)
    assert [row[:2] for row in rows] == [["1120: terms of 600 texts", str(folder)] for folder in folders]
    assert int(rows[0][2]) > int(rows[1][2]) > 0
    assert all(float(row[heading.index("questions a second")]) > 0 for row in rows)


def test_questions_in_words(tiny_bert: Path, tmp_path: Path, shared_dir: Path, run_here):
    """BERT-pair beside a model that reads a text once for all aspects."""
    folders = [tmp_path / name for name in ("bert", "qacg_bert")]
    for folder in folders:
        described = describe(
            Contexts((), ("food",)),
            ["none", "positive"],
            context_source="text",
            auxiliary_sentence=folder.name == "bert",
        )
        config = models.build_config(folder.name, str(tiny_bert), described)
        models.load_model(str(tiny_bert), config, "sdpa").save_pretrained(folder)
        models.load_tokenizer(str(tiny_bert), config).save_pretrained(folder)
    options = ("--num_aspects", "2", "3", "--num_texts", "4", "--rounds", "1")
    printed = run_here(
        "benchmarks/questions.py", *folders, "--data_dir", shared_dir / "data" / "semeval2014", *options
    )
    _, _, *rows = cells_of(printed)
    assert [row[:2] for row in rows] == [
        [what, str(folder)] for what in ("8: 2 aspects of 4 texts", "12: 3 aspects of 4 texts") for folder in folders
    ]
    assert [row[-1].startswith("1.00 ±") for row in rows[::2]] == [True, True]


@pytest.mark.slow
def test_memory(tiny_classifier, run_script):
    rows = cells_of(run_script("benchmarks/memory.py", tiny_classifier, "--megabytes", "1").stdout)
    assert [row[0] for row in rows[2:]] == ["a text of 0.0 MB", "line.jsonl", "packed.jsonl.gz", "texts.parquet"]
    assert all(0 < int(before) <= int(peak) for _, _, before, peak in rows[2:])


@pytest.mark.slow
def test_load_of_a_pipeline(tiny_classifier, run_script):
    words = ("--clients", "3", "--seconds", "2", "--cases", "pipeline")
    row = run_script("benchmarks/load.py", tiny_classifier, *words).stdout.splitlines()[-1].split("|")
    assert row[1].strip() == "pipeline"
    assert int(row[3].replace(",", "")) >= 3
    assert [cell.strip() for cell in row[4:6]] == ["0", "0"]  # wrong, errors


def test_profile(run_here):
    printed = run_here(
        "benchmarks/step.py", "--size=tiny", "--lengths=5", "--batch_sizes=2", "--rounds=1", "--profile"
    )
    assert printed.count("Self CPU time total") == 2 * 3  # inference and training step, three models
    assert "aten::addmm" in printed


def test_contexts(run_here):
    options = ("--size", "tiny", "--length", "5", "--batch_size", "2", "--num_contexts", "1", "3", "--rounds", "3")
    rows = cells_of(run_here("benchmarks/contexts.py", *options))[2:]
    assert [row[:2] for row in rows] == [[what, k] for what in ("inference", "training step") for k in ("1", "3")]
    assert rows[0][3] == rows[0][4] == "1.00"


def test_epoch(recipe: Path, run_here):
    rows = cells_of(run_here("benchmarks/epoch.py", recipe, "--seeds", "1"))[2:]
    assert [row[:2] for row in rows] == [["plain", "1"], ["recipe", "1"]]
    assert all(float(row[2]) > 0 and 0.1 < float(row[3]) < 3 for row in rows)


def test_tagging(run_here):
    options = ("--size", "tiny", "--lengths", "5", "8", "--batch_sizes", "1", "3", "--rounds", "1")
    printed = run_here("benchmarks/tagging.py", *options)
    heading, _, *rows = cells_of(printed)
    assert heading[5:] == [f"{head}, ratio" for head in ("context", "attention", "CRF", "CRF, marginals too")]
    assert [row[:4] for row in rows] == [
        [below, size, length, call]
        for below in ("tiny, 13 tags", "static, 13 tags", "static, 49 tags")
        for size in ("1", "3")
        for length in ("5", "8")
        for call in ("inference", "training step")
    ]
    assert all(float(cell.split()[0]) > 0 for row in rows for cell in row[4:8])
    assert [bool(row[8]) for row in rows] == [True, False] * 12  # a training step computes no marginals


def test_generate(finished_generator: Path, tiny_aste: Path, run_here):
    options = ("--sentences", "5", "--batch_size", "2", "--rounds", "1")
    printed = run_here("benchmarks/generate.py", finished_generator / "seed-42", "--data_dir", tiny_aste, *options)
    assert printed.startswith("5 sentences, batches of 2, float32, ")
    _, _, *rows = cells_of(printed)
    rows, (_, _, *steps) = rows[:6], rows[6:]
    assert [row[0].partition(",")[2].strip() for row in rows[2:4]] == ["without the cache", "without the grammar"]
    assert rows[0][0] == "greedy"
    assert rows[0][1].startswith("1.00 ")
    assert rows[0][3] == rows[2][3], "the cache changes no answer"
    # Whole tuples of five indices, or none, and the end.
    assert 1 <= float(rows[0][3]) <= 5 * 16 + 1
    assert [bool(row[3]) for row in rows] == [True] * 4 + [False, True]
    assert float(rows[5][3]) >= 13  # "price: cheap: positive", whose label is eight letters, and the end
    assert [row[0].partition(", ")[2].partition(":")[0] for row in steps] == ["pointer model", "tagger", "text"]
    assert steps[0][1].startswith("1.00 ")
    assert all(float(row[2]) > 0 for row in [*rows, *steps])
