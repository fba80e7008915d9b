"""The model and the grammar as loops, one sentence, one word, one index at a time; nothing here is fast."""

from itertools import product

import torch
from torch.nn.functional import gelu, layer_norm, relu

START, END = 0, 1


def pooled(vectors: list[torch.Tensor], word_ids: list[int], number: int, how: str) -> torch.Tensor | None:
    """A word from its pieces; None without any."""
    pieces = [vector for vector, of_word in zip(vectors, word_ids, strict=True) if of_word == number]
    if not pieces:
        return None
    return pieces[0] if how == "first" else sum(pieces) / len(pieces)


def attended(layer, query, keys: list[torch.Tensor]) -> torch.Tensor:
    """What one state reads of others, head by head."""
    size = layer.head_dim
    q = layer.q_proj(query)
    read = []
    for head in range(layer.num_heads):
        part = slice(head * size, (head + 1) * size)
        scores = torch.stack([q[part] @ layer.k_proj(key)[part] / size**0.5 for key in keys])
        weights = scores.softmax(0)
        read.append(sum(w * layer.v_proj(key)[part] for w, key in zip(weights, keys, strict=True)))
    return layer.out_proj(torch.cat(read))


def normed(norm, state: torch.Tensor) -> torch.Tensor:
    return layer_norm(state, state.shape, norm.weight, norm.bias, norm.eps)


def small_decoder(decoder, inputs: list[torch.Tensor], source: list[torch.Tensor]) -> list[torch.Tensor]:
    """Post-norm layers of self-attention, cross-attention and a feed-forward network, (d,) each."""
    positions = decoder.embed_positions.weight[2:]
    states = [normed(decoder.layernorm_embedding, x + positions[t]) for t, x in enumerate(inputs)]
    for layer in decoder.layers:
        before, states = states, []
        for t, state in enumerate(before):
            state = normed(layer.self_attn_layer_norm, state + attended(layer.self_attn, state, before[: t + 1]))
            state = normed(layer.encoder_attn_layer_norm, state + attended(layer.encoder_attn, state, source))
            state = normed(layer.final_layer_norm, state + layer.fc2(gelu(layer.fc1(state))))
            states.append(state)
    return states


def pretrained_decoder(decoder, inputs: list[torch.Tensor], source: list[torch.Tensor]) -> list[torch.Tensor]:
    """Transformers' own, for one sentence without padding."""
    read = decoder(inputs_embeds=torch.stack(inputs)[None], encoder_hidden_states=torch.stack(source)[None])
    return list(read.last_hidden_state[0])


def scores(model, input_ids: list[int], word_ids: list[int], sequence: list[int], prompt: int, slots: list[int]):
    """What each index behind the prompt is scored with: a dict by index for each step, without indices that are
    never generated."""
    config, grammar = model.config, model.grammar
    base = model.model
    encoder = base.backbone if config.has_small_decoder else base.backbone.encoder
    h = list(encoder(torch.tensor([input_ids])).last_hidden_state[0])
    e = list(base.backbone.get_input_embeddings()(torch.tensor(input_ids)))
    how = config.pointer_pooling or ("mean" if config.has_small_decoder else "first")
    mixed = []
    for state, embedding in zip(h, e, strict=True):
        if config.pointer_mlp:
            first, _, _, second = base.pointer.mlp
            state = second.weight @ relu(first.weight @ state + first.bias) + second.bias
        mixed.append(config.alpha * state + (1 - config.alpha) * embedding)
    numbers = [n for n in range(config.max_words) if n in word_ids]
    pointed = {n: pooled(mixed, word_ids, n, how) for n in numbers}
    fed = h if config.has_small_decoder and config.decoder_input == "states" else e
    fed = {n: pooled(fed, word_ids, n, how) for n in numbers}

    inputs = []
    for t, index in enumerate(sequence[:-1]):
        is_word = index >= grammar.first_word
        x = fed[index - grammar.first_word] if is_word else base.embeddings.classes.weight[index]
        if config.has_small_decoder:
            x = base.embeddings.projection.weight @ x
            if config.slot_embeddings:
                x = x + base.embeddings.slots.weight[slots[(t - (prompt - 1)) % len(slots)]]
        inputs.append(x)
    run, decoder = (
        (small_decoder, base.decoder) if config.has_small_decoder else (pretrained_decoder, base.backbone.decoder)
    )
    states = run(decoder, inputs, h)

    classes = [END, *range(grammar.first_word - len(grammar.labels), grammar.first_word)]
    found = []
    for state in states[prompt - 1 :]:
        keys = {index: base.embeddings.classes.weight[index] for index in classes}
        if config.has_small_decoder:
            state = model.scores.query.weight @ state / config.hidden_size**0.5
            keys = {index: model.scores.class_key.weight @ key for index, key in keys.items()}
        elif config.backbone_config.model_type == "t5":
            state = state / config.hidden_size**0.5
        keys |= {grammar.first_word + n: vector for n, vector in pointed.items()}
        found.append({index: state @ key for index, key in keys.items()})
    return found


def loss_of(found: list[dict[int, torch.Tensor]], labels: list[int]) -> torch.Tensor:
    """The sum of -log P over the indices of one sentence."""
    total = 0.0
    for by_index, label in zip(found, labels, strict=True):
        total = total + torch.stack(list(by_index.values())).logsumexp(0) - by_index[label]
    return total


def all_tuples(grammar, task: str, words: list[int]) -> list[tuple[int, ...]]:
    """Every tuple of a task over some words, as indices."""
    most = grammar.max_span or grammar.max_words
    spans = [(s, e) for s in words for e in words if s <= e < s + most]
    labels = [(grammar.first_word - len(grammar.labels) + n,) for n in range(len(grammar.labels))]
    options = [
        labels if field == "label" else [tuple(grammar.first_word + w for w in span) for span in spans]
        for field in grammar.fields(task)
    ]
    return [sum(parts, ()) for parts in product(*options)]


def legal(grammar, task: str, prompt: int, sequence: list[int], words: list[int]) -> set[int]:
    """Which indices may follow, by looking at every tuple that there could be."""
    written = sequence[prompt:]
    if END in written:
        return {END}
    tuples = all_tuples(grammar, task, words)
    period = sum(1 if field == "label" else 2 for field in grammar.fields(task))
    whole = len(written) // period
    done = [tuple(written[n * period : (n + 1) * period]) for n in range(whole)]
    begun = tuple(written[whole * period :])
    step = len(begun)
    if step == 0 and whole == (1 if task == "alsc" else grammar.max_tuples):
        return {END}
    unused = [one for one in tuples if not (grammar.no_repeats and one in done)]
    found = {one[step] for one in unused if one[:step] == begun}
    if step == 0 and (task != "alsc" or whole):
        found.add(END)
    return found


def legal_sequences(grammar, task: str, prompt: list[int], words: list[int]) -> list[list[int]]:
    """Every whole sequence."""
    open_, whole = [list(prompt)], []
    while open_:
        sequence = open_.pop()
        for index in legal(grammar, task, len(prompt), sequence, words):
            (whole if index == END else open_).append([*sequence, index])
    return whole
