"""What a command says while it works: on stderr, in one line that changes, or line after line in a log."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from evlearn.utils.progress import live_text, watching
from evlearn.utils.terminal import TerminalLine

_SECONDS_IN_LOG = 1.0


class Progress:
    """Says on stderr what is going on."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._line = TerminalLine("stderr")
        self._shown = float("-inf")

    def say(self, message: str) -> None:
        """A line that stays."""
        if not self._quiet:
            self.clear()
            print(message, file=sys.stderr, flush=True)

    def show(self, message: str) -> None:
        """A line that the next one replaces. Where stderr is no terminal it stays, at most one in a second."""
        if self._quiet:
            return
        if self._line.is_live:
            self._line.show(message)
        elif time.monotonic() - self._shown >= _SECONDS_IN_LOG:
            self._shown = time.monotonic()
            self.say(message)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Show how far estimators are."""
        with watching(lambda progress: self.show(live_text(progress) if self._line.is_live else str(progress))):
            yield
        self.clear()

    def clear(self) -> None:
        """Take away a line that was to be replaced."""
        self._line.clear()
