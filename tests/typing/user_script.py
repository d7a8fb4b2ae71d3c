"""Types that a type checker reveals or rejects, in the comment of each line."""

from typing import Any, reveal_type

import numpy as np
from numpy.typing import NDArray

import evlearn
from evlearn.classify import EvidentialKNNClassifier
from evlearn.cluster import CECM, ECM, EVCLUS
from evlearn.metric_learning import FDA
from evlearn.model_selection import select_n_clusters
from evlearn.partition.estimators import as_credal


def a_users_work(X: NDArray[np.float64], y: NDArray[np.int64], frame: Any) -> None:
    reveal_type(ECM(3).fit(X))  # ECM
    reveal_type(ECM(3).partial_fit(X))  # ECM
    reveal_type(EVCLUS().fit(X.tolist()))  # EVCLUS
    reveal_type(evlearn.cluster.CECM(2).fit(frame))  # CECM
    reveal_type(FDA().fit(X, y))  # FDA
    reveal_type(ECM(3).fit("rows.parquet").predict_mass(X))  # CredalPartition
    reveal_type(ECM(3).fit(X).predict_mass(X, out="masses.npy"))  # CredalPartition | Path
    reveal_type(EvidentialKNNClassifier().fit(X, y).predict_mass(X))  # CredalPartition
    reveal_type(as_credal(y).to_hard("pignistic"))  # ndarray
    reveal_type(ECM(3).fit(X).focal_sets_)  # FocalSets
    ECM(focal_sets=[(0,), (1,), (0, 1)], init=[[0, 0.5], [1, 1]], delta="auto", random_state=0).fit(X)
    select_n_clusters(ECM(), X, range(2, 5))
    ECM(metric="adaptve")  # error: metric
    ECM(focal_sets="fll")  # error: focal_sets
    ECM(init="kmean")  # error: init
    ECM(delta="aut")  # error: delta
    EVCLUS(n_clusters="three")  # error: n_clusters
    CECM(random_state="seed")  # error: random_state
    select_n_clusters(ECM, X)  # error: select_n_clusters
    as_credal(y).to_hard("pignistik")  # error: to_hard
    evlearn.clustr  # error: clustr  # noqa: B018
