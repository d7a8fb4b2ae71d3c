"""On x86-64 the processor decides which loops are called; the baseline can be asked for, and says the same."""

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
said = {
    "avx2": uses_avx2(),
    "ECM": ECM(3, random_state=0).fit(X).objective_,
    "single precision": ECM(3, random_state=0).fit(X.astype("f4")).objective_,
    "EVCLUS": EVCLUS(3, random_state=0).fit(X).objective_,
    "EKNNClus": EKNNClus(random_state=0).fit(X).labels_.tolist(),
    "mixture": ParsimoniousGaussianMixture(3, random_state=0).fit(X).bic_,
    "neighbors": EvidentialKNNClassifier().fit(X, y).predict_mass(X[::7]).masses.ravel().tolist(),
}
print(json.dumps(said))
"""


def said(**variables):
    command = [sys.executable, "-c", FITS]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **variables})
    return json.loads(done.stdout)


@pytest.mark.slow
def test_the_baseline_is_called_where_it_is_asked_for_and_says_the_same():
    own, baseline = said(EVLEARN_PROCESSOR="own"), said(EVLEARN_PROCESSOR="baseline")
    assert not baseline.pop("avx2")
    flags = Path("/proc/cpuinfo").read_text() if platform.system() == "Linux" else ""
    if " avx2 " in flags and " fma " in flags:
        assert own["avx2"]
    del own["avx2"]
    for name, value in own.items():
        tolerance = 1e-5 if name == "single precision" else 1e-9
        np.testing.assert_allclose(baseline[name], value, rtol=tolerance, atol=tolerance, err_msg=name)
