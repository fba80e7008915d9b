"""How far an annotation is: a bar, or lines of a log."""

import logging
import sys
import time
from datetime import timedelta

from accelerate import PartialState
from tqdm import tqdm

logger = logging.getLogger("annotate")

LOG_EVERY_S = 60  # where there is no terminal for a progress bar


class Progress:
    """How far a process is with its texts: a bar on a terminal, else a line once in a while."""

    def __init__(self, total: int, state: PartialState):
        which = f", process 1 of {state.num_processes}" if state.num_processes > 1 else ""
        self.shown = state.is_main_process
        self.name, self.total, self.done, self.start = f"annotating{which}", total, 0, time.monotonic()
        self.last = self.start
        on_terminal = self.shown and sys.stderr.isatty()
        # Texts come by the window of the pipeline: only the mean rate says when all are done.
        self.bar = tqdm(desc=self.name, total=total, unit="text", smoothing=0, disable=not on_terminal)

    def update(self, rows: int = 1):
        self.done += rows
        self.bar.update(rows)
        now = time.monotonic()
        if self.shown and self.bar.disable and now - self.last >= LOG_EVERY_S:
            self.last, rate = now, self.done / (now - self.start)
            left = timedelta(seconds=round((self.total - self.done) / rate))
            logger.warning(
                "%s: %s of %s texts, %.1f texts/s, %s left",
                *(self.name, f"{self.done:,}", f"{self.total:,}", rate, left),
            )

    def close(self) -> float:
        """Seconds it has taken."""
        self.bar.close()
        return time.monotonic() - self.start
