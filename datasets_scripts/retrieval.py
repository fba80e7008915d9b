"""Where a builder's source files come from: a local folder, or a public source with pinned SHA-256."""

import hashlib
from collections.abc import Iterable
from os import PathLike
from pathlib import Path

import datasets

from .source_files import quoted


def local_files(data_dir: str | Path, names: Iterable[str], source_url: str) -> list[Path]:
    """Paths of the files `names` in `data_dir`, in the order given.

    Raises:
        FileNotFoundError: some are missing; names them and says that `source_url` has them.
        ValueError: `data_dir` is no path.
    """
    if not isinstance(data_dir, str | PathLike) or not data_dir:
        raise ValueError(f"data_dir={quoted(data_dir)}: give the path of a folder, or None to download the files")
    files = [Path(data_dir) / name for name in names]
    missing = [file.name for file in files if not file.is_file()]
    if missing:
        raise FileNotFoundError(
            f"data_dir={str(data_dir)!r} lacks {', '.join(missing)}; get what is missing from {source_url}"
        )
    return files


def download_pinned(dl_manager: datasets.DownloadManager, base_url: str, sha256_of: dict[str, str]) -> list[Path]:
    """Download `base_url`/name for each name of `sha256_of`, in that order, and verify it.

    Raises:
        ConnectionError: a file cannot be fetched; names its address and the way round.
        ValueError: a file is not the pinned one; names it with the expected and the actual SHA-256. The file is
            removed from the download cache, so that the next attempt fetches it again.
    """
    return [_download_file(dl_manager, f"{base_url}/{name}", expected) for name, expected in sha256_of.items()]


def _download_file(dl_manager: datasets.DownloadManager, url: str, expected: str) -> Path:
    try:
        file = Path(dl_manager.download(url))
    except Exception as error:  # a missing file, a refused connection and a server error share no narrower class
        raise ConnectionError(
            f"{url} could not be downloaded ({type(error).__name__}: {error}); "
            "fetch it by another way and pass its folder as data_dir"
        ) from error
    actual = hashlib.sha256(file.read_bytes()).hexdigest()
    if actual != expected:
        file.unlink()
        raise ValueError(
            f"{url} has SHA-256 {actual}, expected {expected}: the file was changed or damaged on the way. "
            "Try again, or pass the folder of a copy that you trust as data_dir"
        )
    return file
