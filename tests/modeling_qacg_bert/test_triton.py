"""The Triton kernels against eager attention in float64.

They run on a CUDA device. Where there is none Triton's interpreter plays it, which must be chosen before Triton is
imported: `test_in_the_interpreter` runs this file once more in a process of its own, and the tests that need a device
are skipped in this one. What no interpreter sees, whether the compiler takes the kernels, needs no device either.
"""

import importlib.util
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch

from modeling_qacg_bert import QACGBertForSequenceClassification, triton_qacg_bert
from modeling_qacg_bert.attention_qacg_bert import quasi_attention_eager, quasi_attention_sdpa
from modeling_qacg_bert.triton_qacg_bert import is_available, quasi_attention_triton

triton = pytest.importorskip("triton", reason="Triton is not installed")
GPUTarget = pytest.importorskip("triton.backends.compiler").GPUTarget
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
TOLERANCE = {  # of the largest number of a tensor; 24, 11 and 8 bits, and sums of up to 65 products
    torch.float32: 2e-6,
    torch.float16: 2e-3,
    torch.bfloat16: 1.5e-2,
}
NAMES = ("query", "key", "value", "context_query", "context_key", "gate")
PADDINGS = pytest.mark.parametrize("padding", [None, "left", "right", "scattered"])


@pytest.mark.slow
@pytest.mark.skipif(INTERPRETED, reason="this is the interpreter")
@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a device")
def test_in_the_interpreter(repo_root):
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__],
        cwd=repo_root,
        env={**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert finished.returncode == 0, finished.stdout[-8000:] + finished.stderr[-2000:]
    assert " passed" in finished.stdout


@pytest.fixture
def device(monkeypatch) -> str:
    if torch.cuda.is_available():
        return "cuda"
    if not INTERPRETED:
        pytest.skip("no CUDA device: test_in_the_interpreter runs it")
    from triton.runtime import interpreter

    create_dot = interpreter.InterpreterBuilder.create_dot

    def create_dot_of_bfloat16_too(self, a, b, *rest):
        # Triton 3.9's own multiplies the bits of bfloat16 as integers.
        a, b = (
            self.create_fp_ext(x, triton.language.float32) if x.dtype.scalar == triton.language.bfloat16 else x
            for x in (a, b)
        )
        return create_dot(self, a, b, *rest)

    monkeypatch.setattr(interpreter.InterpreterBuilder, "create_dot", create_dot_of_bfloat16_too)
    return "cpu"


def draw(device, num_queries, num_keys, head_size, dtype=torch.float32, batch=2, heads=2) -> list[torch.Tensor]:
    """Query, key, value, context query, context key and gate."""
    generator = torch.Generator().manual_seed(0)
    rows = (num_queries, num_keys, num_keys, num_queries, num_keys)
    states = [torch.randn(batch, heads, n, head_size, generator=generator) for n in rows]
    gate = torch.rand(batch, heads, num_queries, 1, generator=generator) * 2 - 1
    return [tensor.to(device, dtype) for tensor in (*states, gate)]


def mask_of(device, num_keys, padding) -> torch.Tensor | None:
    """The first of two texts is as long as the batch; of the longest batch the other lacks more than a block."""
    if padding is None:
        return None
    key_mask = torch.ones(2, 1, 1, num_keys, dtype=torch.bool)
    padded = 2 * num_keys // 3
    keys = {"left": slice(0, padded), "right": slice(num_keys - padded, None), "scattered": slice(1, None, 2)}
    key_mask[1, ..., keys[padding]] = False
    return key_mask.to(device)


def output_and_gradients(attention, tensors, *arguments) -> list[torch.Tensor]:
    """With a gradient of the output that is drawn, not all ones."""
    tensors = [tensor.detach().requires_grad_() for tensor in tensors]
    output = attention(*tensors, *arguments)[0]
    given = torch.randn(output.shape, generator=torch.Generator().manual_seed(1)).to(output)
    return [output.detach(), *torch.autograd.grad(output, tensors, given)]


def in_float64(tensors):
    return [tensor.double() for tensor in tensors]


def assert_near(actual, expected, tolerance):
    for name, given, wanted in zip(("output", *NAMES), actual, expected, strict=True):
        assert given.shape == wanted.shape, name
        # A softmax over a single key has gradients of 0 for its scores: what remains is rounding.
        largest = max(wanted.abs().max().item(), 1.0)
        assert (given - wanted).abs().max().item() <= tolerance * largest, name


@PADDINGS
@pytest.mark.parametrize(("num_tokens", "head_size"), [(1, 8), (7, 32), (65, 64), (40, 96), (33, 128)])
def test_output_and_gradients(device, num_tokens, head_size, padding):
    tensors, key_mask = draw(device, num_tokens, num_tokens, head_size), mask_of(device, num_tokens, padding)
    actual = output_and_gradients(quasi_attention_triton, tensors, key_mask, 0.7)
    expected = output_and_gradients(quasi_attention_eager, in_float64(tensors), key_mask, 0.7)
    assert_near(actual, expected, TOLERANCE[torch.float32])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("num_tokens", "head_size"), [(7, 8), (65, 64)])
def test_low_precision(device, num_tokens, head_size, dtype):
    tensors, key_mask = draw(device, num_tokens, num_tokens, head_size, dtype), mask_of(device, num_tokens, "right")
    actual = output_and_gradients(quasi_attention_triton, tensors, key_mask, 1.5)
    assert {tensor.dtype for tensor in actual} == {dtype}
    expected = output_and_gradients(quasi_attention_eager, in_float64(tensors), key_mask, 1.5)
    assert_near(actual, expected, TOLERANCE[dtype])


@PADDINGS
@pytest.mark.parametrize("num_queries", [1, 5])
def test_fewer_queries_than_keys(device, num_queries, padding):
    tensors, key_mask = draw(device, num_queries, 37, 16), mask_of(device, 37, padding)
    actual = output_and_gradients(quasi_attention_triton, tensors, key_mask)
    expected = output_and_gradients(quasi_attention_eager, in_float64(tensors), key_mask)
    assert_near(actual, expected, TOLERANCE[torch.float32])


def test_strided_states(device):
    heads, size, num_tokens = 2, 16, 19
    generator = torch.Generator().manual_seed(0)
    product = torch.randn(2, num_tokens, 5 * heads * size + heads, generator=generator).to(device)
    *states, gate = product.split([heads * size] * 5 + [heads], dim=-1)
    views = [state.unflatten(-1, (heads, size)).transpose(1, 2) for state in states]  # (B, n, H) -> (B, h, n, d)
    views[1] = views[1].transpose(-1, -2).contiguous().transpose(-1, -2)  # features that are not adjacent
    views.append(gate.transpose(1, 2)[..., None])
    for of_query in (0, 3, 5):
        views[of_query] = views[of_query][:, :, :1]
    assert not any(view.is_contiguous() for view in views)
    key_mask = mask_of(device, num_tokens, "left")
    assert_near(
        output_and_gradients(quasi_attention_triton, views, key_mask),
        output_and_gradients(quasi_attention_eager, in_float64(views), key_mask),
        TOLERANCE[torch.float32],
    )
    # The gradient of a sum has strides of 0.
    leaves = [view.detach().requires_grad_() for view in views]
    actual = torch.autograd.grad(quasi_attention_triton(*leaves, key_mask)[0].sum(), leaves)
    expected = torch.autograd.grad(quasi_attention_eager(*leaves, key_mask)[0].sum(), leaves)
    for given, wanted in zip(actual, expected, strict=True):
        torch.testing.assert_close(given, wanted)


def test_large_scores(device):
    tensors = draw(device, 40, 40, 16)
    for number in (0, 3):
        tensors[number] *= 300  # scores of ± 1000, whose exponential float32 does not hold
    actual = output_and_gradients(quasi_attention_triton, tensors, None)
    expected = output_and_gradients(quasi_attention_eager, in_float64(tensors), None)
    assert all(tensor.isfinite().all() for tensor in actual)
    assert_near(actual, expected, 1e-3)  # scores of 1000 are off by 1e-4 in float32


def test_a_text_of_padding_gives_zeros(device):
    tensors = draw(device, 35, 35, 8)
    key_mask = mask_of(device, 35, "right")
    key_mask[1] = False
    actual = output_and_gradients(quasi_attention_triton, tensors, key_mask)
    expected = output_and_gradients(quasi_attention_sdpa, in_float64(tensors), key_mask)
    assert_near(actual, expected, TOLERANCE[torch.float32])
    for name, tensor in zip(("output", *NAMES), actual, strict=True):
        assert not tensor[1].any(), name
        assert tensor[0].any(), name


def test_what_stands_at_padded_keys_is_never_read(device):
    tensors, key_mask = draw(device, 35, 35, 8), mask_of(device, 35, "scattered")
    other = [
        t.where(key_mask.transpose(-1, -2), 7.0) if number in (1, 2, 4) else t for number, t in enumerate(tensors)
    ]
    assert not torch.equal(other[1], tensors[1])
    for given, wanted in zip(
        output_and_gradients(quasi_attention_triton, other, key_mask),
        output_and_gradients(quasi_attention_triton, tensors, key_mask),
        strict=True,
    ):
        assert torch.equal(given, wanted)


def dropped_and_whole(tensors, key_mask, dropout, seed=3):
    """The weights with dropout and without, (B, h, n, n).

    The output is linear in the values: those that are rows of the identity bring the weights out.
    """
    query, key, _, context_query, context_key, gate = tensors
    batch, heads, num_keys, size = key.shape
    assert num_keys <= size
    identity = torch.eye(num_keys, size, device=key.device).expand(batch, heads, -1, -1)
    arguments = (query, key, identity, context_query, context_key, gate, key_mask, 0.7)
    torch.manual_seed(seed)
    dropped = quasi_attention_triton(*arguments, dropout)[0][..., :num_keys]
    return dropped, quasi_attention_triton(*arguments)[0][..., :num_keys]


@pytest.mark.parametrize("dropout", [0.1, 0.5])
def test_dropout_keeps_and_scales(device, dropout):
    tensors = draw(device, 60, 60, 64, heads=3)
    dropped, whole = dropped_and_whole(tensors, None, dropout)
    kept = dropped != 0
    torch.testing.assert_close(dropped, torch.where(kept, whole / (1 - dropout), 0.0))
    # Of 2 · 3 · 60 · 60 = 21600 weights; a share's standard deviation is at most √(0.25 / 21600) = 0.0034.
    assert abs(kept.float().mean().item() - (1 - dropout)) < 0.014
    # Of two heads', texts', rows' and columns' masks, as many entries are the same as in independent ones.
    same = (1 - dropout) ** 2 + dropout**2
    for one, other in (
        (kept[:, 0], kept[:, 1]),
        (kept[0], kept[1]),
        (kept[..., :-1, :], kept[..., 1:, :]),
        (kept[..., :-1], kept[..., 1:]),
        (kept[..., :-4], kept[..., 4:]),
    ):
        assert abs((one == other).float().mean().item() - same) < 0.03


def test_dropout_follows_the_generator(device):
    tensors = draw(device, 33, 33, 8)
    outputs = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        outputs.append(quasi_attention_triton(*tensors, None, 1.0, 0.3)[0])
    assert torch.equal(outputs[0], outputs[1])
    assert not torch.equal(outputs[0], outputs[2])
    assert not torch.equal(outputs[2], quasi_attention_triton(*tensors, None, 1.0, 0.3)[0])  # the generator went on
    assert not quasi_attention_triton(*tensors, None, 1.0, 1.0)[0].any()


def test_both_halves_and_a_single_row_are_dropped_alike(device):
    tensors = draw(device, 60, 60, 64)
    kept = dropped_and_whole(tensors, None, 0.4)[0] != 0
    without_quasi_half = [*tensors[:5], torch.zeros_like(tensors[5])]
    assert torch.equal(dropped_and_whole(without_quasi_half, None, 0.4)[0] != 0, kept)
    first_row = [tensor[:, :, :1] if number in (0, 3, 5) else tensor for number, tensor in enumerate(tensors)]
    assert torch.equal(dropped_and_whole(first_row, None, 0.4)[0] != 0, kept[:, :, :1])


@pytest.mark.parametrize("padding", [None, "left"])
@pytest.mark.parametrize("num_queries", [1, 50])
def test_gradients_with_dropout(device, num_queries, padding):
    tensors, key_mask = draw(device, num_queries, 50, 64), mask_of(device, 50, padding)
    scale = (dropped_and_whole(tensors, key_mask, 0.3)[0] != 0).double() / 0.7

    def reference(query, key, value, context_query, context_key, gate, key_mask, quasi_attention_scale):
        states = (query, key, value, context_query, context_key, gate)
        weights = quasi_attention_eager(*states, key_mask, quasi_attention_scale)[1].attention
        return (scale * weights) @ value, None

    torch.manual_seed(3)
    actual = output_and_gradients(quasi_attention_triton, tensors, key_mask, 0.7, 0.3)
    expected = output_and_gradients(reference, in_float64(tensors), key_mask, 0.7)
    assert_near(actual, expected, TOLERANCE[torch.float32])


def largest_allocation(call) -> int:
    """Bytes of the largest tensor that is allocated, on whatever device."""
    with torch.profiler.profile(profile_memory=True) as profile:
        call()
    return max(e.nbytes() for e in profile.profiler.kineto_results.events() if e.name() == "[memory]")


def test_memory_grows_with_the_length_only(device):
    batch, heads, num_tokens, size = 1, 2, 256, 8
    tensors = draw(device, num_tokens, num_tokens, size, batch=batch, heads=heads)
    key_mask = torch.ones(batch, 1, 1, num_tokens, dtype=torch.bool, device=device)
    key_mask[..., 200:] = False
    bytes_of_states = 4 * batch * heads * num_tokens * size
    arguments = (tensors, key_mask, 1.0, 0.1)
    taken = largest_allocation(lambda: output_and_gradients(quasi_attention_triton, *arguments))
    assert bytes_of_states <= taken < 2 * bytes_of_states
    of_eager = largest_allocation(lambda: output_and_gradients(quasi_attention_eager, *arguments))
    assert of_eager >= 4 * batch * heads * num_tokens**2 > 30 * bytes_of_states


def test_no_statistics_without_gradients(device, monkeypatch):
    asked = []
    forward = triton_qacg_bert._forward
    monkeypatch.setattr(triton_qacg_bert, "_forward", lambda *a: asked.append(a[-1]) or forward(*a))
    tensors = draw(device, 7, 7, 8)
    with torch.no_grad():
        quasi_attention_triton(*(tensor.requires_grad_() for tensor in tensors), None)
    quasi_attention_triton(*tensors, None)
    assert asked == [False, True]
    assert [tensor.numel() for tensor in forward(*tensors, None, None, 1.0, 0.0, False)[1:]] == [0, 0]


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_operators_are_what_they_are_declared_as(device, dropout):
    tensors = [tensor.requires_grad_() for tensor in draw(device, 5, 9, 8)]
    key_mask = mask_of(device, 9, "right").to(torch.uint8)
    seed = torch.tensor([5], device=device) if dropout else None
    checks = torch.library.opcheck(triton_qacg_bert._forward, (*tensors, key_mask, seed, 0.7, dropout, True))
    assert len(checks) > 1
    assert set(checks.values()) == {"SUCCESS"}


def test_compiles_as_one_graph(device):
    tensors, key_mask = draw(device, 9, 9, 8), mask_of(device, 9, "right")
    # Inductor draws other seeds than PyTorch does; a compiler that changes nothing draws the same.
    compiled = torch.compile(quasi_attention_triton, fullgraph=True, backend="aot_eager")
    for dropout in (0.0, 0.3):
        results = []
        for attention in (quasi_attention_triton, compiled):
            torch.manual_seed(0)
            results.append(output_and_gradients(attention, tensors, key_mask, 0.7, dropout))
        assert_near(*results, TOLERANCE[torch.float32])


def test_gates_of_another_data_type(device):
    *states, gate = draw(device, 7, 7, 8)
    actual = output_and_gradients(quasi_attention_triton, [*(state.half() for state in states), gate], None)
    assert [tensor.dtype for tensor in actual] == [torch.float16] * 6 + [torch.float32]
    expected = output_and_gradients(quasi_attention_eager, in_float64([*(s.half() for s in states), gate]), None)
    assert_near(actual, expected, TOLERANCE[torch.float16])


def test_what_is_saved_may_change_its_place(device):
    tensors, key_mask = draw(device, 7, 9, 8), mask_of(device, 9, "left")
    expected = output_and_gradients(quasi_attention_triton, tensors, key_mask)
    with torch.autograd.graph.save_on_cpu():
        actual = output_and_gradients(quasi_attention_triton, tensors, key_mask)
    for given, wanted in zip(actual, expected, strict=True):
        assert torch.equal(given, wanted)


def load_copy(name: str):
    """The file once more, as a checkpoint's own code is loaded."""
    spec = importlib.util.spec_from_file_location(name, triton_qacg_bert.__file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_copies_do_not_disturb_each_other(device):
    tensors = draw(device, 7, 7, 8)
    expected = output_and_gradients(quasi_attention_triton, tensors, None)
    for name in ("one.copy", "a folder (2).copy", "one.copy"):
        copy = load_copy(name)
        for attention in (copy.quasi_attention_triton, quasi_attention_triton):
            for given, wanted in zip(output_and_gradients(attention, tensors, None), expected, strict=True):
                assert torch.equal(given, wanted)


@pytest.mark.parametrize("padding", [None, "left", "right"])
def test_a_model(device, kind, make_model, make_batch, padding):
    """Logits and gradients are those of the other backend, the last layer's single row included."""
    results = []
    batch = {name: tensor.to(device) for name, tensor in make_batch(3, 9, padding).items()}
    for backend in ("sdpa", "triton"):
        model = make_model(kind, backend, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0).to(device).train()
        assert model.bert.config._attn_implementation == backend
        outputs = model(**batch)
        results.append([outputs.logits, *torch.autograd.grad(outputs.loss, list(model.parameters()))])
    for given, wanted in zip(*results, strict=True):
        torch.testing.assert_close(given, wanted, rtol=1e-4, atol=1e-5)


def test_a_model_is_loaded_with_it_and_shows_its_weights(device, make_model, make_batch, tmp_path):
    make_model("qacg").save_pretrained(tmp_path)
    model = QACGBertForSequenceClassification.from_pretrained(tmp_path, attn_implementation="triton").to(device)
    batch = {name: tensor.to(device) for name, tensor in make_batch().items()}
    with torch.no_grad():
        outputs = model(**batch, output_attentions=True)
        torch.testing.assert_close(model(**batch).logits, outputs.logits)
    assert outputs.attentions[0].shape == (3, 4, 7, 7)


@pytest.mark.skipif(is_available(), reason="it is available")
def test_a_model_where_it_is_not_available(kind, make_model):
    with pytest.raises(ImportError, match=r'needs a CUDA device and Triton .* choose "sdpa"'):
        make_model(kind, "triton")


def test_availability():
    assert is_available() == (INTERPRETED or torch.cuda.is_available())


def test_without_triton(monkeypatch):
    monkeypatch.setitem(sys.modules, "triton", None)
    module = load_copy("without_triton")
    assert not module.is_available()
    with pytest.raises(RuntimeError, match="pip install triton"):
        module.quasi_attention_triton(*draw("cpu", 3, 3, 8), None)


@pytest.mark.skipif(INTERPRETED, reason="the interpreter takes tensors of the CPU")
def test_on_the_cpu():
    with pytest.raises(RuntimeError, match='on device "cpu": move the model to a CUDA device'):
        quasi_attention_triton(*draw("cpu", 3, 3, 8), None)


def test_other_forms():
    with pytest.raises(ValueError, match="quasi_form='softmax': choose \"sdpa\""):
        quasi_attention_triton(*draw("cpu", 3, 3, 8), None, form="softmax")


@pytest.mark.parametrize(
    ("head_size", "dtypes", "message"),
    [
        (8, [torch.float64] * 5, "torch.float64"),
        (8, [torch.bfloat16] * 4 + [torch.float32], "states of torch.bfloat16, .*torch.float32"),
        (136, [torch.float32] * 5, "head size of 136: it takes up to 128"),
    ],
)
def test_what_it_does_not_take(device, head_size, dtypes, message):
    *states, gate = draw(device, 3, 3, head_size)
    with pytest.raises(ValueError, match=message):
        quasi_attention_triton(*(state.to(dtype) for state, dtype in zip(states, dtypes, strict=True)), gate, None)


class Compiling:
    """Stands for a kernel: compiles what it is launched with, and launches nothing."""

    def __init__(self, kernel):
        self.kernel = kernel

    def __getitem__(self, grid):
        return lambda *arguments, **options: self.compiled(self.kernel.warmup(*arguments, grid=grid, **options))

    def compiled(self, result):
        self.result = result


@pytest.mark.skipif(INTERPRETED, reason="the interpreter compiles nothing")
@pytest.mark.parametrize(
    ("capability", "num_queries"), [pytest.param(80, 40, marks=pytest.mark.slow), (90, 40), (90, 1)]
)
def test_kernels_compile(capability, num_queries, monkeypatch, tmp_path):
    """For Ampere and Hopper, with all that training asks for; numbers that are 1 are constants to Triton."""
    # Compilers need no device, only to be told of one.
    driver = SimpleNamespace(
        get_current_target=lambda: GPUTarget("cuda", capability, 32),
        get_current_device=lambda: capability,
        get_current_stream=lambda device: 0,
    )
    monkeypatch.setattr(triton.runtime.driver, "_active", driver)
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(triton_qacg_bert, "_is_hopper", lambda device: capability == 90)
    kernels = {}
    for name in ("_forward_kernel", "_backward_rows_kernel", "_backward_columns_kernel"):
        kernels[name] = Compiling(getattr(triton_qacg_bert, name))
        monkeypatch.setattr(triton_qacg_bert, name, kernels[name])

    tensors = draw("cpu", num_queries, 40, 64, torch.bfloat16)
    key_mask, seed = torch.ones(2, 1, 1, 40, dtype=torch.uint8), torch.zeros(1, dtype=torch.int64)
    output, *saved = triton_qacg_bert._forward(*tensors, key_mask, seed, 0.7, 0.1, True)
    triton_qacg_bert._backward(output, *tensors, key_mask, seed, *saved, 0.7, 0.1)
    for name, kernel in kernels.items():
        on_rows = name != "_backward_columns_kernel"
        uses_wgmma = capability == 90 and not (on_rows and num_queries == 1)
        assert ("wgmma.mma_async" if uses_wgmma else "mma.sync") in kernel.result.asm["ptx"], name
        # So that every device of these generations has it, and sm_80 and sm_90 twice.
        assert kernel.result.metadata.shared <= 80 * 1024, name
