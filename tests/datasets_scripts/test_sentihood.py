import json
from collections import Counter

import pytest

from datasets_scripts import SentiHood, load_absa_dataset


def labels_of(rows):
    names = rows.features["label"].names
    return Counter(names[label] for label in rows["label"])


def cells(row, features):
    return tuple(features[column].int2str(row[column]) for column in ("target", "aspect", "label"))


def test_counts_are_those_of_the_literature(sentihood_dir, rows_cache):
    splits = load_absa_dataset("sentihood", data_dir=sentihood_dir, cache_dir=rows_cache)
    assert {split: rows.num_rows for split, rows in splits.items()} == {
        "train": 15008,
        "validation": 3748,
        "test": 7516,
    }
    assert labels_of(splits["train"]) == {"none": 12548, "positive": 1626, "negative": 834}
    assert labels_of(splits["validation"]) == {"none": 3138, "positive": 406, "negative": 204}
    assert labels_of(splits["test"]) == {"none": 6300, "positive": 810, "negative": 406}


def test_columns(sentihood_dir, rows_cache):
    features = load_absa_dataset("sentihood", data_dir=sentihood_dir, cache_dir=rows_cache)["test"].features
    assert list(features) == ["id", "text", "target", "aspect", "label"]
    assert features["target"].names == ["LOCATION1", "LOCATION2"]
    assert features["aspect"].names == ["general", "price", "transit-location", "safety"]
    assert features["label"].names == ["none", "positive", "negative"]


def test_rows_keep_the_text_as_in_the_source(sentihood_dir, rows_cache):
    rows = load_absa_dataset("sentihood", data_dir=sentihood_dir, cache_dir=rows_cache)["train"]
    first = json.loads((sentihood_dir / "sentihood-train.json").read_text(encoding="utf-8"))[0]
    assert first["text"] != first["text"].strip()
    assert rows[0]["text"] == first["text"]
    assert rows[0]["id"] == str(first["id"])


def test_raw_has_every_opinion_as_annotated(sentihood_dir, rows_cache):
    builder = SentiHood(config_name="raw", data_dir=sentihood_dir, cache_dir=rows_cache)
    builder.download_and_prepare()
    for split, name in (("train", "train"), ("validation", "dev"), ("test", "test")):
        source = json.loads((sentihood_dir / f"sentihood-{name}.json").read_text(encoding="utf-8"))
        for record in source:
            record["id"] = str(record["id"])
        assert builder.as_dataset(split=split).to_list() == source


def test_rows_of_a_sentence(write_sentihood, tmp_path):
    text = "LOCATION2 is dear, LOCATION1 is safe"
    opinions = [
        ("LOCATION2", "price", "Negative"),
        ("LOCATION1", "safety", "Positive"),
        ("LOCATION1", "nightlife", "Negative"),
    ]
    rows = load_absa_dataset("sentihood", data_dir=write_sentihood(train=[(text, opinions)]), cache_dir=tmp_path)[
        "train"
    ]
    # 2 targets x 4 aspects; nightlife is none of the four.
    assert [cells(row, rows.features) for row in rows] == [
        ("LOCATION1", "general", "none"),
        ("LOCATION1", "price", "none"),
        ("LOCATION1", "transit-location", "none"),
        ("LOCATION1", "safety", "positive"),
        ("LOCATION2", "general", "none"),
        ("LOCATION2", "price", "negative"),
        ("LOCATION2", "transit-location", "none"),
        ("LOCATION2", "safety", "none"),
    ]


def test_the_last_annotation_of_a_pair_counts(write_sentihood, tmp_path):
    opinions = [("LOCATION1", "safety", "Negative"), ("LOCATION1", "safety", "Positive")]
    source = write_sentihood(train=[("LOCATION1 is safe", opinions)])
    rows = load_absa_dataset("sentihood", data_dir=source, cache_dir=tmp_path)["train"]
    assert labels_of(rows) == {"none": 3, "positive": 1}
    raw = SentiHood(config_name="raw", data_dir=source, cache_dir=tmp_path)
    raw.download_and_prepare()
    assert [opinion["sentiment"] for opinion in raw.as_dataset(split="train")[0]["opinions"]] == [
        "Negative",
        "Positive",
    ]


@pytest.mark.parametrize(
    ("opinion", "field", "value"),
    [
        (("LOCATION1", "safety", "Neutral"), "sentiment", "Neutral"),
        (("LOCATION3", "safety", "Positive"), "target_entity", "LOCATION3"),
        (("LOCATION1", "prices", "Positive"), "aspect", "prices"),
    ],
)
def test_unknown_value_is_named(write_sentihood, tmp_path, opinion, field, value):
    source = write_sentihood(dev=[("LOCATION1", []), ("LOCATION1 is safe", [opinion])])
    with pytest.raises(ValueError, match=rf"sentihood-dev.json, sentence 1, field '{field}': '{value}' is unknown"):
        load_absa_dataset("sentihood", data_dir=source, cache_dir=tmp_path)


def test_opinion_on_a_target_that_is_not_in_the_text(write_sentihood, tmp_path):
    source = write_sentihood(test=[("LOCATION1 is safe", [("LOCATION2", "safety", "Positive")])])
    with pytest.raises(ValueError, match=r"sentihood-test.json, sentence 0, .*LOCATION2 does not occur"):
        load_absa_dataset("sentihood", data_dir=source, cache_dir=tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[\n{]", r"sentihood-train.json, line 2: invalid JSON"),
        ("{}", r"expected a JSON list"),
        ("[]", r"expected a JSON list"),
        ('[{"id": 1, "text": "LOCATION1"}]', r"position 0: expected an object with id, text and opinions"),
        ('[{"id": null, "text": "LOCATION1", "opinions": []}]', r"field 'id': None"),
        ('[{"id": " ", "text": "LOCATION1", "opinions": []}]', r"field 'id': ' ' is neither"),
        ('[{"id": 1, "text": " ", "opinions": []}]', r"sentence 1, field 'text': ' '"),
        ('[{"id": 1, "text": "LOCATION1", "opinions": null}]', r"sentence 1, field 'opinions': None"),
        ('[{"id": 1, "text": "LOCATION1", "opinions": ["good"]}]', r"sentence 1, field 'opinions': 'good'"),
        (
            '[{"id": 1, "text": "LOCATION1", "opinions": []}, {"id": 1, "text": "in LOCATION1", "opinions": []}]',
            r"sentence 1: the id occurs twice",
        ),
    ],
)
def test_malformed_file(write_sentihood, tmp_path, content, message):
    source = write_sentihood()
    (source / "sentihood-train.json").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        load_absa_dataset("sentihood", data_dir=source, cache_dir=tmp_path)


def test_file_that_is_not_utf8(write_sentihood, tmp_path):
    source = write_sentihood()
    (source / "sentihood-train.json").write_bytes('[\n{"text": "café"}]'.encode("latin-1"))
    with pytest.raises(ValueError, match=r"sentihood-train.json, line 2: byte 0xe9 is not UTF-8"):
        load_absa_dataset("sentihood", data_dir=source, cache_dir=tmp_path)


def test_file_in_utf16_is_told_so(write_sentihood, tmp_path):
    source = write_sentihood()
    (source / "sentihood-train.json").write_bytes("[]".encode("utf-16"))
    with pytest.raises(ValueError, match=r"^\S*sentihood-train.json: begins as UTF-16 or UTF-32, .* save the file as"):
        load_absa_dataset("sentihood", data_dir=source, cache_dir=tmp_path)


def test_deduplicate_is_true_or_false(write_sentihood):
    with pytest.raises(ValueError, match="deduplicate='no': give True or False"):
        SentiHood(data_dir=write_sentihood(), deduplicate="no")


def test_missing_file_is_named(write_sentihood):
    source = write_sentihood()
    (source / "sentihood-dev.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"lacks sentihood-dev.json; get what is missing from https://"):
        SentiHood(data_dir=source)
