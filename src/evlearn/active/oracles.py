"""Oracles for active learning: known labels, or a person at a terminal or in a notebook."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from evlearn.active.answers import LabelAnswer, StopQuerying
from evlearn.constraints.pairs import label_codes

_REPLIES: dict[str, bool | None] = {"y": True, "yes": True, "n": False, "no": False, "?": None}
_MAX_FEATURES = 20  # lines of a table
_MAX_WIDTH = 24  # characters of a value
_Reply = TypeVar("_Reply")


class PairOracle:
    """Oracle that answers from known labels, for experiments.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Label of each sample, numbers or text. Labels -1, NaN and None are unknown.

    Examples
    --------
    >>> from evlearn.active import PairOracle
    >>> oracle = PairOracle(["cat", "cat", "dog", None])
    >>> oracle(0, 1), oracle(1, 2), oracle(2, 3)
    (True, False, None)
    """

    def __init__(self, y: npt.ArrayLike) -> None:
        self.y = y
        self._codes = label_codes(y, -1, "y")

    def __call__(self, first: int, second: int) -> bool | None:
        """Return whether 2 samples are in the same cluster.

        Parameters
        ----------
        first, second : int
            Samples.

        Returns
        -------
        bool or None
            Answer; None if unknown.
        """
        first_code, second_code = self._codes[[first, second]]
        return None if min(first_code, second_code) < 0 else bool(first_code == second_code)


class TerminalPairOracle:
    """Oracle that asks a person at a terminal, or in the input box of a notebook.

    Both samples are shown side by side, then a reply is read: ``y`` for the same cluster, ``n`` for different
    clusters, ``?`` for "I do not know", ``q`` to stop. Ctrl-C and Ctrl-D stop as well. All answers are kept.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_features), default=None
        Data of the samples to show, which may differ from the clustered data. For a frame, the names of rows and
        columns are shown, too. None shows only the numbers of the samples.
    show : callable, default=None
        Function of 2 sample numbers that shows the samples in another way, for example as images.
    """

    def __init__(self, X: ArrayLike | None = None, *, show: Callable[[int, int], Any] | None = None) -> None:
        self.X: Any = X
        self.show = show

    def __call__(self, first: int, second: int) -> bool | None:
        """Return whether 2 samples are in the same cluster.

        Parameters
        ----------
        first, second : int
            Samples.

        Returns
        -------
        bool or None
            Answer; None if unknown.
        """
        print(_format_samples(self.X, first, second))
        if self.show is not None:
            self.show(first, second)
        return _read_reply("same cluster? [y/n/?/q] ", _parse_pair_reply)


class TerminalLabelOracle:
    """Oracle that asks a person for the classes of samples at a terminal, or in the input box of a notebook.

    A sample is shown, then a reply is read: a class, or several classes separated by ``|``, and optionally a
    confidence from 0 to 1, as in ``cat|dog 0.7``; ``?`` for "I do not know", ``q`` to stop. Ctrl-C and Ctrl-D stop
    as well. A reply that is the name of a class means that class, even if ``|`` or a number is part of the name.

    Parameters
    ----------
    classes : sequence
        Classes.
    X : array-like or data frame of shape (n_samples, n_features), default=None
        Data of the samples to show, which may differ from the training data. For a frame, the names of rows and
        columns are shown, too. None shows only the number of the sample.
    show : callable, default=None
        Function of a sample number that shows the sample in another way, for example as an image.
    """

    def __init__(
        self,
        classes: Sequence[str] | Sequence[int],
        X: ArrayLike | None = None,
        *,
        show: Callable[[int], Any] | None = None,
    ) -> None:
        self.classes = classes
        self.X: Any = X
        self.show = show

    def __call__(self, sample: int) -> LabelAnswer | None:
        """Ask for the class of a sample.

        Parameters
        ----------
        sample : int
            Sample.

        Returns
        -------
        LabelAnswer or None
            Answer; None if unknown.
        """
        print(_format_samples(self.X, sample))
        if self.show is not None:
            self.show(sample)
        class_of = {str(name): name for name in self.classes}
        return _read_reply(
            f"class? [{'/'.join(class_of)}/?/q] ", lambda reply: _parse_label_reply(sample, reply, class_of)
        )


def _parse_pair_reply(reply: str) -> bool | None:
    if reply.lower() not in _REPLIES:
        raise ValueError(f"{reply!r} is not one of y (same), n (different), ? (I do not know) and q (stop).")
    return _REPLIES[reply.lower()]


def _parse_label_reply(sample: int, reply: str, class_of: dict[str, Any]) -> LabelAnswer | None:
    if reply == "?":
        return None
    before, _, last = reply.rpartition(" ")
    for text, number in ((reply, "1"), (before, last)):
        names = [text.strip()] if text.strip() in class_of else [part.strip() for part in text.split("|")]
        with suppress(ValueError):
            if set(names) <= set(class_of) and 0 <= float(number) <= 1:
                return LabelAnswer(sample, tuple(class_of[name] for name in names), float(number))
    raise ValueError(
        f"{reply!r} is not an answer: name one of {', '.join(class_of)}, or several separated by |, optionally "
        "with a confidence from 0 to 1; ? if you do not know, and q to stop."
    )


def _read_reply(prompt: str, parse: Callable[[str], _Reply]) -> _Reply:
    """Ask until a reply can be parsed, and return the result."""
    while True:
        try:
            reply = input(prompt).strip()
        except (EOFError, KeyboardInterrupt):
            print()
            raise StopQuerying from None
        if reply.lower() in ("q", "quit"):
            raise StopQuerying
        try:
            return parse(reply)
        except ValueError as error:
            print(error)


def _format_samples(X: Any, *samples: int) -> str:
    """Format samples as a table with a line for each feature."""
    names, rows = _read_rows(X, samples)
    lines = [("", *(f"sample {name}" for name in names)), *rows[:_MAX_FEATURES]]
    widths = [max(len(line[place]) for line in lines) for place in range(1 + len(samples))]
    table = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
    n_hidden = len(rows) - _MAX_FEATURES
    return "\n".join(["", *table, *([f"and {n_hidden} more features"] if n_hidden > 0 else [])])


def _read_rows(X: Any, samples: Sequence[int]) -> tuple[list[str], list[tuple[str, ...]]]:
    if X is None:
        return [str(sample) for sample in samples], []
    if hasattr(X, "iloc"):
        rows, columns = [X.iloc[sample] for sample in samples], list(X.columns)
        names = [str(X.index[sample]) for sample in samples]
    else:
        rows = [np.asarray(X[sample]).ravel() for sample in samples]
        columns, names = (
            [f"feature {number}" for number in range(len(rows[0]))],
            [str(sample) for sample in samples],
        )
    return names, [tuple(map(_format_value, cells)) for cells in zip(columns, *rows, strict=True)]


def _format_value(value: object) -> str:
    text = f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)
    return text if len(text) <= _MAX_WIDTH else text[: _MAX_WIDTH - 1] + "…"
