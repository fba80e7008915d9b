"""Checkpoints that are whole: each is marked when all of it is on the disk, and without its mark it is passed over."""

import json
import logging
import os
import shutil
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from absa.training.results import write_json

logger = logging.getLogger(__name__)

MARK = "complete.json"
LOCK = ".lock"


def checkpoints(folder: Path) -> list[Path]:
    """What there is of checkpoints, whole or not, by their step."""
    found = (path for path in folder.glob(f"{PREFIX_CHECKPOINT_DIR}-*") if path.is_dir() and _step(path).isdecimal())
    return sorted(found, key=lambda path: int(_step(path)))


def _step(checkpoint: Path) -> str:
    return checkpoint.name.rpartition("-")[2]


def mark_complete(checkpoint: Path):
    """Says that the files of a checkpoint are written; after this they are there, whatever becomes of the process."""
    sizes = {}
    for file in sorted(path for path in checkpoint.rglob("*") if path.is_file() and path.name != MARK):
        with file.open("rb") as opened:
            os.fsync(opened.fileno())
        sizes[file.relative_to(checkpoint).as_posix()] = file.stat().st_size
    write_json(checkpoint / MARK, sizes)


def is_complete(checkpoint: Path) -> bool:
    """Whether all files are there that were when the checkpoint was marked, in the sizes they had."""
    try:
        sizes = json.loads((checkpoint / MARK).read_text(encoding="utf-8"))
        return all((checkpoint / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, AttributeError, RecursionError):
        return False


def last_complete(folder: Path) -> Path | None:
    """The checkpoint to go on from; says which later ones are passed over."""
    for checkpoint in reversed(checkpoints(folder)):
        if is_complete(checkpoint):
            return checkpoint
        logger.warning("%s is passed over: it was not written to its end", checkpoint)
    return None


@contextmanager
def writing(path: Path, is_owner: bool):
    """Says what to do where something cannot be written; its owner removes what there is of a checkpoint, for room.

    Raises:
        OSError: for any error, since the system, PyTorch and safetensors have each their own for a full disk.
    """
    try:
        yield
    except Exception as error:
        if is_owner and path.name.startswith(PREFIX_CHECKPOINT_DIR) and path.is_dir():
            remove(path)
        free = shutil.disk_usage(path.parent).free // 2**20
        raise OSError(
            f"{path} cannot be written ({error}; {free} MiB are free there): mend that and run the same command "
            "again, which goes on from the last checkpoint that is whole"
        ) from error


def alone(output_dir: Path) -> FileLock:
    """What only one process does at a time with a run's folder, for a moment."""
    return FileLock(output_dir / LOCK)


@contextmanager
def only_here(folder: Path):
    """Keeps other processes from training into the same folder; ends with this process, whatever becomes of it.

    Args:
        folder: one seed's, in the run's.
    Raises:
        ValueError: if another does.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK, timeout=0)
    try:
        with alone(folder.parent):  # or another's `is_taken`, which has the lock while it looks, would be in the way
            lock.acquire()
    except Timeout:
        raise ValueError(
            f"another process is training into {folder}: wait for it or stop it, or give another --output_dir"
        ) from None
    try:
        yield
    finally:
        lock.release()


def is_taken(folder: Path) -> bool:
    """Whether a process is training into a folder."""
    try:
        with alone(folder.parent), FileLock(folder / LOCK, timeout=0):
            return False
    except Timeout:
        return True


def remove(checkpoint: Path):
    """Removes a checkpoint, its mark first: one that is removed in part is none."""
    (checkpoint / MARK).unlink(missing_ok=True)
    shutil.rmtree(checkpoint, ignore_errors=True)


def keep(folder: Path, limit: int | None, best: str | None):
    """Removes the oldest whole checkpoints, but for the best, until there are no more than `limit`."""
    whole = [checkpoint for checkpoint in checkpoints(folder) if is_complete(checkpoint)]
    old = [checkpoint for checkpoint in whole[:-1] if best is None or checkpoint.name != Path(best).name]
    for checkpoint in old[: max(0, len(whole) - limit)] if limit else []:
        remove(checkpoint)
