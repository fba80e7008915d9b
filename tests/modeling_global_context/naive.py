"""Taggers with a global context one position, component and head at a time, written from the paper's equations.

The yardstick for the model: loops instead of tensor algebra, and sentences without padding. The parameters are read by
name from a model's `named_parameters()`, so that gradients can be compared too. A sentence is n vectors of width h, as
the encoder or the embeddings give them; d is the width of the states, u the number of labels.
"""

import math
from itertools import pairwise, product

import torch


class NaiveTagger:
    """A tagger for one sentence at a time.

    Args:
        config: GlobalContextConfig.
        parameters: the parameters of our tagger by name.
    """

    def __init__(self, config, parameters: dict[str, torch.Tensor]):
        self.config = config
        self.parameters = parameters

    def __call__(self, sentence: list[torch.Tensor]) -> dict[str, torch.Tensor | None]:
        """
        Returns:
            `states` (n, width of what the classifier sees), `emissions` (n, u), `global_state` (d,) and the gates
            `gate_hidden` and `gate_global` (n, d), None where there are none.
        """
        config, states = self.config, sentence
        for layer in range(config.num_lstm_layers if config.use_bilstm else 0):
            states = self.read_both_ways(layer, states)
        global_state, gates = None, None
        if config.interaction == "context":
            global_state = self.global_state(states)
            states, gates = self.fuse(states, global_state)
        elif config.interaction == "attention":
            states = self.attend(states)
        emissions = [self.linear("classifier", state) for state in states]
        gate_hidden, gate_global = (None, None) if gates is None else map(torch.stack, zip(*gates, strict=True))
        return {
            "states": torch.stack(states),
            "emissions": torch.stack(emissions),
            "global_state": global_state,
            "gate_hidden": gate_hidden,
            "gate_global": gate_global,
        }

    def linear(self, name: str, x: torch.Tensor) -> torch.Tensor:
        return self.parameters[f"{name}.weight"] @ x + self.parameters[f"{name}.bias"]

    def read_both_ways(self, layer: int, sentence: list[torch.Tensor]) -> list[torch.Tensor]:
        """Equations 2 to 4."""
        forward = self.read(f"l{layer}", sentence)
        backward = self.read(f"l{layer}_reverse", sentence[::-1])[::-1]
        return [torch.cat(both) for both in zip(forward, backward, strict=True)]

    def read(self, direction: str, sentence: list[torch.Tensor]) -> list[torch.Tensor]:
        """An LSTM, cell by cell."""
        weight_in, weight_state, bias_in, bias_state = (
            self.parameters[f"model.lstm.{kind}_{direction}"]
            for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        size = self.config.lstm_size // 2
        state = cell = sentence[0].new_zeros(size)
        states = []
        for x in sentence:
            sums = weight_in @ x + bias_in + weight_state @ state + bias_state
            next_state, next_cell = [], []
            for k in range(size):
                enter, keep, new, leave = (sums[part * size + k] for part in range(4))
                c = torch.sigmoid(keep) * cell[k] + torch.sigmoid(enter) * torch.tanh(new)
                next_cell.append(c)
                next_state.append(torch.sigmoid(leave) * torch.tanh(c))
            state, cell = torch.stack(next_state), torch.stack(next_cell)
            states.append(state)
        return states

    def global_state(self, states: list[torch.Tensor]) -> torch.Tensor:
        """G: the backward half at the first position and the forward half at the last."""
        if self.config.context_source == "first":
            return states[0]
        half = len(states[0]) // 2
        forward, backward = states[-1][:half], states[0][half:]
        order = {"cross": (backward, forward), "same": (forward, backward)}
        return torch.cat(order[self.config.context_direction])

    def fuse(self, states: list[torch.Tensor], global_state: torch.Tensor):
        """Equations 5 to 9: the joined states and the two gates of each position."""
        joined, gates = [], []
        for state in states:
            if self.config.context_gates:
                both = torch.cat([global_state, state])
                logits = [self.linear(f"model.context.{gate}", both) for gate in ("gate_hidden", "gate_global")]
                of_state, of_global = (torch.stack([1 / (1 + torch.exp(-z)) for z in gate]) for gate in logits)
                gates.append((of_state, of_global))
            else:
                of_state = of_global = torch.ones_like(state)
            parts = (
                torch.stack([gate * x for gate, x in zip(of_state, state, strict=True)]),
                torch.stack([gate * x for gate, x in zip(of_global, global_state, strict=True)]),
            )
            joined.append(parts[0] + parts[1] if self.config.context_fusion == "sum" else torch.cat(parts))
        return joined, gates or None

    def attend(self, states: list[torch.Tensor]) -> list[torch.Tensor]:
        """Equations 11 to 13, with an output projection and a norm."""
        size = len(states[0]) // self.config.num_attention_heads
        projected = [self.linear("model.attention.in_proj", state).chunk(3) for state in states]
        outputs = []
        for position, state in enumerate(states):
            heads = []
            for number in range(self.config.num_attention_heads):
                head = slice(number * size, (number + 1) * size)
                query = projected[position][0][head]
                weights = [torch.exp(query @ key[head] / math.sqrt(size)) for _, key, _ in projected]
                values = [value[head] for _, _, value in projected]
                heads.append(sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights))
            output = state + self.linear("model.attention.out_proj", torch.cat(heads))
            outputs.append(self.layer_norm(output) if self.config.attention_norm else output)
        return outputs

    def layer_norm(self, x: torch.Tensor) -> torch.Tensor:
        deviation = x - x.mean()
        scaled = deviation / torch.sqrt((deviation**2).mean() + 1e-5)
        return scaled * self.parameters["model.attention.norm.weight"] + self.parameters["model.attention.norm.bias"]


class NaiveField:
    """A conditional random field by enumeration of all sequences of labels of one sentence.

    Args:
        emissions: (m, u)
        start, transitions, end: (u,), (u, u), (u,)
        is_possible: whether a sequence of labels is; all are, where it is None.
    """

    def __init__(self, emissions, start, transitions, end, is_possible=None):
        self.scores = {
            path: start[path[0]]
            + sum(emissions[position, label] for position, label in enumerate(path))
            + sum(transitions[before, after] for before, after in pairwise(path))
            + end[path[-1]]
            for path in product(range(emissions.shape[1]), repeat=emissions.shape[0])
            if is_possible is None or is_possible(path)
        }
        self.shape = emissions.shape

    def log_partition(self) -> torch.Tensor:
        return torch.stack(list(self.scores.values())).logsumexp(0)

    def log_likelihood(self, labels: list[int]) -> torch.Tensor:
        return self.scores[tuple(labels)] - self.log_partition()

    def probability(self, is_meant) -> torch.Tensor:
        """Of the sequences that a function is true of."""
        meant = [score for path, score in self.scores.items() if is_meant(path)]
        return (torch.stack(meant).logsumexp(0) - self.log_partition()).exp() if meant else torch.zeros(())

    def marginals(self) -> torch.Tensor:
        """(m, u)"""
        positions, labels = self.shape
        return torch.stack(
            [
                torch.stack([self.probability(lambda path, p=p, k=k: path[p] == k) for k in range(labels)])
                for p in range(positions)
            ]
        )

    def best(self) -> list[int]:
        """The best sequence, of equals the first in the order of `product`."""
        return list(max(self.scores, key=lambda path: self.scores[path]))
