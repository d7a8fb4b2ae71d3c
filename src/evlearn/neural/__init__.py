"""Neural networks that map features to mass functions; needs PyTorch (the extra ``neural``)."""

try:
    import torch  # noqa: F401 - imported here, so that the error names the package to install
except ImportError as error:
    raise ImportError(
        "evlearn.neural needs PyTorch; install it with `pip install 'evidential-learn[neural]'`."
    ) from error

from evlearn.neural.nn_evclus import NNEVCLUS
from evlearn.neural.training import Solver

__all__ = ["NNEVCLUS", "Solver"]
