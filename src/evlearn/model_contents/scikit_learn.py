"""What a model file may hold of scikit-learn's estimators, and how they are made again by public names alone.

Some keep what they need where nobody else may look. These are fitted again, to one or two rows made of what they
have learned: an imputer to its own statistics, an encoder to its own categories, k-means to its own centres.
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from evlearn.model_contents.contents import (
    ANY_NUMBER,
    FEATURE_NAMES,
    N_FEATURES,
    Contents,
    check_features,
    either,
    listed,
)
from evlearn.utils.stored_values import (
    LARGEST_CLAIM,
    Check,
    array,
    check_length,
    flag,
    instance,
    number,
    optional,
    shortened,
    text,
    whole,
)

_SEED = optional(whole())


def _value(where: str, value: Any) -> None:
    """A check: the value is a word, a number, also NaN, or nothing."""
    if type(value) not in (type(None), bool, int, float, str) or (type(value) is int and abs(value) >= 2**63):
        raise ValueError(f"{where} must be a word or a number, got {shortened(value)}")


_OBJECTS = array(1, "iufbO", finite=False)
_DTYPES = text("float64", "float32", "int64", "int32")


# Scalers


def _agree_on_scales(*needed: tuple[str, str]) -> Callable[[Any], None]:
    """A check that arrays have a number for each feature, and are there if a parameter says that they are used."""

    def agree(estimator: Any) -> None:
        for name, value in vars(estimator).items():
            if isinstance(value, np.ndarray):
                check_length(name, value, (estimator.n_features_in_,))
        for parameter, name in needed:
            if getattr(estimator, parameter) and estimator.__dict__.get(name) is None:
                raise ValueError(f"{name} is missing, and {parameter} is true")

    return agree


_SCALES = optional(array(1, finite=False))  # of a feature that was never seen there is no number


def _counted(where: str, value: Any) -> None:
    (array(1, "if", low=0) if isinstance(value, np.ndarray) else number(0))(where, value)


def _range(where: str, value: Any) -> None:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise ValueError(f"{where} must be two numbers, got {shortened(value)}")
    for one in value:
        number()(where, one)


def _scaler(
    estimator: Any, names: tuple[str, ...], needed: tuple[tuple[str, str], ...] = (), always: tuple[str, ...] = ()
) -> Contents:
    stored: dict[str, Check] = dict.fromkeys(names, _SCALES) | {"n_samples_seen_": _counted}
    required: dict[str, Check] = {name: array(1, finite=False) for name in always}
    ranges: dict[str, Check] = {"feature_range": _range, "quantile_range": _range}
    return Contents(estimator, N_FEATURES | required, FEATURE_NAMES | stored, _agree_on_scales(*needed), ranges)


# Imputers


def _known(estimator: Any, *names: str) -> dict[str, Any]:
    """Attributes that are there."""
    return {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}


def _told_by_imputer(estimator: Any) -> dict[str, Any]:
    told = _known(estimator, "statistics_", "n_features_in_", "feature_names_in_")
    indicator = getattr(estimator, "indicator_", None)
    return told | ({} if indicator is None else {"indicated": np.asarray(indicator.features_)})


def _make_imputer(estimator: Any, learned: dict[str, Any]) -> Any:
    """Fitted to two rows: one of statistics, and one with gaps where the indicator has features."""
    statistics: Any = learned["statistics_"]
    indicated: Any = learned.get("indicated")
    check_length("statistics_", statistics, (learned["n_features_in_"],))
    rows = np.stack([statistics, statistics])
    if indicated is not None:
        if len(indicated) and indicated.max() >= rows.shape[1]:
            raise ValueError(f"indicated names a feature beyond the {rows.shape[1]} that there are")
        if estimator.missing_values is None:
            rows = rows.astype(object)
        rows[1, indicated] = estimator.missing_values
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of features without any value
        estimator.fit(rows)
    estimator.statistics_ = statistics
    found: Any = None if estimator.indicator_ is None else estimator.indicator_.features_
    if (found is None) != (indicated is None) or not (found is None or np.array_equal(found, indicated)):
        raise ValueError("its indicator does not agree with its features")
    return _named(estimator, learned)


def _named(estimator: Any, learned: dict[str, Any]) -> Any:
    if "feature_names_in_" in learned:
        estimator.feature_names_in_ = learned["feature_names_in_"]
    return estimator


def _told_by_neighbors(estimator: Any) -> dict[str, Any]:
    state = estimator.__getstate__()
    if "_fit_X" not in state:
        raise TypeError("this release of scikit-learn keeps the rows of a KNNImputer elsewhere; use joblib.dump.")
    return {"rows": state["_fit_X"]} | _known(estimator, "n_features_in_", "feature_names_in_")


def _make_neighbors(estimator: Any, learned: dict[str, Any]) -> Any:
    check_length("rows", learned["rows"], (len(learned["rows"]), learned["n_features_in_"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _named(estimator.fit(learned["rows"]), learned)


# Encoders


def _make_encoder(estimator: Any, learned: dict[str, Any]) -> Any:
    """Fitted to one row of first categories, with all categories given."""
    categories, asked = learned["categories_"], estimator.categories
    if len(categories) != learned["n_features_in_"] or not all(len(one) for one in categories):
        raise ValueError("categories_ must hold some for each feature")
    row = np.empty((1, len(categories)), dtype=object)
    row[0] = [one[0] for one in categories]
    estimator.set_params(categories=[np.array(one, dtype=object) for one in categories]).fit(row)
    estimator.categories_ = list(categories)
    return _named(estimator.set_params(categories=asked), learned)


def _told_by_encoder(estimator: Any) -> dict[str, Any]:
    return _known(estimator, "categories_", "n_features_in_", "feature_names_in_")


_CATEGORIES = listed(_OBJECTS)
_ENCODER: dict[str, Check] = {
    "categories": either(text("auto"), _CATEGORIES),
    "dtype": _DTYPES,
    "handle_unknown": text(),
    "min_frequency": instance(type(None)),
    "max_categories": instance(type(None)),
}


def _encoder(estimator: Any, parameters: dict[str, Check]) -> Contents:
    return Contents(
        estimator,
        N_FEATURES | {"categories_": _CATEGORIES},
        FEATURE_NAMES,
        parameters=_ENCODER | parameters,
        told=_told_by_encoder,
        made=_make_encoder,
    )


# Components, centres, mixtures


def _agree_on_components(estimator: Any) -> None:
    n_components, n_features = estimator.components_.shape
    check_features(estimator, n_features)
    check_length("mean_", estimator.__dict__.get("mean_"), (n_features,))
    for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_"):
        check_length(name, estimator.__dict__.get(name), (n_components,))


def _make_kmeans(estimator: Any, learned: dict[str, Any]) -> Any:
    """Fitted to its own centres."""
    centers, asked = learned["cluster_centers_"], estimator.get_params()
    check_length("cluster_centers_", centers, (len(centers), learned["n_features_in_"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of centres that coincide
        estimator.set_params(n_clusters=len(centers), init=centers, n_init=1, max_iter=1).fit(centers)
    estimator.cluster_centers_ = centers
    estimator.labels_ = np.arange(len(centers), dtype=np.int32)
    return _named(estimator.set_params(**asked), learned)


def _agree_on_mixture(estimator: Any) -> None:
    n_components, n_features = estimator.means_.shape
    check_features(estimator, n_features)
    check_length("weights_", estimator.weights_, (n_components,))
    shape = {
        "full": (n_components, n_features, n_features),
        "tied": (n_features, n_features),
        "diag": (n_components, n_features),
        "spherical": (n_components,),
    }[estimator.covariance_type]
    for name in ("covariances_", "precisions_", "precisions_cholesky_"):
        check_length(name, getattr(estimator, name), shape)


def _any_array(where: str, value: Any) -> None:
    array(min(value.ndim, 3) if isinstance(value, np.ndarray) else 1)(where, value)


# Columns, each to its own transformer


class _Placeholder(TransformerMixin, BaseEstimator):
    """As many columns as a transformer gives, for a fit that shall only find out where columns go."""

    def __init__(self, width: int = 1) -> None:
        self.width = width

    def fit(self, X: Any, y: Any = None) -> "_Placeholder":
        return self

    def transform(self, X: Any) -> Any:
        return np.zeros((len(X), self.width))

    def __sklearn_is_fitted__(self) -> bool:
        return True


def _told_by_columns(estimator: Any) -> dict[str, Any]:
    words = {name: one for name, one, _ in estimator.transformers} | {"remainder": estimator.remainder}
    if estimator.transformer_weights is not None:
        raise TypeError("ColumnTransformer.transformer_weights cannot be in a model file; use joblib.dump.")
    entries = [
        [name, words[name] if isinstance(words[name], str) else fitted, _columns(estimator, columns)]
        for name, fitted, columns in estimator.transformers_
    ]
    return {"transformers": entries} | _known(estimator, "n_features_in_", "feature_names_in_", "sparse_output_")


def _columns(estimator: Any, columns: Any) -> list[Any]:
    """Names or numbers of columns, from all that says which columns are meant but single ones."""
    if isinstance(columns, slice) and {type(columns.start), type(columns.stop)} <= {int, type(None)}:
        return list(range(estimator.n_features_in_))[columns]
    if isinstance(columns, (list, tuple, np.ndarray)) or hasattr(columns, "tolist"):
        found = np.asarray(columns).tolist()
        if any(type(one) is bool for one in found):
            return [int(k) for k in np.flatnonzero(found)]
        if all(isinstance(one, (int, str)) for one in found):
            return [one % estimator.n_features_in_ if isinstance(one, int) else one for one in found]
    raise TypeError(f"columns of a ColumnTransformer must be a list of names or numbers, got {columns!r}.")


def _entry(where: str, value: Any) -> None:
    if not isinstance(value, list) or len(value) != 3 or not isinstance(value[0], str):
        raise ValueError(f"{where} must be a name, a transformer and columns, got {shortened(value)}")
    if isinstance(value[1], str):
        text("drop", "passthrough")(f"{where}[1]", value[1])
    elif not hasattr(value[1], "transform"):
        raise ValueError(f"{where}[1] must be a transformer, got {shortened(value[1])}")
    listed(either(text(), whole(0, LARGEST_CLAIM)))(f"{where}[2]", value[2])


def _make_columns(estimator: Any, learned: dict[str, Any]) -> Any:
    """Fitted to one row with placeholders, for which the transformers are exchanged."""
    entries = learned["transformers"]
    names, n_features = learned.get("feature_names_in_"), learned["n_features_in_"]
    if len({name for name, _, _ in entries}) != len(entries):
        raise ValueError("transformers must have names of their own")
    for name, one, columns in entries:
        if not isinstance(one, str) and one.n_features_in_ != len(columns):
            raise ValueError(f"the transformer {shortened(name)} is not for as many columns as it has")
    fitted = {name: one for name, one, _ in entries if not isinstance(one, str)}
    standing = [
        (name, _Placeholder(n_features_out(one)) if name in fitted else one, columns)
        for name, one, columns in entries
        if name != "remainder"
    ]
    asked = estimator.remainder
    rest: Any = _Placeholder(n_features_out(fitted["remainder"])) if "remainder" in fitted else asked
    rest = rest if isinstance(rest, (str, _Placeholder)) else "drop"
    estimator.set_params(transformers=standing, remainder=rest).fit(_one_row(n_features, names))
    estimator.transformers_ = [(name, fitted.get(name, one), at) for name, one, at in estimator.transformers_]
    estimator.transformers = [(name, clone(fitted.get(name, one), safe=False), at) for name, one, at in standing]
    estimator.remainder = asked
    estimator.sparse_output_ = learned["sparse_output_"]
    return estimator


def _one_row(n_features: int, names: Any) -> Any:
    if names is None:
        return np.zeros((1, n_features))
    try:
        import pandas
    except ImportError as error:
        raise ValueError("its columns have names, and reading it needs pandas: pip install pandas") from error
    if len(names) != n_features:
        raise ValueError("feature_names_in_ must have a name for each feature")
    return pandas.DataFrame(np.zeros((1, n_features)), columns=names)


def n_features_out(transformer: Any) -> int:
    """How many features a transformer gives to what follows it."""
    if isinstance(transformer, Pipeline):
        return n_features_out(transformer[-1])
    if isinstance(transformer, ColumnTransformer):
        return sum(where.stop - where.start for where in transformer.output_indices_.values())
    for name in ("components_", "dual_coef_"):
        if name in vars(transformer):
            return len(getattr(transformer, name))
    return len(transformer.get_feature_names_out())


_IMPUTER: dict[str, Check] = {"missing_values": _value}
_VARIANCES = dict.fromkeys(
    ("explained_variance_", "explained_variance_ratio_", "singular_values_"), array(1, finite=False)
)
_SVD: dict[str, Check] = {
    "n_components": either(optional(text()), number(0)),
    "svd_solver": text(),
    "tol": number(0),
    "iterated_power": either(text(), whole()),
    "n_oversamples": whole(),
    "power_iteration_normalizer": text(),
    "random_state": _SEED,
    "algorithm": text(),
    "n_iter": whole(),
}
_DECOMPOSED: dict[str, Check] = (
    FEATURE_NAMES
    | _VARIANCES
    | {
        "n_components_": whole(),
        "n_samples_": whole(),
        "noise_variance_": number(finite=False),
    }
)
_ARRAY_OR_NONE = optional(_any_array)

#: Transformers of scikit-learn that have files.
TRANSFORMERS = (
    _scaler(StandardScaler, ("mean_", "var_", "scale_"), (("with_mean", "mean_"), ("with_std", "scale_"))),
    _scaler(RobustScaler, ("center_", "scale_"), (("with_centering", "center_"), ("with_scaling", "scale_"))),
    _scaler(MinMaxScaler, ("data_min_", "data_max_", "data_range_"), always=("scale_", "min_")),
    _scaler(MaxAbsScaler, ("max_abs_",), always=("scale_",)),
    Contents(
        SimpleImputer,
        N_FEATURES | {"statistics_": _OBJECTS},
        FEATURE_NAMES | {"indicated": array(1, "i", low=0)},
        parameters=_IMPUTER
        | {"strategy": text("mean", "median", "most_frequent", "constant"), "fill_value": _value},
        told=_told_by_imputer,
        made=_make_imputer,
    ),
    Contents(
        KNNImputer,
        N_FEATURES | {"rows": array(2, finite=False)},
        FEATURE_NAMES,
        parameters=_IMPUTER
        | {"n_neighbors": whole(1), "weights": text("uniform", "distance"), "metric": text("nan_euclidean")},
        told=_told_by_neighbors,
        made=_make_neighbors,
    ),
    _encoder(
        OneHotEncoder,
        {"drop": either(optional(text("first", "if_binary")), _OBJECTS), "feature_name_combiner": text("concat")},
    ),
    _encoder(OrdinalEncoder, {"unknown_value": _value, "encoded_missing_value": _value}),
    Contents(
        PCA,
        N_FEATURES | {"components_": array(2), "mean_": array(1), "explained_variance_": array(1)},
        _DECOMPOSED,
        _agree_on_components,
        _SVD,
    ),
    Contents(TruncatedSVD, N_FEATURES | {"components_": array(2)}, _DECOMPOSED, _agree_on_components, _SVD),
    Contents(
        ColumnTransformer,
        N_FEATURES | {"transformers": listed(_entry), "sparse_output_": flag},
        FEATURE_NAMES,
        parameters={
            "remainder": either(text("drop", "passthrough"), instance(BaseEstimator)),
            "sparse_threshold": number(0, 1),
            "transformer_weights": instance(type(None)),
            "force_int_remainder_cols": either(text(), flag),
        },
        nested=frozenset({"remainder", "transformers"}),
        omitted=frozenset({"transformers"}),
        construct=partial(ColumnTransformer, transformers=[]),
        told=_told_by_columns,
        made=_make_columns,
    ),
)
#: Clusterers and mixtures of scikit-learn that have files, as members of ours.
CLUSTERERS = (
    Contents(
        KMeans,
        N_FEATURES | {"cluster_centers_": array(2)},
        FEATURE_NAMES,
        parameters={
            "n_clusters": whole(1),
            "init": either(text(), array(2)),
            "n_init": either(text(), whole(1)),
            "max_iter": whole(1),
            "tol": number(0),
            "random_state": _SEED,
            "algorithm": text(),
        },
        made=_make_kmeans,
    ),
    Contents(
        GaussianMixture,
        N_FEATURES
        | {
            "weights_": array(1, low=0),
            "means_": array(2),
            "covariances_": _any_array,
            "precisions_": _any_array,
            "precisions_cholesky_": _any_array,
        },
        FEATURE_NAMES | {"converged_": flag, "n_iter_": whole(), "lower_bound_": ANY_NUMBER},
        _agree_on_mixture,
        {
            "n_components": whole(1),
            "covariance_type": text("full", "tied", "diag", "spherical"),
            "tol": number(0),
            "reg_covar": number(0),
            "max_iter": whole(1),
            "n_init": whole(1),
            "init_params": text(),
            "weights_init": _ARRAY_OR_NONE,
            "means_init": _ARRAY_OR_NONE,
            "precisions_init": _ARRAY_OR_NONE,
            "random_state": _SEED,
            "verbose_interval": whole(),
        },
    ),
)

__all__ = ["CLUSTERERS", "TRANSFORMERS", "n_features_out"]
