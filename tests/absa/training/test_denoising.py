"""absa/training/denoising.py: texts are restored, by a small decoder with a head for the time being, or by T5."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
    T5Tokenizer,
)

from absa.noise import NOISES, Document, corrupt
from absa.tasks.generation import Generation
from absa.training import denoising
from absa.training.arguments import Arguments, parse_all
from absa.training.denoising import DenoisingTrainer, OrderWithEpochs, PieceWriter, measure, start
from absa.training.noisy_rows import Corpus, DenoisingArguments, NoisyRows, Restoring, corpus_of, mask_of
from absa.training.run import build

TRAIN = [
    "the soup was hot and good####[([1], [5], 'POS')]",
    "our waiter came late again####[([1], [3], 'NEG')]",
    "a dear apple pie of old age####[([2, 3], [1], 'NEG')]",
    "we liked their green tea .####[([3, 4], [1], 'POS')]",
    "nice room with a cold view####[([1], [0], 'POS'), ([5], [4], 'NEG')]",
    "The fish , sadly , was overcooked .####[([1], [6], 'NEG')]",  # in dev, with other spelling
    "bread and butter are quite salty####[([0], [5], 'NEG')]",  # in the file that is held out
]
DEV = ["the fish , sadly , was overcokked .####[([1], [6], 'NEG')]", "a fine wine####[([2], [1], 'POS')]"]
TEST = ["lovely garden out there####[([1], [0], 'POS')]"]
REVIEWS = """<Reviews><Review rid="1"><sentences>
<sentence id="1:0"><text>Good coffee. It was Lovely garden, out there</text></sentence>
<sentence id="1:1"><text>Lovely garden out there!</text></sentence>
</sentences></Review></Reviews>"""
QUICK = ("--learning_rate", "3e-3", "--new_learning_rate", "3e-3", "--learning_rates", "{}", "--bf16", "false")
QUICK += ("--per_device_train_batch_size", "2", "--disable_tqdm", "true", "--r_drop", "false")
RECIPE = "configuration/recipes/aste_14res_minilm.yaml"


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    (folder / "14res").mkdir()
    for split, lines in (("train", TRAIN), ("dev", DEV), ("test", TEST)):
        (folder / "14res" / f"{split}_triplets.txt").write_text("\n".join(lines) + "\n")
    (folder / "reviews.xml").write_text(REVIEWS)
    (folder / "later.txt").write_text(f"{TRAIN[-1]}\n")
    return folder


@pytest.fixture(scope="module")
def tiny_t5(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("tiny_t5")
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("\u2581", -2.0)]
    pieces += [
        (f"\u2581{word}", -3.0) for word in ["the", "a", "was", "and", "soup", "tea", "good", "hot", "fine", "wine"]
    ]
    pieces += [(letter, -6.0) for letter in "abcdefghijklmnopqrstuvwxyz.,!'"]
    tokenizer = T5Tokenizer(vocab=pieces, extra_ids=3)
    tokenizer.save_pretrained(folder)
    config = T5Config(
        vocab_size=len(tokenizer), d_model=16, d_kv=8, d_ff=24, num_layers=1, num_heads=2, decoder_start_token_id=0
    )
    torch.manual_seed(0)
    T5ForConditionalGeneration(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def parsed(data_dir: Path) -> Callable[..., tuple[Arguments, DenoisingArguments, Generation]]:
    """Arguments of a run, and its task."""

    def parse(backbone: Path, *words: str) -> tuple[Arguments, DenoisingArguments, Generation]:
        given = [RECIPE, "--data_dir", str(data_dir), "--model_name_or_path", str(backbone), *QUICK, *words]
        arguments, others = parse_all(given, DenoisingArguments)
        return arguments, others, Generation.load(arguments.data)

    return parse


@pytest.fixture(scope="module")
def denoised(tmp_path_factory, data_dir: Path, tiny_bert: Path, run_script) -> Path:
    """A run of the script: a small decoder over an encoder."""
    folder = tmp_path_factory.mktemp("denoised") / "run"
    words = ("--data_dir", data_dir, "--model_name_or_path", tiny_bert, *QUICK, "--num_train_epochs", "12")
    words += ("--texts", data_dir / "reviews.xml", "--held_out", data_dir / "later.txt")
    words += ("--config_overrides", "decoder_heads=4,decoder_dropout=0")
    run_script("examples/denoise.py", RECIPE, *words, "--output_dir", folder)
    return folder / "seed-42"


def writer_of(parsed, tiny_bert: Path) -> tuple[PieceWriter, Restoring]:
    """With weights that are large enough for differences to show."""
    torch.manual_seed(0)
    arguments, _, task = parsed(tiny_bert, "--config_overrides", "decoder_heads=4,initializer_range=0.3")
    writer, _, restoring = start(task, arguments)
    return writer.eval(), restoring


def naive_log_probabilities(writer: PieceWriter, input_ids: list[int], labels: list[int]) -> torch.Tensor:
    """One piece after the other, of one text alone; (T, vocabulary)."""
    base, table = writer.model, writer.model.backbone.embeddings.word_embeddings.weight
    encoded = base.backbone(input_ids=torch.tensor([input_ids])).last_hidden_state
    read, rows = [base.embeddings.classes.weight[0]], []
    for label in labels:
        inputs = (torch.stack(read) @ base.embeddings.projection.weight.T)[None]
        states = base.decoder(inputs_embeds=inputs, encoder_hidden_states=encoded, use_cache=False).last_hidden_state
        rows.append(torch.log_softmax(table @ states[0, -1], dim=0))
        read.append(table[label])
    return torch.stack(rows)


@torch.no_grad()
def test_loss_and_measures_are_those_of_a_plain_computation(parsed, tiny_bert: Path, tmp_path: Path):
    writer, restoring = writer_of(parsed, tiny_bert)
    arguments, _, task = parsed(tiny_bert)
    documents = [
        Document("a", ["the", "soup", "was", "good", "and", "dear"], [1, 3, 5]),
        Document("b", ["fine", "wine"], [1]),
        Document("c", ["we", "came", "with", "others"], []),
    ]
    rows = NoisyRows(documents, restoring, seed=1, noise="choice")
    trainer = DenoisingTrainer(
        model=writer,
        args=denoising.training_arguments_of(arguments.training, tmp_path, 1, task, True),
        train_dataset=rows,
        processing_class=restoring.tokenizer,
        data_collator=denoising.DataCollatorForSeq2Seq(restoring.tokenizer),
        preprocess_logits_for_metrics=denoising.loss_and_hit,
    )
    batch = trainer.data_collator([rows[0], rows[1], rows[2]])
    assert (batch["attention_mask"] == 0).any()
    expected = [
        -naive_log_probabilities(writer, row["input_ids"], row["labels"])[range(len(row["labels"])), row["labels"]]
        for row in (rows[0], rows[1], rows[2])
    ]
    torch.testing.assert_close(writer(**batch).loss, torch.cat(expected).mean(), rtol=1e-5, atol=1e-5)

    losses, recovered = [], []
    for document in documents:
        for noise in ("choice", "mask_aspects"):
            words = corrupt(document, seed=0, mask="[MASK]", **NOISES[noise])
            row, original = restoring.row(words, document.words), restoring.original(document.words)
            plain = naive_log_probabilities(writer, row["input_ids"], row["labels"])
            ids = np.array(original["word_ids"])
            if noise == "choice":
                losses += (-plain[range(len(ids)), row["labels"]])[torch.tensor(ids) >= 0].tolist()
                continue
            right = (plain.argmax(dim=-1) == torch.tensor(row["labels"])).numpy()
            recovered += [right[ids == number].all() for number, word in enumerate(words) if word == "[MASK]"]
    found = measure(trainer, documents)
    assert found["loss_per_token"] == pytest.approx(np.mean(losses), rel=1e-5)
    assert (found["tokens"], found["masked_words"]) == (len(losses), 2)
    assert found["recovered"] == np.mean(recovered)


@torch.no_grad()
def test_a_masked_word_is_recovered_if_all_of_its_pieces_are():
    logits = torch.zeros(1, 3, 5)
    logits[0, [0, 1, 2], [4, 2, 3]] = 1.0
    found = denoising.loss_and_hit((logits, None), torch.tensor([[4, 1, -100]]))
    assert found[0, :2, 1].tolist() == [1.0, 0.0]
    assert found[0, 0, 0] == pytest.approx(np.log(4 + np.e) - 1)


def test_what_is_held_out_is_not_read(parsed, data_dir: Path, tiny_bert: Path):
    words = ("--texts", str(data_dir / "reviews.xml"), "--held_out", str(data_dir / "later.txt"))
    arguments, others, task = parsed(tiny_bert, *words)
    texts = corpus_of(task, others, arguments.data.held_out)
    joined = [" ".join(document.words) for document in texts.documents]
    assert joined == [
        "Good coffee . It was Lovely garden , out there",
        *(line.split("####")[0] for line in TRAIN[:-2]),
    ]
    assert texts.counts["train"] == {"sentences": 7, "held_out": 2, "repeated": 0, "kept": 5, "documents": 5}
    assert texts.counts["reviews.xml"]["held_out"] == 1
    assert texts.documents[0].related == [0], "good is an opinion of a training sentence"
    assert texts.documents[5].related == [0, 1, 4, 5]
    assert [document.words[-1] for document in texts.held_out] == [".", "wine"]


def test_given_targets_are_related_words(parsed, tiny_bert: Path):
    _, others, task = parsed(tiny_bert, "--subtasks", "aoe")
    view = next(document for document in corpus_of(task, others, []).documents if "view" in document.words)
    assert view.related == [0, 1, 4, 5], "of all rows of its sentence"


def test_noise_depends_on_epoch_and_document_alone(parsed, tiny_bert: Path):
    _, restoring = writer_of(parsed, tiny_bert)
    documents = [Document(str(n), ["the", "soup", "was", "good", *"abcdefgh"], [1, 3]) for n in range(8)]
    rows = NoisyRows(documents, restoring, seed=3, noise="choice")
    by_document = {(epoch, n): rows[n + 8 * epoch] for epoch in range(3) for n in range(8)}
    backwards = NoisyRows(documents[::-1], restoring, seed=3, noise="choice")
    numbers = list(range(24))
    random.Random(0).shuffle(numbers)
    for number in numbers:
        epoch, place = divmod(number, 8)
        assert backwards[number] == by_document[epoch, 7 - place]
    assert sum(by_document[0, n] != by_document[1, n] for n in range(8)) > 5
    for batch_size in (2, 3):
        order = OrderWithEpochs([12] * 8, None, batch_size, True, seed=0)
        order.set_epoch(2)
        assert sorted(order) == list(range(16, 24))


def test_long_documents_go_on_in_another(parsed, tiny_bert: Path):
    _, restoring = writer_of(parsed, tiny_bert)
    restoring = restoring._replace(most=8)
    words = ["soup", "was", "a" * 9, *"bcdefghijk"]  # the third alone has too many pieces
    parts = list(restoring.parts([Document("x", words, [0, 3, 12])]))
    assert [part.id for part in parts] == ["x/0", "x/1", "x/3", "x/9"]
    assert [word for part in parts for word in part.words] == [word for word in words if len(word) < 9]
    assert [[part.words[number] for number in sorted(part.related)] for part in parts] == [["soup"], [], ["b"], ["k"]]
    assert all(len(restoring.row(part.words, part.words)["labels"]) <= 8 for part in parts)


def test_masks_of_tokenizers(tiny_bert: Path, tiny_t5: Path):
    for folder, mask in ((tiny_bert, "[MASK]"), (tiny_t5, "<extra_id_0>")):
        tokenizer = AutoTokenizer.from_pretrained(folder, model_max_length=20)
        assert mask_of(tokenizer) == mask
        row = Restoring(tokenizer, mask, 20).row(["soup", mask, "was"], ["soup", "tea", "was"])
        assert row["input_ids"].count(tokenizer.convert_tokens_to_ids(mask)) == 1
        assert tokenizer.decode(row["labels"], skip_special_tokens=True) == "soup tea was"
    plain = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel({"a": 0})))
    with pytest.raises(ValueError, match="has neither a mask token nor <extra_id_0>: give a model that was trained"):
        mask_of(plain)


def test_what_is_saved_has_no_head_and_has_learnt(denoised: Path, parsed, tiny_bert: Path):
    results = json.loads((denoised / "results.json").read_text())
    assert results["corpus"]["train"]["held_out"] == 2
    assert results["documents"] == 6
    assert results["steps"] == 36
    held_out = results["held_out"]
    assert held_out["after"]["loss_per_token"] < held_out["before"]["loss_per_token"] - 0.5
    assert held_out["after"]["tokens"] == held_out["before"]["tokens"] > 10
    assert not list(denoised.glob("checkpoint-*"))

    arguments, _, task = parsed(tiny_bert, "--config_overrides", "decoder_heads=4,decoder_dropout=0")
    torch.manual_seed(0)
    fresh, _ = build(task, arguments.model, arguments.data)
    weights = load_file(denoised / "model.safetensors")
    assert {name: tensor.shape for name, tensor in weights.items()} == {
        name: tensor.shape for name, tensor in fresh.state_dict().items()
    }
    assert json.loads((denoised / "config.json").read_text())["architectures"] == ["PointerForABSA"]
    model, found = AutoModelForSeq2SeqLM.from_pretrained(denoised, output_loading_info=True)
    assert not any(found[name] for name in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    assert model.generation_config.eos_token_id == model.config.eos_token_id == 1

    again, _ = build(task, parsed(denoised)[0].model, arguments.data)
    for name, tensor in again.state_dict().items():
        assert torch.equal(tensor, weights[name]), name  # the start that was learnt too


def test_fine_tuning_starts_from_what_is_saved(denoised: Path, data_dir: Path, tmp_path: Path, run_here):
    of_seed = denoised.with_name("seed-{seed}")
    words = (RECIPE, "--data_dir", data_dir, "--model_name_or_path", of_seed, *QUICK, "--output_dir", tmp_path)
    words += ("--max_steps", "2", "--eval_strategy", "steps", "--eval_steps", "1", "--save_strategy", "steps")
    printed = run_here("examples/run_absa.py", *words, "--save_steps", "1")
    assert "f1" in printed
    tuned, started = (load_file(folder / "model.safetensors") for folder in (tmp_path / "seed-42", denoised))
    assert tuned.keys() == started.keys()
    for name in tuned:  # two steps away
        torch.testing.assert_close(tuned[name], started[name], atol=0.02, rtol=0)


def test_a_run_that_was_stopped_goes_on(data_dir: Path, tiny_bert: Path, tmp_path: Path, run_here, monkeypatch):
    words = (RECIPE, "--data_dir", data_dir, "--model_name_or_path", tiny_bert, *QUICK, "--num_train_epochs", "3")
    step, count = DenoisingTrainer.training_step, 0

    def killed_at_the_seventh(self, *arguments, **options):
        nonlocal count
        count += 1
        if count == 7:
            raise KeyboardInterrupt
        return step(self, *arguments, **options)

    run_here("examples/denoise.py", *words, "--output_dir", tmp_path / "whole")
    monkeypatch.setattr(DenoisingTrainer, "training_step", killed_at_the_seventh)
    with pytest.raises(KeyboardInterrupt):
        run_here("examples/denoise.py", *words, "--output_dir", tmp_path / "killed")
    run_here("examples/denoise.py", *words, "--output_dir", tmp_path / "killed")
    whole, killed = (tmp_path / name / "seed-42" for name in ("whole", "killed"))
    assert count < 7 + 9, "it went on"
    assert (whole / "model.safetensors").read_bytes() == (killed / "model.safetensors").read_bytes()
    results, expected = (json.loads((folder / "results.json").read_text()) for folder in (killed, whole))
    assert results["held_out"] == expected["held_out"]
    with pytest.raises(ValueError, match="noise was 'choice' and is now 'uniform'"):
        run_here("examples/denoise.py", *words, "--noise", "uniform", "--output_dir", tmp_path / "whole")


def test_t5_is_trained_as_it_is(data_dir: Path, tiny_t5: Path, tmp_path: Path, run_here):
    words = (RECIPE, "--data_dir", data_dir, "--model_name_or_path", tiny_t5, *QUICK, "--attn_implementation", "eager")
    printed = run_here("examples/denoise.py", *words, "--num_train_epochs", "20", "--output_dir", tmp_path)
    assert "seed 42, held out, after:" in printed
    _, found = T5ForConditionalGeneration.from_pretrained(tmp_path / "seed-42", output_loading_info=True)
    assert not any(found[name] for name in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    held_out = json.loads((tmp_path / "seed-42" / "results.json").read_text())["held_out"]
    assert held_out["after"]["loss_per_token"] < held_out["before"]["loss_per_token"] - 0.5


def test_pointers_over_t5_have_no_head_to_train(parsed, tiny_t5: Path, tmp_path: Path):
    arguments, _, task = parsed(tiny_t5, "--attn_implementation", "eager")
    pointers, tokenizer = build(task, arguments.model, arguments.data)
    pointers.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="holds pointers over an encoder-decoder, whose head for text is gone"):
        start(task, parsed(tmp_path, "--attn_implementation", "eager")[0])


def test_bad_input(parsed, tiny_bert: Path, tmp_path: Path, run_here):
    with pytest.raises(ValueError, match=r"texts has a\.xml twice: give each file a name of its own"):
        parsed(tiny_bert, "--texts", "x/a.xml", "y/a.xml")
    arguments, _, task = parsed(tiny_bert, "--label_smoothing_factor", "0.1")
    with pytest.raises(ValueError, match=r"label_smoothing_factor=0.1 is not for task=generation"):
        denoising.train_one(tmp_path, 1, task, Corpus([], [], {}), "choice", arguments, list)
    arguments, _, task = parsed(tiny_bert, "--config_overrides", "max_tuples=1")
    with pytest.raises(ValueError, match="max_tuples=1: the decoder has 7 positions, too few to write a sentence"):
        start(task, arguments)
    arguments, _, task = parsed(tiny_bert)
    with pytest.raises(ValueError, match="no text is left of train: give --texts that are not held out"):
        denoising.train_one(tmp_path, 1, task, Corpus([], [], {"train": {}}), "choice", arguments, list)
    with pytest.raises(ValueError, match="task=classification writes nothing: denoising is for --task generation"):
        run_here("examples/denoise.py", "--model_name_or_path", tiny_bert)
