"""One thread for matrix products: ours are small and many, and threads of BLAS would wait for each other."""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_blas_thread() -> AbstractContextManager[Any]:
    """Hold BLAS to one thread for a while; what a user has set comes back afterwards.

    Returns
    -------
    context manager
        For a ``with`` statement.
    """
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit


@cache
def _controller() -> ThreadpoolController:
    # It looks through all loaded libraries, which takes as long as a small fit.
    return ThreadpoolController()
