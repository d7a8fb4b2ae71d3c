import json
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import settings

from benchmarks.common.reference import folder

settings.register_profile("evlearn", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("evlearn")

SHARED = folder()


@pytest.fixture(scope="session")
def shared():
    """The folder of data and reference results, which lies beside the project and never in it."""
    if not SHARED.is_dir():
        pytest.skip("the folder of data and reference results (EVLEARN_REFERENCE, or ../shared) is not there")
    return SHARED


@pytest.fixture(scope="session")
def reference(shared):
    """Load a reference case by name: its arrays as attributes, and its scalars."""

    def load(name):
        facts = json.loads((shared / "reference" / f"{name}.json").read_text())
        with np.load(shared / "reference" / f"{name}.npz") as arrays:
            return SimpleNamespace(arrays=dict(arrays), scalars=facts["scalars"])

    return load


@pytest.fixture(scope="session")
def seed_examples(shared):
    return json.loads((shared / "reference" / "seed_examples.json").read_text())
