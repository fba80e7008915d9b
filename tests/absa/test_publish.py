"""examples/publish.py without a Hub: what would be uploaded, the card, and what is refused."""

import ast
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from huggingface_hub import DatasetCard, ModelCard

from absa import hub, model_card, models
from absa import models as backbones
from absa import restricted_texts as restricted
from absa.tasks import classification
from modeling_qacg_bert import AspectSentimentPipeline, QACGBertConfig

SCRIPT = "examples/publish.py"
CODE = {
    *("attention_qacg_bert.py", "configuration_qacg_bert.py", "layers_qacg_bert.py", "modeling_qacg_bert.py"),
    *("names_qacg_bert.py", "pipeline_qacg_bert.py", "processing_qacg_bert.py", "relevance_qacg_bert.py"),
    *("sentences_qacg_bert.py", "triton_qacg_bert.py"),
}


def dry_run(run: Callable[..., str], *words) -> tuple[set[str], str]:
    """Files that would be uploaded, and the card."""
    listing, card = run(SCRIPT, *words, "--dry_run").split("\n---\n", 1)
    return set(re.findall(r"^ +[\d,]+  (.+)$", listing, flags=re.MULTILINE)), f"---\n{card}"


@pytest.fixture(scope="module")
def published_model(finished_run, run_script):
    words = ("model", finished_run[0] / "seed-2", "alice/tiny-absa")
    files, card = dry_run(lambda *command: run_script(*command).stdout, *words)
    return finished_run[0], files, card


def test_a_model_is_whole_and_holds_nothing_else(published_model):
    _, files, _ = published_model
    weights_and_words = {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert files == {"README.md", *weights_and_words, *CODE}


def test_the_card_has_the_figures_of_the_run(published_model):
    run, _, card = published_model
    results = json.loads((run / "all_results.json").read_text())
    data = ModelCard(card).data
    own = results["seeds"]["2"]["test"]
    assert {result.metric_type: result.metric_value for result in data.eval_results} == {
        name: own[name] for name in results["main_scores"] if own[name] is not None
    }
    assert data.eval_results
    assert {result.dataset_name for result in data.eval_results} == {"SentiHood"}
    assert data.model_name == "tiny-absa"
    assert (data.library_name, data.license) == ("transformers", "apache-2.0")
    assert data.widget == [{"text": "LOCATION1 is expensive, but I always felt safe there."}]
    for name, score in results["summary"].items():
        if name in results["main_scores"] and score["mean"] is not None:
            assert f"{100 * score['mean']:.1f} ({100 * score['std']:.1f}) |" in card
    assert "this checkpoint (seed 2) | mean (std) over 2 seeds: 1, 2 |" in card
    assert results["protocol"] in card
    calibration = json.loads((run / "seed-2" / "results.json").read_text())["calibration"]["test"]
    for kind in ("label", "present", "sentiment"):
        assert f"| {kind} | {100 * calibration['before'][kind]:.1f} |" in card


def test_the_card_says_how_to_load_and_no_path_of_this_machine(published_model, tmp_path):
    run, _, card = published_model
    assert 'pipeline(\n    "aspect-sentiment", model="alice/tiny-absa", revision="COMMIT"' in card
    assert "num_train_epochs: 2.0" in card
    assert "wu-ong-2021-context" in card
    assert "saeidi-etal-2016-sentihood" in card
    for path in (run, tmp_path, Path.home()):
        assert str(path) not in card
    assert not re.search(r"(data_dir|model_name_or_path):", card)


@pytest.mark.parametrize(
    ("temperature", "after", "said", "row"),
    [
        (1.5, 0.1, "probabilities are calibrated by one temperature, 1.50", "| label | 20.0 | 10.0 |"),
        (1.5, 0.3, "did not help on the test split: do not take its probabilities", "| label | 20.0 | 30.0 |"),
        (1.0, 0.2, "probabilities are the model's own", "| label | 20.0 |"),
    ],
    ids=["helped", "did not help", "none"],
)
def test_the_card_says_calibrated_only_of_what_is(temperature: float, after: float, said: str, row: str):
    errors = {"before": {"label": 0.2, "present": None}, "after": {"label": after, "present": None}}
    text = model_card.calibrated(SimpleNamespace(calibration_temperature=temperature), "test", errors)
    assert said in text
    assert text.endswith(f"|\n{row}")


def test_the_card_shows_what_the_model_answers(published_model):
    run, _, card = published_model
    model, tokenizer = models.load_classifier("run", str(run / "seed-2"))
    pipe = AspectSentimentPipeline(model=model, tokenizer=tokenizer)
    answers = pipe("LOCATION1 is expensive, but I always felt safe there.")
    shown = re.search(r'^pipe\("LOCATION1 .*"\)\n((?:# .*\n)+)', card, flags=re.MULTILINE)[1].replace("# ", "")
    told = ast.literal_eval(shown.split("\nand ")[0])
    assert [(answer["aspect"], answer["label"]) for answer in told] == [
        (answer["aspect"], answer["label"]) for answer in answers[:2]
    ]
    assert [answer["score"] for answer in told] == pytest.approx([answer["score"] for answer in answers[:2]], abs=0.01)


def test_figures_on_the_sample_corpus_are_called_synthetic_and_enter_no_index(published_model, tmp_path, run_here):
    run = tmp_path / "run"
    shutil.copytree(published_model[0] / "seed-2", run / "seed-2")
    results = json.loads((published_model[0] / "all_results.json").read_text())
    results["arguments"]["data_dir"] = "datasets_scripts/sample_corpus"
    (run / "all_results.json").write_text(json.dumps(results))
    _, card = dry_run(run_here, "model", run / "seed-2", "alice/m")
    assert not ModelCard(card).data.eval_results
    assert "SentiHood" not in card
    assert "On sample corpus (synthetic)" in card
    assert "data_dir: datasets_scripts/sample_corpus" in card


def test_a_checkpoint_without_results_has_no_figures(tiny_classifier: Path, run_here):
    files, card = dry_run(run_here, "model", tiny_classifier, "alice/m")
    assert files >= CODE
    assert "None are known: no results lay beside the checkpoint." in card
    assert not ModelCard(card).data.eval_results


def test_a_baseline_is_a_plain_bert(tiny_bert: Path, tmp_path, run_in_process, capsys):
    contexts = classification.Contexts(("LOCATION1",), ("price",))
    labels = ["none", "positive", "negative"]
    options = {"auxiliary_sentence": False, "symmetric_targets": True}
    config = backbones.build_config("bert", str(tiny_bert), contexts, labels, **options)
    backbones.load_model(str(tiny_bert), config, "sdpa").save_pretrained(tmp_path)
    backbones.load_tokenizer(str(tiny_bert), config).save_pretrained(tmp_path)
    arguments = hub.PublishArguments("model", str(tmp_path), "alice/m", dry_run=True)
    run_in_process(hub.main, arguments)
    printed = capsys.readouterr().out
    assert "_qacg_bert.py" not in printed
    assert "BERT, the baseline without context guidance" in printed
    assert "The input is the text alone" in printed
    assert "Each target is asked about as LOCATION1" in printed
    assert "trust_remote_code" not in printed


@pytest.mark.parametrize(
    ("number", "said"),
    [(None, "every layer's attention"), (1, "the last layer's attention"), (3, "the attention of the upper 3 layers")],
)
def test_the_card_says_which_layers_are_guided(number: int | None, said: str):
    config = QACGBertConfig(aspects=["price"], num_context_layers=number)
    assert f"which guides {said} by" in model_card.introduction(config, None)


def test_a_run_with_one_seed_is_its_checkpoint(finished_run, tmp_path, run_here):
    shutil.copytree(finished_run[0] / "seed-1", tmp_path / "run" / "seed-1")
    shutil.copy(finished_run[0] / "all_results.json", tmp_path / "run")
    _, card = dry_run(run_here, "model", tmp_path / "run", "alice/m", "--license", "mit")
    assert "this checkpoint (seed 1)" in card
    assert ModelCard(card).data.license == "mit"


ROWS = """text,target,aspect,label
The soup was cold.,,food,negative
The soup was cold.,,service,none
Friendly waiters.,,food,none
Friendly waiters.,,service,positive
"""


def test_own_data(tmp_path, run_here):
    (tmp_path / "train.csv").write_text(ROWS)
    (tmp_path / "test.csv").write_text(ROWS)
    files, card = dry_run(run_here, "dataset", tmp_path, "alice/soup", "--license", "cc-by-4.0")
    assert files == {"README.md", "data/train-00000-of-00001.parquet", "data/test-00000-of-00001.parquet"}
    assert "license: cc-by-4.0" in card
    assert "| train | 2 | 4 |" in card


def test_the_sample_corpus_may_be_published(run_here):
    files, card = dry_run(run_here, "dataset", "datasets_scripts/sample_corpus", "alice/sample")
    assert {f"data/{split}-00000-of-00001.parquet" for split in ("train", "validation", "test")} < files
    data = DatasetCard(card).data
    assert (data.license, data.pretty_name) == ("cc0-1.0", "Sample corpus in SentiHood's format")
    assert data.configs[0]["data_files"][0] == {"split": "train", "path": "data/train-*.parquet"}
    assert "**Synthetic.**" in card


@pytest.mark.parametrize(
    ("name", "source"), [("sentihood", "SentiHood"), ("semeval2014", "SemEval-2014")], ids=["sentihood", "semeval2014"]
)
def test_data_without_a_licence_is_recognised_and_refused(shared_dir, tmp_path, run_in_process, name, source):
    datasets_scripts = pytest.importorskip("datasets_scripts")
    arguments = hub.PublishArguments
    folder = shared_dir / "data" / name
    with pytest.raises(ValueError, match=f"holds texts of {source}, which states no licence"):
        run_in_process(hub.main, arguments("dataset", str(folder), "alice/x", dry_run=True, license="mit"))
    # A part of it in other form is recognised too.
    splits = datasets_scripts.load_absa_dataset(name, data_dir=folder)
    splits["train"] = splits["train"].select(range(0, len(splits["train"]), 3))
    datasets_scripts.export_parquet(splits, tmp_path)
    with pytest.raises(ValueError, match=f"holds texts of {source}"):
        run_in_process(hub.main, arguments("dataset", str(tmp_path), "alice/x", dry_run=True, license="mit"))
    allowed = arguments("dataset", str(tmp_path), "alice/x", dry_run=True, license="other", i_have_the_right=True)
    run_in_process(hub.main, allowed)


def test_the_digests_are_the_smallest_of_the_data(shared_dir):
    load = pytest.importorskip("datasets_scripts").load_absa_dataset
    texts = {"SentiHood": set(), "SemEval-2014": set()}
    for source, name, version in (
        ("SentiHood", "sentihood", None),
        ("SemEval-2014", "semeval2014", "v1"),
        ("SemEval-2014", "semeval2014", "v2"),
    ):
        for split in load(name, data_dir=shared_dir / "data" / name, version=version).values():
            texts[source].update(split["text"])
    for source, smallest in restricted.SMALLEST_DIGESTS.items():
        assert smallest.split() == sorted({restricted.digest(text) for text in texts[source]})[:48]


def test_metric(run_here):
    files, card = dry_run(run_here, "metric", "absa/metrics/evaluate_modules/sentihood", "alice/our_scores")
    assert files == {
        *("README.md", "our_scores.py", "_sentihood.py", "_aspect_groups.py", "_bootstrap.py"),
        *("_keyed_metric.py", "_ratios.py", "_rows.py"),
    }
    assert "sdk: static" in card


@pytest.mark.parametrize(
    ("kind", "folder", "repo_id", "message"),
    [
        ("model", "no/such", "alice/m", "folder=no/such does not exist: give the folder of the model"),
        ("model", "{tmp}", "alice/m", "holds no config.json and no finished seed-*"),
        ("model", "{run}", "alice/m", "holds several checkpoints: name one, {run}/seed-1 (validation "),
        ("model", "{bert}", "alice/m", "lacks 2 weights: classifier.bias, classifier.weight"),
        ("model", "{tmp}", "m", "repo_id=m: give the user or organisation too, USER/m"),
        ("model", "{tmp}", "a/b/c", "repo_id=a/b/c"),
        ("model", "{tmp}", "alice/white space", "repo_id=alice/white space"),
        ("dataset", "{tmp}", "alice/d", "holds no data that is known"),
        ("dataset", "{csv}", "alice/d", "license is not given: name the licence of the data"),
        ("metric", "{tmp}", "alice/s", ".py: give a folder such as absa/metrics/evaluate_modules/sentihood"),
    ],
)
def test_errors(tmp_path, finished_run, tiny_bert, run_in_process, kind, folder, repo_id, message):
    (tmp_path / "csv").mkdir()
    (tmp_path / "csv" / "train.csv").write_text(ROWS)
    (tmp_path / "empty").mkdir()
    places = {"tmp": tmp_path / "empty", "run": finished_run[0], "bert": tiny_bert, "csv": tmp_path / "csv"}
    arguments = hub.PublishArguments(kind, folder.format(**places), repo_id)
    with pytest.raises((ValueError, FileNotFoundError), match=re.escape(message.format(**places))):
        run_in_process(hub.main, arguments)
