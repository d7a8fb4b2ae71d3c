"""Progress messages on stderr: a line that is overwritten in a terminal, or lines in a log."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from evlearn.utils.progress import TerminalLine, live_text, watching

_SECONDS_IN_LOG = 1.0


class Progress:
    """Progress messages on stderr."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._line = TerminalLine("stderr")
        self._last_time = float("-inf")

    def log(self, message: str) -> None:
        """Print a permanent line."""
        if not self._quiet:
            self.clear()
            print(message, file=sys.stderr, flush=True)

    def show(self, message: str) -> None:
        """Print a line that the next line overwrites; without a terminal, print at most one line per second."""
        if self._quiet:
            return
        if self._line.is_live:
            self._line.show(message)
        elif time.monotonic() - self._last_time >= _SECONDS_IN_LOG:
            self._last_time = time.monotonic()
            self.log(message)

    @contextmanager
    def watch_fit(self) -> Iterator[None]:
        """Show the progress of fits."""
        with watching(lambda progress: self.show(live_text(progress) if self._line.is_live else str(progress))):
            yield
        self.clear()

    def clear(self) -> None:
        """Clear the temporary line."""
        self._line.clear()
