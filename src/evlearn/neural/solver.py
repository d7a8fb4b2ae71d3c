"""Options of the optimizer of NN-EVCLUS."""

from dataclasses import dataclass
from typing import Literal

from evlearn.storage import fields
from evlearn.utils.specification import Specification
from evlearn.utils.validation import check_choice, check_integer, check_real

SOLVERS = ("auto", "lbfgs", "adam", "rmsprop")


@fields.stored
@dataclass
class Solver(Specification):
    """Optimizer of `NNEVCLUS`, with its options.

    Parameters
    ----------
    name : {"auto", "lbfgs", "adam", "rmsprop"}, default="auto"
        "lbfgs" and "adam" use all samples at once; "rmsprop" uses mini-batches. "auto" is "lbfgs" for up to 1000
        samples, and "rmsprop" for more.
    batch_size : int or "auto", default="auto"
        Number of samples of a mini-batch, all pairs of which are compared. "auto" is 10 % of the samples, and at
        most 250.
    learning_rate : float or "auto", default="auto"
        Step of "adam" and "rmsprop"; the latter halves it when the loss no longer falls. "auto" is 0.005, and
        0.001 for a given `network`.
    validation_fraction : float, default=0.0
        Share of samples that "rmsprop" holds out; the weights with the smallest loss of their pairs are kept. With
        0, the training loss decides.
    patience : int, default=20
        Number of epochs without a smaller loss after which "rmsprop" stops.

    Examples
    --------
    >>> from evlearn.datasets import make_fourclass
    >>> from evlearn.neural import NNEVCLUS, Solver
    >>> X, _ = make_fourclass(200, random_state=0)
    >>> solver = Solver("rmsprop", batch_size=50)
    >>> model = NNEVCLUS(4, solver=solver, max_iter=20, tol=1.0, random_state=0).fit(X)
    >>> model.labels_.shape
    (200,)
    """

    name: Literal["auto", "lbfgs", "adam", "rmsprop"] = "auto"
    batch_size: int | Literal["auto"] = "auto"
    learning_rate: float | Literal["auto"] = "auto"
    validation_fraction: float = 0.0
    patience: int = 20

    def __post_init__(self) -> None:
        check_choice("name", self.name, SOLVERS)
        check_integer("batch_size", self.batch_size, 2, or_auto=True)
        check_real("learning_rate", self.learning_rate, 0, open_low=True, or_auto=True)
        check_real("validation_fraction", self.validation_fraction, 0, 1)
        check_integer("patience", self.patience, 1)
