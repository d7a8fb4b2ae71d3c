"""TableEncoder: features for clusterers from a table as it is."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from evlearn.preprocessing.base import ReadsTables
from evlearn.preprocessing.columns import decode_column, encode_column
from evlearn.preprocessing.description import describe_columns
from evlearn.preprocessing.reading import days_to_dates
from evlearn.utils.convergence import whole_or_nothing
from evlearn.utils.typing import FloatArray, TableLike
from evlearn.utils.validation import check_choice, check_integer


class TableEncoder(ReadsTables):
    """Features from a table as it is: numbers, categories, yes and no, dates, with gaps, in any units.

    Every column weighs about as much as every other: numbers and dates are divided by their spread, numbers that
    grow over orders of magnitude after a logarithm, and a column of categories becomes one feature for each
    category that together have the variance of one number. Constant and empty columns, identifiers and free text
    are left out. A few percent of gross errors in a column hardly change the features of the other rows.
    `describe` lists what was done with each column, and suspicious values.

    Parameters
    ----------
    missing : {"keep", "impute"}, default="keep"
        What becomes of a gap. "keep": it stays one (NaN), for estimators that turn gaps into doubt. "impute": it
        becomes zero, which is the centre of a number, and as far from all categories, for estimators that refuse
        gaps.
    scaling : {"auto", "standard"}, default="auto"
        How numbers are scaled. "auto": by the spread of all but the outermost values, after a logarithm where the
        column is very skewed and hardly ever negative; values far from all others have no influence. "standard":
        by mean and standard deviation.
    max_categories : int, default=30
        Of more categories in a column the most frequent are kept, and the others share a feature.
    categorical : sequence of str or None, default=None
        Columns whose numbers are codes of categories.
    drop : sequence of str or None, default=None
        Columns to leave out.
    weights : dict or None, default=None
        How much columns count in squared distances, by name; 1 for those that are not named.

    Attributes
    ----------
    columns_ : list of dict
        What was made of each column: its ``"kind"`` ("number", "date", "yes/no", "category", "ordered" or
        "left out"), the ``"source"`` (type of the cells: "number", "amount", "percentage", "duration", "date",
        "day/month/year", "month/day/year", "yes/no" or "text"), the share that is ``"missing"``, ``"center"`` and
        ``"scale"``, ``"categories"`` with their ``"frequencies"`` and ``"merged"`` spellings, ``"suspicions"``,
        its ``"features"``, and so on. ``pandas.DataFrame(encoder.columns_)`` is a table.
    feature_columns_ : ndarray of str of shape (n_features_out,)
        The column that each feature comes from.
    feature_categories_ : list of str or None
        The category that each feature stands for; None for numbers, dates and ordered categories. A column with
        two categories has one feature, positive for the second of them.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : ndarray of str
        The names of the columns, where the table has any.

    Notes
    -----
    Empty cells, None, NaN and the texts "?", "NA", "N/A", "NaN", "null" and "none", in upper or lower case, are
    missing. The types of columns are inferred in `fit` only: text is a number, an amount in one currency (such as
    € 1,234.50 or 1.234,50 €), a percentage, a date (such as 2026-11-16, 31/12/2026 or 12/31/2026), or true and
    false, if all cells of its column are. All cells of a column decide together which mark is the decimal mark and
    whether the day or the month comes first. Later tables are read cell by cell as these types, so that
    a row has the same features alone, in any chunk and in any order. A cell of another type is an error.

    Categories that differ only in case or whitespace are merged, unless they have at most 2 characters and none of
    the spellings is rare, like the genotypes AA, Aa and aa. Categories that look like misspellings are only
    reported. 1 and 1.0 are the same category if they are numbers, but not as text.

    A category that the fit did not see has zero in all features of its column, so that it is equally far from all
    known categories. Columns are found by name, in any order; a missing one is an error. A column that has text
    besides many different numbers is left out with a warning.

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
    2 columns became 2 features.
    x0: numbers from 31 to 52, divided by their spread (7.69).
    x1: two categories, Paris (67 %) and Rome (33 %); 25 % missing.
    """

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

    @whole_or_nothing
    def fit(self, X: TableLike, y: ArrayLike | None = None) -> Self:
        """Learn what is in the columns of a table.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, dict of columns, or array-like of shape (n_samples, n_columns)
            The table.
        y : None, default=None
            Not used.

        Returns
        -------
        TableEncoder
            The fitted encoder.
        """
        self._check_parameters()
        self._learn(X, scaling=self.scaling, max_categories=self.max_categories)
        self.feature_columns_ = np.array(
            [one["column"] for one in self.columns_ for _ in one["features"]], dtype=object
        )
        self.feature_categories_ = [category for one in self.columns_ for category in _categories_of(one)]
        return self

    def transform(self, X: TableLike) -> FloatArray:
        """The features of the rows of a table.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, dict of columns, or array-like of shape (n_samples, n_columns)
            The table, with the columns of the fit; others are not looked at.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            The features, in double precision; a table after ``set_output(transform="pandas")``.
        """
        check_is_fitted(self)
        columns = self._known_columns(X)
        blocks = [encode_column(columns[one["column"]], one) for one in self.columns_ if one["features"]]
        found = np.hstack(blocks)
        if self.missing == "impute":
            np.nan_to_num(found, copy=False, nan=0.0)
        return found

    def inverse_transform(self, X: ArrayLike) -> dict[str, NDArray[Any]]:
        """Values of the columns from features, for example from the centres of clusters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features_out)
            Features.

        Returns
        -------
        dict of ndarray
            For each column that is not left out: numbers in the unit of the column, dates, or the category that
            weighs most.
        """
        check_is_fitted(self)
        features = np.asarray(X, dtype=np.float64)
        if features.ndim != 2 or features.shape[1] != len(self.feature_columns_):
            raise ValueError(f"X must have {len(self.feature_columns_)} features, got shape {features.shape}.")
        found = {}
        for one in self.columns_:
            if one["features"]:
                values = decode_column(features[:, self.feature_columns_ == one["column"]], one)
                found[one["column"]] = days_to_dates(values) if one["kind"] == "date" else values
        return found

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """The names of the features: those of their columns, with ``=category`` where it is one of categories.

        Parameters
        ----------
        input_features : None or array-like of str, default=None
            Not used, since names are those of the fit; here for scikit-learn.

        Returns
        -------
        ndarray of str
            The names.
        """
        check_is_fitted(self)
        return np.array([name for one in self.columns_ for name in one["features"]], dtype=object)

    def describe(self) -> str:
        """Return a description of what was done with the table.

        Returns
        -------
        str
            A line for each column, and below these a line that starts with "Check" for each column with suspicious
            values: values far from all others, negative values among positive ones, categories that look like
            misspellings, and dates whose day and month could be exchanged.
        """
        check_is_fitted(self)
        return describe_columns(self.columns_)

    def _check_parameters(self) -> None:
        check_choice("missing", self.missing, ("keep", "impute"))
        check_choice("scaling", self.scaling, ("auto", "standard"))
        check_integer("max_categories", self.max_categories, 2)


def _categories_of(facts: dict[str, Any]) -> list[str | None]:
    if facts["kind"] not in ("category", "yes/no"):
        return [None for _ in facts["features"]]
    categories: list[str | None] = list(facts["categories"])
    return categories[1:] if len(categories) == 2 else categories


__all__ = ["TableEncoder"]
