"""Who answers: labels that are known, or a person at a terminal or in a notebook."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from evlearn.active.asking import StopAsking
from evlearn.active.label_answers import LabelAnswer
from evlearn.constraints.labels import label_codes

_REPLIES: dict[str, bool | None] = {"y": True, "yes": True, "n": False, "no": False, "?": None}
_SHOWN_ATTRIBUTES = 20
_WIDTH = 24
_Reply = TypeVar("_Reply")


class LabelOracle:
    """Answers from known labels, for experiments.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The label of each sample, numbers or text. Nothing is known about samples with -1, NaN or None.

    Examples
    --------
    >>> from evlearn.active import LabelOracle
    >>> oracle = LabelOracle(["cat", "cat", "dog", None])
    >>> oracle(0, 1), oracle(1, 2), oracle(2, 3)
    (True, False, None)
    """

    def __init__(self, y: npt.ArrayLike) -> None:
        self.y = y
        self._codes = label_codes(y, -1, "y")

    def __call__(self, first: int, second: int) -> bool | None:
        """Whether two samples are in the same cluster.

        Parameters
        ----------
        first, second : int
            The samples.

        Returns
        -------
        bool or None
            The answer; None if it is not known.
        """
        one, other = self._codes[[first, second]]
        return None if min(one, other) < 0 else bool(one == other)


class TerminalOracle:
    """A person who answers at a terminal, or in the input box of a notebook.

    Both samples are shown side by side, then a reply is read: ``y`` for the same cluster, ``n`` for different
    ones, ``?`` for "I do not know", ``q`` to stop. Ctrl-C and Ctrl-D stop as well. All answers are kept.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_features), default=None
        What to show of the samples, which need not be what is clustered; of a frame also the names of rows and
        columns. None shows the numbers of the samples only.
    show : callable, default=None
        Shows two samples in another way, for example as images: a function of their numbers.
    """

    def __init__(self, X: ArrayLike | None = None, *, show: Callable[[int, int], Any] | None = None) -> None:
        self.X: Any = X
        self.show = show

    def __call__(self, first: int, second: int) -> bool | None:
        """Whether two samples are in the same cluster.

        Parameters
        ----------
        first, second : int
            The samples.

        Returns
        -------
        bool or None
            The answer; None if it is not known.
        """
        print(_described(self.X, first, second))
        if self.show is not None:
            self.show(first, second)
        return _asked("same cluster? [y/n/?/q] ", _same)


class TerminalLabeller:
    """A person who says the classes of samples at a terminal, or in the input box of a notebook.

    A sample is shown, then a reply is read: a class, or several with ``|`` between them, and perhaps a confidence
    from 0 to 1, as in ``cat|dog 0.7``; ``?`` for "I do not know", ``q`` to stop. Ctrl-C and Ctrl-D stop as well. A
    reply that is the name of a class stands for that class, also if ``|`` or a number is part of it.

    Parameters
    ----------
    classes : sequence
        The classes.
    X : array-like or data frame of shape (n_samples, n_features), default=None
        What to show of the samples, which need not be what is learned from; of a frame also the names of rows and
        columns. None shows the number of the sample only.
    show : callable, default=None
        Shows a sample in another way, for example as an image: a function of its number.
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
        """Which class a sample belongs to.

        Parameters
        ----------
        sample : int
            The sample.

        Returns
        -------
        LabelAnswer or None
            The answer; None if it is not known.
        """
        print(_described(self.X, sample))
        if self.show is not None:
            self.show(sample)
        known = {str(one): one for one in self.classes}
        return _asked(f"class? [{'/'.join(known)}/?/q] ", lambda reply: _label(sample, reply, known))


def _same(reply: str) -> bool | None:
    if reply.lower() not in _REPLIES:
        raise ValueError(f"{reply!r} is not one of y (same), n (different), ? (I do not know) and q (stop).")
    return _REPLIES[reply.lower()]


def _label(sample: int, reply: str, known: dict[str, Any]) -> LabelAnswer | None:
    if reply == "?":
        return None
    before, _, last = reply.rpartition(" ")
    for text, number in ((reply, "1"), (before, last)):
        names = [text.strip()] if text.strip() in known else [part.strip() for part in text.split("|")]
        with suppress(ValueError):
            if set(names) <= set(known) and 0 <= float(number) <= 1:
                return LabelAnswer(sample, tuple(known[name] for name in names), float(number))
    raise ValueError(
        f"{reply!r} is not an answer: name one of {', '.join(known)}, or several with | between them, and "
        "perhaps a confidence from 0 to 1; ? if you do not know, and q to stop."
    )


def _asked(prompt: str, understood: Callable[[str], _Reply]) -> _Reply:
    """What a person replies, as soon as it can be understood."""
    while True:
        try:
            reply = input(prompt).strip()
        except (EOFError, KeyboardInterrupt):
            print()
            raise StopAsking from None
        if reply.lower() in ("q", "quit"):
            raise StopAsking
        try:
            return understood(reply)
        except ValueError as error:
            print(error)


def _described(X: Any, *samples: int) -> str:
    """Samples as a table with a line for each feature."""
    names, rows = _read(X, samples)
    lines = [("", *(f"sample {name}" for name in names)), *rows[:_SHOWN_ATTRIBUTES]]
    widths = [max(len(line[place]) for line in lines) for place in range(1 + len(samples))]
    table = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
    more = len(rows) - _SHOWN_ATTRIBUTES
    return "\n".join(["", *table, *([f"and {more} more features"] if more > 0 else [])])


def _read(X: Any, samples: Sequence[int]) -> tuple[list[str], list[tuple[str, ...]]]:
    if X is None:
        return [str(one) for one in samples], []
    if hasattr(X, "iloc"):
        rows, columns = [X.iloc[one] for one in samples], list(X.columns)
        names = [str(X.index[one]) for one in samples]
    else:
        rows = [np.asarray(X[one]).ravel() for one in samples]
        columns, names = [f"feature {number}" for number in range(len(rows[0]))], [str(one) for one in samples]
    return names, [tuple(map(_text, cells)) for cells in zip(columns, *rows, strict=True)]


def _text(value: Any) -> str:
    text = f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
