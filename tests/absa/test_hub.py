"""absa/hub.py: what is uploaded, how the Hub is asked, and what is refused before it is."""

import json
import re
import shutil
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock, create_autospec

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from datasets import load_dataset
from huggingface_hub import HfApi

import absa
from absa import hub
from absa.models import load_classifier
from absa.restricted_texts import SMALLEST_DIGESTS, digest
from absa.tasks.arguments import ClassificationArguments, TaggingArguments
from absa.tasks.classification import Classification
from absa.tasks.tagging import Tagging
from datasets_scripts import SemEval2016, export_parquet, load_absa_dataset

TOKEN = "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH"
CSV = """text,target,aspect,label
The soup was cold.,,food,negative
The soup was cold.,,service,none
Friendly waiters.,,food,none
Friendly waiters.,,service,positive
"""


@pytest.fixture(autouse=True)
def api(monkeypatch) -> Mock:
    """The Hub's client, with its real signatures; `api.uploaded` has the files' contents by name."""
    api = create_autospec(HfApi, instance=True)
    api.repo_info.return_value = SimpleNamespace(private=False, sha="a" * 40)
    api.uploaded = {}

    def upload_folder(*, folder_path: Path, **_):
        files = (path for path in folder_path.rglob("*") if path.is_file())
        api.uploaded |= {path.relative_to(folder_path).as_posix(): path.read_bytes() for path in files}
        return SimpleNamespace(repo_url="https://hub/alice/x", oid="b" * 40)

    api.upload_folder.side_effect = upload_folder
    monkeypatch.setattr(hub, "HfApi", lambda: api)
    return api


def publish(kind: str, folder: Path | str, repo_id: str = "alice/x", **options):
    hub.main(hub.PublishArguments(kind, str(folder), repo_id, **options))


@pytest.fixture
def refusal(api) -> Callable[..., str]:
    """The message of the error before anything is asked of the Hub."""

    def run(*words, **options) -> str:
        with pytest.raises((ValueError, FileNotFoundError)) as caught:
            publish(*words, **options)
        assert not api.mock_calls
        assert TOKEN not in str(caught.value)
        return str(caught.value)

    return run


@pytest.fixture
def data_folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.csv").write_text(CSV)
    return tmp_path / "data"


def unpack(api: Mock, folder: Path) -> str:
    for name, content in api.uploaded.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return str(folder)


def test_a_model_is_whole_and_holds_nothing_else(finished_run, api, tmp_path: Path):
    publish("model", finished_run[0] / "seed-1", license="mit")
    code = {name for name in api.uploaded if name.endswith("_qacg_bert.py")}
    assert {"configuration_qacg_bert.py", "modeling_qacg_bert.py", "pipeline_qacg_bert.py"} <= code
    weights_and_words = {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert api.uploaded.keys() == {"README.md", *weights_and_words, *code}
    card = api.uploaded["README.md"].decode()
    assert "license: mit" in card
    assert "this checkpoint (seed 1)" in card
    model, _ = load_classifier("model", str(finished_run[0] / "seed-1"))
    published, _ = load_classifier("model", unpack(api, tmp_path / "published"))
    for name, weight in model.state_dict().items():
        assert torch.equal(published.state_dict()[name], weight), name


def test_a_tagger_is_whole_and_brings_no_texts(finished_tagger, api, tmp_path: Path):
    seed = finished_tagger / "seed-42"
    assert (seed / "test_tags.parquet").is_file()
    publish("model", seed)
    code = {name for name in api.uploaded if name.endswith("_global_context.py")}
    assert {"configuration_global_context.py", "modeling_global_context.py", "pipeline_global_context.py"} <= code
    weights_and_words = {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert api.uploaded.keys() == {"README.md", *weights_and_words, *code}
    assert "pipeline_tag: token-classification" in api.uploaded["README.md"].decode()
    assert "*_global_context.py" in api.upload_folder.call_args.kwargs["delete_patterns"]
    text = "The price is dear."
    assert absa.load(unpack(api, tmp_path / "published"))(text) == absa.load(str(seed))(text)


def test_a_generator_is_whole_and_brings_no_texts(finished_generator, api, tmp_path: Path):
    seed = finished_generator / "seed-42"
    assert (seed / "test_tuples.parquet").is_file()
    publish("model", seed)
    code = {name for name in api.uploaded if name.endswith("_generative_absa.py")}
    assert {"grammar_generative_absa.py", "modeling_generative_absa.py", "pipeline_generative_absa.py"} <= code
    saved = {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert api.uploaded.keys() == {"README.md", *saved, *code}
    assert "pipeline_tag: text2text-generation" in api.uploaded["README.md"].decode()
    assert "*_generative_absa.py" in api.upload_folder.call_args.kwargs["delete_patterns"]
    text = "The price is dear."
    opinions = absa.load(str(seed))(text)
    assert opinions
    assert absa.load(unpack(api, tmp_path / "published"))(text) == opinions


def test_how_the_hub_is_asked(tiny_classifier: Path, api, capsys):
    publish("model", tiny_classifier, "alice/m", revision="trial")
    repo = {"repo_id": "alice/m", "repo_type": "model"}
    api.create_repo.assert_called_once_with(**repo, private=None, space_sdk=None, exist_ok=True)
    api.create_branch.assert_called_once_with(**repo, branch="trial", exist_ok=True)
    (upload,) = api.upload_folder.call_args_list
    assert upload.kwargs.items() >= {**repo, "revision": "trial", "parent_commit": "a" * 40}.items()
    replaced = {"*.safetensors", "*.safetensors.index.json", "*.bin", "tokenizer*", "vocab.txt", "*_qacg_bert.py"}
    assert set(upload.kwargs["delete_patterns"]) == replaced
    printed = capsys.readouterr().out
    assert f"https://hub/alice/x/tree/{'b' * 40}\n" in printed
    assert f'revision="{"b" * 40}"' in printed


def test_a_dry_run_contacts_no_one(data_folder: Path, api, capsys):
    publish("dataset", data_folder, "alice/soup", license="cc-by-4.0", dry_run=True)
    listing, card = capsys.readouterr().out.split("\n---\n", 1)
    assert re.findall(r"^ +[\d,]+  (.+)$", listing, flags=re.MULTILINE) == [
        *("README.md", "data/train-00000-of-00001.parquet"),
    ]
    assert "license: cc-by-4.0" in card
    assert "| train | 2 | 4 |" in card
    assert not api.mock_calls


def test_data_that_is_private(data_folder: Path, api, tmp_path: Path):
    api.repo_info.return_value.private = True
    publish("dataset", data_folder, license="mit", private=True)
    assert api.create_repo.call_args.kwargs["private"] is True
    rows = load_dataset(unpack(api, tmp_path / "published"))["train"]
    assert rows.features["label"].names == ["none", "negative", "positive"]
    assert rows["text"] == ["The soup was cold."] * 2 + ["Friendly waiters."] * 2


def test_private_is_not_published_where_it_is_public(data_folder: Path, api):
    with pytest.raises(PermissionError, match="repo_id=alice/x exists and is public: make it private"):
        publish("dataset", data_folder, license="mit", private=True)
    assert not api.uploaded


@pytest.mark.parametrize(("name", "source"), [("sentihood", "SentiHood"), ("semeval2014", "SemEval-2014")])
def test_data_without_a_licence_is_recognised_and_refused(shared_dir, tmp_path, refusal, name, source):
    folder = shared_dir / "data" / name
    assert f"holds texts of {source}, which states no licence" in refusal("dataset", folder, license="mit")
    # A part of it in another form is recognised too.
    splits = load_absa_dataset(name, data_dir=folder)
    splits["train"] = splits["train"].select(range(0, len(splits["train"]), 3))
    export_parquet(splits, tmp_path)
    assert f"holds texts of {source}" in refusal("dataset", tmp_path, license="mit")
    publish("dataset", tmp_path, license="other", i_have_the_right=True)


@pytest.mark.parametrize(
    ("domain", "source"),
    [
        ("laptop14", "SemEval-2014 (laptops)"),
        ("rest14", "SemEval-2014"),
        ("rest15", "SemEval-2015"),
        ("rest16", "SemEval-2016"),
    ],
)
def test_tagged_data_without_a_licence_is_refused(shared_dir, tmp_path, refusal, domain, source):
    splits = load_absa_dataset("e2e_absa", domain, data_dir=shared_dir / "data" / "e2e_absa")
    export_parquet(splits, tmp_path / "parquet")
    assert f"holds texts of {source}, which states" in refusal("dataset", tmp_path / "parquet", license="mit")
    (tmp_path / "conll").mkdir()
    sentences = ["".join(f"{token}\tO\n" for token in tokens) for tokens in splits["test"]["tokens"]]
    (tmp_path / "conll" / "train.conll").write_text("\n".join(sentences))
    assert f"holds texts of {source}, which states" in refusal("dataset", tmp_path / "conll", license="mit")


def test_own_tagged_sentences(tmp_path: Path, api):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "train.conll").write_text("The\tO\nkeys\tB-POS\n\nBad\tO\nmouse\tB-NEG\n")
    publish("dataset", tmp_path / "own", license="mit")
    assert api.uploaded.keys() == {"README.md", "data/train-00000-of-00001.parquet"}
    published = unpack(api, tmp_path / "published")
    task = Tagging.load(TaggingArguments(dataset=published, validation_fraction=0.5))
    assert task.label_names == ["O", "B-NEG", "I-NEG", "B-POS", "I-POS"]
    sentences = [tokens for split in task.splits.values() for tokens in split["tokens"]]
    assert sorted(sentences) == [["Bad", "mouse"], ["The", "keys"]]
    with pytest.raises(ValueError, match="columns id, text, tokens, tags, and task=classification learns label: give"):
        Classification.load(ClassificationArguments(dataset=published))


def test_a_short_text_is_of_no_data_set():
    assert digest("Highly recommended!") is None
    assert digest("I would n't go there again , ever") == digest("I wouldn't go there again, ever.")


@pytest.mark.filterwarnings("ignore:.*opinions have no row")
def test_the_digests_are_the_smallest_of_the_data(shared_dir):
    texts = {source: set() for source in SMALLEST_DIGESTS}
    for source, name, options in (
        ("SentiHood", "sentihood", {}),
        *(("SemEval-2014", "semeval2014", {"version": version}) for version in ("v1", "v2")),
        ("SemEval-2014", "e2e_absa", {"config_name": "rest14"}),
        ("SemEval-2014 (laptops)", "e2e_absa", {"config_name": "laptop14"}),
        ("SemEval-2015", "e2e_absa", {"config_name": "rest15"}),
        ("SemEval-2016", "e2e_absa", {"config_name": "rest16"}),
    ):
        for split in load_absa_dataset(name, data_dir=shared_dir / "data" / name, **options).values():
            texts[source].update(split["text"])
    laptops = SemEval2016(config_name="laptops", data_dir=shared_dir / "data" / "semeval2016")
    rows = chain.from_iterable(laptops.read_splits(laptops.local_files).values())
    texts["SemEval-2016 (laptops)"] = {row["text"] for row in rows}
    for source, smallest in SMALLEST_DIGESTS.items():
        assert smallest.split() == sorted({digest(text) for text in texts[source]} - {None})[:48]


@pytest.mark.parametrize(
    ("kind", "folder", "repo_id", "message"),
    [
        ("model", "no/such", "alice/m", "folder=no/such is no folder with a model"),
        ("dataset", "no/such", "alice/d", "folder=no/such holds no data that is known"),
        ("model", "{bert}", "alice/m", "lacks 2 weights: classifier.bias, classifier.weight"),
        ("dataset", "{csv}", "d", "repo_id=d: give the user or organisation too, USER/d"),
        ("dataset", "{csv}", "alice/white space", "alice/white space"),
        ("dataset", "{csv}", "alice/d", "license is not given: name the licence of the data"),
        ("metric", "sentihod", "alice/s", "module='sentihod' is no metric of this package: give one of absa, alsc, "),
    ],
)
def test_errors(data_folder: Path, tiny_bert: Path, refusal, kind, folder, repo_id, message):
    assert message in refusal(kind, folder.format(bert=tiny_bert, csv=data_folder), repo_id)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        *((name, "would be left out: name the split") for name in ("part/train.csv", "test.csv.gz", "t.parquet")),
        ("sentihood-train.json", "holds train.csv, which would be left out"),
        ("train.jsonl", "has train.csv and train.jsonl; keep one of them"),
    ],
)
def test_data_that_would_be_left_out(data_folder: Path, refusal, name: str, message: str):
    (data_folder / name).parent.mkdir(exist_ok=True)
    if name.endswith(".parquet"):
        pq.write_table(pa.table({"text": ["a"]}), data_folder / name)
    else:
        (data_folder / name).write_text(CSV)
    assert message in refusal("dataset", data_folder, license="mit")


def test_a_link_that_leads_out_of_the_data(tmp_path: Path, data_folder: Path, refusal):
    (tmp_path / "secrets.csv").write_text("text,aspect,label\nmine,a,b\n")
    (data_folder / "test.csv").symlink_to(tmp_path / "secrets.csv")
    assert "secrets.csv, which is not in the folder: put the file there" in refusal("dataset", data_folder)


def test_parquet_that_would_be_left_out(tmp_path: Path, data_folder: Path, refusal):
    export_parquet(load_absa_dataset("custom", data_dir=data_folder), tmp_path / "exported")
    exported = tmp_path / "exported" / "data" / "train-00000-of-00001.parquet"
    shutil.copy(exported, exported.with_name("more.parquet"))
    assert "holds data/more.parquet, which would be left out" in refusal("dataset", tmp_path / "exported")


@pytest.mark.parametrize("replaced", ["waiters", "negative"])  # in a text, and in the name of a class
def test_a_token_in_the_rows(data_folder: Path, refusal, replaced: str):
    (data_folder / "train.csv").write_text(CSV.replace(replaced, TOKEN))
    message = refusal("dataset", data_folder, license="mit")
    assert "split 'train', holds what looks like a token of the Hub: remove it there" in message


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
def test_a_token_in_a_checkpoint(tiny_classifier: Path, tmp_path: Path, refusal, file: str):
    shutil.copytree(tiny_classifier, tmp_path / "model")
    content = json.loads((tmp_path / "model" / file).read_text())
    (tmp_path / "model" / file).write_text(json.dumps({**content, "hub_key": TOKEN}))
    assert f"{file}, which would be published, holds what looks like a token" in refusal("model", tmp_path / "model")


def test_the_commands_of_the_documents(run_here, tiny_classifier: Path, repo_root: Path, api):
    api.repo_info.return_value.private = True
    page = (repo_root / "docs" / "publishing.md").read_text(encoding="utf-8")
    commands = re.findall(r"^python (examples/publish.py .*)$", page, flags=re.MULTILINE)
    assert len(commands) == 4
    for command in commands:
        run_here(*command.replace("outputs/quickstart/seed-42", str(tiny_classifier)).split())
    assert [(call.kwargs["repo_id"], call.kwargs["repo_type"]) for call in api.upload_folder.call_args_list] == [
        *(("USER/MODEL", "model"), ("USER/DATASET", "dataset"), ("USER/sentihood", "space")),
    ]
    assert {f"data/{split}-00000-of-00001.parquet" for split in ("train", "validation", "test")} < set(api.uploaded)
    assert {"sentihood.py", "_sentihood.py", "_rows.py"} <= set(api.uploaded)
    assert "sdk: static" in api.uploaded["README.md"].decode()
    assert api.create_repo.call_args.kwargs["space_sdk"] == "static"
