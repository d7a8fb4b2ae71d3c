"""User program, from a table to scores, that passes a strict type check."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.pipeline import Pipeline

import evlearn
from evlearn import CredalPartition
from evlearn.cluster import CECM, ECM
from evlearn.constraints import NamedConstraints, PairwiseConstraints
from evlearn.model_selection import cross_val_mass, select_n_clusters
from evlearn.preprocessing import TableEncoder


def fit(table: pd.DataFrame, model_path: Path) -> CredalPartition:
    encoder = TableEncoder(missing="impute")
    features = encoder.fit_transform(table)
    n_clusters = select_n_clusters(ECM(random_state=0), features, range(2, 6)).best
    clusterer = ECM(int(n_clusters), random_state=0)
    pipeline = Pipeline([("encode", encoder), ("cluster", clusterer)]).fit(table)
    evlearn.save_model(pipeline, model_path)
    names = [f"segment {k}" for k in range(clusterer.n_clusters)]
    evlearn.report(pipeline, table, model_path.with_suffix(".html"), cluster_names=names)
    unseen: CredalPartition = cross_val_mass(pipeline, table, cv=3)
    print(unseen.summary().n_torn, encoder.describe(), clusterer.get_feature_names_out())
    return evlearn.predict_mass(pipeline, table)


def score(model_path: Path, table: pd.DataFrame) -> npt.NDArray[np.intp]:
    model = evlearn.load_model(model_path)
    partition: CredalPartition = evlearn.predict_mass(model, table)
    candidates: npt.NDArray[np.bool_] = evlearn.predict_set(model, table, level=0.8)
    assert len(candidates) == len(partition)
    return partition.to_hard(outlier_label=-1)


def with_what_is_known(X: npt.NDArray[np.float64], names: list[str]) -> ECM:
    by_name = NamedConstraints(must_link=[("anna", "ben")], cannot_link=[("anna", "carl")])
    by_number: PairwiseConstraints = by_name.select(names)
    start = CECM(2, random_state=0).fit(X, constraints=by_number)
    distances: npt.NDArray[np.floating[Any]] = start.transform(X)
    return ECM(2, init=start.cluster_centers_).fit(X).partial_fit(X[distances.min(axis=1) < 1])
