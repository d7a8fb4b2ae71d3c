"""Limit of BLAS to one thread during fits, and only during fits."""

import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from evlearn.cluster import ECM
from evlearn.neural.nn_evclus import one_torch_thread
from evlearn.utils.parallel import one_blas_thread


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def _two_threads():
    before = torch.get_num_threads()
    with threadpool_limits(2, user_api="blas"):
        torch.set_num_threads(2)
        yield
        torch.set_num_threads(before)


def overlap(limited, fail=False):
    """Let two users overlap, and return the numbers of threads that the second sees after the first has left."""
    entered, second_entered, first_left = Event(), Event(), Event()

    def first():
        try:
            with limited():
                entered.set()
                second_entered.wait(10)
                if fail:
                    raise ValueError("no")
        finally:
            first_left.set()

    def second():
        entered.wait(10)
        with limited():
            second_entered.set()
            first_left.wait(10)
            return blas_threads(), torch.get_num_threads()

    with ThreadPoolExecutor(2) as pool:
        failed, result = pool.submit(first), pool.submit(second)
        if fail:
            with pytest.raises(ValueError, match="no"):
                failed.result()
        return result.result()


@pytest.mark.parametrize("fail", [False, True])
def test_the_last_of_two_overlapping_fits_restores_the_threads_of_blas(fail):
    assert overlap(one_blas_thread, fail)[0] == {1}
    assert blas_threads() == {2}


def test_the_last_of_two_overlapping_fits_restores_the_threads_of_torch():
    assert overlap(one_torch_thread)[1] == 1
    with ThreadPoolExecutor(1) as pool:  # a new thread takes the number of the process
        assert pool.submit(torch.get_num_threads).result() == 2


@pytest.mark.slow
def test_many_fits_in_threads_restore_blas():
    X = np.random.RandomState(0).randn(60, 2)

    def fit(number):
        if number % 3 == 0:
            with pytest.raises(ValueError, match="n_clusters"):
                ECM(61).fit(X)
            return None
        return ECM(2, random_state=0).fit(X).masses_

    with ThreadPoolExecutor(4) as pool:
        results = [masses for masses in pool.map(fit, range(40)) if masses is not None]
    assert blas_threads() == {2}
    assert all(np.array_equal(masses, results[0]) for masses in results)


def test_blas_is_limited_until_the_outermost_fit_ends():
    with one_blas_thread():
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {2}


@pytest.mark.slow
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_of_a_process_that_fits_can_fit_too():
    from evlearn.utils.parallel import _BLAS

    with _BLAS._lock:  # as if another thread were just entering
        child = multiprocessing.get_context("fork").Process(target=_enter)
        child.start()
    child.join(30)
    if child.exitcode is None:
        child.kill()
    assert child.exitcode == 0


def _enter():
    with one_blas_thread():
        pass
