import json
from types import SimpleNamespace

import numpy as np
import pytest


@pytest.fixture(scope="session")
def read_data(shared):
    """Attributes and classes of a table, whose column "y" ends the attributes."""

    def read(name):
        header, *lines = (shared / "data" / f"{name}.csv").read_text().split()
        width = header.split(",").index("y")
        table = np.array([line.split(",")[: width + 1] for line in lines], dtype=float)
        return table[:, :width], table[:, width].astype(int)

    return read


@pytest.fixture(scope="session")
def read_case(shared, read_data):
    """Arrays, scalars and parameters of a reference case, with its training and test rows."""

    def read(name):
        facts = json.loads((shared / "reference" / f"{name}.json").read_text())
        with np.load(shared / "reference" / f"{name}.npz") as file:
            arrays = dict(file)
        words = facts["parameters"]["data"]
        (table,) = [
            one for one in ("glass_evclass", "ionosphere_evclass", "vehicles_evclass", "iris") if one in words
        ]
        X, y = read_data(table)
        if "scale(" in words:
            X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
        train = arrays["train_rows_1b"] - 1
        test = np.setdiff1d(np.arange(len(X)), train)
        parts = {"X": X[train], "y": y[train], "X_test": X[test], "y_test": y[test]}
        return SimpleNamespace(arrays=arrays, scalars=facts["scalars"], parameters=facts["parameters"], **parts)

    return read
