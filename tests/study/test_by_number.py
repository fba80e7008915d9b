"""F1 by the number of gold tuples, on answers of which it is known how many are right."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import by_number


def test_sentences_by_their_gold_tuples(tmp_path: Path):
    tuples, predicted = [], []
    for number, num_right in ((1, 1), (1, 0), (3, 3), (4, 0), (5, 2), (9, 5)):
        gold = [{"target": [n, n + 1], "opinion": [9, 10], "label": "positive"} for n in range(number)]
        tuples.append(gold)
        predicted.append([*gold[:num_right], *({**one, "label": "negative"} for one in gold[num_right:])])
    table = pa.table({"subtask": ["aste"] * len(tuples), "tuples": tuples, "predicted": predicted})
    pq.write_table(table, tmp_path / "test_tuples.parquet")
    assert by_number.look(tmp_path) == {"1": 1 / 2, "2": None, "3 or 4": 3 / 7, "5 and more": 7 / 14}
