import json

import pytest

from datasets_scripts import SentiHood, load_absa_dataset


def test_columns(sentihood_dir, rows_cache):
    features = load_absa_dataset("sentihood", data_dir=sentihood_dir, cache_dir=rows_cache)["test"].features
    assert list(features) == ["id", "text", "target", "aspect", "label"]
    assert features["target"].names == ["LOCATION1", "LOCATION2"]
    assert features["aspect"].names == ["general", "price", "transit-location", "safety"]
    assert features["label"].names == ["none", "positive", "negative"]


def test_raw_has_every_text_and_opinion_as_annotated(sentihood_dir, rows_cache):
    builder = SentiHood(config_name="raw", data_dir=sentihood_dir, cache_dir=rows_cache)
    builder.download_and_prepare()
    for split, name in (("train", "train"), ("validation", "dev"), ("test", "test")):
        source = json.loads((sentihood_dir / f"sentihood-{name}.json").read_text(encoding="utf-8"))
        for record in source:
            record["id"] = str(record["id"])
        assert builder.as_dataset(split=split).to_list() == source


def rows_of(text, *opinions):
    fields = ("target_entity", "aspect", "sentiment")
    sentence = {"id": "1", "text": text, "opinions": [dict(zip(fields, opinion, strict=True)) for opinion in opinions]}
    return {(row["target"], row["aspect"]): row["label"] for row in SentiHood.rows(sentence)}


def test_rows_of_a_sentence():
    rows = rows_of(
        " LOCATION2 is dear, LOCATION1s is safe",
        ("LOCATION2", "price", "Negative"),
        ("LOCATION1", "safety", "Negative"),
        ("LOCATION1", "safety", "Positive"),  # of a pair annotated twice the last counts
        ("LOCATION1", "nightlife", "Negative"),  # none of the four
    )
    aspects = ("general", "price", "transit-location", "safety")
    assert list(rows) == [(target, aspect) for target in ("LOCATION1", "LOCATION2") for aspect in aspects]
    assert [key for key, label in rows.items() if label == "positive"] == [("LOCATION1", "safety")]
    assert [key for key, label in rows.items() if label == "negative"] == [("LOCATION2", "price")]
    assert {target for target, _ in rows_of("LOCATION10, not LOCATION2")} == {"LOCATION2"}


def record(**changes):
    opinion = {"target_entity": "LOCATION1", "aspect": "price", "sentiment": "Positive"}
    changed = {field: changes.pop(field) for field in opinion if field in changes}
    return {"id": 1, "text": "LOCATION1 is dear", "opinions": [opinion | changed]} | changes


@pytest.mark.parametrize(
    ("records", "told"),
    [
        ({}, ": {} is not a list of sentences"),
        ([], r": \[\] is not a list of sentences"),
        ([{"id": 1, "text": "LOCATION1"}], ", sentence at position 0: .* is not an object with id, text and opinions"),
        ([record(), record(id=None)], ", sentence at position 1, field 'id': None is not a string"),
        ([record(id=" ")], ", sentence at position 0, field 'id': ' ' is empty"),
        ([record(id=True)], "field 'id': True is not a string"),
        ([record(), record()], ", sentence 1, field 'id': '1' occurs twice"),
        ([record(text=" ")], ", sentence 1, field 'text': ' ' is empty"),
        ([record(text=None)], ", sentence 1, field 'text': None is not a string"),
        ([record(opinions=None)], ", sentence 1, field 'opinions': None is not a list"),
        ([record(opinions=["good"])], ", sentence 1, field 'opinions': 'good' is not an object"),
        (
            [record(sentiment="Neutral")],
            ", sentence 1, field 'sentiment': 'Neutral' is unknown; write one of Positive",
        ),
        ([record(target_entity="LOCATION3")], "field 'target_entity': 'LOCATION3' is unknown"),
        ([record(aspect=["price"])], r"field 'aspect': \['price'\] is unknown; write one of general, price"),
        ([record(target_entity="LOCATION2")], "field 'target_entity': 'LOCATION2' does not occur in 'LOCATION1 is"),
    ],
)
def test_malformed_file(tmp_path, records, told):
    file = tmp_path / "sentihood-dev.json"
    file.write_text(json.dumps(records), encoding="utf-8")
    with pytest.raises(ValueError, match=f"^{file}{told}" if told.startswith((",", ":")) else told):
        SentiHood.read(file)
