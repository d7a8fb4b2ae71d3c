"""Kernels have no global state, so that threads are independent, with and without the GIL."""

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
def test_concurrent_fits_and_predictions_equal_sequential_ones():
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
        predicted = [model.predict_mass(X).masses for model in models]
        refitted = [make().predict_mass(X).masses for make in makers]
        return [
            np.array_equal(masses, reference)
            for results in (predicted, refitted)
            for masses, reference in zip(results, expected, strict=True)
        ]

    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            assert all(all(matches) for matches in pool.map(work, range(4)))


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has a GIL")
def test_kernels_do_not_enable_the_gil():
    code = "import sys, evlearn.kernels.prototypes, evlearn.kernels.evclus; print(sys._is_gil_enabled())"
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "False"
