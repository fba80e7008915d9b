"""Models that write tuples as text: trained, scored and asked like those that point."""

import json
from pathlib import Path

import pandas as pd
import pytest
import torch
from transformers import AutoConfig, AutoModelForSeq2SeqLM, AutoTokenizer, GenerationConfig

import absa
from absa.cards import model_card
from absa.models import load_classifier
from absa.tasks.arguments import GenerationArguments
from absa.tasks.generation import Generation
from absa.tasks.sequences import Texts
from absa.training.evaluation import answers_of
from decoding import DECODINGS
from modeling_generative_absa import WordTuple
from modeling_generative_absa.text_decoding_generative_absa import Automaton


@pytest.fixture(scope="module")
def texts(tiny_aste: Path) -> list[str]:
    files = sorted(tiny_aste.glob("14res/*.txt"))
    return [line.split("####")[0] for file in files for line in file.read_text().splitlines()]


@pytest.fixture(scope="module")
def train(make_text_model, texts: list[str], tiny_aste: Path, tmp_path_factory, run_script):
    def train(kind: str, *subtasks: str) -> Path:
        """A run of a model that writes; its folder."""
        backbone = make_text_model(kind, texts, size=64, init=0.1)
        GenerationConfig(num_beams=4, no_repeat_ngram_size=3, min_length=30).save_pretrained(backbone)  # as BART's
        folder = tmp_path_factory.mktemp("text") / "run"
        words = ("--task", "generation", "--model_type", kind, "--model_name_or_path", backbone)
        words += ("--dataset", "aste_v2", "--data_config", "14res", "--data_dir", tiny_aste, "--subtasks", *subtasks)
        words += ("--seeds", "42", "--max_steps", "200", "--eval_strategy", "steps", "--eval_steps", "100")
        words += ("--save_strategy", "steps", "--save_steps", "100", "--bf16", "false", "--learning_rate", "5e-3")
        run_script("examples/run_absa.py", *words, "--per_device_train_batch_size", "16", "--output_dir", folder)
        return folder

    return train


@pytest.fixture(scope="module")
def bart(train) -> Path:
    return train("bart", "aste", "ate")


@pytest.fixture(scope="module")
def make_asked(make_text_model, texts: list[str], tmp_path_factory):
    def make(kind: str, task: str, **of_tokenizer) -> absa.predict.Predictor:
        """Asks a model that knows nothing, and was not calibrated."""
        folder = make_text_model(kind, texts)
        config = AutoConfig.from_pretrained(folder)
        config.update({"tasks": [task], "id2label": {0: "positive", 1: "negative"}})
        config.save_pretrained(folder)
        AutoTokenizer.from_pretrained(folder, **of_tokenizer).save_pretrained(folder)
        return absa.load(str(folder))

    return make


def written_of(row: pd.Series) -> list[tuple]:
    """The predicted tuples of a row, in words."""

    def term(span: list[int] | None) -> str | None:
        return None if span is None else " ".join(row["words"][slice(*span)])

    return [(term(one["target"]), term(one["opinion"]), one["label"]) for one in row["predicted"]]


def test_a_run_learns_and_its_model_answers(bart: Path, tiny_aste: Path, tmp_path: Path, run_here):
    seed = bart / "seed-42"
    results = json.loads((seed / "results.json").read_text())
    assert results["test"]["aste/f1"] > 0.9
    assert results["test"]["aste/invalid_share"] == 0
    rows = pd.read_parquet(seed / "test_tuples.parquet")
    predictor = absa.load(str(seed))
    for subtask in ("aste", "ate"):
        own = rows[rows["subtask"] == subtask]
        answered = predictor([" ".join(words) for words in own["words"]], task=subtask)
        for (_, row), opinions in zip(own.iterrows(), answered, strict=True):
            assert [(one.target, one.opinion, one.label) for one in opinions] == written_of(row)
    words = ("--data_config", "14res", "--data_dir", tiny_aste, "--subtasks", "aste", "ate")
    run_here("examples/evaluate_checkpoint.py", seed, *words, "--output_dir", tmp_path)
    assert json.loads((tmp_path / "scores.json").read_text()) == pytest.approx(results["test"], nan_ok=True, abs=1e-6)
    # What the backbone's checkpoint asks for would hinder these texts.
    generation = GenerationConfig.from_pretrained(seed)
    assert (generation.num_beams, generation.no_repeat_ngram_size) in ((1, 0), (None, None))


def test_scores_of_evaluation_are_those_of_answers(bart: Path, tiny_aste: Path):
    """By which the temperature was found."""
    predictor = absa.load(str(bart / "seed-42"))
    model, tokenizer = predictor.pipe.model, predictor.pipe.tokenizer
    arguments = GenerationArguments("aste_v2", data_config="14res", data_dir=str(tiny_aste), subtasks=["aste", "ate"])
    task = Generation.load(arguments)
    scores = answers_of(model, tokenizer, task, "test", arguments, 5).scores(model.config.calibration_temperature)
    rows = task.splits["test"]
    answered = [
        predictor(" ".join(words), task=one) for words, one in zip(rows["words"], rows["subtask"], strict=True)
    ]
    assert scores == pytest.approx([one.score for opinions in answered for one in opinions], abs=1e-5)
    assert model.config.calibration_temperature != 1


def test_each_way_of_decoding_is_what_generate_is_asked_for(bart: Path, tiny_aste: Path, asked_of_generate: list):
    model, tokenizer = load_classifier("checkpoint", str(bart / "seed-42"), AutoModelForSeq2SeqLM)
    arguments = GenerationArguments("aste_v2", data_config="14res", data_dir=str(tiny_aste), subtasks=["aste", "ate"])
    task, scores = Generation.load(arguments), []
    for options in DECODINGS.values():
        answers = answers_of(model, tokenizer, task, "test", arguments, 32, **options)
        scores.append(task.score("test", answers))
    asked = [(one.get("num_beams", 1), one["prefix_allowed_tokens_fn"] is not None) for one in asked_of_generate]
    assert asked == [(1, True), (1, False), (4, True)]
    trained = json.loads((bart / "seed-42" / "results.json").read_text())["test"]
    assert scores[0] == pytest.approx({name: trained[name] for name in scores[0]}, nan_ok=True)


def test_answers_of_a_text(bart: Path):
    text, predictor = "So the price is dear but location nice !", absa.load(str(bart / "seed-42"))
    opinions = predictor(text)
    assert len(opinions) == 2
    for one in opinions:
        assert text[one.target_start : one.target_end] == one.target
        assert text[one.opinion_start : one.opinion_end] == one.opinion
        assert 0 < one.score <= 1
        assert sum(one.probabilities.values()) == pytest.approx(1)
        assert one.probabilities[one.label] == max(one.probabilities.values())
    assert predictor(text, num_beams=3) != []
    assert predictor([text, "", " "]) == [predictor(text), [], []]
    assert {one.target for one in predictor(text, task="aesc")} == {one.target for one in opinions}
    assert all(one.label is None for one in predictor(text, abstain_below=1.0))
    (cut,) = predictor.pipe([text + " and" * 3000])  # far more than BART's 128 positions
    assert all(answer["truncated"] for answer in cut)


def test_a_text_is_answered_alike_alone_and_among_others(make_asked):
    texts = ["nice price", "nice " * 20]
    for side in ("left", "right"):
        predictor = make_asked("bart", "aste", padding_side=side)
        together = [opinion.score for opinions in predictor(texts) for opinion in opinions]
        alone = [opinion.score for text in texts for opinion in predictor(text)]
        assert together == pytest.approx(alone)
        assert alone


def test_any_text_can_be_asked(make_asked):
    predictor = make_asked("bart", "ate")
    text = "\ud83d nice \ude00"
    found, same = predictor(text), predictor("\ufffd nice \ufffd")
    assert [one.score for one in found] == [one.score for one in same] != []
    assert all(one.target == text[one.target_start : one.target_end] for one in found)
    assert predictor(["", " \n", {"words": [" ", ""]}]) == [[], [], []]
    start = {"target_start": 0, "target_end": 1}
    assert make_asked("t5", "alsc")([{"words": [" "], **start}, {"text": "\ud83d", **start}])[0] == []
    long = "nice " * 500
    assert make_asked("bart", "alsc")({"text": long + "price", "target_start": 2500, "target_end": 2505}) == []


def test_an_endless_answer_ends_where_the_positions_do(make_asked):
    pipe = make_asked("bart", "aste").pipe
    with torch.no_grad():
        pipe.model.final_logits_bias[:, pipe.tokenizer.eos_token_id] = -1e4
    assert pipe("nice price, the soup is dear")
    assert pipe.model.config.max_position_embeddings == 128


def test_scores_are_probabilities(bart: Path):
    """Of all that could be written first, with nothing at all, one thing is."""
    predictor = absa.load(str(bart / "seed-42"))
    texts, model, words = predictor.pipe.texts, predictor.pipe.model, ["nice", "price", ",", "nice"]
    writer = texts.writers["ate"]
    read = texts.inputs(words, "ate", None)
    inputs = {name: torch.tensor([read[name]]) for name in ("input_ids", "attention_mask")}
    total = 0.0
    spans = {tuple(words[start:end]): (start, end) for end in range(1, 5) for start in range(end)}
    for tuples in ([], *([WordTuple(span)] for span in spans.values())):
        ids = writer.encode(words, tuples)
        with torch.no_grad():
            decoded = torch.tensor([[model.config.decoder_start_token_id, *ids[:-1]]])
            logits = model(**inputs, decoder_input_ids=decoded).logits[0].double()
        steps = [one.log_softmax(0)[0] for one in Automaton(writer, words).choices(tuple(ids), logits)]
        read = writer.read(ids, words)
        assert [one.target is not None for one in read.tuples] == [True] * len(tuples)
        of_tuple = read.steps[0] if tuples else slice(0, -1)
        total += torch.stack(steps[of_tuple]).sum().exp().item()
    assert total == pytest.approx(1)


@pytest.mark.slow
def test_given_terms(train):
    """T5, which has no limit of positions."""
    seed = train("t5", "alsc") / "seed-42"
    rows = pd.read_parquet(seed / "test_tuples.parquet")
    predictor = absa.load(str(seed))
    asked = [" ".join(words) for words in rows["words"]]
    found = {(text, one.target): one.label for text in asked for one in predictor(text, targets=["price", "location"])}
    for text, (_, row) in zip(asked, rows.iterrows(), strict=True):
        (answer,) = written_of(row)
        assert found[text, " ".join(row["words"][slice(*row["target"])])] == answer[-1]
    with pytest.raises(ValueError, match=r"a text alone asks nothing.*targets="):
        predictor("the price is dear")


def test_the_end_of_a_long_text_is_not_read(bart: Path):
    tokenizer = AutoTokenizer.from_pretrained(bart / "seed-42", model_max_length=50)
    texts = Texts(AutoConfig.from_pretrained(bart / "seed-42"), tokenizer)
    whole = texts.inputs(["nice"] * 4, "aste", None)
    cut = texts.inputs(["nice"] * 400, "aste", None)
    assert whole["num_words"] == 4 < cut["num_words"] < 50
    assert len(cut["input_ids"]) <= 50
    assert cut["input_ids"][-1] == tokenizer.eos_token_id


def test_card(bart: Path):
    model, tokenizer = load_classifier("checkpoint", str(bart / "seed-42"), AutoModelForSeq2SeqLM)
    card = model_card(model, tokenizer, None, "someone/triplets", "mit")
    assert "A bart that writes its answers" in card
    assert 'absa.load("someone/triplets").pipe\n' in card
    assert "trust_remote_code" not in card
    assert "labels: positive, negative" in card
    assert "Identify aspects, opinions and sentiments: " in card


def test_card_of_given_terms(make_asked):
    pipe = make_asked("t5", "alsc").pipe
    card = model_card(pipe.model, pipe.tokenizer, None, "someone/labels", "mit")
    assert "`Identify the sentiment of {target}: {text}`, with the aspect term as `[ term ]`" in card
    assert "and writes `label`.\n" in card
    assert "Towards Generative Aspect-Based Sentiment Analysis" in card


def test_models_of_other_texts_are_refused(make_text_model):
    with pytest.raises(ValueError, match=r"model=.* is a BartForCondition.* that was trained for no subtask"):
        absa.load(str(make_text_model("bart", ["nice"])))
