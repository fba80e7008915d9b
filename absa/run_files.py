"""The JSON files that a training run leaves behind, checked before a card is written from them."""

import json
from pathlib import Path

from absa.outside_text import read_text, told

KINDS = {
    dict: "an object",
    list: "a list",
    str: "a text",
    int: "a whole number",
    float: "a number",
    type(None): "null",
}
REMEDY = "copy it again from the run, or remove it, and the card has no figures"
LARGEST = 1 << 25  # bytes; the log of 100,000 steps has fewer


def read_results(file: Path) -> dict:
    """What a run has written as JSON, without tokens.

    Raises:
        ValueError: if it is too large, or no JSON object in UTF-8.
    """
    content = read_text(file, LARGEST)
    try:
        results = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} is no JSON ({told(error)}): {REMEDY}") from None
    return part(file, results, kinds=(dict,))


def part(file: Path, results, *keys: str, kinds: tuple[type, ...]):
    """What lies under some keys, one below the other, of a JSON file.

    Raises:
        ValueError: if it is not there, or of another kind; names the file, the keys and the value.
    """
    name, value = ".".join(keys) or "its content", results
    for key in keys:
        if type(value) is not dict or key not in value:
            raise ValueError(f"{file}: {told(name)} is missing; {REMEDY}")
        value = value[key]
    if type(value) not in kinds:
        expected = " or ".join(KINDS[kind] for kind in kinds)
        raise ValueError(f"{file}: {told(name)} is {told(repr(value))} and not {expected}; {REMEDY}")
    return value


def score(file: Path, results: dict, *keys: str) -> float | None:
    """A score under some keys, None where it is undefined.

    Raises:
        ValueError: if it is no number between 0 and 1.
    """
    value = part(file, results, *keys, kinds=(float, int, type(None)))
    if value is not None and not 0 <= value <= 1:  # NaN neither
        raise ValueError(f"{file}: {told('.'.join(keys))} is {told(value)}, and a score is between 0 and 1; {REMEDY}")
    return value


def check_all_results(file: Path, results: dict, seed: str):
    """All that the card takes from all_results.json is there.

    Raises:
        ValueError: naming the file, the key and the value.
    """
    part(file, results, "protocol", kinds=(str,))
    split = part(file, results, "split", kinds=(str,))
    for name in part(file, results, "main_scores", kinds=(list,)):
        if not isinstance(name, str):
            raise ValueError(f"{file}: main_scores holds {told(name)}, which is no name; {REMEDY}")
        score(file, results, "seeds", seed, split, name)
        score(file, results, "summary", name, "mean")
        score(file, results, "summary", name, "std")
    part(file, results, "arguments", "dataset", kinds=(str,))
    part(file, results, "arguments", "model_name_or_path", kinds=(str,))
    for name, value in results["arguments"].items():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, list | dict) or (name == "data_dir" and not isinstance(item, str | None)):
                raise ValueError(f"{file}: arguments.{told(name)} is {told(value)}, which no argument is; {REMEDY}")


def check_calibration(file: Path, results: dict, split: str):
    """The calibration errors of a split are numbers before and after, or undefined in both; or there are none.

    Raises:
        ValueError: naming the file, the key and the value.
    """
    if split not in part(file, {"calibration": {}, **results}, "calibration", kinds=(dict,)):
        return
    for kind in part(file, results, "calibration", split, "before", kinds=(dict,)):
        before, after = (score(file, results, "calibration", split, time, kind) for time in ("before", "after"))
        if (before is None) != (after is None):
            raise ValueError(
                f"{file}: calibration.{split} of {told(kind)} is {before} before, {after} after; {REMEDY}"
            )
