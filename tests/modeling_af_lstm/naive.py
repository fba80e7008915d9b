"""AF-LSTM and its baselines one word, component and row at a time, written from the papers' equations.

The yardstick for the model: loops instead of tensor algebra, rows without padding, no FFT. The parameters are read by
name from a model's `named_parameters()` and buffers, so that gradients can be compared too.
"""

import torch


class NaiveModel:
    """A classifier for one text and one aspect at a time.

    Args:
        config: AFLstmConfig.
        parameters: the parameters and buffers of our classifier by name.
    """

    def __init__(self, config, parameters: dict[str, torch.Tensor]):
        self.config = config
        self.parameters = parameters

    def __call__(self, text: list[int], aspect: list[int], span: tuple[int, int]) -> dict[str, torch.Tensor]:
        """
        Args:
            text, aspect: ids of the words.
            span: of the target in the text, [start, end).
        Returns:
            `logits` (labels,), and of what has them `states` (n, d), `attentions` (n,) and `memory` (n, d).
        """
        config = self.config
        if config.architecture == "majority":
            return {"logits": self.parameters["classifier.bias"]}
        words = [self.vector(word) for word in text]
        aspect = sum(self.vector(word) for word in aspect)
        found = {}
        if config.architecture == "nbow":
            representation = sum(words)
        elif config.architecture == "lstm":
            states = self.read("lstm", words)
            found["states"] = torch.stack(states)
            representation = states[-1]
        elif config.architecture == "td_lstm":
            start, end = span
            left = self.read("lstm", words[:end])
            right = self.read("right_lstm", words[start:][::-1])
            representation = torch.cat([left[-1], right[-1]])
        else:
            if config.architecture == "atae_lstm":
                words = [torch.cat([word, aspect]) for word in words]
            states = self.read("lstm", words)
            found["states"] = torch.stack(states)
            if config.architecture == "af_lstm":
                memory = self.memory(states, aspect)
                found["memory"] = torch.stack(memory)
                scores = [self.score(self.linear("attention.association", m)) for m in memory]
            else:
                of_aspect = self.linear("attention.aspect", aspect)
                scores = [self.score(torch.cat([self.linear("attention.states", h), of_aspect])) for h in states]
            weights = [torch.exp(score) for score in scores]
            found["attentions"] = torch.stack([weight / sum(weights) for weight in weights])
            representation = sum(weight * state for weight, state in zip(found["attentions"], states, strict=True))
            if config.architecture != "af_lstm" or config.use_last_state:
                representation = torch.tanh(
                    self.linear("fusion.attended", representation) + self.linear("fusion.last_state", states[-1])
                )
        logits = self.parameters["classifier.weight"] @ representation + self.parameters["classifier.bias"]
        return {"logits": logits, **found}

    def linear(self, name: str, x: torch.Tensor) -> torch.Tensor:
        return self.parameters[f"encoder.{name}.weight"] @ x

    def score(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear("attention.score", torch.tanh(x))[0]

    def vector(self, word: int) -> torch.Tensor:
        vector = self.parameters["encoder.embeddings.weight"][word]
        return self.linear("embedding_projection", vector) if self.config.has_projection else vector

    def read(self, name: str, words: list[torch.Tensor]) -> list[torch.Tensor]:
        """An LSTM, cell by cell (eq. 1)."""
        weight_in, weight_state, bias_in, bias_state = (
            self.parameters[f"encoder.{name}.{kind}_l0"] for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        size = self.config.hidden_size
        state = cell = words[0].new_zeros(size)
        states = []
        for x in words:
            sums = weight_in @ x + bias_in + weight_state @ state + bias_state
            enter, keep, new, leave = (sums[part * size : (part + 1) * size] for part in range(4))
            cell = torch.sigmoid(keep) * cell + torch.sigmoid(enter) * torch.tanh(new)
            state = torch.sigmoid(leave) * torch.tanh(cell)
            states.append(state)
        return states

    def memory(self, states: list[torch.Tensor], aspect: torch.Tensor) -> list[torch.Tensor]:
        """Equations 2 to 5, by the double sum."""
        s = self.normalise(aspect, "aspect")
        d = len(s)
        memory = []
        for state in states:
            h = self.normalise(state, "states")
            m = []
            for k in range(d):
                if self.config.association == "mul":
                    m.append(h[k] * s[k])
                else:
                    sign = {"corr": 1, "conv": -1}[self.config.association]
                    m.append(sum(h[i] * s[(k + sign * i) % d] for i in range(d)))
            memory.append(torch.stack(m))
        return memory

    def normalise(self, vector: torch.Tensor, which: str) -> torch.Tensor:
        norm = (vector**2).sum().sqrt()
        if self.config.normalization == "unit_ball":
            return vector / max(1, norm)
        if self.config.normalization == "unit":
            return vector / norm
        if self.config.normalization == "batch":  # in evaluation mode
            weight, bias, mean, variance = (
                self.parameters[f"encoder.normalization.{which}.{name}"]
                for name in ("weight", "bias", "running_mean", "running_var")
            )
            return (vector - mean) / (variance + 1e-5).sqrt() * weight + bias
        return vector
