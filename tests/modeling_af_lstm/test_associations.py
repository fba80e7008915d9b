"""What holds of the associations: their gradients, and the algebra of circular convolution and correlation."""

import pytest
import torch

from modeling_af_lstm.associations_af_lstm import ASSOCIATIONS, Normalization

EXACT = {"rtol": 0, "atol": 1e-12}
BACKENDS = pytest.mark.parametrize("backend", ["fft", "direct"])


@pytest.fixture
def vectors() -> torch.Tensor:
    return torch.randn(3, 4, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


@BACKENDS
@pytest.mark.parametrize("name", ["mul", "corr", "conv"])
def test_gradients_by_differences(backend, name, vectors):
    h, s = vectors[:2].requires_grad_(), vectors[2, :2].detach().requires_grad_()  # (2, 4, 7), (2, 7)
    assert torch.autograd.gradcheck(ASSOCIATIONS[backend][name], (h, s))


@BACKENDS
def test_algebra(backend, vectors):
    conv, corr = (ASSOCIATIONS[backend][name] for name in ("conv", "corr"))
    h, s, t = (vectors[number, :1] for number in range(3))  # (1, 7) each
    torch.testing.assert_close(conv(h, s[0]), conv(s, h[0]), **EXACT)
    torch.testing.assert_close(conv(conv(h, s[0]), t[0]), conv(h, conv(s, t[0])[0]), **EXACT)
    one = torch.zeros(7, dtype=torch.float64).index_fill(0, torch.tensor([0]), 1)
    torch.testing.assert_close(conv(h, one), h, **EXACT)
    torch.testing.assert_close(conv(h, s[0]).sum(), h.sum() * s.sum(), **EXACT)
    reverse = -torch.arange(7) % 7
    torch.testing.assert_close(corr(h, s[0]), conv(h[:, reverse], s[0]), **EXACT)
    torch.testing.assert_close(corr(h, s[0]), corr(s, h[0])[:, reverse], **EXACT)
    assert (corr(h, s[0]) - corr(s, h[0])).abs().max() > 0.1  # whichever comes first is not the same


@BACKENDS
@pytest.mark.parametrize("name", ["mul", "corr", "conv"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision(backend, name, dtype, vectors):
    h, s = vectors[0], vectors[1, 0]
    found = ASSOCIATIONS[backend][name](h.to(dtype), s.to(dtype))
    assert found.dtype == dtype
    expected = ASSOCIATIONS[backend][name](h, s)
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=20 * torch.finfo(dtype).eps)


def test_norms(vectors):
    small, large = vectors[0, :3] / 100, vectors[1]
    h, mask = torch.cat([small, large])[None], torch.ones(1, 7, dtype=torch.bool)
    states, aspect = Normalization("unit", 7)(h, large[:1], mask)
    torch.testing.assert_close(states.norm(dim=-1), torch.ones(1, 7, dtype=torch.float64))
    torch.testing.assert_close(aspect.norm(), torch.ones((), dtype=torch.float64))
    states, _ = Normalization("unit_ball", 7)(h, large[:1], mask)
    assert torch.equal(states[:, :3], h[:, :3])
    torch.testing.assert_close(states[:, 3:].norm(dim=-1), torch.ones(1, 4, dtype=torch.float64))


def test_statistics_of_a_batch_are_over_words_alone(vectors):
    normalization = Normalization("batch", 7).double().train()
    mask = torch.tensor([[1, 1, 1, 0], [0, 1, 1, 0], [1, 0, 0, 0]]).bool()
    states, aspect = normalization(vectors, vectors[:, 0], mask)
    torch.testing.assert_close(states[mask].mean(0), torch.zeros(7, dtype=torch.float64), **EXACT)
    torch.testing.assert_close(aspect.mean(0), torch.zeros(7, dtype=torch.float64), **EXACT)
    torch.testing.assert_close(normalization.states.running_mean, vectors[mask].mean(0) / 10)
    assert states[~mask].eq(0).all()
