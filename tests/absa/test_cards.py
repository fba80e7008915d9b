"""absa/cards.py: every figure of a card is the run's own, and no card holds a token or a path of this machine."""

import ast
import copy
import json
import re
from collections.abc import Callable
from dataclasses import replace
from email.message import Message
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value
from huggingface_hub import DatasetCard, ModelCard, RepoCard
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

from absa import cards, models
from absa.cards import Run
from absa.tasks.classification import describe
from modeling_qacg_bert import AspectSentimentPipeline, Contexts

EXAMPLE = "LOCATION1 is expensive, but I always felt safe there."
TOKEN = "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH"
SCORES = {
    "test": {"macro_f1": 0.5, "aspect_auc": None},
    "calibration": {"test": {"before": {"label": 0.2, "present": None}, "after": {"label": 0.1, "present": None}}},
}
ALL_RESULTS = {
    "protocol": "The test split is read once.",
    "split": "test",
    "main_scores": ["macro_f1", "aspect_auc"],
    "arguments": {
        "dataset": "sentihood",
        "data_dir": "/home/me/sentihood",
        "model_name_or_path": "google-bert/bert-base-uncased",
        "config_overrides": None,
    },
    "summary": {"macro_f1": {"mean": 0.45, "std": 0.05}, "aspect_auc": {"mean": None, "std": None}},
    "seeds": {"1": {"seed": 1, **SCORES}, "2": {"seed": 2, **SCORES}},
}
RESULTS = {"seed": 1, "training": {"model": {}}, **SCORES}


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A checkpoint's folder in a run's, without the weights."""
    (tmp_path / "run" / "seed-1").mkdir(parents=True)
    (tmp_path / "run" / "all_results.json").write_text(json.dumps(ALL_RESULTS))
    (tmp_path / "run" / "seed-1" / "results.json").write_text(json.dumps(RESULTS))
    return tmp_path / "run" / "seed-1"


@pytest.fixture(scope="module")
def model_folder(make_checkpoint) -> Path:
    """A model that finds an opinion everywhere."""
    return make_checkpoint(label_bias=[-5.0, 0.0, 0.0])


@pytest.fixture
def card_of(model_folder: Path) -> Callable[..., str]:
    """The card of a model with other fields in its configuration."""
    tokenizer = AutoTokenizer.from_pretrained(model_folder)

    def write(run: Run | None = None, **fields) -> str:
        config = AutoConfig.from_pretrained(model_folder, **fields)
        model = AutoModelForSequenceClassification.from_pretrained(model_folder, config=config).eval()
        return cards.model_card(model, tokenizer, run, "alice/tiny-absa", "apache-2.0")

    return write


@pytest.fixture
def run_of_sentihood() -> Run:
    return Run.from_results(ALL_RESULTS, RESULTS)


def test_the_card_has_the_figures_of_a_run(finished_run, card_of):
    folder = finished_run[0]
    results = json.loads((folder / "all_results.json").read_text())
    card = card_of(Run.of(folder / "seed-2"))
    data = ModelCard(card).data
    own = results["seeds"]["2"]["test"]
    assert {result.metric_type: result.metric_value for result in data.eval_results} == {
        name: own[name] for name in results["main_scores"] if own[name] is not None
    }
    assert {result.dataset_name for result in data.eval_results} == {"SentiHood"}
    assert (data.model_name, data.library_name, data.license) == ("tiny-absa", "transformers", "apache-2.0")
    assert "this checkpoint (seed 2) | mean (std) over 2 seeds: 1, 2 |" in card
    for name in results["main_scores"]:
        if own[name] is not None:
            score = results["summary"][name]
            means = f"{100 * score['mean']:.1f} ({100 * score['std']:.1f})"
            assert f"| {name.replace('_', ' ')} | {100 * own[name]:.1f} | {means} |" in card
    assert results["protocol"] in card
    calibration = json.loads((folder / "seed-2" / "results.json").read_text())["calibration"]["test"]
    for kind in ("label", "present", "sentiment"):
        assert f"| {kind} | {100 * calibration['before'][kind]:.1f} |" in card
    assert "num_train_epochs: 2.0" in card
    for path in (folder, Path.home()):
        assert str(path) not in card
    assert not re.search(r"(data_dir|model_name_or_path):", card)


def test_the_whole_card(card_of, run_of_sentihood, monkeypatch):
    monkeypatch.setattr(cards, "project_url", lambda: None)
    card = card_of(run_of_sentihood)
    assert re.findall(r"^## (.*)", card, flags=re.MULTILINE) == [
        *("Use", "What it answers", "Figures", "Training", "Intended use and limits", "Citation"),
    ]
    assert ModelCard(card).data.base_model == "google-bert/bert-base-uncased"
    assert ModelCard(card).data.widget == [{"text": EXAMPLE}]
    assert "| macro f1 | 50.0 | 45.0 (5.0) |\n| aspect auc | undefined | undefined |\n" in card
    assert 'pipeline(\n    "aspect-sentiment", model="alice/tiny-absa", revision="COMMIT"' in card
    assert "- labels: none, positive, negative\n- targets: LOCATION1, LOCATION2\n- aspects: general, " in card
    assert "```yaml\ndataset: sentihood\nmodel_name_or_path: google-bert/bert-base-uncased\n```" in card
    assert "wu-ong-2021-context" in card
    assert "saeidi-etal-2016-sentihood" in card
    assert "neighbourhoods of London" in card
    assert "\n\n\n" not in card


@pytest.mark.parametrize(
    ("temperature", "after", "said", "row"),
    [
        (1.5, 0.1, "calibrated: the temperature, 1.50, was fitted on", "| label | 20.0 | 10.0 |"),
        (1.5, 0.3, "did not help on the test split: do not\ntake the probabilities", "| label | 20.0 | 30.0 |"),
        (1.0, 0.2, "No temperature is applied", "| label | 20.0 |"),
    ],
    ids=["helped", "did not help", "none"],
)
def test_the_card_says_calibrated_only_of_what_is(card_of, temperature: float, after: float, said: str, row: str):
    results = copy.deepcopy(RESULTS)
    results["calibration"]["test"]["after"]["label"] = after
    card = card_of(Run.from_results(ALL_RESULTS, results), calibration_temperature=temperature)
    assert said in card
    assert f"|\n{row}\n\n## Training" in card


def test_the_card_shows_what_the_model_answers(card_of, model_folder: Path):
    model, tokenizer = models.load_classifier("model", str(model_folder))
    answers = AspectSentimentPipeline(model=model, tokenizer=tokenizer)(EXAMPLE)
    shown = re.search(r'^pipe\("LOCATION1 .*"\)\n((?:# .*\n)+)', card_of(), flags=re.MULTILINE)[1].replace("# ", "")
    answers_shown, number_left = shown.split("\nand ")
    assert number_left == f"{len(answers) - 2} more\n"
    for one, other in zip(ast.literal_eval(answers_shown), answers[:2], strict=True):
        assert (one["target"], one["aspect"], one["label"]) == (other["target"], other["aspect"], other["label"])
        assert one["score"] == pytest.approx(other["score"], abs=0.005)


@pytest.mark.parametrize(
    ("number", "said"),
    [(None, "every layer's attention"), (1, "the last layer's attention"), (2, "the attention of the upper 2 layers")],
)
def test_the_card_says_which_layers_are_guided(card_of, number: int | None, said: str):
    assert f"QACG-BERT, which guides {said} by" in card_of(num_context_layers=number)


def test_without_results_the_card_has_no_figures(card_of, tmp_path: Path):
    assert Run.of(tmp_path) is None
    card = card_of(None)
    assert "None are known: no results lay beside the checkpoint.\n\n## Intended use" in card
    assert not ModelCard(card).data.eval_results


@pytest.mark.parametrize(
    ("pair", "said"),
    [(True, "BERT-pair, the baseline without context guidance"), (False, "BERT, the baseline without context")],
)
def test_a_baseline_is_a_plain_bert(tiny_bert: Path, pair: bool, said: str):
    contexts = Contexts(("LOCATION1",), ("price",))
    options = {"auxiliary_sentence": pair, "symmetric_targets": True}
    config = models.build_config(
        "bert", str(tiny_bert), describe(contexts, ["none", "positive", "negative"], **options)
    )
    model, tokenizer = models.load_model(str(tiny_bert), config, "sdpa"), models.load_tokenizer(str(tiny_bert), config)
    card = cards.model_card(model, tokenizer, None, "alice/m", "mit")
    assert said in card
    assert "The input is a pair" in card if pair else "The input is the text alone" in card
    assert "Each target is asked about as LOCATION1" in card
    assert "trust_remote_code" not in card


def test_figures_on_the_sample_corpus_are_called_synthetic_and_enter_no_index(card_of):
    arguments = {**ALL_RESULTS["arguments"], "data_dir": "datasets_scripts/sample_corpus"}
    card = card_of(Run.from_results({**ALL_RESULTS, "arguments": arguments}, RESULTS))
    assert not ModelCard(card).data.eval_results
    assert "SentiHood" not in card
    assert "On sample corpus (synthetic)" in card
    assert "data_dir: datasets_scripts/sample_corpus" in card


def test_folders_of_this_machine_stay_here(tmp_path: Path):
    arguments = {**ALL_RESULTS["arguments"], "dataset": str(tmp_path), "model_name_or_path": str(tmp_path)}
    run = Run.from_results({**ALL_RESULTS, "arguments": arguments}, RESULTS)
    assert (run.data, run.dataset, run.base_model) == ("own data", "custom", None)
    assert str(tmp_path) not in run.recipe


@pytest.mark.parametrize(
    ("urls", "said"),
    [
        (["Homepage, https://host/home", "Repository, https://host/code"], "with [qacg-bert](https://host/code).\n"),
        (["Homepage, https://host/home"], "with [qacg-bert](https://host/home).\n"),
        (["Changelog, https://host/changes"], "with the package qacg-bert.\n"),
        ([], "with the package qacg-bert.\n"),
    ],
)
def test_the_card_links_the_project_where_its_metadata_does(card_of, monkeypatch, urls: list[str], said: str):
    message = Message()
    for url in urls:
        message["Project-URL"] = url
    monkeypatch.setattr(cards, "metadata", lambda package: message)
    assert said in card_of()


def test_a_package_that_is_not_installed_has_no_link(monkeypatch):
    def absent(package: str):
        raise PackageNotFoundError(package)

    monkeypatch.setattr(cards, "metadata", absent)
    assert cards.project_url() is None


@pytest.mark.parametrize("name", ["all_results.json", "seed-1/results.json"])
@pytest.mark.parametrize("content", [b"{", b"[]", b"{}", '{"seed": "é"}'.encode("latin-1")])
def test_results_that_no_run_writes(checkpoint: Path, name: str, content: bytes):
    (checkpoint.parent / name).write_bytes(content)
    with pytest.raises(ValueError, match=r"is not what run_absa\.py writes: ") as caught:
        Run.of(checkpoint)
    assert str(checkpoint.parent / name) in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        {"seeds": {"2": {"seed": 2, **SCORES}}},
        {"seeds": {"1": {"seed": 1, **SCORES, "test": {"macro_f1": 0.6, "aspect_auc": None}}}},
    ],
    ids=["another seed", "other scores"],
)
def test_a_checkpoint_of_another_run_is_refused(checkpoint: Path, change: dict):
    assert Run.of(checkpoint).scores == {"macro_f1": 0.5}
    (checkpoint.parent / "all_results.json").write_text(json.dumps({**ALL_RESULTS, **change}))
    with pytest.raises(ValueError, match=r"has other scores for seed 1 than .*the files are not of one run"):
        Run.of(checkpoint)


def test_results_are_found_from_the_folder_itself(checkpoint: Path, monkeypatch):
    monkeypatch.chdir(checkpoint)
    assert Run.of(Path(".")).seed == 1


def test_no_token_comes_into_the_card_of_a_model(card_of, run_of_sentihood, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "a-secret-of-another-form")
    card = card_of(replace(run_of_sentihood, protocol=f"See {TOKEN}.", recipe="url: a-secret-of-another-form"))
    assert "See TOKEN_REMOVED." in card
    assert "url: TOKEN_REMOVED" in card


def splits() -> DatasetDict:
    values = {"id": ["0", "1"], "text": ["a", "b"], "target": ["", ""], "aspect": [0, 0], "label": [0, 1]}
    features = {name: Value("string") for name in ("id", "text", "target")}
    features |= {"aspect": ClassLabel(names=["food"]), "label": ClassLabel(names=["none", "positive"])}
    return DatasetDict(train=Dataset.from_dict(values, features=Features(features)))


def test_the_card_of_data_goes_on_with_the_users_own():
    own = RepoCard(f"---\nlicense: mit\npretty_name: Soup\nconfigs: []\n---\n# Soup\n\nGet it by {TOKEN}.")
    card = cards.dataset_card(splits(), "alice/soup", "cc-by-4.0", "SentiHood", own)
    data = DatasetCard(card).data
    assert (data.license, data.pretty_name) == ("cc-by-4.0", "Soup")
    assert data.configs[0]["data_files"] == [{"split": "train", "path": "data/train-*.parquet"}]
    assert (
        "| split | distinct texts | rows | none | positive |\n|---|---|---|---|---|\n| train | 2 | 2 | 1 | 1 |" in card
    )
    assert "# soup\n\nThe texts are those of SentiHood.\n\nOne row for each" in card
    assert "## From the card of the original files\n\n# Soup\n\nGet it by TOKEN_REMOVED." in card


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("---\npretty_name: é\n---\n".encode("latin-1"), "line 2: byte 0xe9 is not UTF-8", id="latin-1"),
        pytest.param(b"---\na: [\n---\n", "has metadata that cannot be read (while parsing", id="no YAML"),
        pytest.param(b"---\n- a\n---\n", "metadata block should be a dict", id="a list"),
        pytest.param(b"---\n1: a\n---\n", "keywords must be strings", id="a number as a key"),
    ],
)
def test_a_readme_that_cannot_be_read(tmp_path: Path, content: bytes, message: str):
    (tmp_path / "README.md").write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        cards.read_card(tmp_path / "README.md")
    assert str(tmp_path / "README.md") in str(caught.value)
