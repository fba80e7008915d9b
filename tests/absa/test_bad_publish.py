"""What examples/publish.py is given and cannot publish: each is refused by a short error that says where and what."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import ClassLabel, Dataset, Features, Value

from absa import hub, model_card, outside_text

TOKEN = "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH"
LONG = "x" * 10_000
ALL_RESULTS = {
    "protocol": "The test split is read once.",
    "split": "test",
    "main_scores": ["macro_f1"],
    "arguments": {"dataset": "sentihood", "model_name_or_path": "google-bert/bert-base-uncased", "seeds": [1]},
    "summary": {"macro_f1": {"mean": 0.5, "std": None}},
    "seeds": {"1": {"test": {"macro_f1": 0.5}}},
}
RESULTS = {
    "seed": 1,
    "validation": {"macro_f1": 0.4},
    "calibration": {"test": {"before": {"label": 0.2}, "after": {"label": 0.1}}},
}
CSV = "text,target,aspect,label\nThe soup was cold.,,food,negative\nFriendly waiters.,,service,positive\n"


@pytest.fixture
def refusal(run_in_process) -> Callable[..., str]:
    """The message of the error that a dry run ends in."""

    def run(kind: str, folder: Path | str, repo_id: str = "alice/x", **options) -> str:
        arguments = hub.PublishArguments(kind, str(folder), repo_id, dry_run=True, **options)
        with pytest.raises((ValueError, FileNotFoundError)) as caught:
            run_in_process(hub.main, arguments)
        message = str(caught.value)
        assert len(message.replace(str(folder), "")) < 700
        assert TOKEN not in message
        return message

    return run


@pytest.fixture
def accepted(run_in_process, capsys) -> Callable[..., str]:
    """What a dry run prints."""

    def run(kind: str, folder: Path, repo_id: str = "alice/x", **options) -> str:
        capsys.readouterr()
        run_in_process(
            hub.main,
            hub.PublishArguments(kind, str(folder), repo_id, dry_run=True, **options),
        )
        return capsys.readouterr().out

    return run


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """What a run of one seed leaves behind, without the weights."""
    (tmp_path / "run" / "seed-1").mkdir(parents=True)
    (tmp_path / "run" / "all_results.json").write_text(json.dumps(ALL_RESULTS))
    (tmp_path / "run" / "seed-1" / "results.json").write_text(json.dumps(RESULTS))
    return tmp_path / "run"


@pytest.fixture
def data_folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.csv").write_text(CSV)
    return tmp_path / "data"


def changed(content: dict, keys: str, value) -> str:
    """JSON with another value under some keys."""
    content = json.loads(json.dumps(content))
    *path, last = keys.split(".")
    inner = content
    for key in path:
        inner = inner[key]
    inner[last] = value
    return json.dumps(content)


@pytest.mark.parametrize("name", ["all_results.json", "seed-1/results.json"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "is no JSON (Expecting value", id="empty"),
        pytest.param(b"{", "is no JSON (Expecting property name", id="cut off"),
        pytest.param(b"[]", "its content is [] and not an object", id="a list"),
        pytest.param(b"NaN", "its content is nan and not an object", id="NaN"),
        pytest.param(b"[" * 100_000, "is no JSON (maximum recursion depth", id="deep"),
        pytest.param(b'{"seed": ' + b"9" * 5000 + b"}", "is no JSON (Exceeds the limit", id="a number of 5000 digits"),
        pytest.param('{"seed": "é"}'.encode("latin-1"), "line 1: byte 0xe9 is not UTF-8", id="latin-1"),
        pytest.param('{"seed": 1}'.encode("utf-16"), "begins as UTF-16 or UTF-32, and is not UTF-8", id="utf-16"),
    ],
)
def test_results_that_are_no_json(run_folder: Path, name: str, content: bytes, message: str):
    (run_folder / name).write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        model_card.Run.of(run_folder / "seed-1")
    assert str(run_folder / name) in str(caught.value)


def test_results_that_are_large_are_not_read(run_folder: Path, monkeypatch):
    monkeypatch.setattr(Path, "read_bytes", lambda file: pytest.fail(f"{file} was read"))
    with (run_folder / "all_results.json").open("wb") as file:
        file.truncate(50 << 20)
    with pytest.raises(ValueError, match="has 52,428,800 bytes, of which at most 33,554,432 are read"):
        model_card.Run.of(run_folder / "seed-1")


SCORE = "seeds.1.test.macro_f1"


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (SCORE, 5.0, f"{SCORE} is 5.0, and a score is between 0 and 1"),
        (SCORE, float("nan"), f"{SCORE} is nan, and a score is between 0 and 1"),
        (SCORE, -0.1, f"{SCORE} is -0.1, and a score"),
        (SCORE, 10**400, f"{SCORE} is 1{'0' * 79}..., and a score"),
        (SCORE, "0.5", f"{SCORE} is '0.5' and not a number"),
        (SCORE, True, f"{SCORE} is True and not a number"),
        (SCORE, LONG, f"{SCORE} is '{LONG[:79]}... and not a number"),
        ("seeds.1.test", {}, f"{SCORE} is missing"),
        ("seeds.1.test", [], f"{SCORE} is missing"),
        ("seeds", [], "seeds is [] and not an object"),
        ("summary", {}, "summary.macro_f1.mean is missing"),
        ("summary.macro_f1.mean", float("inf"), "summary.macro_f1.mean is inf, and a score"),
        ("summary.macro_f1.std", "x", "summary.macro_f1.std is 'x' and not a number"),
        ("protocol", None, "protocol is None and not a text"),
        ("split", 3, "split is 3 and not a text"),
        ("split", "dev", "seeds.1.dev.macro_f1 is missing"),
        ("main_scores", "macro_f1", "main_scores is 'macro_f1' and not a list"),
        ("main_scores", [[]], "main_scores holds [], which is no name"),
        ("arguments", [], "arguments.dataset is missing"),
        ("arguments.dataset", ["x"], "arguments.dataset is ['x'] and not a text"),
        ("arguments.model_name_or_path", None, "arguments.model_name_or_path is None and not a text"),
        ("arguments.data_dir", 3, "arguments.data_dir is 3, which no argument is"),
        ("arguments.seeds", [[[]]], "arguments.seeds is [[[]]], which no argument is"),
    ],
)
def test_all_results_with_what_no_run_writes(run_folder: Path, keys: str, value, message: str):
    file = run_folder / "all_results.json"
    file.write_text(changed(ALL_RESULTS, keys, value))
    with pytest.raises(ValueError, match=re.escape(f"{file}: {message}")) as caught:
        model_card.Run.of(run_folder / "seed-1")
    assert "copy it again from the run, or remove it" in str(caught.value)


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        ("seed", "1", "seed is '1' and not a whole number"),
        ("seed", True, "seed is True and not a whole number"),
        ("calibration", [], "calibration is [] and not an object"),
        ("calibration.test", None, "calibration.test.before is missing"),
        ("calibration.test.after", {}, "calibration.test.after.label is missing"),
        ("calibration.test.after.label", None, "calibration.test of label is 0.2 before, None after"),
        ("calibration.test.before.label", 5, "calibration.test.before.label is 5, and a score"),
    ],
)
def test_results_with_what_no_run_writes(run_folder: Path, keys: str, value, message: str):
    file = run_folder / "seed-1" / "results.json"
    file.write_text(changed(RESULTS, keys, value))
    with pytest.raises(ValueError, match=re.escape(f"{file}: {message}")):
        model_card.Run.of(run_folder / "seed-1")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "seed-2/results.json is no JSON"),
        ("{}", "seed-2/results.json: validation is missing"),
        (changed(RESULTS, "validation.macro_f1", 5), "seed-2/results.json: validation.macro_f1 is 5, and a score"),
        (changed(RESULTS, "validation.macro_f1", None), "seed-2 (validation scores undefined)"),
    ],
)
def test_several_seeds_one_of_which_is_broken(run_folder: Path, refusal, content: str, message: str):
    (run_folder / "seed-2").mkdir()
    (run_folder / "seed-2" / "results.json").write_text(content)
    assert message in refusal("model", run_folder)


def test_results_are_found_from_the_folder_itself(run_folder: Path, monkeypatch):
    monkeypatch.chdir(run_folder / "seed-1")
    assert model_card.Run.of(Path(".")).scores == {"macro_f1": 0.5}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("---\npretty_name: é\n---\n".encode("latin-1"), "line 2: byte 0xe9 is not UTF-8", id="latin-1"),
        pytest.param("---\n---\n".encode("utf-16"), "begins as UTF-16 or UTF-32, and is not UTF-8", id="utf-16"),
        pytest.param(b"---\na: [\n---\n", "has metadata that cannot be read (while parsing", id="no YAML"),
        pytest.param(b"---\n- a\n---\n", "metadata block should be a dict", id="a list"),
        pytest.param(b"---\nlicense: mit\n", "begins with a line of --- for metadata, which no such line", id="open"),
        pytest.param(
            b"---\na: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n---\n", "*a stands for another part", id="alias bomb"
        ),
        pytest.param(b"---\na: " + b"[" * 100_000 + b"\n---\n", "it is nested over 20 deep", id="deep"),
        pytest.param(b"---\nlicense: mit\nlicense: other\n---\n", "license stands there twice", id="a key twice"),
        pytest.param(b"---\n1: a\n---\n", "keywords must be strings", id="a number as a key"),
        pytest.param(b"---\nself: a\n---\n", "argument 'self'", id="self"),
        pytest.param(b"---\na: !!python/name:os.system\n---\n", "could not determine a constructor", id="Python"),
        pytest.param(b"---\na: 2020-13-45\n---\n", "month must be in 1..12", id="no date"),
        pytest.param(b"---\na: " + b"9" * 5000 + b"\n---\n", "Exceeds the limit", id="a number of 5000 digits"),
        pytest.param(b"x" * 600_000, "has 600,000 bytes, of which at most 524,288 are read", id="large"),
        pytest.param(
            b"---\nlicense: CC BY 4\n---\n", "README.md: license=CC BY 4 is no identifier of a licence", id="licence"
        ),
        pytest.param(
            b"---\nlicense: [mit, 4]\n---\n", "README.md: license=4 is no identifier of a licence", id="licences"
        ),
    ],
)
def test_a_readme_that_cannot_be_read(data_folder: Path, refusal, content: bytes, message: str):
    (data_folder / "README.md").write_bytes(content)
    assert message in (told := refusal("dataset", data_folder))
    assert str(data_folder / "README.md") in told


def test_a_readme_with_a_byte_order_mark(data_folder: Path, accepted):
    (data_folder / "README.md").write_bytes(b"\xef\xbb\xbf---\nlicense: mit\npretty_name: Soup\n---\n")
    assert "pretty_name: Soup" in accepted("dataset", data_folder)


@pytest.mark.parametrize(
    "name",
    ["dev2.csv", "notes.csv", "Train.csv", "test.CSV", "test.tsv", "test.csv.gz", "test.json", "part/train.csv"],
)
def test_data_that_would_be_left_out(data_folder: Path, refusal, name: str):
    (data_folder / name).parent.mkdir(exist_ok=True)
    (data_folder / name).write_text(CSV)
    assert f"holds {name}, which would not be read: call it" in refusal("dataset", data_folder, license="mit")


def test_what_is_no_data_is_told(data_folder: Path, accepted):
    (data_folder / "dev.csv").write_text(CSV)
    (data_folder / "how.txt").write_text("by hand")
    printed = accepted("dataset", data_folder, license="mit")
    assert "not part of the data: how.txt" in printed
    assert "| validation | 2 | 2 |" in printed


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("train.jsonl", "has train.csv and train.jsonl; keep one of them"),
        ("test.parquet", "in several forms, parquet (.parquet), custom (.csv, .jsonl): leave one"),
        ("sentihood-train.json", "in several forms, sentihood (.json), custom"),
    ],
)
def test_data_in_two_forms(data_folder: Path, refusal, name: str, message: str):
    (data_folder / name).write_text(CSV)
    assert message in refusal("dataset", data_folder, license="mit")


@pytest.mark.parametrize("linked", ["train.csv", "README.md", "notes.txt"])
def test_a_link_out_of_the_folder(data_folder: Path, refusal, tmp_path: Path, linked: str):
    (tmp_path / "secret").write_text(CSV)
    (data_folder / linked).unlink(missing_ok=True)
    (data_folder / linked).symlink_to(tmp_path / "secret")
    message = refusal("dataset", data_folder, license="mit")
    assert f"{data_folder / linked} is a link to {tmp_path / 'secret'}, which is not in the folder" in message


def test_links(data_folder: Path, refusal, accepted):
    (data_folder / "test.csv").symlink_to("train.csv")
    assert "| test | 2 | 2 |" in accepted("dataset", data_folder, license="mit")
    (data_folder / "dev.csv").symlink_to("nowhere.csv")
    assert "dev.csv is a link to " in refusal("dataset", data_folder, license="mit")


def test_a_link_in_a_metric(tmp_path: Path, repo_root: Path, refusal):
    metric = tmp_path / "sentihood"
    shutil.copytree(repo_root / "absa" / "metrics" / "evaluate_modules" / "sentihood", metric)
    (metric / "extra.py").symlink_to(repo_root / "pyproject.toml")
    assert "extra.py is a link to" in refusal("metric", metric)


def test_a_checkpoint_of_links_as_the_hub_caches_it(tiny_classifier: Path, tmp_path: Path, accepted):
    """Its weights are loaded and saved anew, and nothing else that lies there goes along."""
    for file in tiny_classifier.iterdir():
        (tmp_path / file.name).symlink_to(file)
    (tmp_path / "logs").symlink_to(tmp_path.parent)
    printed = accepted("model", tmp_path)
    assert "model.safetensors" in printed
    assert "logs" not in printed


@pytest.mark.parametrize("revision", ["v1.0+cu", "release@2", "feat#1", "user/x(1)"])
def test_branches_that_git_takes(data_folder: Path, accepted, revision: str):
    assert f"branch {revision};" in accepted("dataset", data_folder, license="mit", revision=revision)


def test_files_beside_the_data(data_folder: Path, accepted):
    for name in ("train.py", "test.md"):
        (data_folder / name).write_text("notes")
    assert "not part of the data: test.md, train.py" in accepted("dataset", data_folder, license="mit")


def table(labels: tuple[str, ...] = ("none", "positive"), **columns: list) -> pa.Table:
    """Two rows in the form of `export_parquet`, some columns replaced."""
    values = {"id": ["0", "1"], "text": ["a", "b"], "target": ["", ""], "aspect": [0, 0], "label": [0, 1]}
    features = {name: Value("string") for name in ("id", "text", "target")}
    features |= {"aspect": ClassLabel(names=["food"]), "label": ClassLabel(names=list(labels))}
    rows = Dataset.from_dict(values, features=Features(features)).data.table
    for name, column in columns.items():
        number = rows.schema.get_field_index(name)
        rows = rows.set_column(number, rows.schema.field(number), pa.array(column, rows.schema.field(number).type))
    return rows


def not_utf8() -> pa.Table:
    offsets = pa.array([0, 1, 2], pa.int32()).buffers()[1]
    texts = pa.StringArray.from_buffers(2, offsets, pa.py_buffer(b"\xff\xfe"))
    return table().set_column(1, table().schema.field(1), texts)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        pytest.param(table(label=[0, 7]), "row 1, column 'label': 7 is not 0 to 1", id="label out of range"),
        pytest.param(table(label=[0, -1]), "row 1, column 'label': -1 is not 0 to 1", id="label below 0"),
        pytest.param(table(label=[0, None]), "row 1, column 'label': None is not 0 to 1", id="no label"),
        pytest.param(
            table(text=[None, "b"]), "row 0, column 'text': None is not a string with something", id="no text"
        ),
        pytest.param(
            table(text=["a", " "]), "row 1, column 'text': ' ' is not a string with something", id="blank text"
        ),
        pytest.param(
            table(target=["", TOKEN]),
            "row 1, column 'target': 'TOKEN_REMOVED' holds what looks like a token",
            id="target",
        ),
        pytest.param(not_utf8(), "column 'text': In chunk 0: Invalid: Invalid UTF8", id="not UTF-8"),
        pytest.param(
            table(text=["a", f"my {TOKEN}"]),
            "row 1, column 'text': 'my TOKEN_REMOVED' holds what looks like a token",
            id="a token",
        ),
        pytest.param(table().slice(0, 0), "train.parquet has no rows; remove it", id="no rows"),
        pytest.param(table().drop_columns("label"), "column 'label': expected ClassLabel, got None", id="no column"),
        pytest.param(
            pa.table({name: ["x"] for name in ("id", "text", "target", "aspect", "label")}),
            "column 'aspect': expected ClassLabel, got Value('string')",
            id="string labels",
        ),
        pytest.param(
            table().replace_schema_metadata({b"huggingface": b"{"}), "train.parquet cannot be read (Exp", id="metadata"
        ),
    ],
)
def test_rows_that_no_one_can_use(tmp_path: Path, refusal, rows: pa.Table, message: str):
    pq.write_table(rows, tmp_path / "train.parquet")
    assert message in refusal("dataset", tmp_path, license="mit")


@pytest.mark.parametrize("content", [b"", b"PAR1 PAR1"], ids=["empty", "no parquet"])
def test_a_file_that_is_no_parquet(tmp_path: Path, refusal, content: bytes):
    (tmp_path / "train.parquet").write_bytes(content)
    message = refusal("dataset", tmp_path, license="mit")
    assert message.startswith(f"{tmp_path / 'train.parquet'} cannot be read (")
    assert "anew with export_parquet" in message


def test_splits_whose_labels_have_other_numbers(tmp_path: Path, refusal):
    pq.write_table(table(), tmp_path / "train.parquet")
    pq.write_table(table(("positive", "none")), tmp_path / "test.parquet")
    message = refusal("dataset", tmp_path, license="mit")
    assert "test.parquet, column 'label': ClassLabel(names=['positive', 'none'])" in message


def test_parquet_that_would_be_left_out(tmp_path: Path, refusal):
    pq.write_table(table(), tmp_path / "train.parquet")
    pq.write_table(table(), tmp_path / "more.parquet")
    assert "more.parquet would be left out; name the split" in refusal("dataset", tmp_path, license="mit")


@pytest.mark.parametrize("elsewhere", ["../outside.parquet", "{tmp}/outside.parquet"])
def test_a_readme_that_names_data_outside_of_the_folder(tmp_path: Path, refusal, elsewhere: str):
    folder = tmp_path / "data"
    folder.mkdir()
    pq.write_table(table(), tmp_path / "outside.parquet")
    pq.write_table(table(), folder / "train.parquet")
    files = f"  - split: train\n    path: train.parquet\n  - split: test\n    path: {elsewhere.format(tmp=tmp_path)}\n"
    (folder / "README.md").write_text(f"---\nconfigs:\n- config_name: default\n  data_files:\n{files}---\n")
    message = refusal("dataset", folder, license="mit")
    assert f"README.md names {tmp_path / 'outside.parquet'}, which is no parquet file in it" in message


def test_names_that_would_break_the_table(data_folder: Path, accepted):
    (data_folder / "train.csv").write_text(CSV.replace("positive", '"po|si\ntive"'))
    assert "| split | distinct texts | rows | negative | po\\|si tive |" in accepted(
        "dataset", data_folder, license="mit"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"repo_id": ""}, "repo_id=: Repo id must use"),
        ({"repo_id": "alice/x.git"}, "repo_id=alice/x.git: Repo_id cannot end by '.git'"),
        ({"repo_id": f"alice/{LONG}"}, f"repo_id=alice/{LONG[:74]}...: Repo id must use"),
        ({"repo_id": f"https://a:{TOKEN}@b/c"}, "repo_id=https://a:TOKEN_REMOVED@b/c: Repo id must"),
        ({"revision": ""}, "revision= is no name of a branch"),
        ({"revision": "a b"}, "revision=a b is no name"),
        ({"revision": "a..b"}, "revision=a..b is no name"),
        ({"revision": "/a"}, "revision=/a is no name"),
        ({"revision": "-a"}, "revision=-a is no name"),
        ({"revision": "refs/pr/1"}, "revision=refs/pr/1 is no name"),
        ({"revision": "a.lock"}, "revision=a.lock is no name"),
        ({"revision": "a~1"}, "revision=a~1 is no name"),
        ({"revision": LONG}, f"revision={LONG[:80]}... is no name"),
        ({"license": ""}, "license= is no identifier of a licence"),
        ({"license": "MIT"}, "license=MIT is no identifier of a licence, such as apache-2.0"),
        ({"license": LONG}, f"license={LONG[:80]}... is no identifier"),
        ({"folder": LONG}, f"folder={LONG[:200]}... does not exist: give the folder of the dataset"),
        ({"folder": "{data}/train.csv"}, "train.csv is a file: give the folder of the dataset"),
        ({"folder": ""}, "folder= does not exist"),
    ],
)
def test_arguments(data_folder: Path, refusal, options: dict, message: str):
    given = {"folder": str(data_folder), **options}
    given["folder"] = given["folder"].format(data=data_folder)
    assert message in refusal("dataset", **given)


@pytest.mark.parametrize("revision", ["a/b", "v1.0", "für"])
def test_names_of_branches(data_folder: Path, accepted, revision: str):
    assert f"branch {revision}" in accepted("dataset", data_folder, license="other", revision=revision)


def test_a_kind_that_is_misspelt(data_folder: Path, run_here, capsys):
    with pytest.raises(SystemExit):
        run_here("examples/publish.py", "modle", data_folder, "alice/x")
    assert "argument kind: invalid choice: 'modle' (choose from" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "field", "message"),
    [
        ("config.json", "hub_token", "config.json would be published with what looks like a token"),
        ("tokenizer_config.json", "token", "tokenizer_config.json would be published with what looks like a token"),
    ],
)
def test_a_token_in_a_checkpoint(tiny_classifier: Path, tmp_path: Path, refusal, file: str, field: str, message: str):
    shutil.copytree(tiny_classifier, tmp_path / "model")
    content = json.loads((tmp_path / "model" / file).read_text())
    (tmp_path / "model" / file).write_text(json.dumps({**content, field: TOKEN}))
    assert message in refusal("model", tmp_path / "model")


def test_no_token_comes_into_the_card_of_a_model(run_folder: Path, tiny_classifier: Path, accepted, monkeypatch):
    own = "a-secret-of-another-form"
    monkeypatch.setenv("HF_TOKEN", own)
    shutil.copytree(tiny_classifier, run_folder / "seed-1", dirs_exist_ok=True)
    secret = {
        **ALL_RESULTS["arguments"],
        "hub_token": "of another form too",
        "config_overrides": own,
        "model_name_or_path": f"https://user:{TOKEN}@host/model",
        "train_sampling_strategy": f"https://user:{TOKEN}@host/",
    }
    content = {**ALL_RESULTS, "arguments": secret, "protocol": f"see {TOKEN}"}
    (run_folder / "all_results.json").write_text(json.dumps(content))
    printed = accepted("model", run_folder / "seed-1")
    assert "see TOKEN_REMOVED" in printed
    assert "train_sampling_strategy: https://user:TOKEN_REMOVED@host/" in printed
    assert "config_overrides: TOKEN_REMOVED" in printed
    assert not any(word in printed for word in (TOKEN, own, "hub_token", "base_model"))


def test_no_token_comes_into_the_card_of_data(data_folder: Path, accepted):
    (data_folder / "README.md").write_text(f"---\nlicense: mit\nurl: https://u:{TOKEN}@host/\n---\nGet it by {TOKEN}.")
    printed = accepted("dataset", data_folder)
    assert "url: https://u:TOKEN_REMOVED@host/" in printed
    assert "Get it by TOKEN_REMOVED." in printed
    assert TOKEN not in printed


def test_a_token_that_json_hides_is_refused(run_folder: Path, tiny_classifier: Path, refusal):
    shutil.copytree(tiny_classifier, run_folder / "seed-1", dirs_exist_ok=True)
    hidden = json.dumps({**ALL_RESULTS, "protocol": TOKEN}).replace("hf_", "hf\\u005f")
    (run_folder / "all_results.json").write_text(hidden)
    assert "README.md would be published with what looks like a token" in refusal("model", run_folder / "seed-1")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TOKEN, "TOKEN_REMOVED"),
        (f"a{TOKEN}.b", "aTOKEN_REMOVED.b"),
        ("hf_oauth_eyJhbGciOi.eyJ-_x", "TOKEN_REMOVED"),
        ("hf_hub_download and hf_transfer", "hf_hub_download and hf_transfer"),
    ],
)
def test_what_is_taken_for_a_token(text: str, expected: str):
    assert outside_text.redacted(text) == expected


def test_a_value_is_cut_behind_its_token_only():
    told = outside_text.told("x" * 70 + TOKEN)
    assert told == "x" * 70 + "TOKEN_REMO..."
