"""CG-BERT and QACG-BERT one token, head and pair at a time, written from the paper (sections 3.3 to 3.6).

The yardstick for the models: loops instead of tensor algebra, the concatenation [e ; X] instead of its two halves, and
padded keys left out instead of masked. The parameters are read by name from a model's `named_parameters()`, so that
gradients can be compared too. H is the hidden size, h the number of heads, d = H/h, n the number of tokens.
"""

import math
from collections import defaultdict
from collections.abc import Callable
from functools import partial

import torch


class NaiveClassifier:
    """A classifier for one text at a time.

    Args:
        config: QACGBertConfig or CGBertConfig.
        parameters: the parameters of our classifier by name.
    """

    def __init__(self, config, parameters: dict[str, torch.Tensor]):
        self.config = config
        self.parameters = parameters
        self.num_heads = config.num_attention_heads
        self.head_size = config.hidden_size // config.num_attention_heads

    def __call__(
        self, input_ids: list[int], token_type_ids: list[int], attention_mask: list[int], context_id: int
    ) -> dict[str, torch.Tensor | list[torch.Tensor]]:
        """
        Returns:
            `logits` (labels,), and lists with one entry a layer: `hidden_states` (n, H) with the embeddings first,
            `attentions` (h, n, n); for the context-guided layers of QACG-BERT `self_attentions`, `quasi_attentions`
            (h, n, n), `quasi_gates` (h, n, 1).
        """
        keys = [position for position, is_token in enumerate(attention_mask) if is_token]
        context = self.parameters["bert.context_embeddings.weight"][context_id]
        tokens = [self.embed(*token) for token in zip(input_ids, token_type_ids, range(len(input_ids)), strict=True)]
        outputs = defaultdict(list, hidden_states=[torch.stack(tokens)])
        for number in range(self.config.num_hidden_layers):
            layer = f"bert.encoder.layer.{number}"
            is_guided = number >= self.config.num_hidden_layers - (self.config.num_context_layers or 10**6)
            attend = self.attend if is_guided else self.attend_without_context
            attended, weights = attend(f"{layer}.attention.self", context, tokens, keys)
            tokens = [self.finish(layer, token, sum_) for token, sum_ in zip(tokens, attended, strict=True)]
            outputs["hidden_states"].append(torch.stack(tokens))
            for quantity, per_layer in weights.items():
                outputs[quantity].append(per_layer)
        pooled = torch.tanh(self.linear("bert.pooler.dense", tokens[0]))
        outputs["logits"] = self.linear("classifier", pooled)
        return outputs

    def linear(self, name: str, x: torch.Tensor) -> torch.Tensor:
        product = self.parameters[f"{name}.weight"] @ x
        return product + self.parameters[f"{name}.bias"] if f"{name}.bias" in self.parameters else product

    def layer_norm(self, name: str, x: torch.Tensor) -> torch.Tensor:
        deviation = x - x.mean()
        scaled = deviation / torch.sqrt((deviation**2).mean() + self.config.layer_norm_eps)
        return scaled * self.parameters[f"{name}.weight"] + self.parameters[f"{name}.bias"]

    def embed(self, word: int, token_type: int, position: int) -> torch.Tensor:
        kinds = {"word": word, "token_type": token_type, "position": position}
        vectors = [self.parameters[f"bert.embeddings.{kind}_embeddings.weight"][i] for kind, i in kinds.items()]
        return self.layer_norm("bert.embeddings.LayerNorm", sum(vectors))

    def finish(self, layer: str, token: torch.Tensor, attended: torch.Tensor) -> torch.Tensor:
        """BERT's layer behind its attention, for one token."""
        x = self.linear(f"{layer}.attention.output.dense", attended)
        x = self.layer_norm(f"{layer}.attention.output.LayerNorm", x + token)
        inner = self.linear(f"{layer}.intermediate.dense", x)
        inner = inner * (1 + torch.erf(inner / math.sqrt(2))) / 2
        return self.layer_norm(f"{layer}.output.LayerNorm", self.linear(f"{layer}.output.dense", inner) + x)

    def context_matrix(self, name: str, context: torch.Tensor, token: torch.Tensor) -> torch.Tensor:
        """A token's row of C = [e ; X] W_cᵀ + b_c + e (section 3.6), with W_c (H, 2H)."""
        halves = [self.parameters[f"{name}.context_matrix.{half}.weight"] for half in ("from_context", "from_hidden")]
        w_c, b_c = torch.cat(halves, dim=1), self.parameters[f"{name}.context_matrix.from_context.bias"]
        return w_c @ torch.cat([context, token]) + b_c + context

    def project_context(self, name: str, row: torch.Tensor, head: slice) -> torch.Tensor:
        """A token's context query or key in one head, (d,)."""
        if self.config.context_projection == "head":
            return self.linear(name, row[head])
        return self.linear(name, row)[head]

    def attend(self, name: str, context: torch.Tensor, tokens: list[torch.Tensor], keys: list[int]):
        """The outputs of the attention, n of (H,), and its weights by quantity, (h, n, n) or (h, n, 1)."""
        attend_in_head = self.quasi_attend if self.config.model_type == "qacg_bert" else self.softmax_attend
        context_rows = [self.context_matrix(name, context, token) for token in tokens]
        outputs, weights = [], defaultdict(list)
        for number in range(self.num_heads):
            head = slice(number * self.head_size, (number + 1) * self.head_size)
            query, key, value = (
                [self.linear(f"{name}.{part}", token)[head] for token in tokens] for part in ("query", "key", "value")
            )
            context_query, context_key = (
                [self.project_context(f"{name}.{part}", row, head) for row in context_rows]
                for part in ("context_query", "context_key")
            )
            gates = {
                "query": self.gate_arguments(f"{name}.query_gate", query, context_query),
                "key": self.gate_arguments(f"{name}.key_gate", key, context_key),
            }
            of_head = attend_in_head(query, key, context_query, context_key, gates, keys)
            for quantity, matrix in of_head.items():
                weights[quantity].append(torch.stack([torch.stack(row) for row in matrix]))
            outputs.append([sum(row[j] * value[j] for j in keys) for row in of_head["attentions"]])
        outputs = [torch.cat(of_token) for of_token in zip(*outputs, strict=True)]
        return outputs, {quantity: torch.stack(heads) for quantity, heads in weights.items()}

    def attend_without_context(self, name: str, context: None, tokens: list[torch.Tensor], keys: list[int]):
        """BERT's own attention, as `attend` gives it."""
        outputs, weights = [], []
        for number in range(self.num_heads):
            head = slice(number * self.head_size, (number + 1) * self.head_size)
            query, key, value = (
                [self.linear(f"{name}.{part}", token)[head] for token in tokens] for part in ("query", "key", "value")
            )
            rows = [self.softmax_row(q, key, keys) for q in query]
            weights.append(torch.stack([torch.stack(row) for row in rows]))
            outputs.append([sum(row[j] * value[j] for j in keys) for row in rows])
        return [torch.cat(of_token) for of_token in zip(*outputs, strict=True)], {"attentions": torch.stack(weights)}

    def gate_arguments(self, name: str, projected: list[torch.Tensor], context: list[torch.Tensor]):
        """X V + C_X Vᶜ for each token, a number each."""
        return [
            (self.linear(f"{name}.from_hidden", x) + self.linear(f"{name}.from_context", c))[0]
            for x, c in zip(projected, context, strict=True)
        ]

    def softmax_attend(self, query, key, context_query, context_key, gates, keys):
        """Equations 1 to 3 in one head."""
        lam_q, lam_k = [torch.tanh(x) for x in gates["query"]], [torch.tanh(x) for x in gates["key"]]
        query = [(1 - lam) * q + lam * c for lam, q, c in zip(lam_q, query, context_query, strict=True)]
        key = [(1 - lam) * k + lam * c for lam, k, c in zip(lam_k, key, context_key, strict=True)]
        return {"attentions": [self.softmax_row(q, key, keys) for q in query]}

    def quasi_attend(self, query, key, context_query, context_key, gates, keys):
        """Equations 1 and 4 to 8 in one head."""
        alpha, beta, gamma = (
            self.config.quasi_attention_scale,
            self.config.query_gate_scale,
            self.config.key_gate_scale,
        )
        weights = {"attentions": [], "self_attentions": [], "quasi_attentions": [], "quasi_gates": []}
        for i, q in enumerate(query):
            lam = 1 - (beta * torch.sigmoid(gates["query"][i]) + gamma * torch.sigmoid(gates["key"][i]))
            softmax = self.softmax_row(q, key, keys)
            quasi = [alpha * weight for weight in self.quasi_row(context_query[i], context_key, keys)]
            weights["self_attentions"].append(softmax)
            weights["quasi_attentions"].append(quasi)
            weights["quasi_gates"].append([lam])
            weights["attentions"].append([s + lam * a for s, a in zip(softmax, quasi, strict=True)])
        return weights

    def quasi_row(self, q: torch.Tensor, key: list[torch.Tensor], keys: list[int]) -> list[torch.Tensor]:
        """One row of eq. 6 without α, or of another form, over the keys that are no padding, 0 at the others."""
        if self.config.quasi_form == "softmax":
            return self.softmax_row(q, key, keys)
        row = {j: torch.sigmoid(q @ key[j] / math.sqrt(self.head_size)) for j in keys}
        if self.config.quasi_form == "centred":
            row = {j: weight - 1 / 2 for j, weight in row.items()}
        if self.config.quasi_form == "normalised":
            total = sum(row.values())
            row = {j: weight / total for j, weight in row.items()}
        return [row[j] if j in keys else 0 * q.sum() for j in range(len(key))]

    def softmax_row(self, q: torch.Tensor, key: list[torch.Tensor], keys: list[int]) -> list[torch.Tensor]:
        """One row of softmax(QKᵀ/√d) over the keys that are no padding, 0 at the others."""
        exponentials = {j: torch.exp(q @ key[j] / math.sqrt(self.head_size)) for j in keys}
        total = sum(exponentials.values())
        return [exponentials[j] / total if j in keys else 0 * total for j in range(len(key))]


class NaiveGuidance(NaiveClassifier):
    """What the attention of a guided layer gives of one text, around an encoder's own: the values are the encoder's,
    and so are, of QACG, the softmax weights.

    Args:
        config: QACGConfig or CGConfig.
        parameters: of our model without a head, by name.
        layer: number of the layer.
    """

    def __init__(self, config, parameters: dict[str, torch.Tensor], layer: int):
        super().__init__(config, parameters)
        self.name = f"guidance.{layer}"
        encoder = config.encoder_config
        kind = getattr(encoder, "layer_types", [""] * (layer + 1))[layer]
        self.reach = encoder.sliding_window if kind == "sliding_attention" else math.inf
        rotary = getattr(encoder, "rope_parameters", None)
        self.theta = rotary[kind]["rope_theta"] if rotary else None

    def attended(
        self,
        context: torch.Tensor,
        tokens: torch.Tensor,
        projected: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
        softmax: torch.Tensor,
        score: Callable[[int, torch.Tensor, torch.Tensor, int, int], torch.Tensor],
    ) -> torch.Tensor:
        """
        Args:
            context: its embedding, (H,).
            tokens: what the layer's projections read, (n, H).
            projected: queries without positions, keys without positions, values, (n, H) each.
            softmax: the encoder's own weights, (h, n, n).
            score: the encoder's own, of a head, a query, a key and the positions of both.
        Returns:
            (n, H)
        """
        rows, heads = [self.context_matrix(self.name, context, token) for token in tokens], []
        for number in range(self.num_heads):
            head = slice(number * self.head_size, (number + 1) * self.head_size)
            query, key, value = ([token[head] for token in of_all] for of_all in projected)
            context_query, context_key = (
                [self.project_context(f"{self.name}.context_{part}", row, head) for row in rows]
                for part in ("query", "key")
            )
            gates = {
                "query": self.gate_arguments(f"{self.name}.query_gate", query, context_query),
                "key": self.gate_arguments(f"{self.name}.key_gate", key, context_key),
            }
            if self.config.model_type == "qacg":
                weights = self.around(softmax[number], context_query, context_key, gates)
            else:
                weights = self.mixed(partial(score, number), query, key, context_query, context_key, gates)
            heads.append(torch.stack([sum(row[j] * value[j] for j in row) for row in weights]))
        return torch.cat(heads, dim=1)

    def keys(self, i: int, length: int) -> list[int]:
        """The positions that one looks at."""
        return [j for j in range(length) if abs(i - j) <= self.reach]

    def around(self, softmax: torch.Tensor, context_query, context_key, gates) -> list[dict[int, torch.Tensor]]:
        """Equations 4 to 8 in one head, a weight for each key that a query looks at."""
        config, weights = self.config, []
        for i in range(len(softmax)):
            of_query, of_key = (torch.sigmoid(gates[part][i]) for part in ("query", "key"))
            lam = 1 - (config.query_gate_scale * of_query + config.key_gate_scale * of_key)
            keys = self.keys(i, len(softmax))
            quasi = self.quasi_row(context_query[i], context_key, keys)
            weights.append({j: softmax[i, j] + lam * config.quasi_attention_scale * quasi[j] for j in keys})
        return weights

    def mixed(
        self, score: Callable[..., torch.Tensor], query, key, context_query, context_key, gates
    ) -> list[dict[int, torch.Tensor]]:
        """Equations 1 to 3 in one head, as `around`."""
        lam_q, lam_k = [torch.tanh(x) for x in gates["query"]], [torch.tanh(x) for x in gates["key"]]
        query = [(1 - lam) * q + lam * c for lam, q, c in zip(lam_q, query, context_query, strict=True)]
        key = [(1 - lam) * k + lam * c for lam, k, c in zip(lam_k, key, context_key, strict=True)]
        query, key = ([self.turned(one, i) for i, one in enumerate(of_all)] for of_all in (query, key))
        weights = []
        for i, q in enumerate(query):
            scores = {j: score(q, key[j], i, j) for j in self.keys(i, len(key))}
            total = sum(torch.exp(score) for score in scores.values())
            weights.append({j: torch.exp(score) / total for j, score in scores.items()})
        return weights

    def turned(self, vector: torch.Tensor, position: int) -> torch.Tensor:
        """By a rotary position: pairs of numbers, half the vector apart, as points of a plane."""
        if self.theta is None:
            return vector
        half = len(vector) // 2
        angles = [position * self.theta ** (-2 * pair / len(vector)) for pair in range(half)]
        turned = [vector[i] * math.cos(a) - vector[half + i] * math.sin(a) for i, a in enumerate(angles)]
        turned += [vector[half + i] * math.cos(a) + vector[i] * math.sin(a) for i, a in enumerate(angles)]
        return torch.stack(turned)
