"""TableEncoder: features from raw tables."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from evlearn.preprocessing.base import BaseTableTransformer
from evlearn.preprocessing.columns import decode_column, encode_column
from evlearn.preprocessing.description import describe_columns
from evlearn.preprocessing.reading import days_to_dates
from evlearn.storage import fields
from evlearn.utils.convergence import atomic_fit
from evlearn.utils.typing import FloatArray, TableLike
from evlearn.utils.validation import check_choice, check_integer


@fields.stored
class TableEncoder(BaseTableTransformer):
    """Encode raw tables as features: numbers, categories, booleans and dates, with missing values, in any units.

    All columns have about the same weight: numbers and dates are divided by their spread, skewed numbers after a
    logarithm, and each category of a column has a feature, with a total variance like that of a number. Constant
    and empty columns, identifiers and free text are left out. A few percent of gross errors in a column hardly
    change the features of the other rows. `describe` returns a description of the encoding of each column, and
    suspicious values.

    Parameters
    ----------
    missing : {"keep", "impute"}, default="keep"
        Encoding of missing values. "keep": NaN, for estimators that convert missing values to doubt. "impute": 0,
        which is the center of a number and equally far from all categories, for estimators that do not accept NaN.
    scaling : {"auto", "standard"}, default="auto"
        Scaling of numbers. "auto": by the spread of all but the outermost values, after a logarithm if the column
        is very skewed and hardly ever negative; values far from all others have no influence. "standard": by mean
        and standard deviation.
    max_categories : int, default=30
        Maximum number of categories per column. If there are more, rare categories share a feature.
    categorical : sequence of str or None, default=None
        Columns whose numbers are codes of categories.
    drop : sequence of str or None, default=None
        Columns to leave out.
    weights : dict or None, default=None
        Weights of columns in squared distances, by name. Other columns have weight 1.

    Attributes
    ----------
    columns_ : list of dict
        Facts about each column: its ``"kind"`` ("number", "date", "yes/no", "category", "ordered" or "left out"),
        the ``"source"`` (type of the cells: "number", "amount", "percentage", "duration", "date",
        "day/month/year", "month/day/year", "yes/no" or "text"), the share of ``"missing"`` cells, ``"center"`` and
        ``"scale"``, ``"categories"`` with their ``"frequencies"`` and ``"merged"`` spellings, ``"suspicions"``,
        its ``"features"``, and others. ``pandas.DataFrame(encoder.columns_)`` is a table.
    feature_columns_ : ndarray of str of shape (n_features_out,)
        Column of each feature.
    feature_categories_ : list of str or None
        Category of each feature; None for numbers, dates and ordered categories. A column with 2 categories has
        one feature, which is positive for the second category.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, if the table has any.

    Notes
    -----
    Empty cells, None, NaN and the texts "?", "NA", "N/A", "NaN", "null" and "none", in upper or lower case, are
    missing. The types of columns are inferred in `fit` only: text is converted to numbers, amounts in one currency
    (such as € 1,234.50 or 1.234,50 €), percentages, dates (such as 2026-11-16, 31/12/2026 or 12/31/2026) or
    booleans if all cells of its column have this type. The decimal mark and the order of day and month are
    inferred from the whole column. `transform` converts each cell to the fitted type, so that the features of a
    row do not depend on other rows. Cells of another type raise a ValueError.

    Categories that differ only in case or whitespace are merged, unless they have at most 2 characters and no
    spelling is rare, such as the genotypes AA, Aa and aa. Categories that look like misspellings are only
    reported. 1 and 1.0 are the same category if they are numbers, but not if they are text.

    All features of an unknown category are 0, so that it is equally far from all known categories. Columns are
    selected by name, in any order; a missing column raises a ValueError. A column with text and many different
    numbers is left out with a warning.

    Examples
    --------
    >>> import numpy as np
    >>> from evlearn.preprocessing import TableEncoder
    >>> table = np.array(
    ...     [[31, "Paris"], [45, "Rome"], [38, None], [52, "Paris"]], dtype=object
    ... )
    >>> encoder = TableEncoder(missing="impute").fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['x0', 'x1=Rome']
    >>> print(encoder.describe())
    2 columns encoded as 2 features.
    x0: numbers from 31 to 52, divided by their spread (7.69).
    x1: 2 categories, Paris (67 %) and Rome (33 %); 25 % missing.
    """

    feature_columns_: fields.Stored[fields.FeatureNames]
    feature_categories_: fields.Stored[Annotated[list[str | None], fields.list_of(fields.optional(fields.text()))]]

    def __init__(
        self,
        *,
        missing: Literal["keep", "impute"] = "keep",
        scaling: Literal["auto", "standard"] = "auto",
        max_categories: int = 30,
        categorical: Sequence[str] | None = None,
        drop: Sequence[str] | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> None:
        self.missing = missing
        self.scaling = scaling
        self.max_categories = max_categories
        self.categorical = categorical
        self.drop = drop
        self.weights = weights

    @atomic_fit
    def fit(self, X: TableLike, y: ArrayLike | None = None) -> Self:
        """Learn the encoding of the columns of a table.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, dict of columns, or array-like of shape (n_samples, n_columns)
            Table.
        y : None, default=None
            Not used.

        Returns
        -------
        TableEncoder
            Fitted encoder.
        """
        self._check_parameters()
        self._learn(X, scaling=self.scaling, max_categories=self.max_categories)
        self.feature_columns_ = np.array(
            [facts["column"] for facts in self.columns_ for _ in facts["features"]], dtype=object
        )
        self.feature_categories_ = [category for facts in self.columns_ for category in _categories_of(facts)]
        return self

    def transform(self, X: TableLike) -> FloatArray:
        """Return the features of the rows of a table.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, dict of columns, or array-like of shape (n_samples, n_columns)
            Table with the columns of the fit. Other columns are ignored.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            Features, as float64; a frame after ``set_output(transform="pandas")``.
        """
        check_is_fitted(self)
        columns = self._fitted_columns(X)
        blocks = [encode_column(columns[facts["column"]], facts) for facts in self.columns_ if facts["features"]]
        features = np.hstack(blocks)
        if self.missing == "impute":
            np.nan_to_num(features, copy=False, nan=0.0)
        return features

    def inverse_transform(self, X: ArrayLike) -> dict[str, NDArray[Any]]:
        """Return the values of the columns from features, for example of cluster centers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features_out)
            Features.

        Returns
        -------
        dict of ndarray
            For each column in use: numbers in the unit of the column, dates, or the category with the largest
            feature.
        """
        check_is_fitted(self)
        features = np.asarray(X, dtype=np.float64)
        if features.ndim != 2 or features.shape[1] != len(self.feature_columns_):
            raise ValueError(f"X must have {len(self.feature_columns_)} features, got shape {features.shape}.")
        columns = {}
        for facts in self.columns_:
            if facts["features"]:
                values = decode_column(features[:, self.feature_columns_ == facts["column"]], facts)
                columns[facts["column"]] = days_to_dates(values) if facts["kind"] == "date" else values
        return columns

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Return the names of the features: the column, with ``=category`` for features of categories.

        Parameters
        ----------
        input_features : None or array-like of str, default=None
            Not used; for compatibility with scikit-learn.

        Returns
        -------
        ndarray of str
            Names of the features.
        """
        check_is_fitted(self)
        return np.array([name for facts in self.columns_ for name in facts["features"]], dtype=object)

    def describe(self) -> str:
        """Return a description of the encoding.

        Returns
        -------
        str
            A line for each column, followed by a line that starts with "Check" for each column with suspicious
            values: values far from all others, negative values among positive ones, categories that look like
            misspellings, and dates whose day and month could be exchanged.
        """
        check_is_fitted(self)
        return describe_columns(self.columns_)

    def _check_parameters(self) -> None:
        check_choice("missing", self.missing, ("keep", "impute"))
        check_choice("scaling", self.scaling, ("auto", "standard"))
        check_integer("max_categories", self.max_categories, 2)

    def _after_loading(self) -> None:
        """Raise unless the attributes from a file are consistent."""
        self._check_parameters()
        super()._after_loading()
        columns = [facts["column"] for facts in self.columns_ for _ in facts["features"]]
        if list(self.feature_columns_) != columns or len(self.feature_categories_) != len(columns):
            raise ValueError("feature_columns_ and feature_categories_ must match the features of columns_")


def _categories_of(facts: dict[str, Any]) -> list[str | None]:
    if facts["kind"] not in ("category", "yes/no"):
        return [None for _ in facts["features"]]
    categories: list[str | None] = list(facts["categories"])
    return categories[1:] if len(categories) == 2 else categories
