"""Rows about terms of other texts."""

from absa.tasks.absent import with_absent_terms

ROWS = {
    "id": ["1", "1", "2", "3"],
    "text": [
        "The wine list is long, the fish fresh.",
        "The wine list is long, the fish fresh.",
        "Nice view!",
        "Wine?",
    ],
    "target": ["wine list", "fish", "view", "Wine"],
    "target_start": [4, 27, 5, 0],
    "target_end": [13, 31, 9, 4],
    "aspect": [""] * 4,
    "label": ["neutral", "positive", "positive", "neutral"],
}


def test_terms_of_other_texts_are_absent():
    columns = with_absent_terms(ROWS, 2, "none")
    assert all(column[:4] == ROWS[name] for name, column in columns.items())
    assert len({len(column) for column in columns.values()}) == 1
    new = list(zip(*(columns[name][4:] for name in ("id", "target", "aspect", "label", "target_start")), strict=True))
    assert ("1", "", "view", "none", None) in new
    assert not {("1", "wine"), ("3", "wine list")} & {(id_, aspect) for id_, _, aspect, *_ in new}
    assert {id_ for id_, *_ in new} == {"1", "2", "3"}
    assert with_absent_terms(ROWS, 2, "none") == columns
    assert len(with_absent_terms(ROWS, 1, "none")["id"]) <= 7
