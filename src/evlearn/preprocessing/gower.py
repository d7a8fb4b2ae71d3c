"""Gower's dissimilarities: the mean over columns of how different two rows are."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted

from evlearn.preprocessing.base import ReadsTables
from evlearn.preprocessing.columns import codes_of, numbers_of
from evlearn.preprocessing.reading import RawColumn
from evlearn.utils.chunks import row_blocks
from evlearn.utils.convergence import whole_or_nothing
from evlearn.utils.typing import FloatArray, TableLike

_BLOCK_ROWS = 256
_EVERY_CATEGORY = 1 << 30


def gower_distances(
    X: TableLike,
    Y: TableLike | None = None,
    *,
    categorical: Sequence[str] | None = None,
    drop: Sequence[str] | None = None,
    weights: Mapping[str, float] | None = None,
) -> FloatArray:
    """Dissimilarities of the rows of a table of any columns, with gaps: the mean of those of its columns.

    Two numbers or dates differ by their difference, divided by the range of the column, and at most by 1; two
    categories by 0 or 1; ordered ones by the steps between them. The range is that of all values but the
    suspicious ones, which `TableEncoder.describe` would list. Columns where one of the two rows has a gap do not
    count for this pair, and rows that have no column in common are as different as rows are on average.

    Parameters
    ----------
    X : pandas, polars or pyarrow table, dict of columns, or array-like of shape (n_samples, n_columns)
        The table.
    Y : table like X or None, default=None
        The rows to compare with, from which ranges are taken; None means those of X.
    categorical : sequence of str or None, default=None
        Columns whose numbers are codes of categories.
    drop : sequence of str or None, default=None
        Columns to leave out, beside constant and empty ones, identifiers and free text.
    weights : dict or None, default=None
        How much columns count, by name; 1 for those that are not named.

    Returns
    -------
    ndarray of shape (n_samples, n_samples_of_Y)
        Dissimilarities between 0 and 1.

    See Also
    --------
    GowerDistances : The same as a step of a pipeline, before a relational method.

    References
    ----------
    Gower (1971).

    Examples
    --------
    >>> from evlearn.preprocessing import gower_distances
    >>> gower_distances({"age": [20, 40, 60], "city": ["Rome", "Oslo", None]})
    array([[0.  , 0.75, 1.  ],
           [0.75, 0.  , 0.5 ],
           [1.  , 0.5 , 0.  ]])
    """
    known = GowerDistances(categorical=categorical, drop=drop, weights=weights).fit(X if Y is None else Y)
    return known.transform(X) if Y is not None else known._among_themselves()


class GowerDistances(ClassNamePrefixFeaturesOutMixin, ReadsTables):
    """Gower's dissimilarities to the samples of the fit, for methods that take ``metric="precomputed"``.

    ``make_pipeline(GowerDistances(), EVCLUS(3, metric="precomputed"))`` clusters a table of any columns, with
    gaps, and predicts for new rows. See `gower_distances` for what is computed.

    Parameters
    ----------
    categorical : sequence of str or None, default=None
        Columns whose numbers are codes of categories.
    drop : sequence of str or None, default=None
        Columns to leave out, beside constant and empty ones, identifiers and free text.
    weights : dict or None, default=None
        How much columns count, by name; 1 for those that are not named.

    Attributes
    ----------
    columns_ : list of dict
        What is in each column: its ``"kind"``, the share that is ``"missing"``, and so on; as in `TableEncoder`.
    rows_ : ndarray of shape (n_samples, n_columns_used)
        The samples of the fit: numbers as shares of their range, categories as codes, NaN for gaps.
    mean_ : float
        The mean dissimilarity, for rows that have no column in common.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : ndarray of str
        The names of the columns, where the table has any.

    See Also
    --------
    TableEncoder : Features, for methods that need them, and for many samples.

    References
    ----------
    Gower (1971).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from evlearn.cluster import EVCLUS
    >>> from evlearn.preprocessing import GowerDistances
    >>> rng = np.random.default_rng(0)
    >>> table = {
    ...     "age": rng.normal([30] * 20 + [60] * 20, 4),
    ...     "plan": ["basic"] * 20 + ["premium"] * 20,
    ... }
    >>> model = make_pipeline(
    ...     GowerDistances(), EVCLUS(2, metric="precomputed", random_state=0)
    ... ).fit(table)
    >>> model.predict({"age": [33, 58], "plan": ["basic", None]}) == model[-1].labels_[
    ...     [0, -1]
    ... ]
    array([ True,  True])
    """

    rows_: FloatArray
    mean_: float

    def __init__(
        self,
        *,
        categorical: Sequence[str] | None = None,
        drop: Sequence[str] | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> None:
        self.categorical = categorical
        self.drop = drop
        self.weights = weights

    @whole_or_nothing
    def fit(self, X: TableLike, y: ArrayLike | None = None) -> Self:
        """Keep the samples.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, dict of columns, or array-like of shape (n_samples, n_columns)
            The table.
        y : None, default=None
            Not used.

        Returns
        -------
        GowerDistances
            The fitted transformer.
        """
        self._learn(X, scaling="standard", max_categories=_EVERY_CATEGORY)
        self.rows_ = self._positions(X)
        some = self.rows_[:: -(-len(self.rows_) // _BLOCK_ROWS)]
        self.mean_ = float(np.nanmean(self._compared(some)))
        return self

    def fit_transform(self, X: TableLike, y: ArrayLike | None = None) -> FloatArray:  # type: ignore[override]
        """Keep the samples, and give the dissimilarities between them.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, dict of columns, or array-like of shape (n_samples, n_columns)
            The table.
        y : None, default=None
            Not used.

        Returns
        -------
        ndarray of shape (n_samples, n_samples)
            Dissimilarities between 0 and 1, with zeros on the diagonal, also of rows that have nothing but gaps.
        """
        return self.fit(X)._among_themselves()

    def transform(self, X: TableLike) -> FloatArray:
        """Dissimilarities to the samples of the fit.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, dict of columns, or array-like of shape (n_samples, n_columns)
            The table, with the columns of the fit; others are not looked at.

        Returns
        -------
        ndarray of shape (n_samples, n_samples_of_the_fit)
            Dissimilarities between 0 and 1.
        """
        check_is_fitted(self)
        return self._filled(self._positions(X))

    @property
    def _n_features_out(self) -> int:
        return len(self.rows_)

    def _among_themselves(self) -> FloatArray:
        found = self._filled(self.rows_)
        np.fill_diagonal(found, 0.0)
        return found

    def _filled(self, rows: FloatArray) -> FloatArray:
        found = self._compared(rows)
        return np.nan_to_num(found, copy=False, nan=self.mean_)

    def _compared(self, rows: FloatArray) -> FloatArray:
        """Dissimilarities, with NaN where rows have nothing in common."""
        used = [one for one in self.columns_ if one["features"]]
        equal = [one["kind"] in ("category", "yes/no") for one in used]
        found = np.empty((len(rows), len(self.rows_)))
        for block in row_blocks(len(rows), _BLOCK_ROWS):
            found[block] = _dissimilarities(rows[block], self.rows_, equal, [one["weight"] for one in used])
        return found

    def _positions(self, X: Any) -> FloatArray:
        columns = self._known_columns(X)
        return np.column_stack(
            [_position(columns[one["column"]], one) for one in self.columns_ if one["features"]]
        )


def _position(column: RawColumn, facts: dict[str, Any]) -> FloatArray:
    """Numbers as shares of their range, ordered categories as shares of the way, others as codes."""
    if facts["kind"] in ("number", "date"):
        return np.asarray((numbers_of(column, facts) - facts["low"]) / (facts["high"] - facts["low"]))
    codes = codes_of(column, facts)
    ordered = facts["kind"] == "ordered"
    unknown = codes < (0 if ordered else -1)  # another category than all others, but nowhere in an order
    values = codes / (len(facts["categories"]) - 1) if ordered else codes.astype(np.float64)
    return np.asarray(np.where(unknown, np.nan, values))


def _dissimilarities(rows: FloatArray, others: FloatArray, equal: list[bool], weights: list[float]) -> FloatArray:
    """Weighted means over the columns that both rows have."""
    totals, counts = np.zeros((2, len(rows), len(others)))
    for one, other, is_category, weight in zip(rows.T, others.T, equal, weights, strict=True):
        differences = one[:, None] - other
        apart = np.where(differences == 0, 0.0, 1.0) if is_category else np.minimum(np.abs(differences), 1.0)
        there = ~np.isnan(differences)
        totals += np.where(there, weight * apart, 0.0)
        counts += weight * there
    return np.divide(totals, counts, out=np.full_like(totals, np.nan), where=counts > 0)


__all__ = ["GowerDistances", "gower_distances"]
