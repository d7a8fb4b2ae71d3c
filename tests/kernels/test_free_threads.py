"""Kernels keep nothing between calls: threads do not disturb each other, with a global lock or without one."""

import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

from evlearn.classify import EvidentialKNNClassifier
from evlearn.cluster import ECM, EVCLUS, EKNNClus, MergedMixture


@pytest.mark.slow
def test_threads_that_fit_and_ask_the_same_models_get_what_one_thread_gets():
    random = np.random.RandomState(0)
    X = np.concatenate([random.randn(100, 3), random.randn(100, 3) + 4])
    y = np.repeat([0, 1], 100)
    makers = (
        lambda: ECM(2, random_state=0).fit(X),
        lambda: EVCLUS(2, random_state=0).fit(X),
        lambda: EKNNClus(random_state=0).fit(X),
        lambda: MergedMixture(2, random_state=0).fit(X),
        lambda: EvidentialKNNClassifier().fit(X, y),
    )
    models = [make() for make in makers]
    expected = [model.predict_mass(X).masses for model in models]
    barrier = Barrier(4)

    def work(number):
        barrier.wait()
        asked = [model.predict_mass(X).masses for model in models]
        made = [make().predict_mass(X).masses for make in makers]
        return [
            np.array_equal(one, other)
            for found in (asked, made)
            for one, other in zip(found, expected, strict=True)
        ]

    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            assert all(all(same) for same in pool.map(work, range(4)))


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has a global lock")
def test_our_kernels_do_not_bring_the_global_lock_back():
    code = "import sys, evlearn.kernels.prototypes, evlearn.kernels.evclus; print(sys._is_gil_enabled())"
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "False"
