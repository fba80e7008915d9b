"""Fixtures of the AF-LSTM tests: tiny models, whose weights are large enough for differences to show, and inputs."""

from collections.abc import Callable

import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import PreTrainedTokenizerFast

from modeling_af_lstm import AFLstmConfig, AFLstmForSequenceClassification

WORDS = ["[PAD]", "[UNK]", "the", "battery", "life", "is", "good", "but", "screen", "bad", "very", "dull"]


@pytest.fixture(scope="session")
def make_config() -> Callable[..., AFLstmConfig]:
    """A tiny configuration with changes, of sizes that have an effect in the architecture."""

    def make(architecture: str = "af_lstm", **changes) -> AFLstmConfig:
        fields = {"vocab_size": len(WORDS), "num_labels": 3}
        if architecture != "majority":
            fields |= {"embedding_size": 5, "trainable_embeddings": True}
        if architecture not in ("majority", "nbow"):
            fields["hidden_size"] = 5
        return AFLstmConfig(architecture=architecture, **{**fields, **changes})

    return make


@pytest.fixture(scope="session")
def make_model(make_config) -> Callable[..., AFLstmForSequenceClassification]:
    """A tiny classifier in evaluation mode, always with the same weights and statistics; padding has a vector."""

    def make(*arguments, **changes) -> AFLstmForSequenceClassification:
        torch.manual_seed(0)
        model = AFLstmForSequenceClassification(make_config(*arguments, **changes))
        with torch.no_grad():
            for name, value in model.state_dict().items():
                if name.endswith("running_var"):
                    value.uniform_(0.5, 2)
                elif value.is_floating_point():
                    value.normal_(std=0.6)
        return model.eval()

    return make


@pytest.fixture(scope="session")
def make_batch() -> Callable[..., dict[str, torch.Tensor]]:
    """Six pairs: of three texts the two aspects, which stand in them; padded as `padding` says.

    With `marked` the targets of all rows but one have the token type 2, and the aspects are other words.
    """

    def make(padding: str = "right", marked: bool = False) -> dict[str, torch.Tensor]:
        texts = [([3, 5, 2, 7, 5, 2, 9], (1, 3), (6, 7)), ([6, 10, 3, 8], (0, 4), (3, 4)), ([9], (0, 1), (0, 1))]
        rows = []
        for text, *spans in texts:
            for start, end in spans:
                types = [2 if marked and len(rows) != 4 and start <= at < end else 0 for at in range(len(text))]
                aspect = [11, 4] if 2 in types else text[start:end]
                rows.append((text + aspect, types + [1] * len(aspect)))
        longest = max(len(ids) for ids, _ in rows) + 2  # no row fills the batch
        filled = {"input_ids": [], "attention_mask": [], "token_type_ids": []}
        for ids, types in rows:
            pad = longest - len(ids)
            before, after = (pad, 0) if padding == "left" else (0, pad)
            filled["input_ids"].append([0] * before + ids + [0] * after)
            filled["attention_mask"].append([0] * before + [1] * len(ids) + [0] * after)
            filled["token_type_ids"].append([0] * before + types + [0] * after)
        batch = {name: torch.tensor(values) for name, values in filled.items()}
        return {**batch, "labels": torch.tensor([0, 2, 1, 1, -100, 2])}

    return make


@pytest.fixture(scope="session")
def tokenizer() -> PreTrainedTokenizerFast:
    """Of whole words, as a user builds one."""
    words = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=words,
        pad_token="[PAD]",
        unk_token="[UNK]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )
