"""scikit-learn estimators in model files, which are restored by public attributes alone.

Some estimators have private attributes. These are refitted to one or 2 rows made of their public attributes: an
imputer to its statistics, an encoder to its categories, k-means to its centers.
"""

import warnings
from collections import UserList
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

from evlearn.storage.fields import (
    LARGEST_CLAIM,
    Check,
    EstimatorSchema,
    Field,
    any_of,
    array,
    check_features,
    flag,
    instance,
    list_of,
    number,
    optional,
    register_estimator,
    shortened,
    text,
    whole,
)
from evlearn.utils.validation import check_shape

_SEED = optional(whole())


def _value(location: str, value: object) -> None:
    """Check that a value is text, a number (NaN included) or None."""
    if type(value) not in (type(None), bool, int, float, str) or (type(value) is int and abs(value) >= 2**63):
        raise ValueError(f"{location} must be text or a number, got {shortened(value)}")


_OBJECTS = array(1, "iufbO", finite=False)
_DTYPES = text("float64", "float32", "int64", "int32")


def _register(
    kind: Any, required: dict[str, Check], others: dict[str, Check], nested: tuple[str, ...] = (), **options: Any
) -> None:
    required = {"n_features_in_": whole(1)} | required
    checks = required | {"feature_names_in_": array(1, "O")} | others
    fields = {name: Field(check, name in required, name in nested) for name, check in checks.items()}
    register_estimator(EstimatorSchema(kind, fields, **options))


# Scalers


def _validate_scales(*conditions: tuple[str, str]) -> Callable[[Any], None]:
    """Return a check that arrays have one number per feature, and that arrays required by parameters exist."""

    def validate(estimator: Any) -> None:
        for name, value in vars(estimator).items():
            if isinstance(value, np.ndarray):
                check_shape(name, value, (estimator.n_features_in_,))
        for parameter, name in conditions:
            if getattr(estimator, parameter) and estimator.__dict__.get(name) is None:
                raise ValueError(f"{name} is missing, and {parameter} is true")

    return validate


_SCALES = optional(array(1, finite=False))  # NaN for a feature that was always missing


def _sample_counts(location: str, value: object) -> None:
    (array(1, "if", low=0) if isinstance(value, np.ndarray) else number(0))(location, value)


def _range(location: str, value: object) -> None:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise ValueError(f"{location} must be 2 numbers, got {shortened(value)}")
    for item in value:
        number()(location, item)


def _register_scaler(
    kind: Any,
    names: tuple[str, ...],
    conditions: tuple[tuple[str, str], ...] = (),
    always: tuple[str, ...] = (),
) -> None:
    required: dict[str, Check] = dict.fromkeys(always, array(1, finite=False))
    others: dict[str, Check] = dict.fromkeys(names, _SCALES) | {"n_samples_seen_": _sample_counts}
    ranges: dict[str, Check] = {"feature_range": _range, "quantile_range": _range}
    _register(kind, required, others, validate=_validate_scales(*conditions), parameters=ranges)


# Imputers


def _existing(estimator: Any, *names: str) -> dict[str, Any]:
    """Return the existing attributes of these names."""
    return {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}


def _state_of_imputer(estimator: Any) -> dict[str, Any]:
    state = _existing(estimator, "statistics_", "n_features_in_", "feature_names_in_")
    indicator = getattr(estimator, "indicator_", None)
    return state | ({} if indicator is None else {"indicated": np.asarray(indicator.features_)})


def _make_imputer(estimator: Any, state: dict[str, Any]) -> Any:
    """Fit an imputer to its statistics, and to a row with missing values in the features of its indicator."""
    statistics: Any = state["statistics_"]
    indicated: Any = state.get("indicated")
    check_shape("statistics_", statistics, (state["n_features_in_"],))
    rows = np.stack([statistics, statistics])
    if indicated is not None:
        if len(indicated) and indicated.max() >= rows.shape[1]:
            raise ValueError(f"indicated refers to a feature beyond the {rows.shape[1]} existing ones")
        if estimator.missing_values is None:
            rows = rows.astype(object)
        rows[1, indicated] = estimator.missing_values
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # features without any value
        estimator.fit(rows)
    estimator.statistics_ = statistics
    features: Any = None if estimator.indicator_ is None else estimator.indicator_.features_
    if (features is None) != (indicated is None) or not (features is None or np.array_equal(features, indicated)):
        raise ValueError("its indicator does not match its features")
    return _with_feature_names(estimator, state)


def _with_feature_names(estimator: Any, state: dict[str, Any]) -> Any:
    if "feature_names_in_" in state:
        estimator.feature_names_in_ = state["feature_names_in_"]
    return estimator


def _state_of_neighbors(estimator: Any) -> dict[str, Any]:
    state = estimator.__getstate__()
    if "_fit_X" not in state:
        raise TypeError(
            "this scikit-learn release does not store the rows of a KNNImputer in _fit_X; use joblib.dump."
        )
    return {"rows": state["_fit_X"]} | _existing(estimator, "n_features_in_", "feature_names_in_")


def _make_neighbors(estimator: Any, state: dict[str, Any]) -> Any:
    check_shape("rows", state["rows"], (len(state["rows"]), state["n_features_in_"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _with_feature_names(estimator.fit(state["rows"]), state)


# Encoders


def _make_encoder(estimator: Any, state: dict[str, Any]) -> Any:
    """Fit an encoder to one row, with its categories as a parameter."""
    categories, parameter = state["categories_"], estimator.categories
    if len(categories) != state["n_features_in_"] or not all(len(names) for names in categories):
        raise ValueError("categories_ must contain at least one category per feature")
    row = np.empty((1, len(categories)), dtype=object)
    row[0] = [names[0] for names in categories]
    estimator.set_params(categories=[np.array(names, dtype=object) for names in categories]).fit(row)
    estimator.categories_ = list(categories)
    return _with_feature_names(estimator.set_params(categories=parameter), state)


def _state_of_encoder(estimator: Any) -> dict[str, Any]:
    return _existing(estimator, "categories_", "n_features_in_", "feature_names_in_")


_CATEGORIES = list_of(_OBJECTS)
_ENCODER: dict[str, Check] = {
    "categories": any_of(text("auto"), _CATEGORIES),
    "dtype": _DTYPES,
    "handle_unknown": text(),
    "min_frequency": instance(type(None)),
    "max_categories": instance(type(None)),
}


def _register_encoder(kind: Any, parameters: dict[str, Check]) -> None:
    _register(
        kind,
        {"categories_": _CATEGORIES},
        {},
        parameters=_ENCODER | parameters,
        get_state=_state_of_encoder,
        set_state=_make_encoder,
    )


# Components, centers, mixtures


_VARIANCES = ("explained_variance_", "explained_variance_ratio_", "singular_values_")


def _validate_components(estimator: Any) -> None:
    n_components, n_features = estimator.components_.shape
    check_features(estimator, n_features)
    check_shape("mean_", estimator.__dict__.get("mean_"), (n_features,))
    for name in _VARIANCES:
        check_shape(name, estimator.__dict__.get(name), (n_components,))


def _make_kmeans(estimator: Any, state: dict[str, Any]) -> Any:
    """Fit k-means to its own centers."""
    centers, parameters = state["cluster_centers_"], estimator.get_params()
    check_shape("cluster_centers_", centers, (len(centers), state["n_features_in_"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # centers that coincide
        estimator.set_params(n_clusters=len(centers), init=centers, n_init=1, max_iter=1).fit(centers)
    estimator.cluster_centers_ = centers
    estimator.labels_ = np.arange(len(centers), dtype=np.int32)
    return _with_feature_names(estimator.set_params(**parameters), state)


def _validate_mixture(estimator: Any) -> None:
    n_components, n_features = estimator.means_.shape
    check_features(estimator, n_features)
    check_shape("weights_", estimator.weights_, (n_components,))
    shape = {
        "full": (n_components, n_features, n_features),
        "tied": (n_features, n_features),
        "diag": (n_components, n_features),
        "spherical": (n_components,),
    }[estimator.covariance_type]
    for name in ("covariances_", "precisions_", "precisions_cholesky_"):
        check_shape(name, getattr(estimator, name), shape)


def _any_array(location: str, value: object) -> None:
    array(min(value.ndim, 3) if isinstance(value, np.ndarray) else 1)(location, value)


# Column transformers


class _Placeholder(TransformerMixin, BaseEstimator):
    """A transformer that returns zeros, for a fit that only determines the output columns."""

    def __init__(self, width: int = 1) -> None:
        self.width = width

    def fit(self, X: Any, y: Any = None) -> "_Placeholder":
        return self

    def transform(self, X: Any) -> Any:
        return np.zeros((len(X), self.width))

    def __sklearn_is_fitted__(self) -> bool:
        return True


def _state_of_columns(estimator: Any) -> dict[str, Any]:
    parameters = {name: transformer for name, transformer, _ in estimator.transformers} | {
        "remainder": estimator.remainder
    }
    if estimator.transformer_weights is not None:
        raise TypeError("ColumnTransformer.transformer_weights cannot be in a model file; use joblib.dump.")
    entries = [
        [
            name,
            parameters[name] if isinstance(parameters[name], str) else fitted,
            selected_columns(estimator, columns),
        ]
        for name, fitted, columns in estimator.transformers_
    ]
    return {"transformers": entries} | _existing(
        estimator, "n_features_in_", "feature_names_in_", "sparse_output_"
    )


def selected_columns(estimator: Any, columns: Any) -> list[Any]:
    """Return the names or numbers of selected columns; a single column is not supported."""
    if isinstance(columns, UserList):  # the remainder in scikit-learn 1.6, which warns of a change in 1.7
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            columns = list(columns)
    if isinstance(columns, slice) and {type(columns.start), type(columns.stop)} <= {int, type(None)}:
        return list(range(estimator.n_features_in_))[columns]
    if isinstance(columns, (list, tuple, np.ndarray)) or hasattr(columns, "tolist"):
        items = np.asarray(columns).tolist()
        if any(type(item) is bool for item in items):
            return [int(k) for k in np.flatnonzero(items)]
        if all(isinstance(item, (int, str)) for item in items):
            return [item % estimator.n_features_in_ if isinstance(item, int) else item for item in items]
    raise TypeError(f"columns of a ColumnTransformer must be a list of names or numbers, got {columns!r}.")


def _entry(location: str, value: object) -> None:
    if not isinstance(value, list) or len(value) != 3 or not isinstance(value[0], str):
        raise ValueError(f"{location} must be a name, a transformer and columns, got {shortened(value)}")
    if isinstance(value[1], str):
        text("drop", "passthrough")(f"{location}[1]", value[1])
    elif not hasattr(value[1], "transform"):
        raise ValueError(f"{location}[1] must be a transformer, got {shortened(value[1])}")
    list_of(any_of(text(), whole(0, LARGEST_CLAIM)))(f"{location}[2]", value[2])


def _make_columns(estimator: Any, state: dict[str, Any]) -> Any:
    """Fit a column transformer to one row with placeholders, and replace these by the transformers."""
    entries = state["transformers"]
    names, n_features = state.get("feature_names_in_"), state["n_features_in_"]
    if len({name for name, _, _ in entries}) != len(entries):
        raise ValueError("transformers must have different names")
    for name, transformer, columns in entries:
        if not isinstance(transformer, str) and transformer.n_features_in_ != len(columns):
            raise ValueError(f"the transformer {shortened(name)} does not match its number of columns")
    fitted = {name: transformer for name, transformer, _ in entries if not isinstance(transformer, str)}
    placeholders = [
        (name, _Placeholder(n_features_out(transformer)) if name in fitted else transformer, columns)
        for name, transformer, columns in entries
        if name != "remainder"
    ]
    remainder = estimator.remainder
    rest: Any = _Placeholder(n_features_out(fitted["remainder"])) if "remainder" in fitted else remainder
    rest = rest if isinstance(rest, (str, _Placeholder)) else "drop"
    estimator.set_params(transformers=placeholders, remainder=rest).fit(_one_row(n_features, names))
    estimator.transformers_ = [
        (name, fitted.get(name, transformer), columns) for name, transformer, columns in estimator.transformers_
    ]
    estimator.transformers = [
        (name, clone(fitted.get(name, transformer), safe=False), columns)
        for name, transformer, columns in placeholders
    ]
    estimator.remainder = remainder
    estimator.sparse_output_ = state["sparse_output_"]
    return estimator


def _one_row(n_features: int, names: Any) -> Any:
    if names is None:
        return np.zeros((1, n_features))
    try:
        import pandas
    except ImportError as error:
        raise ValueError("its columns have names, which requires pandas: pip install pandas") from error
    if len(names) != n_features:
        raise ValueError("feature_names_in_ must have a name for each feature")
    return pandas.DataFrame(np.zeros((1, n_features)), columns=names)


def n_features_out(transformer: Any) -> int:
    """Return the number of output features of a transformer."""
    if isinstance(transformer, Pipeline):
        return n_features_out(transformer[-1])
    if isinstance(transformer, ColumnTransformer):
        return sum(columns.stop - columns.start for columns in transformer.output_indices_.values())
    for name in ("components_", "dual_coef_"):
        if name in vars(transformer):
            return len(getattr(transformer, name))
    return len(transformer.get_feature_names_out())


# Registration

_register_scaler(StandardScaler, ("mean_", "var_", "scale_"), (("with_mean", "mean_"), ("with_std", "scale_")))
_register_scaler(RobustScaler, ("center_", "scale_"), (("with_centering", "center_"), ("with_scaling", "scale_")))
_register_scaler(MinMaxScaler, ("data_min_", "data_max_", "data_range_"), always=("scale_", "min_"))
_register_scaler(MaxAbsScaler, ("max_abs_",), always=("scale_",))
_IMPUTER: dict[str, Check] = {"missing_values": _value}
_register(
    SimpleImputer,
    {"statistics_": _OBJECTS},
    {"indicated": array(1, "i", low=0)},
    parameters=_IMPUTER | {"strategy": text("mean", "median", "most_frequent", "constant"), "fill_value": _value},
    get_state=_state_of_imputer,
    set_state=_make_imputer,
)
_register(
    KNNImputer,
    {"rows": array(2, finite=False)},
    {},
    parameters=_IMPUTER
    | {"n_neighbors": whole(1), "weights": text("uniform", "distance"), "metric": text("nan_euclidean")},
    get_state=_state_of_neighbors,
    set_state=_make_neighbors,
)
_register_encoder(
    OneHotEncoder,
    {"drop": any_of(optional(text("first", "if_binary")), _OBJECTS), "feature_name_combiner": text("concat")},
)
_register_encoder(OrdinalEncoder, {"unknown_value": _value, "encoded_missing_value": _value})
_SVD: dict[str, Check] = {
    "n_components": any_of(optional(text()), number(0)),
    "svd_solver": text(),
    "tol": number(0),
    "iterated_power": any_of(text(), whole()),
    "n_oversamples": whole(),
    "power_iteration_normalizer": text(),
    "random_state": _SEED,
    "algorithm": text(),
    "n_iter": whole(),
}
_DECOMPOSED: dict[str, Check] = dict.fromkeys(_VARIANCES, array(1, finite=False)) | {
    "n_components_": whole(),
    "n_samples_": whole(),
    "noise_variance_": number(finite=False),
}
_COMPONENTS: dict[str, Check] = {"components_": array(2)}
_MEAN: dict[str, Check] = {"mean_": array(1), "explained_variance_": array(1)}
_register(PCA, _COMPONENTS | _MEAN, _DECOMPOSED, validate=_validate_components, parameters=_SVD)
_register(TruncatedSVD, _COMPONENTS, _DECOMPOSED, validate=_validate_components, parameters=_SVD)
_register(
    ColumnTransformer,
    {"transformers": list_of(_entry), "sparse_output_": flag},
    {},
    ("transformers",),
    parameters={
        "remainder": any_of(text("drop", "passthrough"), instance(BaseEstimator)),
        "sparse_threshold": number(0, 1),
        "transformer_weights": instance(type(None)),
        "force_int_remainder_cols": any_of(text(), flag),
    },
    nested_parameters=("remainder",),
    omitted=frozenset({"transformers"}),
    construct=partial(ColumnTransformer, transformers=[]),
    get_state=_state_of_columns,
    set_state=_make_columns,
)
_register(
    KMeans,
    {"cluster_centers_": array(2)},
    {},
    parameters={
        "n_clusters": whole(1),
        "init": any_of(text(), array(2)),
        "n_init": any_of(text(), whole(1)),
        "max_iter": whole(1),
        "tol": number(0),
        "random_state": _SEED,
        "algorithm": text(),
    },
    set_state=_make_kmeans,
)
_register(
    GaussianMixture,
    {
        "weights_": array(1, low=0),
        "means_": array(2),
        **dict.fromkeys(("covariances_", "precisions_", "precisions_cholesky_"), _any_array),
    },
    {"converged_": flag, "n_iter_": whole(), "lower_bound_": number(finite=False)},
    validate=_validate_mixture,
    parameters={
        "n_components": whole(1),
        "covariance_type": text("full", "tied", "diag", "spherical"),
        "tol": number(0),
        "reg_covar": number(0),
        "max_iter": whole(1),
        "n_init": whole(1),
        "init_params": text(),
        **dict.fromkeys(("weights_init", "means_init", "precisions_init"), optional(_any_array)),
        "random_state": _SEED,
        "verbose_interval": whole(),
    },
)
