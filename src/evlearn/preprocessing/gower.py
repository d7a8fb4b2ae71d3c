"""Gower's dissimilarities: means of the dissimilarities of 2 rows over columns."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted

from evlearn.preprocessing.base import BaseTableTransformer
from evlearn.preprocessing.columns import codes_of, numbers_of
from evlearn.preprocessing.reading import RawColumn
from evlearn.storage import fields
from evlearn.utils.chunks import row_blocks
from evlearn.utils.convergence import atomic_fit
from evlearn.utils.typing import FloatArray, TableLike
from evlearn.utils.validation import check_shape

_BLOCK_ROWS = 256
_ALL_CATEGORIES = 1 << 30


def gower_distances(
    X: TableLike,
    Y: TableLike | None = None,
    *,
    categorical: Sequence[str] | None = None,
    drop: Sequence[str] | None = None,
    weights: Mapping[str, float] | None = None,
) -> FloatArray:
    """Compute Gower's dissimilarities of the rows of a table with mixed columns and missing values.

    The dissimilarity of 2 rows is the weighted mean of those of their columns. Numbers and dates have their
    absolute difference, divided by the range of the column, and at most 1; categories 0 or 1; ordered categories
    the number of steps between them, divided by the largest number. Suspicious values, which
    `TableEncoder.describe` lists, are excluded from the range. Columns in which one of the rows has a missing
    value are ignored for this pair. Rows without common columns have the mean dissimilarity.

    Parameters
    ----------
    X : pandas, polars or pyarrow table, dict of columns, or array-like of shape (n_samples, n_columns)
        Table.
    Y : table like X or None, default=None
        Table with the rows to compare with, which also determine the ranges. None means X.
    categorical : sequence of str or None, default=None
        Columns whose numbers are codes of categories.
    drop : sequence of str or None, default=None
        Columns to leave out, in addition to constant and empty columns, identifiers and free text.
    weights : dict or None, default=None
        Weights of columns by name. Other columns have weight 1.

    Returns
    -------
    ndarray of shape (n_samples, n_samples_of_Y)
        Dissimilarities between 0 and 1.

    See Also
    --------
    GowerDistances : Transformer for pipelines with a relational method.

    References
    ----------
    Gower (1971), A general coefficient of similarity and some of its properties,
    Biometrics 27, doi:10.2307/2528823.

    Examples
    --------
    >>> from evlearn.preprocessing import gower_distances
    >>> gower_distances({"age": [20, 40, 60], "city": ["Rome", "Oslo", None]})
    array([[0.  , 0.75, 1.  ],
           [0.75, 0.  , 0.5 ],
           [1.  , 0.5 , 0.  ]])
    """
    transformer = GowerDistances(categorical=categorical, drop=drop, weights=weights).fit(X if Y is None else Y)
    return transformer.transform(X) if Y is not None else transformer._among_themselves()


@fields.stored
class GowerDistances(ClassNamePrefixFeaturesOutMixin, BaseTableTransformer):
    """Gower's dissimilarities to the training samples, for estimators with ``metric="precomputed"``.

    ``make_pipeline(GowerDistances(), EVCLUS(3, metric="precomputed"))`` clusters a table with mixed columns and
    missing values, and predicts for new rows. See `gower_distances` for the definition.

    Parameters
    ----------
    categorical : sequence of str or None, default=None
        Columns whose numbers are codes of categories.
    drop : sequence of str or None, default=None
        Columns to leave out, in addition to constant and empty columns, identifiers and free text.
    weights : dict or None, default=None
        Weights of columns by name. Other columns have weight 1.

    Attributes
    ----------
    columns_ : list of dict
        Facts about each column, such as its ``"kind"`` and its share of ``"missing"`` cells, as in `TableEncoder`.
    rows_ : ndarray of shape (n_samples, n_columns_used)
        Training samples: numbers as shares of their range, categories as codes, NaN for missing values.
    mean_ : float
        Mean dissimilarity, for rows without common columns.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, if the table has any.

    See Also
    --------
    TableEncoder : Features, for other estimators and for many samples.

    References
    ----------
    Gower (1971), A general coefficient of similarity and some of its properties,
    Biometrics 27, doi:10.2307/2528823.

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

    rows_: fields.Stored[Annotated[FloatArray, fields.array(2, finite=False)]]
    mean_: fields.Stored[fields.NonnegativeExtendedNumber]

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

    @atomic_fit
    def fit(self, X: TableLike, y: ArrayLike | None = None) -> Self:
        """Store the training samples.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, dict of columns, or array-like of shape (n_samples, n_columns)
            Table.
        y : None, default=None
            Not used.

        Returns
        -------
        GowerDistances
            Fitted transformer.
        """
        self._learn(X, scaling="standard", max_categories=_ALL_CATEGORIES)
        self.rows_ = self._positions(X)
        sample = self.rows_[:: -(-len(self.rows_) // _BLOCK_ROWS)]
        self.mean_ = float(np.nanmean(self._compared(sample)))
        return self

    def fit_transform(self, X: TableLike, y: ArrayLike | None = None) -> FloatArray:  # type: ignore[override]
        """Store the training samples, and return the dissimilarities between them.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, dict of columns, or array-like of shape (n_samples, n_columns)
            Table.
        y : None, default=None
            Not used.

        Returns
        -------
        ndarray of shape (n_samples, n_samples)
            Dissimilarities between 0 and 1. The diagonal is 0, also for rows with missing values only.
        """
        return self.fit(X)._among_themselves()

    def transform(self, X: TableLike) -> FloatArray:
        """Return the dissimilarities to the training samples.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, dict of columns, or array-like of shape (n_samples, n_columns)
            Table with the columns of the fit. Other columns are ignored.

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
        dissimilarities = self._filled(self.rows_)
        np.fill_diagonal(dissimilarities, 0.0)
        return dissimilarities

    def _filled(self, rows: FloatArray) -> FloatArray:
        dissimilarities = self._compared(rows)
        return np.nan_to_num(dissimilarities, copy=False, nan=self.mean_)

    def _compared(self, rows: FloatArray) -> FloatArray:
        """Return dissimilarities, with NaN for rows without common columns."""
        columns = [facts for facts in self.columns_ if facts["features"]]
        is_category = [facts["kind"] in ("category", "yes/no") for facts in columns]
        dissimilarities = np.empty((len(rows), len(self.rows_)))
        for block in row_blocks(len(rows), _BLOCK_ROWS):
            dissimilarities[block] = _dissimilarities(
                rows[block], self.rows_, is_category, [facts["weight"] for facts in columns]
            )
        return dissimilarities

    def _positions(self, X: Any) -> FloatArray:
        columns = self._fitted_columns(X)
        return np.column_stack(
            [_scaled_values(columns[facts["column"]], facts) for facts in self.columns_ if facts["features"]]
        )

    def _after_loading(self) -> None:
        """Raise unless the attributes from a file are consistent."""
        super()._after_loading()
        encoded = [facts for facts in self.columns_ if facts["features"]]
        if not len(self.rows_):
            raise ValueError("rows_ must not be empty")
        check_shape("rows_", self.rows_, (len(self.rows_), len(encoded)))


def _scaled_values(column: RawColumn, facts: dict[str, Any]) -> FloatArray:
    """Return numbers and ordered categories as shares of their range, and other categories as codes."""
    if facts["kind"] in ("number", "date"):
        return np.asarray((numbers_of(column, facts) - facts["low"]) / (facts["high"] - facts["low"]))
    codes = codes_of(column, facts)
    ordered = facts["kind"] == "ordered"
    unknown = codes < (
        0 if ordered else -1
    )  # a new category differs from all others, but has no position in an order
    values = codes / (len(facts["categories"]) - 1) if ordered else codes.astype(np.float64)
    return np.asarray(np.where(unknown, np.nan, values))


def _dissimilarities(
    rows: FloatArray, others: FloatArray, is_categorical: list[bool], weights: list[float]
) -> FloatArray:
    """Return weighted means over the columns without missing values in both rows."""
    totals, counts = np.zeros((2, len(rows), len(others)))
    for first, second, is_category, weight in zip(rows.T, others.T, is_categorical, weights, strict=True):
        differences = first[:, None] - second
        dissimilarities = (
            np.where(differences == 0, 0.0, 1.0) if is_category else np.minimum(np.abs(differences), 1.0)
        )
        is_shared = ~np.isnan(differences)
        totals += np.where(is_shared, weight * dissimilarities, 0.0)
        counts += weight * is_shared
    return np.divide(totals, counts, out=np.full_like(totals, np.nan), where=counts > 0)
