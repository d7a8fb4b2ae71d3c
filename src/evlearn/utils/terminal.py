"""A line on a terminal that is replaced by the next one."""

import os
import sys
import time
from typing import Literal, TextIO

#: Minimum number of seconds between 2 replacements.
_SECONDS = 0.1
#: Width of terminals that do not report their size.
_COLUMNS = 80


class TerminalLine:
    """Changing line of stdout or stderr.

    Parameters
    ----------
    stream : {"stdout", "stderr"}
        Name of the stream. The stream is looked up before each output, because programs replace it.
    """

    def __init__(self, stream: Literal["stdout", "stderr"]) -> None:
        self._name = stream
        self._width = 0
        self._shown = float("-inf")

    @property
    def is_live(self) -> bool:
        """True if the stream is a terminal, on which a line can change."""
        return self._stream is not None and self._stream.isatty()

    def show(self, text: str) -> None:
        """Replace the line, unless it was replaced just before."""
        current = time.monotonic()
        if current - self._shown >= _SECONDS:
            self._shown = current
            text = text[: self._columns - 1]  # some terminals break the line after the last column
            self._write("\r" + text.ljust(self._width))
            self._width = len(text)

    def clear(self) -> None:
        """Remove the line."""
        if self._width:
            self._write("\r" + " " * self._width + "\r")
            self._width, self._shown = 0, float("-inf")

    def end(self, text: str) -> None:
        """End the line with this text, which remains."""
        self.clear()
        self._write(text + "\n")

    @property
    def _stream(self) -> TextIO | None:
        stream: TextIO | None = getattr(sys, self._name)  # None where there is no console
        return stream

    @property
    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or _COLUMNS if self._stream else _COLUMNS
        except (OSError, ValueError):
            return _COLUMNS

    def _write(self, text: str) -> None:
        if self._stream is not None:
            self._stream.write(text)
            self._stream.flush()
