"""What holds of every pointer model: cache, padding and batches change nothing; beams, prompts, what is refused."""

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import pytest
import torch
from torch.nn.utils.rnn import pad_sequence
from transformers import (
    BertConfig,
    BertTokenizer,
    GenerationConfig,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    get_linear_schedule_with_warmup,
)

from modeling_generative_absa import PointerABSAConfig, PointerForABSA

KINDS = ["bert", "bart", "t5"]
GIVEN = torch.tensor([[0, 5, 6], [0, 5, 5], [0, 7, 7]])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tasks", [["aste"], ["aesc", "ote"]], ids=["one", "several"])
@torch.no_grad()
def test_cached_is_uncached_is_teacher_forced(make_model, make_batch, kind, tasks):
    model, batch = make_model(kind, tasks=tasks), make_batch()
    prompt = torch.tensor([model.grammar.prompt(task) for task in (*tasks, *tasks, *tasks)[:3]])
    options = {"return_dict_in_generate": True, "output_logits": True, "decoder_prompt_ids": prompt}
    options["min_new_tokens"] = 4  # random weights might say nothing
    cached = model.generate(**batch, **options)
    uncached = model.generate(**batch, **options, use_cache=False)
    assert cached.past_key_values.get_seq_length() == cached.sequences.shape[1] - 1
    assert torch.equal(cached.sequences, uncached.sequences)
    torch.testing.assert_close(torch.stack(cached.logits), torch.stack(uncached.logits), rtol=1e-4, atol=1e-4)
    labels = cached.sequences[:, prompt.shape[1] :]
    assert labels.shape[1] > 3
    forced = model(**batch, labels=labels, decoder_prompt_ids=prompt).logits
    torch.testing.assert_close(torch.stack(cached.logits, dim=1), forced, rtol=1e-4, atol=1e-4)
    whole = model(**batch, decoder_input_ids=cached.sequences[:, :-1]).logits
    torch.testing.assert_close(whole[:, prompt.shape[1] - 1 :], forced, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_greedy_is_a_loop_of_the_best(make_model, make_batch, naive, kind):
    model, batch = make_model(kind), make_batch()
    sequences = model.generate(**batch).tolist()
    for row, num_words in enumerate((5, 3, 6)):
        alone = {name: value[row : row + 1] for name, value in batch.items()}
        sequence = [0]
        while sequence[-1] != 1:
            logits = model(**alone, decoder_input_ids=torch.tensor([sequence])).logits[0, -1]
            legal = naive.legal(model.grammar, "aste", 1, sequence, list(range(num_words)))
            sequence.append(max(legal, key=lambda index: logits[index].item()))
        assert sequences[row][: len(sequence)] == sequence
        assert set(sequences[row][len(sequence) :]) <= {1}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("num_beams", [1, 3])
@torch.no_grad()
def test_the_sentences_of_a_batch_do_not_meet(make_model, make_batch, kind, num_beams):
    model, batch = make_model(kind), make_batch()
    together = model.generate(**batch, num_beams=num_beams)
    for row, length in enumerate((9, 6, 9)):
        alone = {name: value[row : row + 1, :length] for name, value in batch.items()}
        expected = model.grammar.parse(model.generate(**alone, num_beams=num_beams)[0].tolist())
        assert model.grammar.parse(together[row].tolist()) == expected


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_an_exhaustive_beam_finds_the_most_probable_sequence(make_model, naive, kind):
    """Of all that are legal for two words: "ate" has 3 spans, and up to 2 of them."""
    model = make_model(kind, tasks=["ate"], max_words=2, max_tuples=2)
    sentence = {"input_ids": torch.tensor([[7, 8, 9, 10]]), "word_ids": torch.tensor([[-1, 0, 1, -1]])}
    every = naive.legal_sequences(model.grammar, "ate", [0], [0, 1])
    assert len(every) == 1 + 3 + 3 * 2
    encoded, prompt = model.model.encode(**sentence), torch.tensor([[0]])
    scored = {}
    for sequence in every:
        steps = model.log_probabilities(torch.tensor([sequence]), prompt, encoded)[0]
        scored[tuple(sequence)] = steps.gather(1, torch.tensor(sequence[1:])[:, None]).sum().item()
    assert sum(torch.tensor(list(scored.values())).exp()) == pytest.approx(1, abs=1e-5)
    found = model.generate(**sentence, num_beams=12, return_dict_in_generate=True, output_scores=True)
    best = max(scored, key=scored.get)
    assert tuple(found.sequences[0, : len(best)].tolist()) == best
    assert found.sequences_scores.item() == pytest.approx(scored[best], abs=1e-5)
    greedy = model.generate(**sentence, return_dict_in_generate=True, output_scores=True)
    ids = greedy.sequences[0].tolist()
    steps = model.compute_transition_scores(greedy.sequences, greedy.scores)
    assert steps.sum().item() == pytest.approx(scored[tuple(ids)], abs=1e-5)


@torch.no_grad()
def test_a_configuration_of_its_users_leaves_the_length(make_model, make_batch):
    model, batch = make_model("bert", max_tuples=6), make_batch()
    for options in ({"num_beams": 2}, {"num_beams": 2, "length_penalty": 9.0}):
        expected = model.generate(**batch, **options)
        assert torch.equal(model.generate(**batch, generation_config=GenerationConfig(**options)), expected)
    assert expected.shape[1] > 21, "Transformers' own length"
    assert torch.equal(model.generate(**batch, **options, max_length=None, do_sample=None), expected)  # as not given
    assert model.generate(**batch, generation_config=GenerationConfig(max_length=4)).shape[1] == 4


@torch.no_grad()
def test_the_default_length_penalty_counts_where_it_is_named(make_model, make_batch):
    model, batch = make_model("bert", max_tuples=6), make_batch()
    scores = {"return_dict_in_generate": True, "output_scores": True, "num_beams": 2}
    undivided = model.generate(**batch, **scores)
    in_configuration = GenerationConfig(**scores, length_penalty=1.0)
    found = model.generate(**batch, generation_config=in_configuration)
    assert torch.equal(found.sequences_scores, undivided.sequences_scores)
    named = model.generate(**batch, **scores, length_penalty=1.0)
    assert not torch.equal(named.sequences_scores, undivided.sequences_scores)


@torch.no_grad()
def test_without_the_grammar_anything_comes(make_model, make_batch):
    model, batch = make_model("bert", max_tuples=6), make_batch()
    free = model.generate(**batch, constrained=False, max_new_tokens=20)
    assert any(model.grammar.parse(row.tolist()).is_invalid for row in free)
    allowed = model.grammar.prefix_allowed_tokens_fn(model.model.encode(**batch).word_mask)
    by_users = model.generate(**batch, constrained=False, prefix_allowed_tokens_fn=allowed, max_new_tokens=31)
    assert torch.equal(by_users, model.generate(**batch))


@torch.no_grad()
def test_what_is_legal_may_be_changed_in_a_loaded_model(make_model, make_batch):
    model, batch = make_model("bart", tasks=["ate"]), make_batch()
    spans = [one.target for row in model.generate(**batch).tolist() for one in model.grammar.parse(row).tuples]
    assert max(end - start for start, end in spans) > 1
    model.config.max_span, model.config.max_tuples = 1, 2
    parsed = [model.grammar.parse(row) for row in model.generate(**batch).tolist()]
    assert max(len(one.tuples) for one in parsed) == 2
    assert {end - start for one in parsed for (start, end), *_ in one.tuples} == {1}


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_given_aspect_terms_are_a_prompt(make_model, make_batch, kind):
    batch = make_batch()
    for task in ("alsc", "aoe"):
        model = make_model(kind, tasks=[task])
        prompts = torch.tensor([model.grammar.prompt(task, span) for span in ((0, 2), (1, 2), (3, 5))])
        sequences = model.generate(**batch, decoder_prompt_ids=prompts)
        assert torch.equal(sequences[:, :3], prompts)
        for row, span in zip(sequences.tolist(), ((0, 2), (1, 2), (3, 5)), strict=True):
            parsed = model.grammar.parse(row)
            assert not parsed.is_invalid
            assert {one.target for one in parsed.tuples} <= {span}
            assert task != "alsc" or [one.label in model.config.labels for one in parsed.tuples] == [True]
        with pytest.raises(ValueError, match="give the span of an aspect term"):
            model.generate(**batch)
        # The prompt is in no loss: it is no label.
        labels = sequences[:, 3:]
        logits = model(**batch, labels=labels, decoder_prompt_ids=prompts).logits
        assert logits.shape[:2] == labels.shape


@torch.no_grad()
def test_rows_of_several_tasks_in_a_batch(make_model, make_batch):
    model, batch = make_model(tasks=["ate", "aste"]), make_batch()
    prompts = torch.tensor([model.grammar.prompt(task) for task in ("ate", "aste", "ate")])
    sequences = model.generate(**batch, decoder_prompt_ids=prompts, num_beams=2)
    for row, prompt in enumerate(prompts):
        alone = {name: value[row : row + 1] for name, value in batch.items()}
        expected = model.generate(**alone, decoder_prompt_ids=prompt[None], num_beams=2)[0].tolist()
        assert model.grammar.parse(sequences[row].tolist()) == model.grammar.parse(expected)
    with pytest.raises(ValueError, match="needs decoder_prompt_ids"):
        model.generate(**batch)
    with pytest.raises(ValueError, match="needs decoder_prompt_ids"):
        model(**batch, labels=torch.ones(3, 1, dtype=torch.long))


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_what_stands_at_padding_does_not_matter(make_model, make_batch, kind):
    model, batch = make_model(kind), make_batch()
    labels = torch.tensor([[5, 6, 7, 7, 2, 1]] * 3)
    expected = model(**batch, labels=labels).logits
    batch["input_ids"][1, 6:] = 4
    batch["word_ids"][1, 6:] = 0
    torch.testing.assert_close(model(**batch, labels=labels).logits, expected)
    lowest = torch.finfo(expected.dtype).min
    assert (expected[1] > lowest).sum(1).tolist() == [4 + 3] * 6  # end and labels, three words
    assert expected[..., 0].eq(lowest).all()


@torch.no_grad()
def test_a_word_without_pieces_cannot_be_pointed_to(make_model, make_batch):
    model, batch = make_model(), make_batch()
    batch["word_ids"][0] = torch.tensor([-1, 0, 0, 2, 2, 3, 3, 4, -1])
    logits = model(**batch, labels=torch.tensor([[1], [1], [1]])).logits
    lowest = torch.finfo(logits.dtype).min
    assert (logits[0, 0, 5:] > lowest).tolist() == [True, False, True, True, True] + [False] * 5


def test_what_is_missing_is_refused(make_model, make_batch):
    model, batch = make_model(), make_batch()
    with pytest.raises(ValueError, match="label_smoothing_factor"):
        model(**batch)
    word_ids = batch.pop("word_ids")
    with pytest.raises(ValueError, match="word_ids is missing"):
        model(**batch, labels=torch.ones(3, 1, dtype=torch.long))
    with pytest.raises(ValueError, match=r"the word 10, .*max_words=10"):
        model(**batch, word_ids=word_ids + 5, labels=torch.ones(3, 1, dtype=torch.long))


@pytest.mark.parametrize("kind", ["bert", "bart"])
@torch.no_grad()
def test_class_tokens_start_as_the_mean_of_their_words(make_model, kind):
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "positive", "nega", "##tive", "neutral", "aspects", "and"]
    tokens += ["sentiments", "opinions"]
    tokenizer = BertTokenizer(vocab={token: number for number, token in enumerate(tokens)})
    model = make_model(kind, tasks=["aesc", "ote"])
    table = model.get_input_embeddings().weight.clone()
    model.model.start_classes(tokenizer)
    assert torch.equal(model.get_input_embeddings().weight, table)  # a copy was taken
    rows = [[2], [3], [9, 10, 11], [12], [5], [6, 7], [8]]
    expected = torch.stack([table[row].mean(0) for row in rows])
    torch.testing.assert_close(model.model.embeddings.classes.weight, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_every_weight_learns_and_gradient_checkpointing_changes_nothing(make_model, make_batch, kind):
    gradients = []
    for checkpointing in (False, True):
        model = make_model(kind, max_tuples=16).train()
        if checkpointing:
            model.gradient_checkpointing_enable()
        labels = torch.tensor([[5, 6, 7, 7, 2, 1], [5, 5, 5, 5, 3, 1], [9, 10, 7, 7, 4, 1]])
        model(**make_batch(), labels=labels).loss.backward()
        gradients.append({name: parameter.grad for name, parameter in model.named_parameters()})
    for name, gradient in gradients[0].items():
        assert gradient is not None, name
        # To add a number to all scores before a softmax changes nothing.
        assert gradient.abs().max() > 0 or name.endswith(("k_proj.bias", "key.bias")), name
        torch.testing.assert_close(gradients[1][name], gradient, msg=name)


@torch.no_grad()
def test_dropout_where_the_configuration_says(make_model, make_batch):
    labels = torch.tensor([[5, 6, 7, 7, 2, 1]] * 3)
    for changes in ({"mlp_dropout": 0.5}, {"decoder_dropout": 0.5}):
        model = make_model(**changes).train()
        pair = [model(**make_batch(), labels=labels).loss for _ in range(2)]
        assert abs(pair[0] - pair[1]) > 1e-4
    model = make_model().train()
    assert model(**make_batch(), labels=labels).loss == model(**make_batch(), labels=labels).loss


@torch.no_grad()
def test_outputs_that_are_asked_for(make_model, make_batch):
    for kind in KINDS:
        model = make_model(kind)
        model.set_attn_implementation("eager")
        asked = {"output_attentions": True, "output_hidden_states": True}
        outputs = model(**make_batch(), decoder_input_ids=torch.tensor([[0, 5, 6]] * 3), **asked)
        assert [one.shape for one in outputs.cross_attentions] == [(3, 2, 3, 9)] * 2
        assert [one.shape for one in outputs.decoder_hidden_states] == [(3, 3, 16)] * 3
        assert [one.shape for one in outputs.encoder_attentions] == [(3, 2, 9, 9)]
        assert [one.shape for one in outputs.encoder_hidden_states] == [(3, 9, 16)] * 2


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_half_precision_is_finite(make_model, make_batch, kind):
    model = make_model(kind, initializer_range=0.02).to(torch.bfloat16)
    outputs = model(**make_batch(), labels=torch.tensor([[5, 6, 7, 7, 2, 1]] * 3))
    assert outputs.loss.isfinite()
    assert outputs.loss.dtype == torch.float32
    assert model.generate(**make_batch()).shape[1] > 1


@pytest.mark.parametrize("kind", KINDS)
def test_more_tokens(make_model, make_batch, kind, tmp_path):
    model = make_model(kind)
    model.resize_token_embeddings(70)
    assert (len(model.get_input_embeddings().weight), model.config.vocab_size) == (70, 15)
    model.save_pretrained(tmp_path)
    loaded = type(model).from_pretrained(tmp_path)
    assert loaded.config.get_text_config(encoder=True).vocab_size == len(loaded.get_input_embeddings().weight) == 70


@pytest.mark.parametrize("kind", ["bert", "bart"])
def test_a_seq2seq_trainer_trains_and_predicts(make_model, kind, tmp_path):
    """Rows as the docstring of `forward` has them; the trainer pads predictions, the parser stops at the first end."""
    model = make_model(kind, tasks=["aesc"], max_tuples=2)
    prompt, labels = model.grammar.encode("aesc", [])
    rows = [
        {"input_ids": [2, 7 + n, 9, 3], "attention_mask": [1] * 4, "word_ids": [-1, 0, 1, -1]}
        | {"decoder_prompt_ids": prompt, "labels": [5 + n % 2, 5 + n % 2, 2 + n % 2, 1]}
        for n in range(8)
    ]
    assert labels == [1]
    options = {"report_to": [], "disable_tqdm": True, "use_cpu": True, "learning_rate": 1e-2, "save_strategy": "no"}
    arguments = Seq2SeqTrainingArguments(tmp_path, num_train_epochs=100, predict_with_generate=True, **options)
    collate = lambda batch: {name: torch.tensor([row[name] for row in batch]) for name in batch[0]}  # noqa: E731
    trainer = Seq2SeqTrainer(model, arguments, train_dataset=rows, data_collator=collate)
    trainer.train()
    for num_beams in (1, 2):
        predicted = trainer.predict(rows, num_beams=num_beams)
        assert predicted.metrics["test_loss"] < 0.1
        for row, sequence in zip(rows, predicted.predictions.tolist(), strict=True):
            assert model.grammar.parse(sequence, 2) == model.grammar.parse(prompt + row["labels"], 2)


def num_words(row: tuple) -> int:
    return len(row[0])


def learn(data, epochs: int, encoder_dropout: float) -> Callable[[Sequence], list[set]]:
    """Trains a model of triplets, over an encoder that starts at random, whose pieces are whole words.

    Returns:
        A function that gives the set of tuples that the model finds in each of some sentences.
    """
    words = sorted({word for words, _ in data for word in words})
    vocabulary = {word: number for number, word in enumerate(words, 2)}  # 0 pads, 1 is any other word
    shape = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128}
    shape |= {"hidden_dropout_prob": encoder_dropout, "attention_probs_dropout_prob": 0.0}
    torch.manual_seed(0)
    encoder = BertConfig(**shape, vocab_size=len(vocabulary) + 2, max_position_embeddings=80)
    config = PointerABSAConfig(backbone_config=encoder, max_words=80, decoder_dropout=0.0, mlp_dropout=0.0)
    model = PointerForABSA(config)

    def batches_of(rows: Sequence) -> Iterator[dict[str, torch.Tensor]]:
        for start in range(0, len(rows), 16):
            part = rows[start : start + 16]
            columns = {
                "input_ids": ([[vocabulary.get(word, 1) for word in words] for words, _ in part], 0),
                "attention_mask": ([[1] * len(words) for words, _ in part], 0),
                "word_ids": ([list(range(len(words))) for words, _ in part], -1),
                "labels": ([model.grammar.encode("aste", tuples)[1] for _, tuples in part], -100),
            }
            yield {
                name: pad_sequence([torch.tensor(row) for row in column], batch_first=True, padding_value=value)
                for name, (column, value) in columns.items()
            }

    def found_in(rows: Sequence) -> list[set]:
        sequences = [row for batch in batches_of(rows) for row in model.generate(**batch).tolist()]
        pairs = zip(sequences, rows, strict=True)
        return [set(model.grammar.parse(sequence, len(words)).tuples) for sequence, (words, _) in pairs]

    batches, draw = list(batches_of(sorted(data, key=num_words))), random.Random(0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    scheduler = get_linear_schedule_with_warmup(optimizer, 30, epochs * len(batches))
    model.train()
    for _ in range(epochs):
        for batch in draw.sample(batches, len(batches)):
            model(**batch).loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
    model.eval()
    return found_in


@pytest.mark.slow
def test_thirty_two_sentences_are_learned_by_heart(aste_v2):
    data = aste_v2("14res", "train")[:32]
    found = learn(data, epochs=200, encoder_dropout=0.0)(data)
    assert found == [set(tuples) for _, tuples in data]


@pytest.mark.slow
def test_nothing_is_learned_from_the_tuples_of_other_sentences(aste_v2):
    """A model that is right all the same is told the answers: by what it reads, or by how it is scored.

    Each training sentence gets the tuples, spans with their labels, of a sentence that is drawn among those of as many
    words. 57 of 1266 keep their own.
    """
    train, dev = aste_v2("14res", "train"), sorted(aste_v2("14res", "dev"), key=num_words)
    by_length, draw = defaultdict(list), random.Random(0)
    for words, tuples in train:
        by_length[len(words)].append(tuples)
    drawn = {length: iter(draw.sample(lists, len(lists))) for length, lists in by_length.items()}
    permuted = [(words, next(drawn[len(words)])) for words, _ in train]

    def f1(data) -> float:
        found, gold = learn(data, epochs=6, encoder_dropout=0.1)(dev), [set(tuples) for _, tuples in dev]
        right = sum(len(one & other) for one, other in zip(found, gold, strict=True))
        return 2 * right / sum(map(len, [*found, *gold]))

    assert f1(permuted) < 0.15 < f1(train)
