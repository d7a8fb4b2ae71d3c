from types import SimpleNamespace

import numpy as np
import pytest


@pytest.fixture(scope="session")
def read_data(reference_file):
    """Return a function that reads features and classes of a table; its column "y" follows the features."""

    def read_named(name):
        header, *lines = reference_file(f"data/{name}.csv").read_text().split()
        width = header.split(",").index("y")
        table = np.array([line.split(",")[: width + 1] for line in lines], dtype=float)
        return table[:, :width], table[:, width].astype(int)

    return read_named


@pytest.fixture(scope="session")
def read_case(reference, read_data):
    """Return a function that reads a reference case, with its training and test rows."""

    def read_named(name):
        case = reference(name)
        words = case.parameters["data"]
        (table,) = [
            table
            for table in ("glass_evclass", "ionosphere_evclass", "vehicles_evclass", "iris")
            if table in words
        ]
        X, y = read_data(table)
        if "scale(" in words:
            X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
        train = case.arrays["train_rows_1b"] - 1
        test = np.setdiff1d(np.arange(len(X)), train)
        parts = {"X": X[train], "y": y[train], "X_test": X[test], "y_test": y[test]}
        return SimpleNamespace(**vars(case), **parts)

    return read_named
