"""Data sets as parquet files: the form that the Hub hosts and `datasets.load_dataset` reads."""

from pathlib import Path

from datasets import DatasetDict


def export_parquet(splits: DatasetDict, output_dir: str | Path) -> list[Path]:
    """Write each split to `output_dir`/data as one parquet file, with its ClassLabels.

    `load_dataset(output_dir)` gives the same splits again, `load_absa_dataset(output_dir)` too. Publish only what you
    may: neither SentiHood nor SemEval-2014 states a licence that permits it.

    Returns:
        The files written, in the order of the splits.

    Raises:
        FileExistsError: there are parquet files already, which `load_dataset` would mix with the new ones.
    """
    folder = Path(output_dir) / "data"
    present = sorted(file.name for file in folder.glob("*.parquet"))
    if present:
        raise FileExistsError(f"{folder} has {', '.join(present)} already; remove them or choose another output_dir")
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for split, rows in splits.items():
        files.append(folder / f"{split}-00000-of-00001.parquet")
        rows.to_parquet(files[-1])
    return files
