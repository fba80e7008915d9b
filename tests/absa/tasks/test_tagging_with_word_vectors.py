"""Taggers with static word vectors in place of an encoder, trained as a user trains them."""

import json
from pathlib import Path

import pytest
from transformers import AutoModelForTokenClassification, AutoTokenizer, set_seed

import absa
from absa.tasks.tagging import Tagging
from absa.training.arguments import parse_arguments
from absa.training.run import build

SENTENCES = {
    "train": [
        "The screen is dear####The=O screen=T-POS is=O dear=O",
        "Bad battery life!####Bad=O battery=T-NEG life=T-NEG !=O",
        "It is safe####It=O is=O safe=O",
    ],
    "dev": [
        "The screen is dear####The=O screen=T-POS is=O dear=O",
        "BAD battery life!####BAD=O battery=T-NEG life=T-NEG !=O",
    ],
    "test": ["bad BATTERY life!####bad=O BATTERY=T-NEG life=T-NEG !=O"],
}
VECTORS = {"screen": (1.0, 0.0, 2.0), "battery": (0.5, -1.0, 0.0), "keys": (3.0, 4.0, 5.0), "Upper": (1.0, 1.0, 1.0)}
VARIANTS = {
    "BiLSTM": "interaction=none",
    "BiLSTM-CRF": "interaction=none,crf=true",
    "BiLSTM-context": "gate_dropout=0,context_dropout=0",
}


@pytest.fixture(scope="module")
def words(tmp_path_factory) -> list[str]:
    """Of a command, without output_dir and config_overrides."""
    folder = tmp_path_factory.mktemp("words")
    (folder / "laptop14").mkdir()
    for split, lines in SENTENCES.items():
        (folder / "laptop14" / f"{split}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = [" ".join([word, *map(str, vector)]) for word, vector in VECTORS.items()]
    (folder / "vectors.txt").write_text("\n".join(rows) + "\n", encoding="utf-8")
    words = ["--task=tagging", "--model_type=global_context", f"--word_vectors={folder / 'vectors.txt'}"]
    words += ["--data_config=laptop14", f"--data_dir={folder}", "--learning_rate=1e-2", "--num_train_epochs=150"]
    return [*words, "--eval_strategy=steps", "--eval_steps=150", "--save_strategy=steps", "--save_steps=150"]


def test_a_model_starts_from_the_vectors(words):
    arguments = parse_arguments([*words, "--config_overrides=lstm_size=8"])
    task = Tagging.load(arguments.data)
    set_seed(1)
    model, tokenizer = build(task, arguments.model, arguments.data)
    embeddings = model.get_input_embeddings()
    assert embeddings.weight.requires_grad
    assert (model.config.vocab_size, model.config.embedding_size) == (len(tokenizer), 3)
    for word in ("screen", "battery", "keys"):
        assert embeddings.weight[tokenizer.convert_tokens_to_ids(word)].tolist() == list(VECTORS[word])
    assert "Upper" not in tokenizer.get_vocab()
    assert embeddings.weight[:2].abs().sum() == 0
    raw = tokenizer("The battery-life isn't safe!")
    assert raw.tokens() == ["the", "[UNK]", "is", "[UNK]", "safe", "!"]  # as the pipeline cuts it


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_it_learns_and_answers_without_this_project(variant: str, words, run_here, stranger, tmp_path: Path):
    overrides = f"lstm_size=64,{VARIANTS[variant]}"
    output_dir = f"--output_dir={tmp_path / 'run'}"
    run_here("examples/run_absa.py", *words, f"--config_overrides={overrides}", output_dir)
    folder = tmp_path / "run" / "seed-42"
    results = json.loads((folder / "results.json").read_text())
    assert results["test"]["strict_micro_f1"] == 1
    assert json.loads((tmp_path / "run" / "arguments.json").read_text())["model_name_or_path"] is None

    model = AutoModelForTokenClassification.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert model.get_input_embeddings().weight[0].abs().sum() == 0
    assert tokenizer("Zorglub")["input_ids"] == [tokenizer.unk_token_id]
    text = "Bad BATTERY life!"
    (opinion,), _ = absa.load(str(folder))([text, "Zorglub"])
    assert (opinion.target, opinion.label) == ("BATTERY life", "negative")
    if variant != "BiLSTM-context":
        return
    batch = dict(tokenizer(text, return_tensors="pt"))
    report, _ = stranger(folder, batch, AutoModelForTokenClassification, {"aspect-term-sentiment": {}}, [text])
    (((answer,),),) = report["answers"].values()
    assert (answer["target"], answer["label"]) == ("BATTERY life", "negative")


def test_random_vectors_have_the_size_of_the_configuration(words):
    options = ["--word_vectors=random", "--config_overrides=lstm_size=8,embedding_size=6"]
    arguments = parse_arguments([*words, *options])
    set_seed(1)
    model, _ = build(Tagging.load(arguments.data), arguments.model, arguments.data)
    weights = model.get_input_embeddings().weight
    assert weights.shape[1] == 6
    assert weights[0].abs().sum() == 0
    assert 0 < weights[1:].std() < 0.05


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--model_name_or_path=x"], r"word_vectors=\S+ with model_name_or_path=x: word vectors take the place"),
        (["--model_type=bert"], r"word_vectors=\S+: a bert has an encoder; leave it out"),
        (["--config_overrides=embedding_size=6"], "config_overrides=embedding_size=6 has embedding_size, which"),
        (["--config_overrides=lstm_size=7"], "word_vectors with config_overrides=lstm_size=7 gives no global_context"),
        (["--reset_pooler=true"], "reset_pooler=true, and a GlobalContextForTokenClassification has no pooler"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_what_does_not_go_with_word_vectors(words, options: list[str], told: str):
    def start():
        arguments = parse_arguments([*words, *options])
        build(Tagging.load(arguments.data), arguments.model, arguments.data)

    with pytest.raises(ValueError, match=told):
        start()


def test_another_task_is_refused(tmp_path: Path, tiny_sentihood: Path, run_here):
    words = ["--model_type=global_context", "--word_vectors=random", f"--data_dir={tiny_sentihood}"]
    with pytest.raises(ValueError, match="model_type=global_context has no model ForSequenceClassification"):
        run_here("examples/run_absa.py", *words, f"--output_dir={tmp_path}")
