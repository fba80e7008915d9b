"""Tuples as indices and back, and which index may follow which."""

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from modeling_generative_absa import TASKS, Grammar, GrammarLogitsProcessor, WordTuple

LABELS = ("positive", "negative", "neutral")
TRIPLETS = [  # of the words "The camera is excellent but the battery life is disappointing ."
    WordTuple((6, 8), (9, 10), "negative"),
    WordTuple((1, 2), (3, 4), "positive"),
    WordTuple((6, 8), (9, 10), "negative"),
]


def make_grammar(*tasks: str, **changes) -> Grammar:
    fields = {"max_words": 12, "max_tuples": 16, "max_span": None, "order": "aspect_first", "no_repeats": True}
    labels = LABELS if any("label" in TASKS[task].fields for task in tasks) else ()
    return Grammar(tasks=tasks, labels=labels, **{**fields, **changes})


@pytest.mark.parametrize(
    ("task", "given_", "prompt", "indices"),
    [
        ("aste", None, [0], [6, 6, 8, 8, 2, 11, 12, 14, 14, 3, 1]),
        ("aesc", None, [0], [6, 6, 2, 11, 12, 3, 1]),
        ("aope", None, [0], [3, 3, 5, 5, 8, 9, 11, 11, 1]),
        ("ate", None, [0], [3, 3, 8, 9, 1]),
        ("ote", None, [0], [5, 5, 11, 11, 1]),
        ("alsc", (6, 8), [0, 11, 12], [3, 1]),
        ("aoe", (6, 8), [0, 8, 9], [11, 11, 1]),
    ],
)
def test_sequences_of_the_tasks(task, given_, prompt, indices):
    grammar = make_grammar(task)
    assert grammar.encode(task, TRIPLETS, given_) == (prompt, indices)
    parsed = grammar.parse(prompt + indices, 11)
    assert not parsed.is_invalid
    expected = [one for one in dict.fromkeys(sorted(TRIPLETS)) if given_ is None or one.target == given_]
    fields = {*TASKS[task].fields, *(["target"] if given_ else [])}
    assert parsed.tuples == [WordTuple(**{field: getattr(one, field) for field in fields}) for one in expected]
    assert [position - len(prompt) for position in parsed.positions] == list(
        range(0, len(indices) - 1, TASKS[task].period)
    )


def test_a_model_of_several_tasks_names_the_task():
    grammar = make_grammar("ote", "aesc")
    assert grammar.classes == ["ote", "aesc", *LABELS]
    assert grammar.first_word == 7
    assert grammar.encode("aesc", TRIPLETS) == ([0, 3], [8, 8, 4, 13, 14, 5, 1])
    assert grammar.encode("ote", TRIPLETS) == ([0, 2], [10, 10, 16, 16, 1])
    assert grammar.parse([0, 2, 10, 10, 1]).tuples == [WordTuple(opinion=(3, 4))]
    assert grammar.parse([0, 3, 8, 8, 4, 1]).tuples == [WordTuple(target=(1, 2), label="positive")]
    with pytest.raises(ValueError, match="needs decoder_prompt_ids"):
        grammar.parse([0, 8, 8, 4, 1])


def test_opinions_first():
    grammar = make_grammar("aste", "aesc", order="opinion_first")
    assert grammar.encode("aste", TRIPLETS)[1] == [10, 10, 8, 8, 4, 16, 16, 13, 14, 5, 1]
    assert grammar.encode("aesc", TRIPLETS)[1] == [8, 8, 4, 13, 14, 5, 1]
    assert grammar.parse([0, 2, 10, 10, 8, 8, 4, 1]).tuples == [TRIPLETS[1]]


def test_tuples_are_sorted_by_their_starts():
    grammar = make_grammar("aope")
    spans = [((2, 3), (0, 2)), ((0, 2), (3, 4)), ((0, 1), (3, 4)), ((0, 1), (2, 5)), ((0, 1), (2, 4))]
    written = grammar.encode("aope", [WordTuple(*pair) for pair in spans])[1]
    found = grammar.parse([0, *written]).tuples
    assert [one[:2] for one in found] == sorted(spans, key=lambda p: (p[0][0], p[1][0], p[0][1], p[1][1]))


@pytest.mark.parametrize(
    ("indices", "expected", "is_invalid"),
    [
        ([1], [], False),
        ([], [], False),
        ([6, 6, 8, 8, 2, 1, 9, 9], [TRIPLETS[1]], False),  # behind the end anything
        ([6, 6, 8, 8, 2], [TRIPLETS[1]], False),  # without an end
        ([6, 6, 8, 8, 2, 6, 6], [TRIPLETS[1]], True),  # cut
        ([6, 6, 8, 2, 6, 6, 8, 8, 2, 1], [TRIPLETS[1]], True),  # too short
        ([6, 6, 6, 8, 8, 2, 1], [], True),  # too long
        ([7, 6, 8, 8, 2, 1], [], True),  # ends before it begins
        ([6, 6, 8, 0, 2, 1], [], True),
        ([6, 6, 8, 16, 2, 1], [], True),  # a word that the sentence does not have
        ([6, 6, 8, 8, 2, 6, 6, 8, 8, 2, 1], [TRIPLETS[1]] * 2, False),
    ],
    ids=str,
)
def test_what_is_no_tuple_is_left_out_and_told(indices, expected, is_invalid):
    parsed = make_grammar("aste").parse([0, *indices], 11)
    assert (parsed.tuples, parsed.is_invalid) == (expected, is_invalid)


@pytest.mark.parametrize(
    ("indices", "num_tuples", "is_invalid"),
    [([3, 3, 4, 5, 1], 2, False), ([3, 3, 4], 1, True), ([5, 4, 3, 3], 1, True)],
)
def test_tuples_without_a_label_are_groups(indices, num_tuples, is_invalid):
    parsed = make_grammar("ate").parse([0, *indices])
    assert (len(parsed.tuples), parsed.is_invalid) == (num_tuples, is_invalid)


@pytest.mark.parametrize(
    ("task", "arguments", "said"),
    [
        ("ate", ([],), "trained for aste, alsc"),
        ("alsc", (TRIPLETS,), "give the span of an aspect term"),
        ("aste", (TRIPLETS, (1, 2)), "leave the aspect term out"),
        ("alsc", (TRIPLETS, (3, 4)), "exactly one label"),
        ("alsc", ([WordTuple((1, 2), None, label) for label in LABELS], (1, 2)), "3 tuples"),
        ("aste", ([WordTuple((1, 2), (n, n + 1), "positive") for n in range(3)],), r"3 tuples.*max_tuples=2"),
        ("aste", ([WordTuple((1, 2), None, "positive")],), "opinion=None"),
        ("aste", ([WordTuple((1, 2), (3, 4), "good")],), "label='good': give it: one of positive"),
        ("aste", ([WordTuple((1, 2), (3, 3), "positive")],), r"\(3, 3\)"),
        ("aste", ([WordTuple((1, 2), (3, 13), "positive")],), "max_words"),
    ],
    ids=str,
)
def test_what_cannot_be_written_is_refused(task, arguments, said):
    with pytest.raises(ValueError, match=said):
        make_grammar("aste", "alsc", max_tuples=2).encode(task, *arguments)


def random_words(generator: random.Random, most: int) -> list[int]:
    return sorted(generator.sample(range(most), generator.randrange(1, most + 1)))


def mask_of(words: list[int], grammar: Grammar) -> torch.Tensor:
    mask = torch.zeros(1, grammar.max_words, dtype=torch.bool)
    mask[0, words] = True
    return mask


GRAMMARS = {
    "aste": make_grammar("aste", max_words=3, max_tuples=4),
    "aste-span-opinion": make_grammar("aste", max_words=4, max_tuples=3, max_span=2, order="opinion_first"),
    "ate": make_grammar("ate", max_words=4, max_tuples=12),
    "aope": make_grammar("aope", max_words=2, max_tuples=12),
    "aesc-repeats": make_grammar("aesc", max_words=3, max_tuples=5, no_repeats=False),
    "all": make_grammar(*TASKS, max_words=3, max_tuples=6),
}


@pytest.mark.parametrize("name", GRAMMARS)
def test_legal_indices_are_those_that_some_tuple_has(naive, name):
    """At every step of random walks, against an enumeration of all tuples."""
    grammar, generator = GRAMMARS[name], random.Random(0)
    for number in range(21):
        task = grammar.tasks[number % len(grammar.tasks)]
        words = random_words(generator, grammar.max_words)
        prompt = grammar.prompt(task, (0, 1) if TASKS[task].is_given else None)
        sequence, mask = list(prompt), mask_of(words, grammar)
        while sequence[-1] != 1 or len(sequence) < len(prompt) + 3:
            expected = naive.legal(grammar, task, len(prompt), sequence, words)
            found = grammar.legal(torch.tensor([sequence]), mask)[0].nonzero()[:, 0].tolist()
            assert set(found) == expected, sequence
            going_on = [index for index in found if index != 1]
            sequence.append(generator.choice(going_on if going_on and generator.random() < 0.9 else found))


@settings(max_examples=80, deadline=None)
@given(st.sampled_from([*GRAMMARS]), st.randoms(use_true_random=False))
def test_random_legal_walks_parse(name, generator):
    """And what they say is written as they are, but for its order and repeats."""
    grammar = GRAMMARS[name]
    task = generator.choice(grammar.tasks)
    words = random_words(generator, grammar.max_words)
    mask, num_words = mask_of(words, grammar), words[-1] + 1
    given_ = (words[0], words[-1] + 1) if TASKS[task].is_given else None
    prompt = grammar.prompt(task, given_)
    sequence = list(prompt)
    for _ in range(grammar.max_new_tokens(task)):
        sequence.append(generator.choice(grammar.legal(torch.tensor([sequence]), mask)[0].nonzero()[:, 0].tolist()))
    assert sequence[-1] == 1
    parsed = grammar.parse(sequence, num_words)
    assert not parsed.is_invalid
    written = sequence[len(prompt) : sequence.index(1, len(prompt))]
    assert len(parsed.tuples) * TASKS[task].period == len(written)
    if grammar.no_repeats:
        assert len(set(parsed.tuples)) == len(parsed.tuples)
    encoded = grammar.encode(task, parsed.tuples, given_)
    assert encoded[0] == prompt
    assert set(grammar.parse(prompt + encoded[1]).tuples) == set(parsed.tuples)


@pytest.mark.parametrize("num_beams", [1, 3])
def test_the_processor_and_the_prefix_function_are_the_same_rule(num_beams):
    """Here of the tasks and words of several sentences, some with masked words, with several beams each."""
    grammar = make_grammar(*TASKS, max_words=5)
    generator = random.Random(1)
    word_mask = torch.tensor([[1, 1, 1, 1, 1], [1, 0, 1, 1, 0], [0, 0, 0, 1, 0]]).bool()
    processor, allowed = GrammarLogitsProcessor(grammar, word_mask), grammar.prefix_allowed_tokens_fn(word_mask)
    for _ in range(20):
        tasks = [generator.choice(["aste", "aope", "ate"]) for _ in range(3 * num_beams)]
        ids = [grammar.prompt(task) for task in tasks]
        for _ in range(9):
            scores = torch.randn(len(ids), grammar.vocab_size)
            found = processor(torch.tensor(ids), scores)
            for row, sequence in enumerate(ids):
                legal = allowed(row // num_beams, torch.tensor(sequence))
                is_legal = torch.zeros(grammar.vocab_size, dtype=torch.bool)
                is_legal[legal] = True
                torch.testing.assert_close(found[row][is_legal], scores[row][is_legal].log_softmax(0))
                assert (found[row][~is_legal] < -1e30).all()
                sequence.append(generator.choice(legal))


def test_a_beam_that_is_illegal_gives_no_nan():
    grammar = make_grammar("aste", max_words=2)
    processor = GrammarLogitsProcessor(grammar, torch.zeros(1, 2, dtype=torch.bool))
    assert processor(torch.tensor([[0, 6]]), torch.zeros(1, grammar.vocab_size)).isfinite().all()


@pytest.mark.parametrize("domain", ["14lap", "14res", "15res", "16res"])
def test_aste_v2_survives_a_round_trip(aste_v2, domain):
    num_sentences = 0
    for split in ("train", "dev", "test"):
        for words, tuples in aste_v2(domain, split):
            num_sentences += 1
            for order in ("aspect_first", "opinion_first"):
                grammar = make_grammar("aste", max_words=len(words), order=order)
                prompt, indices = grammar.encode("aste", tuples)
                parsed = grammar.parse(prompt + indices, len(words))
                assert not parsed.is_invalid
                assert len(parsed.tuples) == len(set(tuples))
                assert set(parsed.tuples) == set(tuples)
                if order == "aspect_first":  # as the files have them, sorted by the two starts
                    by_starts = sorted(dict.fromkeys(tuples), key=lambda one: (one.target[0], one.opinion[0]))
                    assert parsed.tuples == by_starts
    assert num_sentences > 1000


@pytest.mark.parametrize("domain", ["14lap", "14res", "15res"])
def test_wang_survives_a_round_trip(bartabsa, domain):
    grammar = make_grammar("ote", "aesc", max_words=100)
    grammar = Grammar(**{**vars(grammar), "labels": ("positive", "negative", "neutral", "conflict")})
    num_labelled = num_opinions = 0
    for split in ("train", "dev", "test"):
        for row in bartabsa(f"wang/{domain}/{split}_convert.json"):
            labelled = {WordTuple(target=span, label=label) for span, label in row["aspects"] if label is not None}
            opinions = {WordTuple(opinion=span) for span, _ in row["opinions"]}
            for task, tuples in (("aesc", labelled), ("ote", opinions)):
                prompt, indices = grammar.encode(task, tuples)
                parsed = grammar.parse(prompt + indices, len(row["words"]))
                assert not parsed.is_invalid
                assert len(parsed.tuples) == len(tuples)
                assert set(parsed.tuples) == tuples
            num_labelled += len(labelled)
            num_opinions += len(opinions)
    assert min(num_labelled, num_opinions) > 1000
