"""Pipeline that clusters any table."""

from typing import Literal

from sklearn.pipeline import Pipeline

from evlearn.ensemble.credal_ensemble import CredalEnsemble
from evlearn.preprocessing import TableEncoder
from evlearn.utils.typing import RandomSeed


def tabular_clusterer(
    n_clusters: int | Literal["auto"] = "auto", *, random_state: RandomSeed = None, n_jobs: int | None = None
) -> Pipeline:
    """Return a pipeline that clusters any table: a `TableEncoder` and a `CredalEnsemble` of default members.

    The table may have numbers, categories, dates and text in any units, with missing values and gross errors. The
    steps are ``"table"`` and ``"cluster"``.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        Number of clusters. "auto": the most probable number.
    random_state : int, RandomState instance or None, default=None
        Random seed; an int makes results reproducible.
    n_jobs : int or None, default=None
        Number of members that are fitted at the same time, and number of threads for predictions.

    Returns
    -------
    sklearn.pipeline.Pipeline
        Unfitted pipeline, for `evlearn.predict_mass`, `evlearn.report`, `evlearn.explain.explain_clusters`,
        `evlearn.active.review_queue` and `evlearn.save_model`.

    See Also
    --------
    evlearn.preprocessing.TableEncoder : Options for the columns.

    Examples
    --------
    >>> import evlearn
    >>> table = {
    ...     "age": [25, 31, 28, 33, 61, 58, 66] * 5,
    ...     "plan": ["gold", "gold", None, "gold", "silver", "silver", "none"] * 5,
    ... }
    >>> model = evlearn.tabular_clusterer(2, random_state=0).fit(table)
    >>> evlearn.predict_mass(model, table).to_hard()[:7]
    array([0, 0, 0, 0, 1, 1, 1])
    """
    encoder = TableEncoder()
    clusterer = CredalEnsemble(n_clusters=n_clusters, random_state=random_state, n_jobs=n_jobs)
    return Pipeline([("table", encoder), ("cluster", clusterer)])
