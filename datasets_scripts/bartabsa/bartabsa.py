"""The data of BARTABSA (Yan et al. 2021): four annotations of SemEval's reviews, in one format."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from datasets import ClassLabel

from ..source_files import parse_json, quoted, read_utf8, value_error
from ..splits import normalize_text, part_train
from ..tuples import (
    LABEL_OF,
    LABELS,
    SPAN,
    TuplesBuilder,
    checked_label,
    checked_span,
    checked_words,
    sentence_of,
    tuple_features,
)

DOMAINS = {"penga": ("14lap", "14res", "15res", "16res"), "wang": ("14lap", "14res", "15res")}
DOMAINS |= {"pengb": DOMAINS["penga"], "fan": DOMAINS["penga"]}
PLACEHOLDER = {"term": []}  # of wang, for a sentence without targets or opinions
PENG, FAN, WANG = "AEOESC", "AOE", "AE-OE"  # what the records call their task
FILE_OF = {"train": "train_convert.json", "validation": "dev_convert.json", "test": "test_convert.json"}


def _files_of(part: str, domain: str) -> dict[str, str]:
    """fan has no development split; the texts of pengb's are those that are held out of its train."""
    folders = {"validation": "pengb"} if part == "fan" else {}
    return {split: f"{folders.get(split, part)}/{domain}/{name}" for split, name in FILE_OF.items()}


SOURCES = {f"{part}_{domain}": _files_of(part, domain) for part, domains in DOMAINS.items() for domain in domains}
TRIPLETS = tuple_features(target=SPAN, opinion=SPAN, label=ClassLabel(names=LABELS))
PAIRS = tuple_features(target=SPAN, opinion=SPAN)
APART = tuple_features(target=SPAN, opinion=SPAN, label=ClassLabel(names=[*LABELS, "conflict"]))
FEATURES_OF = {"penga": TRIPLETS, "pengb": TRIPLETS, "fan": PAIRS, "wang": APART}


class BARTABSA(TuplesBuilder):
    """Sentences of reviews with their tuples; splits train, validation and test. Columns: see `TuplesBuilder`.

    - penga (D20a of the paper, from Peng et al. 2020) and pengb (D20b, ASTE-Data-V2): triplets of target, opinion and
      label. The two are split anew: most texts of a validation split of penga stand in *train* of pengb. Do not mix
      them, nor tune on the one and report the other.
    - fan (D19, Fan et al. 2019): pairs of target and opinion, without labels. Its rows, one for each target, are put
      together by sentence. It has no development split: validation are the sentences of train whose texts are in
      that of pengb.
    - wang (D17, Wang et al. 2017): targets with a label, which may be conflict or null, and opinions without a target,
      each a tuple whose other fields are null.

    Args:
        config_name: "penga_14lap" and so on: penga, pengb or fan with 14lap, 14res, 15res or 16res; wang with all but
            the last.
        data_dir: folder with penga/14lap/train_convert.json and so on; for fan it needs pengb too.
        **kwargs: those of `TuplesBuilder`.
    """

    BASE_URL = "https://github.com/yhcc/BARTABSA/tree/main/data"
    SOURCES: ClassVar = SOURCES
    FEATURES: ClassVar = {name: FEATURES_OF[name.partition("_")[0]] for name in SOURCES}

    @staticmethod
    def read(file: Path) -> list[dict]:
        """Sentences of one file; a sentence's id is the number of its record, of its first one in fan, from 0."""
        records = parse_json(read_utf8(file), file)
        if not isinstance(records, list):
            raise value_error(str(file), records, "is no list of records; get the file anew")
        sentences = [_read_record(f"{file}, record {number}", str(number), r) for number, r in enumerate(records)]
        return _put_together(sentences) if records and records[0].get("task") == FAN else sentences

    def read_splits(self, files: Mapping[str, Path]) -> dict[str, list[dict]]:
        splits = super().read_splits(files)
        if not self.config.name.startswith("fan"):
            return splits
        held_out = {normalize_text(sentence["text"]) for sentence in splits.pop("validation")}
        return part_train(splits, [normalize_text(sentence["text"]) for sentence in splits["train"]], held_out)


def _put_together(sentences: list[dict]) -> list[dict]:
    by_text = {}
    for sentence in sentences:
        first = by_text.setdefault(sentence["text"], sentence)
        if first is not sentence:
            first["tuples"] += sentence["tuples"]
    return list(by_text.values())


def _read_record(place: str, id_: str, record: object) -> dict:
    if not isinstance(record, dict):
        raise value_error(place, record, "is no record; write an object with words, aspects and opinions")
    words = checked_words(record.get("words"), f"{place}, field 'words'")
    targets = _read_terms(place, words, record, "aspects")
    opinions = _read_terms(place, words, record, "opinions")
    task = record.get("task", PENG)  # pengb has none
    if task == PENG:
        tuples = _paired(place, targets, opinions)
    elif task == FAN:
        if len(targets) != 1:
            raise value_error(f"{place}, field 'aspects'", record["aspects"], "is not one aspect; write one")
        tuples = [{"target": targets[0]["span"], "opinion": opinion["span"]} for opinion in opinions]
    elif task == WANG:
        tuples = [
            *({"target": target["span"], "opinion": None, "label": target["label"]} for target in targets),
            *({"target": None, "opinion": opinion["span"], "label": None} for opinion in opinions),
        ]
    else:
        raise value_error(f"{place}, field 'task'", task, f"is unknown; write {PENG}, {FAN} or {WANG}")
    return sentence_of(id_, words, tuples)


def _paired(place: str, targets: list[dict], opinions: list[dict]) -> list[dict]:
    if len(targets) != len(opinions):
        counts = f"{len(targets)} aspects and {len(opinions)} opinions"
        raise value_error(place, counts, "are no triplets; write as many of each")
    for target in targets:
        if target["label"] not in LABELS:
            remedy = f"is no label of a triplet; write the polarity of one of {', '.join(LABELS)}"
            raise value_error(f"{place}, field 'aspects'", target["label"], remedy)
    return [
        {"target": target["span"], "opinion": opinion["span"], "label": target["label"]}
        for target, opinion in zip(targets, opinions, strict=True)
    ]


def _read_terms(place: str, words: list[str], record: dict, field: str) -> list[dict]:
    """Span and label of each aspect or opinion; an aspect of wang may have no label, as opinions have none."""
    place = f"{place}, field {field!r}"
    listed = record.get(field)
    if not isinstance(listed, list) or not all(isinstance(term, dict) for term in listed):
        raise value_error(place, listed, "is no list of objects; write one for each term")
    if listed == [PLACEHOLDER]:
        return []
    terms = []
    for term in listed:
        start, end = checked_span(term.get("from"), term.get("to"), words, place)
        if term.get("term") != words[start:end]:
            raise value_error(place, term, f"is not {quoted(words[start:end])}; correct the term or its numbers")
        label = checked_label(term["polarity"], place, LABEL_OF) if "polarity" in term else None
        terms.append({"span": (start, end), "label": label})
    return terms
