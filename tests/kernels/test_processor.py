"""Selection of the instruction set on x86-64: the baseline can be selected, and has the same results."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FITS = """
import json

from sklearn.datasets import load_iris

from evlearn.classify import EvidentialKNNClassifier
from evlearn.cluster import ECM, EVCLUS, EKNNClus
from evlearn.kernels.prototypes import uses_avx2
from evlearn.mixture import ParsimoniousGaussianMixture

X, y = load_iris(return_X_y=True)
X[1::2] += 0.01  # no two samples coincide
results = {
    "avx2": uses_avx2(),
    "ECM": ECM(3, random_state=0).fit(X).objective_,
    "single precision": ECM(3, random_state=0).fit(X.astype("f4")).objective_,
    "EVCLUS": EVCLUS(3, random_state=0).fit(X).objective_,
    "new samples": EVCLUS(3, random_state=0).fit(X).predict_mass(X + 0.1).masses.ravel().tolist(),
    "EKNNClus": EKNNClus(random_state=0).fit(X).labels_.tolist(),
    "mixture": ParsimoniousGaussianMixture(3, random_state=0).fit(X).bic_,
    "neighbors": EvidentialKNNClassifier().fit(X, y).predict_mass(X[::7]).masses.ravel().tolist(),
}
print(json.dumps(results))
"""


def fit_all(**variables):
    command = [sys.executable, "-c", FITS]
    process = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **variables})
    return json.loads(process.stdout)


@pytest.mark.slow
def test_the_baseline_can_be_selected_and_has_the_same_results():
    native, baseline = fit_all(EVLEARN_PROCESSOR="own"), fit_all(EVLEARN_PROCESSOR="baseline")
    assert not baseline.pop("avx2")
    flags = Path("/proc/cpuinfo").read_text() if platform.system() == "Linux" else ""
    if " avx2 " in flags and " fma " in flags:
        assert native["avx2"]
    del native["avx2"]
    for name, value in native.items():
        tolerance = 1e-5 if name == "single precision" else 1e-9
        np.testing.assert_allclose(baseline[name], value, rtol=tolerance, atol=tolerance, err_msg=name)


@pytest.mark.slow
def test_avx512_can_be_excluded_with_identical_results():
    native, narrow = fit_all(EVLEARN_PROCESSOR="own"), fit_all(EVLEARN_PROCESSOR="avx2")
    assert narrow == native
