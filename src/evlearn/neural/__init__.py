"""Neural networks that learn from features to mass functions, with PyTorch (the extra ``neural``)."""

try:
    import torch  # noqa: F401 - asked for here, so that the error says what to install
except ImportError as error:
    raise ImportError(
        "evlearn.neural needs PyTorch; install it with `pip install 'evidential-learn[neural]'`."
    ) from error

from evlearn.neural.nn_evclus import NNEVCLUS

__all__ = ["NNEVCLUS"]
