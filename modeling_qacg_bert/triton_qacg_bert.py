"""QACG-BERT's attention as Triton kernels: one pass over keys, context keys and values, and O(n) memory.

Written for CUDA. No (n, n) tensor is stored, forward or backward: blocks of scores live in registers, and the
backward pass computes them again (FlashAttention-2, Dao 2023). Equation numbers are those of Wu & Ong (2021); i is a
row (query), j a column (key), s = 1/√d, and D_ij the dropout mask over its keeping probability, the same for both
halves as in `quasi_attention_eager`.

Forward, for one row:
    P_ij = exp(s Q_i·K_j - L_i), L_i = log Σ_j exp(s Q_i·K_j)       eq. 1: softmax, with a running maximum and sum
    G_ij = sigmoid(s C_Q,i·C_K,j)                                   eq. 6 without α
    O_i  = Σ_j D_ij P_ij V_j + α λ_i Σ_j D_ij G_ij V_j              eq. 4, times V; λ is the gate of eq. 8
P and G are 0 at padded keys. The running maximum rescales the first sum only, so that each half has its own. What
backward needs of forward is L and the softmax half O'_i = Σ_j D_ij P_ij V_j; O itself is not saved.

Backward, with A = P + α λ G (eq. 4) and A' = ∂loss/∂A, that is A'_ij = D_ij (dO_i·V_j):
    dV_j = Σ_i D_ij A_ij dO_i
    δ_i  = Σ_j P_ij A'_ij = dO_i·O'_i                               what the softmax's normalisation takes back
    S'_ij = P_ij (A'_ij - δ_i),   dQ_i = s Σ_j S'_ij K_j,           dK_j = s Σ_i S'_ij Q_i
    T'_ij = α λ_i G_ij (1 - G_ij) A'_ij,   dC_Q,i = s Σ_j T'_ij C_K,j,   dC_K,j = s Σ_i T'_ij C_Q,i
    dλ_i = α Σ_j G_ij A'_ij
δ must come from the softmax half alone: the quasi half is a sum over all keys that is not normalised, so that δ as a
difference of rounded sums over both, dO·O - λ dλ, would be lost in their rounding.

One kernel sums over j (dQ, dC_Q, dλ, δ), one over i (dK, dC_K, dV); none uses atomics, so results are reproducible.
"""

import re

import torch

try:
    import triton
    import triton.language as tl
    from triton.language import constexpr
except ImportError:  # there is none for this system: `is_available` says so
    triton = tl = constexpr = None


def _jit(function):
    return function if triton is None else triton.jit(function)


MAX_HEAD_SIZE = 128
DTYPES = (torch.float32, torch.bfloat16, torch.float16)


@_jit
def _load_rows(pointer, rows, num_rows, stride, head_size: constexpr, block_d: constexpr):
    """Rows of an (n, d) matrix, with zeros beyond its end and beyond d."""
    features = tl.arange(0, block_d)
    inside = rows[:, None] < num_rows
    if head_size != block_d:
        inside = inside & (features[None, :] < head_size)
    return tl.load(pointer + rows[:, None] * stride + features[None, :], mask=inside, other=0.0)


@_jit
def _store_rows(pointer, values, rows, num_rows, stride, head_size: constexpr, block_d: constexpr):
    features = tl.arange(0, block_d)
    inside = rows[:, None] < num_rows
    if head_size != block_d:
        inside = inside & (features[None, :] < head_size)
    tl.store(pointer + rows[:, None] * stride + features[None, :], values.to(pointer.dtype.element_ty), mask=inside)


@_jit
def _attended_range(mask_ptr, num_keys, block: constexpr):
    """The first key that is not padding and the one after the last: a batch's padding is mostly at one end."""
    first = num_keys
    end = 0
    for start in range(0, num_keys, block):
        columns = start + tl.arange(0, block)
        attended = tl.load(mask_ptr + columns, mask=columns < num_keys, other=0) != 0
        first = tl.minimum(first, tl.min(tl.where(attended, columns, num_keys)))
        end = tl.maximum(end, tl.max(tl.where(attended, columns + 1, 0)))
    return first, end


@_jit
def _kept(seed, head, rows, first_column, threshold, block_m: constexpr, block_n: constexpr):
    """Which weights of a block dropout keeps, (block_m, block_n), as a function of seed, head, row and column only.

    One Philox call makes the four numbers of columns 4c to 4c + 3; seven rounds pass all known tests (Salmon et al.
    2011). The numbers would cost more than the attention itself if each column made its own.
    """
    zeros = tl.zeros((block_m, block_n // 4), tl.int32)
    quads = first_column // 4 + tl.arange(0, block_n // 4)
    r0, r1, r2, r3 = tl.philox(seed, zeros + quads[None, :], zeros + rows[:, None], zeros + head, zeros, 7)
    random = tl.join(tl.join(r0, r2), tl.join(r1, r3)).reshape(block_m, block_n)
    return (random >> 1).to(tl.int32) >= threshold


@_jit
def _forward_kernel(
    query_ptr,
    key_ptr,
    value_ptr,
    context_query_ptr,
    context_key_ptr,
    gate_ptr,
    mask_ptr,
    seed_ptr,
    output_ptr,
    softmax_half_ptr,
    log_sum_ptr,
    query_b,
    query_h,
    query_n,
    key_b,
    key_h,
    key_n,
    value_b,
    value_h,
    value_n,
    context_query_b,
    context_query_h,
    context_query_n,
    context_key_b,
    context_key_h,
    context_key_n,
    gate_b,
    gate_h,
    gate_n,
    num_heads,
    num_queries,
    num_keys,
    scale,
    quasi_attention_scale,
    drop_threshold,
    keep_scale,
    has_mask: constexpr,
    has_dropout: constexpr,
    for_backward: constexpr,
    head_size: constexpr,
    block_d: constexpr,
    block_m: constexpr,
    block_n: constexpr,
    precision: constexpr,
):
    """A block of rows of one head: output and softmax half, (B, n, h, d), and log2 of the softmax's sum, (B, h, n)."""
    row_blocks = tl.cdiv(num_queries, block_m)
    batch_head = tl.program_id(0) // row_blocks
    batch = (batch_head // num_heads).to(tl.int64)
    head = batch_head % num_heads
    rows = tl.program_id(0) % row_blocks * block_m + tl.arange(0, block_m)

    query_ptr += batch * query_b + head * query_h
    context_query_ptr += batch * context_query_b + head * context_query_h
    key_ptr += batch * key_b + head * key_h
    context_key_ptr += batch * context_key_b + head * context_key_h
    value_ptr += batch * value_b + head * value_h
    query = _load_rows(query_ptr, rows, num_queries, query_n, head_size, block_d)
    context_query = _load_rows(context_query_ptr, rows, num_queries, context_query_n, head_size, block_d)

    first = 0
    end = num_keys
    if has_mask:
        mask_ptr += batch * num_keys
        first, end = _attended_range(mask_ptr, num_keys, 1024)
    if has_dropout:
        seed = tl.load(seed_ptr)

    maximum = tl.full((block_m,), float("-inf"), tl.float32)
    total = tl.zeros((block_m,), tl.float32)
    softmax_half = tl.zeros((block_m, block_d), tl.float32)
    quasi_half = tl.zeros((block_m, block_d), tl.float32)
    # The first block holds a key that is attended to, so the maximum is finite from there on.
    for start in range(first // block_n * block_n, end, block_n):
        columns = start + tl.arange(0, block_n)
        attended = columns < num_keys
        if has_mask:
            attended = tl.load(mask_ptr + columns, mask=attended, other=0) != 0
        key = _load_rows(key_ptr, columns, num_keys, key_n, head_size, block_d)
        context_key = _load_rows(context_key_ptr, columns, num_keys, context_key_n, head_size, block_d)
        value = _load_rows(value_ptr, columns, num_keys, value_n, head_size, block_d)

        # 1.44 is log2(e): powers of two are what the hardware computes.
        scores = tl.dot(query, tl.trans(key), input_precision=precision) * (scale * 1.4426950408889634)
        scores = tl.where(attended[None, :], scores, float("-inf"))
        new_maximum = tl.maximum(maximum, tl.max(scores, 1))
        rescale = tl.exp2(maximum - new_maximum)
        maximum = new_maximum
        softmax_weights = tl.exp2(scores - maximum[:, None])  # eq. 1
        total = total * rescale + tl.sum(softmax_weights, 1)

        quasi_scores = tl.dot(context_query, tl.trans(context_key), input_precision=precision) * scale
        quasi_weights = tl.where(attended[None, :], tl.sigmoid(quasi_scores), 0.0)  # eq. 6

        if has_dropout:
            kept = _kept(seed, batch_head, rows, start, drop_threshold, block_m, block_n)
            softmax_weights = tl.where(kept, softmax_weights, 0.0)
            quasi_weights = tl.where(kept, quasi_weights, 0.0)
        softmax_half = softmax_half * rescale[:, None]
        softmax_half = tl.dot(softmax_weights.to(value.dtype), value, softmax_half, input_precision=precision)
        quasi_half = tl.dot(quasi_weights.to(value.dtype), value, quasi_half, input_precision=precision)

    total = tl.where(total == 0.0, 1.0, total)  # no key at all: 0, not 0/0
    softmax_half = softmax_half * (keep_scale / total)[:, None]
    inside = rows < num_queries
    gate_ptr += batch * gate_b + head * gate_h
    gate = quasi_attention_scale * tl.load(gate_ptr + rows * gate_n, mask=inside, other=0.0).to(tl.float32)
    output = softmax_half + (keep_scale * gate)[:, None] * quasi_half  # eq. 4, times V
    stride = num_heads * head_size
    offset = batch * num_queries * stride + head * head_size
    _store_rows(output_ptr + offset, output, rows, num_queries, stride, head_size, block_d)
    if for_backward:
        _store_rows(softmax_half_ptr + offset, softmax_half, rows, num_queries, stride, head_size, block_d)
        of_rows = batch_head.to(tl.int64) * num_queries + rows
        tl.store(log_sum_ptr + of_rows, maximum + tl.log2(total), mask=inside)


@_jit
def _backward_rows_kernel(
    query_ptr,
    key_ptr,
    value_ptr,
    context_query_ptr,
    context_key_ptr,
    gate_ptr,
    mask_ptr,
    seed_ptr,
    softmax_half_ptr,
    log_sum_ptr,
    grad_ptr,
    query_grad_ptr,
    context_query_grad_ptr,
    gate_grad_ptr,
    delta_ptr,
    query_b,
    query_h,
    query_n,
    key_b,
    key_h,
    key_n,
    value_b,
    value_h,
    value_n,
    context_query_b,
    context_query_h,
    context_query_n,
    context_key_b,
    context_key_h,
    context_key_n,
    gate_b,
    gate_h,
    gate_n,
    grad_b,
    grad_h,
    grad_n,
    num_heads,
    num_queries,
    num_keys,
    scale,
    quasi_attention_scale,
    drop_threshold,
    keep_scale,
    has_mask: constexpr,
    has_dropout: constexpr,
    head_size: constexpr,
    block_d: constexpr,
    block_m: constexpr,
    block_n: constexpr,
    precision: constexpr,
):
    """A block of rows of one head: dQ and dC_Q (B, n, h, d), dλ and δ (B, h, n)."""
    row_blocks = tl.cdiv(num_queries, block_m)
    batch_head = tl.program_id(0) // row_blocks
    batch = (batch_head // num_heads).to(tl.int64)
    head = batch_head % num_heads
    rows = tl.program_id(0) % row_blocks * block_m + tl.arange(0, block_m)
    inside = rows < num_queries
    of_rows = batch_head.to(tl.int64) * num_queries + rows
    stride = num_heads * head_size
    offset = batch * num_queries * stride + head * head_size

    query_ptr += batch * query_b + head * query_h
    context_query_ptr += batch * context_query_b + head * context_query_h
    key_ptr += batch * key_b + head * key_h
    context_key_ptr += batch * context_key_b + head * context_key_h
    value_ptr += batch * value_b + head * value_h
    grad_ptr += batch * grad_b + head * grad_h
    query = _load_rows(query_ptr, rows, num_queries, query_n, head_size, block_d)
    context_query = _load_rows(context_query_ptr, rows, num_queries, context_query_n, head_size, block_d)
    grad = _load_rows(grad_ptr, rows, num_queries, grad_n, head_size, block_d)
    softmax_half = _load_rows(softmax_half_ptr + offset, rows, num_queries, stride, head_size, block_d)
    log_sum = tl.load(log_sum_ptr + of_rows, mask=inside, other=0.0)
    gate_ptr += batch * gate_b + head * gate_h
    gate = quasi_attention_scale * tl.load(gate_ptr + rows * gate_n, mask=inside, other=0.0).to(tl.float32)
    delta = tl.sum(grad.to(tl.float32) * softmax_half.to(tl.float32), 1)
    tl.store(delta_ptr + of_rows, delta, mask=inside)

    first = 0
    end = num_keys
    if has_mask:
        mask_ptr += batch * num_keys
        first, end = _attended_range(mask_ptr, num_keys, 1024)
    if has_dropout:
        seed = tl.load(seed_ptr)

    query_grad = tl.zeros((block_m, block_d), tl.float32)
    context_query_grad = tl.zeros((block_m, block_d), tl.float32)
    gate_grad = tl.zeros((block_m,), tl.float32)
    for start in range(first // block_n * block_n, end, block_n):
        columns = start + tl.arange(0, block_n)
        attended = columns < num_keys
        if has_mask:
            attended = tl.load(mask_ptr + columns, mask=attended, other=0) != 0
        key = _load_rows(key_ptr, columns, num_keys, key_n, head_size, block_d)
        context_key = _load_rows(context_key_ptr, columns, num_keys, context_key_n, head_size, block_d)
        value = _load_rows(value_ptr, columns, num_keys, value_n, head_size, block_d)

        weights_grad = tl.dot(grad, tl.trans(value), input_precision=precision)  # A'
        if has_dropout:
            kept = _kept(seed, batch_head, rows, start, drop_threshold, block_m, block_n)
            weights_grad = tl.where(kept, weights_grad * keep_scale, 0.0)

        scores = tl.dot(query, tl.trans(key), input_precision=precision) * (scale * 1.4426950408889634)
        scores = tl.where(attended[None, :], scores, float("-inf"))
        softmax_weights = tl.exp2(scores - log_sum[:, None])  # eq. 1
        scores_grad = softmax_weights * (weights_grad - delta[:, None])  # S'
        query_grad = tl.dot(scores_grad.to(key.dtype), key, query_grad, input_precision=precision)

        quasi_scores = tl.dot(context_query, tl.trans(context_key), input_precision=precision) * scale
        quasi_weights = tl.where(attended[None, :], tl.sigmoid(quasi_scores), 0.0)  # eq. 6
        gated = quasi_weights * weights_grad
        gate_grad += tl.sum(gated, 1)
        quasi_scores_grad = gate[:, None] * gated * (1.0 - quasi_weights)  # T'
        context_query_grad = tl.dot(
            quasi_scores_grad.to(key.dtype), context_key, context_query_grad, input_precision=precision
        )

    _store_rows(query_grad_ptr + offset, query_grad * scale, rows, num_queries, stride, head_size, block_d)
    _store_rows(
        context_query_grad_ptr + offset, context_query_grad * scale, rows, num_queries, stride, head_size, block_d
    )
    tl.store(gate_grad_ptr + of_rows, gate_grad * quasi_attention_scale, mask=inside)


@_jit
def _backward_columns_kernel(
    query_ptr,
    key_ptr,
    value_ptr,
    context_query_ptr,
    context_key_ptr,
    gate_ptr,
    mask_ptr,
    seed_ptr,
    log_sum_ptr,
    delta_ptr,
    grad_ptr,
    key_grad_ptr,
    value_grad_ptr,
    context_key_grad_ptr,
    query_b,
    query_h,
    query_n,
    key_b,
    key_h,
    key_n,
    value_b,
    value_h,
    value_n,
    context_query_b,
    context_query_h,
    context_query_n,
    context_key_b,
    context_key_h,
    context_key_n,
    gate_b,
    gate_h,
    gate_n,
    grad_b,
    grad_h,
    grad_n,
    num_heads,
    num_queries,
    num_keys,
    scale,
    quasi_attention_scale,
    drop_threshold,
    keep_scale,
    has_mask: constexpr,
    has_dropout: constexpr,
    head_size: constexpr,
    block_d: constexpr,
    block_m: constexpr,
    block_n: constexpr,
    precision: constexpr,
):
    """A block of columns of one head: dK, dV and dC_K (B, n, h, d). All blocks are (keys, queries) here."""
    column_blocks = tl.cdiv(num_keys, block_n)
    batch_head = tl.program_id(0) // column_blocks
    batch = (batch_head // num_heads).to(tl.int64)
    head = batch_head % num_heads
    first_column = tl.program_id(0) % column_blocks * block_n
    columns = first_column + tl.arange(0, block_n)

    query_ptr += batch * query_b + head * query_h
    context_query_ptr += batch * context_query_b + head * context_query_h
    key_ptr += batch * key_b + head * key_h
    context_key_ptr += batch * context_key_b + head * context_key_h
    value_ptr += batch * value_b + head * value_h
    grad_ptr += batch * grad_b + head * grad_h
    gate_ptr += batch * gate_b + head * gate_h
    of_head = batch_head.to(tl.int64) * num_queries
    log_sum_ptr += of_head
    delta_ptr += of_head

    attended = columns < num_keys
    end = num_queries
    if has_mask:
        attended = tl.load(mask_ptr + batch * num_keys + columns, mask=attended, other=0) != 0
        end = tl.where(tl.max(attended.to(tl.int32)) == 1, num_queries, 0)  # a block of padding has no gradient
    if has_dropout:
        seed = tl.load(seed_ptr)
    key = _load_rows(key_ptr, columns, num_keys, key_n, head_size, block_d)
    context_key = _load_rows(context_key_ptr, columns, num_keys, context_key_n, head_size, block_d)
    value = _load_rows(value_ptr, columns, num_keys, value_n, head_size, block_d)

    key_grad = tl.zeros((block_n, block_d), tl.float32)
    value_grad = tl.zeros((block_n, block_d), tl.float32)
    context_key_grad = tl.zeros((block_n, block_d), tl.float32)
    # Rows beyond the last have a gradient of 0 and so count for nothing.
    for start in range(0, end, block_m):
        rows = start + tl.arange(0, block_m)
        inside = rows < num_queries
        query = _load_rows(query_ptr, rows, num_queries, query_n, head_size, block_d)
        context_query = _load_rows(context_query_ptr, rows, num_queries, context_query_n, head_size, block_d)
        grad = _load_rows(grad_ptr, rows, num_queries, grad_n, head_size, block_d)
        log_sum = tl.load(log_sum_ptr + rows, mask=inside, other=0.0)
        delta = tl.load(delta_ptr + rows, mask=inside, other=0.0)
        gate = quasi_attention_scale * tl.load(gate_ptr + rows * gate_n, mask=inside, other=0.0).to(tl.float32)

        scores = tl.dot(key, tl.trans(query), input_precision=precision) * (scale * 1.4426950408889634)
        scores = tl.where(attended[:, None], scores, float("-inf"))
        softmax_weights = tl.exp2(scores - log_sum[None, :])  # eq. 1
        quasi_scores = tl.dot(context_key, tl.trans(context_query), input_precision=precision) * scale
        quasi_weights = tl.where(attended[:, None], tl.sigmoid(quasi_scores), 0.0)  # eq. 6
        weights = softmax_weights + gate[None, :] * quasi_weights  # eq. 4
        weights_grad = tl.dot(value, tl.trans(grad), input_precision=precision)  # A'
        if has_dropout:
            kept = tl.trans(_kept(seed, batch_head, rows, first_column, drop_threshold, block_m, block_n))
            weights = tl.where(kept, weights, 0.0)
            weights_grad = tl.where(kept, weights_grad * keep_scale, 0.0)

        value_grad = tl.dot(weights.to(grad.dtype), grad, value_grad, input_precision=precision)
        scores_grad = softmax_weights * (weights_grad - delta[None, :])  # S'
        key_grad = tl.dot(scores_grad.to(query.dtype), query, key_grad, input_precision=precision)
        quasi_scores_grad = gate[None, :] * quasi_weights * (1.0 - quasi_weights) * weights_grad  # T'
        context_key_grad = tl.dot(
            quasi_scores_grad.to(query.dtype), context_query, context_key_grad, input_precision=precision
        )

    stride = num_heads * head_size
    offset = batch * num_keys * stride + head * head_size
    _store_rows(key_grad_ptr + offset, key_grad * scale, columns, num_keys, stride, head_size, block_d)
    _store_rows(value_grad_ptr + offset, value_grad * keep_scale, columns, num_keys, stride, head_size, block_d)
    _store_rows(context_key_grad_ptr + offset, context_key_grad * scale, columns, num_keys, stride, head_size, block_d)


# Rows and columns of a block, warps, stages; fixed, so that no first call waits for a search. Through a kernel's loop
# two sums of a block's rows or columns by d numbers stand in registers (in the column kernel three), and within a turn
# three blocks of scores and Philox's numbers: of the sizes tried with the compiler, which needs no device, these are
# the largest that spill next to nothing in any kernel. 64 rows by four warps is the least that Hopper's matrix unit
# (wgmma) takes; texts are short, and larger blocks would waste more on the last. Two or three stages load the next
# blocks while the present ones are multiplied, and shared memory (30 to 100 KB) still holds two programs or more.
_HOPPER = {
    ("forward", 64): (64, 32, 4, 3),
    ("forward", 128): (64, 32, 8, 2),
    ("backward_rows", 64): (64, 32, 4, 2),
    ("backward_rows", 128): (64, 32, 8, 2),
    ("backward_columns", 64): (32, 64, 4, 2),
    ("backward_columns", 128): (16, 64, 8, 2),
}
_AMPERE = {
    ("forward", 64): (64, 32, 4, 2),
    ("forward", 128): (64, 32, 8, 2),
    ("backward_rows", 64): (32, 32, 4, 2),
    ("backward_rows", 128): (64, 32, 8, 2),
    ("backward_columns", 64): (32, 32, 4, 2),
    ("backward_columns", 128): (32, 32, 8, 2),
}
_FLOAT32 = {64: (32, 32, 8, 1), 128: (16, 16, 8, 1)}  # no tensor cores: operands too stand in registers


def _is_hopper(device: torch.device) -> bool:
    # 10 is Blackwell for data centres; 12, that for desks, has Ampere's matrix instructions and shared memory.
    return device.type == "cuda" and torch.cuda.get_device_capability(device)[0] in (9, 10)


def _launch_options(kernel: str, query: torch.Tensor, block_d: int) -> dict[str, int]:
    size = 64 if block_d <= 64 else 128
    table = _HOPPER if _is_hopper(query.device) else _AMPERE
    chosen = _FLOAT32[size] if query.dtype == torch.float32 else table[kernel, size]
    options = dict(zip(("block_m", "block_n", "num_warps", "num_stages"), chosen, strict=True))
    if query.shape[2] <= 16:  # the classifier's last layer has one; 16 is the least that a product takes
        options["block_m"] = 16
    return options


def _arguments(tensors: list[torch.Tensor], quasi_attention_scale: float, dropout: float) -> list[int | float]:
    """What all kernels take after the pointers: strides, sizes and factors."""
    query, key = tensors[:2]
    strides = [stride for tensor in tensors for stride in tensor.stride()[:3]]
    # A weight is kept if 31 random bits are at least this.
    threshold = round(dropout * 2**31)
    keep_scale = 1 / (1 - dropout) if dropout < 1 else 0.0
    factors = [query.shape[-1] ** -0.5, float(quasi_attention_scale), threshold, keep_scale]
    return [*strides, query.shape[1], query.shape[2], key.shape[2], *factors]


def _constants(kernel: str, query: torch.Tensor, key_mask: torch.Tensor | None, dropout: float) -> dict:
    block_d = max(16, 1 << (query.shape[-1] - 1).bit_length())
    return {
        "has_mask": key_mask is not None,
        "has_dropout": dropout > 0,
        "head_size": query.shape[-1],
        "block_d": block_d,
        # What float32 is asked for is float32: no rounding to tf32.
        "precision": "ieee" if query.dtype == torch.float32 else None,
        **_launch_options(kernel, query, block_d),
    }


def _empty_heads(like: torch.Tensor) -> torch.Tensor:
    """(B, h, n, d) whose memory is (B, n, h, d), which is how the layers before and after have it."""
    batch, heads, rows, size = like.shape
    return like.new_empty(batch, rows, heads, size).transpose(1, 2)


# Operators of PyTorch, so that torch.compile takes them as they are instead of looking inside. Each copy of this file,
# of a package or of a checkpoint's own code, has its own namespace: a second registration would undo the first.
_NAMESPACE = re.sub(r"[^A-Za-z0-9_]", "_", __name__)


@torch.library.custom_op(f"{_NAMESPACE}::forward", mutates_args=())
def _forward(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    context_query: torch.Tensor,
    context_key: torch.Tensor,
    gate: torch.Tensor,
    key_mask: torch.Tensor | None,
    seed: torch.Tensor | None,
    quasi_attention_scale: float,
    dropout: float,
    for_backward: bool,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Output, and for backward softmax half and log2 of the softmax's sum; the last two are empty otherwise."""
    output, softmax_half, log_sum = _empty_forward(query, for_backward)
    constants = _constants("forward", query, key_mask, dropout)
    batch, heads, num_queries, _ = query.shape
    tensors = [query, key, value, context_query, context_key, gate]
    with torch.cuda.device_of(query):
        _forward_kernel[(batch * heads * triton.cdiv(num_queries, constants["block_m"]),)](
            *tensors,
            key_mask,
            seed,
            output,
            softmax_half,
            log_sum,
            *_arguments(tensors, quasi_attention_scale, dropout),
            for_backward=for_backward,
            **constants,
        )
    return output, softmax_half, log_sum


def _empty_forward(query: torch.Tensor, for_backward: bool) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    batch, heads, rows, size = query.shape
    softmax_half = query.new_empty((batch, rows, heads, size) if for_backward else 0)
    log_sum = query.new_empty((batch, heads, rows) if for_backward else 0, dtype=torch.float32)
    return _empty_heads(query), softmax_half, log_sum


@_forward.register_fake
def _(query, key, value, context_query, context_key, gate, key_mask, seed, scale, dropout, for_backward):
    return _empty_forward(query, for_backward)


@torch.library.custom_op(f"{_NAMESPACE}::backward", mutates_args=())
def _backward(
    grad: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    context_query: torch.Tensor,
    context_key: torch.Tensor,
    gate: torch.Tensor,
    key_mask: torch.Tensor | None,
    seed: torch.Tensor | None,
    softmax_half: torch.Tensor,
    log_sum: torch.Tensor,
    quasi_attention_scale: float,
    dropout: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Gradients of query, key, value, context query, context key and gate."""
    tensors = [query, key, value, context_query, context_key, gate]
    gradients = [*(_empty_heads(state) for state in tensors[:5]), gate.new_empty(gate.shape)]
    delta = torch.empty_like(log_sum)
    grad = _with_adjacent_features(grad)
    batch, heads, num_queries, _ = query.shape
    arguments = _arguments([*tensors, grad], quasi_attention_scale, dropout)
    with torch.cuda.device_of(query):
        constants = _constants("backward_rows", query, key_mask, dropout)
        _backward_rows_kernel[(batch * heads * triton.cdiv(num_queries, constants["block_m"]),)](
            *tensors,
            key_mask,
            seed,
            softmax_half,
            log_sum,
            grad,
            gradients[0],
            gradients[3],
            gradients[5],
            delta,
            *arguments,
            **constants,
        )
        constants = _constants("backward_columns", query, key_mask, dropout)
        _backward_columns_kernel[(batch * heads * triton.cdiv(key.shape[2], constants["block_n"]),)](
            *tensors,
            key_mask,
            seed,
            log_sum,
            delta,
            grad,
            gradients[1],
            gradients[2],
            gradients[4],
            *arguments,
            **constants,
        )
    return tuple(gradients)


@_backward.register_fake
def _(grad, query, key, value, context_query, context_key, gate, *_):
    states = (query, key, value, context_query, context_key)
    return *(_empty_heads(state) for state in states), gate.new_empty(gate.shape)


def _save_for_backward(ctx, inputs, output):
    *tensors, ctx.quasi_attention_scale, ctx.dropout, _ = inputs
    ctx.save_for_backward(*tensors, *output[1:])
    ctx.mark_non_differentiable(*output[1:])


def _differentiate(ctx, grad, *_):
    gradients = _backward(grad, *ctx.saved_tensors, ctx.quasi_attention_scale, ctx.dropout)
    return *gradients, None, None, None, None, None


_forward.register_autograd(_differentiate, setup_context=_save_for_backward)


def _with_adjacent_features(states: torch.Tensor) -> torch.Tensor:
    return states if states.stride(-1) == 1 else states.contiguous()


def is_available() -> bool:
    """Whether there is a Triton and something for it to run on: a CUDA device, or its interpreter."""
    return triton is not None and (torch.cuda.is_available() or _is_interpreted())


def _is_interpreted() -> bool:
    # TRITON_INTERPRET=1, where the CPU plays the device, decides what `triton.jit` returns.
    return triton is not None and not isinstance(_forward_kernel, triton.JITFunction)


def quasi_attention_triton(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    context_query: torch.Tensor,
    context_key: torch.Tensor,
    gate: torch.Tensor,
    key_mask: torch.Tensor | None,
    quasi_attention_scale: float = 1.0,
    dropout: float = 0.0,
    form: str = "sigmoid",
) -> tuple[torch.Tensor, None]:
    """`quasi_attention_eager` without the weights, in one kernel that stores no (n, n) tensor.

    Dropout drops weights of the composed attention, as in `eager`; the generator of the tensors' device seeds it.
    A text that is padding only gives 0 and has no gradients, as with `quasi_attention_sdpa`; `quasi_attention_eager`
    gives it the mean of its values.

    Args:
        query, context_query: (B, h, n_q, d), of any strides; n_q may be smaller than n.
        key, value, context_key: (B, h, n, d).
        gate: `quasi_gate`, (B, h, n_q, 1).
        key_mask: True at the keys to attend to, (B, 1, 1, n); None where there is no padding.
        quasi_attention_scale: α.
        dropout: probability of dropping a weight of the composed attention.
        form: of the quasi-attention; "sigmoid".
    Returns:
        The output (B, h, n_q, d), in the data type of the query, and None.
    Raises:
        RuntimeError: if Triton is not installed or the tensors are on no CUDA device.
        ValueError: if the form is another, or the states' data types differ or are not float32, bfloat16 or float16,
            or d is above 128.
    """
    if form != "sigmoid":
        raise ValueError(f'attn_implementation="triton" with quasi_form={form!r}: choose "sdpa"')
    states = (query, key, value, context_query, context_key)
    if triton is None:
        raise RuntimeError('attn_implementation="triton" needs Triton: pip install triton, or choose "sdpa"')
    if query.device.type != "cuda" and not _is_interpreted():
        raise RuntimeError(
            f'attn_implementation="triton" on device "{query.device}": move the model to a CUDA device, or choose '
            '"sdpa"'
        )
    if query.dtype not in DTYPES or any(state.dtype != query.dtype for state in states):
        dtypes = ", ".join(str(state.dtype) for state in states)
        raise ValueError(
            f'attn_implementation="triton" with states of {dtypes}: give all torch.float32, torch.bfloat16 or '
            'torch.float16, or choose "sdpa"'
        )
    if query.shape[-1] > MAX_HEAD_SIZE:
        raise ValueError(
            f'attn_implementation="triton" with a head size of {query.shape[-1]}: it takes up to {MAX_HEAD_SIZE}; '
            'choose "sdpa"'
        )
    if key_mask is not None:
        key_mask = key_mask.expand(key.shape[0], 1, 1, key.shape[2]).contiguous().view(torch.uint8)
    # Drawn where it is used, so that nobody waits for it, and outside the operator, which thus is a pure function.
    seed = torch.randint(2**62, (1,), device=query.device) if dropout else None
    output, _, _ = _forward(
        *(_with_adjacent_features(state) for state in states),
        gate,
        key_mask,
        seed,
        quasi_attention_scale,
        dropout,
        torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (*states, gate)),
    )
    return output, None
