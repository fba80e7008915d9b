"""The one record of what a text says, whichever family of models has read it."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import pyarrow as pa


@dataclass(frozen=True)
class Opinion:
    """What a text says about something. A field is None where the model's task has no such thing.

    Args:
        text_id: of the text: the user's own, or its number among the texts that were given.
        target: the thing that is spoken of: a name asked about, or the words of the text that name it.
        target_start, target_end: where the target stands: `text[target_start:target_end]` are its words.
        aspect: the category of what is said of it, such as "price".
        opinion: the words that say it.
        opinion_start, opinion_end: where they stand.
        label: what is said, such as "positive"; None where the model abstains.
        score: the calibrated probability of the most probable label; of the whole answer, where a model generates it.
            None where the model could not be asked.
        probabilities: of every label.
    """

    text_id: str | int
    target: str | None = None
    target_start: int | None = None
    target_end: int | None = None
    aspect: str | None = None
    opinion: str | None = None
    opinion_start: int | None = None
    opinion_end: int | None = None
    label: str | None = None
    score: float | None = None
    probabilities: Mapping[str, float] | None = None


SCHEMA = pa.schema(
    {
        "text_id": pa.string(),
        "target": pa.string(),
        "target_start": pa.int64(),
        "target_end": pa.int64(),
        "aspect": pa.string(),
        "opinion": pa.string(),
        "opinion_start": pa.int64(),
        "opinion_end": pa.int64(),
        "label": pa.string(),
        "score": pa.float64(),
        "probabilities": pa.map_(pa.string(), pa.float64()),
    }
)


def from_answer(answer: Mapping[str, Any], text_id: str | int) -> Opinion:
    """An opinion from an answer of a family's pipeline: those of its keys that an opinion has; "" stands for None."""
    known = {field.name for field in fields(Opinion)}
    return Opinion(
        text_id, **{name: None if value == "" else value for name, value in answer.items() if name in known}
    )


def to_table(opinions: Iterable[Opinion]) -> pa.Table:
    """Opinions as a table with `SCHEMA`, for parquet or `to_pandas()`."""
    rows = [{**asdict(opinion), "text_id": str(opinion.text_id)} for opinion in opinions]
    for row in rows:
        row["probabilities"] = None if row["probabilities"] is None else list(row["probabilities"].items())
    return pa.Table.from_pylist(rows, schema=SCHEMA)
