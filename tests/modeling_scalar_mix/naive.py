"""The scalar mix one row, token, layer and component at a time, written from the equation.

The yardstick for the model: loops instead of tensor algebra, and rows without padding. The parameters are read by name
from a model's `named_parameters()`, so that gradients can be compared too. What the encoder gives is taken as it is.
"""

import torch


class NaiveMix:
    """A classifier of one row at a time.

    Args:
        config: ScalarMixConfig.
        parameters: the parameters of our classifier by name.
    """

    def __init__(self, config, parameters: dict[str, torch.Tensor]):
        self.config = config
        self.parameters = parameters

    def shares(self) -> list[torch.Tensor | float]:
        """s = softmax(w), of L + 1 layers."""
        count = self.config.encoder_config.num_hidden_layers + 1
        if self.config.mix == "uniform":
            return [1 / count] * count
        if self.config.mix == "last":
            return [0.0] * (count - 1) + [1.0]
        powers = [weight.exp() for weight in self.parameters["model.mix.weights"]]
        return [power / sum(powers) for power in powers]

    def normalised(self, state: list[torch.Tensor]) -> list[torch.Tensor]:
        """A state less its mean, divided by its standard deviation."""
        if not self.config.layer_norm:
            return state
        mean = sum(state) / len(state)
        variance = sum((number - mean) ** 2 for number in state) / len(state)
        return [(number - mean) / (variance + 1e-5) ** 0.5 for number in state]

    def mix(self, states: list[torch.Tensor]) -> list[torch.Tensor]:
        """R of one token from its states h_0 to h_L, (d,) each."""
        layers = [self.normalised(list(state)) for state in states]
        gamma = self.parameters["model.mix.gamma"][0]
        shares = self.shares()
        components = zip(*layers, strict=True)
        return [gamma * sum(s * h for s, h in zip(shares, component, strict=True)) for component in components]

    def __call__(self, layers: list[torch.Tensor], ids: list[int]) -> torch.Tensor:
        """Logits (labels,) of a row, from its layers h_0 to h_L, (n, d) each, and the ids of its tokens."""
        words = [token for token, id_ in enumerate(ids) if id_ not in self.config.special_token_ids]
        mixed = [self.mix([layer[token] for layer in layers]) for token in words]
        pooled = [sum(numbers) / len(words) for numbers in zip(*mixed, strict=True)]
        if self.config.dense_size is not None:
            pooled = [number.tanh() for number in self.linear("dense", pooled)]
        return torch.stack(self.linear("classifier", pooled))

    def linear(self, name: str, vector: list[torch.Tensor]) -> list[torch.Tensor]:
        weight, bias = self.parameters[f"{name}.weight"], self.parameters[f"{name}.bias"]
        return [sum(w * x for w, x in zip(row, vector, strict=True)) + b for row, b in zip(weight, bias, strict=True)]

    def loss(self, logits: list[torch.Tensor], labels: list[int]) -> torch.Tensor:
        """Mean cross-entropy, and the penalty of w."""
        losses = [row.exp().sum().log() - row[label] for row, label in zip(logits, labels, strict=True)]
        loss = sum(losses) / len(losses)
        if self.config.mix_l2:
            loss = loss + self.config.mix_l2 * sum(weight**2 for weight in self.parameters["model.mix.weights"])
        return loss
