"""The conditional random field against an enumeration of all sequences of labels."""

from itertools import pairwise

import pytest
import torch

from modeling_global_context.crf_global_context import (
    Chain,
    Positions,
    log_marginals,
    log_partition,
    log_probability,
    log_score,
    negative_log_likelihood,
    viterbi,
)
from modeling_global_context.tags_global_context import labels_of, well_formed_transitions

SIZES = [(1, 4), (4, 3), (6, 2), (4, 5)]
EXACT = {"rtol": 1e-10, "atol": 1e-10}


def scores(positions: int, labels: int, size: float = 1.0) -> tuple[torch.Tensor, Chain]:
    """Of three rows, and of neighbours."""
    generator = torch.Generator().manual_seed(10 * positions + labels)
    draw = lambda *shape: size * torch.randn(*shape, generator=generator, dtype=torch.float64)  # noqa: E731
    emissions = draw(3, positions, labels).requires_grad_()
    return emissions, Chain(*(draw(*shape).requires_grad_() for shape in ((labels,), (labels, labels), (labels,))))


def lengths_of(positions: int) -> torch.Tensor:
    return torch.tensor([positions, max(1, positions - 1), 1])


@pytest.mark.parametrize(("positions", "labels"), SIZES)
def test_all_that_is_asked_of_a_field(naive, positions, labels):
    emissions, chain = scores(positions, labels)
    lengths = lengths_of(positions)
    gold = torch.randint(labels, (3, positions), generator=torch.Generator().manual_seed(2))
    partition, gold_score = log_partition(emissions, lengths, chain), log_score(emissions, gold, lengths, chain)
    marginals, best = log_marginals(emissions, lengths, chain).exp(), viterbi(emissions, lengths, chain)
    torch.testing.assert_close(marginals.sum(-1), torch.ones_like(marginals[..., 0]), **EXACT)
    (partition - gold_score).sum().backward()
    found = [part.grad.clone() for part in (emissions, *chain)]
    for part in (emissions, *chain):
        part.grad = None

    losses = []
    for row, length in enumerate(lengths):
        field = naive.NaiveField(emissions[row, :length], *chain)
        torch.testing.assert_close(partition[row], field.log_partition(), **EXACT)
        torch.testing.assert_close(marginals[row, :length], field.marginals(), **EXACT)
        assert best[row, :length].tolist() == field.best()
        assert best[row, length:].tolist() == [-100] * (positions - length)
        losses.append(-field.log_likelihood(gold[row, :length].tolist()))
    torch.testing.assert_close(partition - gold_score, torch.stack(losses), **EXACT)
    sum(losses).backward()
    for part, gradient in zip((emissions, *chain), found, strict=True):
        torch.testing.assert_close(gradient, torch.zeros_like(part) if part.grad is None else part.grad, **EXACT)


@pytest.mark.parametrize("scheme", ["BIEOS", "BIO"])
@pytest.mark.parametrize("positions", [1, 2, 4])
def test_forbidden_sequences_have_no_probability(naive, scheme, positions):
    labels = labels_of(scheme, ["POS"])
    allowed = well_formed_transitions(labels)
    emissions, chain = scores(positions, len(labels))
    constrained, lengths = chain.constrained(allowed), torch.full((3,), positions)

    def is_well_formed(path) -> bool:
        steps = all(allowed.between[before][after] for before, after in pairwise(path))
        return steps and allowed.start[path[0]] and allowed.end[path[-1]]

    partition = log_partition(emissions, lengths, constrained)
    marginals, best = log_marginals(emissions, lengths, constrained).exp(), viterbi(emissions, lengths, constrained)
    for row in range(3):
        field = naive.NaiveField(emissions[row], *chain, is_possible=is_well_formed)
        torch.testing.assert_close(partition[row], field.log_partition(), **EXACT)
        torch.testing.assert_close(marginals[row], field.marginals().double(), **EXACT)
        assert best[row].tolist() == field.best()
    partition.sum().backward()
    assert all(part.grad.isfinite().all() for part in (emissions, *chain) if part.grad is not None)
    assert (chain.transitions.grad is None) == (positions == 1)


def test_probability_of_what_is_allowed(naive):
    emissions, chain = scores(4, 3)
    allowed = torch.rand(3, 4, 3, generator=torch.Generator().manual_seed(3)) < 0.6
    allowed[..., 0] = True
    lengths = lengths_of(4)
    found = log_probability(emissions, allowed, lengths, chain).exp()
    for row, length in enumerate(lengths):
        field = naive.NaiveField(emissions[row, :length], *chain)
        expected = field.probability(lambda path, r=row: all(allowed[r, p, label] for p, label in enumerate(path)))
        torch.testing.assert_close(found[row], expected, **EXACT)


def test_probability_without_neighbours_is_that_of_a_softmax():
    emissions, _ = scores(4, 3)
    allowed = torch.ones(3, 4, 3, dtype=torch.bool)
    allowed[:, 1:3, :2] = False
    found = log_probability(emissions, allowed, torch.full((3,), 4), Chain.without_scores(emissions)).exp()
    torch.testing.assert_close(found, emissions.softmax(-1)[:, 1:3, 2].prod(1), **EXACT)


def test_of_equals_the_first_is_best():
    emissions = torch.zeros(2, 4, 3)
    for _ in range(3):
        assert viterbi(emissions, torch.tensor([4, 2]), Chain.without_scores(emissions)).tolist() == [
            [0, 0, 0, 0],
            [0, 0, -100, -100],
        ]


@pytest.mark.parametrize("constrained", [False, True])
def test_large_scores_stay_finite_in_float32(constrained):
    emissions, chain = scores(6, 5, size=1e3)
    emissions, chain = emissions.detach().float().requires_grad_(), Chain(*(part.detach().float() for part in chain))
    if constrained:
        chain = chain.constrained(well_formed_transitions(labels_of("BIEOS", ["POS"])))
    lengths = lengths_of(6)
    log_partition(emissions, lengths, chain).sum().backward()
    assert emissions.grad.isfinite().all()
    torch.testing.assert_close(
        log_marginals(emissions, lengths, chain).exp().sum(-1), torch.ones(3, 6), rtol=0, atol=1e-5
    )


def test_gradients_by_differences():
    emissions, chain = scores(4, 3)
    labels = torch.tensor([[0, 2, -100, 1], [-100, 1, 1, -100], [-100] * 4])
    assert torch.autograd.gradcheck(lambda e, *c: negative_log_likelihood(e, labels, Chain(*c)), (emissions, *chain))


def test_the_loss_is_the_mean_over_sentences_that_have_words(naive):
    emissions, chain = scores(4, 3)
    labels = torch.tensor([[0, 2, -100, 1], [-100, 1, 1, -100], [-100] * 4])
    expected = [
        -naive.NaiveField(emissions[row][labels[row] >= 0], *chain).log_likelihood(
            labels[row][labels[row] >= 0].tolist()
        )
        for row in range(2)
    ]
    torch.testing.assert_close(
        negative_log_likelihood(emissions, labels, chain), torch.stack(expected).mean(), **EXACT
    )
    assert negative_log_likelihood(emissions, torch.full((3, 4), -100), chain) == 0


def test_positions_go_to_the_front_and_back():
    mask = torch.tensor([[0, 1, 0, 1, 1], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]])
    positions = Positions(mask)
    values = torch.arange(15).view(3, 5)
    at_front = positions.front(values)
    assert at_front[0].tolist() == [1, 3, 4]
    assert at_front[1, 0] == 5
    assert positions.lengths.tolist() == [3, 1, 0]
    expected = torch.where(mask.bool(), -values, values)
    assert torch.equal(positions.back(-at_front, values), expected)
    wide = values[..., None].expand(-1, -1, 2)
    assert torch.equal(positions.back(-positions.front(wide), wide), expected[..., None].expand(-1, -1, 2))
