"""Rows about terms of other texts."""

from absa.tasks.absent import with_absent_terms

TEXTS = ["The wine list is long, the fish fresh.", "Nice view!", "Wine?", "No Wi-Fi :-), no WI-FI"]
ROWS = {
    "id": ["1", "1", "2", "3", "4", "4", "4"],
    "text": [TEXTS[0], *TEXTS[:3], *TEXTS[3:] * 3],
    "target": ["wine list", "fish", "view", "Wine", "Wi-Fi", ":-)", "WI-FI"],
    "target_start": [4, 27, 5, 0, 3, 9, 17],
    "target_end": [13, 31, 9, 4, 8, 12, 22],
    "aspect": [""] * 7,
    "label": ["neutral", "positive", "positive", "neutral", "negative", "neutral", "negative"],
}


def test_terms_of_other_texts_are_absent():
    columns = with_absent_terms(ROWS, 4, "none")
    rows = list(zip(*(columns[name] for name in ROWS), strict=True))
    assert [row for row in rows if row[-1] != "none"] == list(zip(*ROWS.values(), strict=True))
    assert [id_ for id_, *_ in rows] == sorted(id_ for id_, *_ in rows)  # behind the text's own
    new = [row for row in rows if row[-1] == "none"]
    assert all(row[3:6] == (None, None, "") for row in new)
    terms = {"1": {"view", "Wi-Fi"}, "2": {"wine list", "fish", "Wine", "Wi-Fi"}, "3": {"fish", "view", "Wi-Fi"}}
    terms["4"] = {"wine list", "fish", "view", "Wine"}  # written as where they are present
    assert {id_: {target for one, _, target, *_ in new if one == id_} for id_ in "1234"} == terms


def test_they_are_drawn_once_and_for_all():
    columns = with_absent_terms(ROWS, 1, "none")
    assert with_absent_terms(ROWS, 1, "none") == columns
    assert 7 < len(columns["id"]) <= 11
