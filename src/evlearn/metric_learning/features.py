"""Base classes of the transformers, which are linear in the features or in values of a kernel.

Their training information consists of constraints on pairs of samples, or of labels.
"""

from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from evlearn.constraints import PairwiseConstraints
from evlearn.constraints.pairs import label_codes
from evlearn.storage import fields
from evlearn.utils.convergence import CallbackSupportMixin
from evlearn.utils.reading import read_numbers
from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import check_choice, check_no_extreme_rows, check_range, check_real, check_shape

#: Maximum number of constraints from labels. If there are more pairs, this number is drawn at random.
MAX_PAIRS = 20_000
#: Kernels of `pairwise_kernels` that accept all numbers, and "precomputed".
KERNELS = ("linear", "poly", "rbf", "laplacian", "sigmoid", "cosine", "precomputed")
#: Default values of `kernel_params`.
KERNEL_PARAMS = {"degree": 3.0, "coef0": 1.0}
#: Attributes of transformers that were fitted with a kernel. Without one, they have `components_`.
KERNEL_ATTRIBUTES = ("dual_coef_", "support_", "intercept_", "_support_rows", "_intercept")
_TRANSLATION_INVARIANT = ("rbf", "laplacian")


def training_pairs(
    constraints: PairwiseConstraints | None, y: Any, X: npt.NDArray[Any], random: np.random.RandomState, name: str
) -> PairwiseConstraints:
    """Return the constraints, or those that follow from the labels."""
    if constraints is not None:
        pairs = constraints
    elif y is not None:
        pairs = _pairs_of_labels(read_labels(y, X), random)
    else:
        raise ValueError(
            f"{name} requires y to be passed, but the target y is None, and there are no constraints; use "
            "fit(X, constraints=PairwiseConstraints(...)), or pass labels as y."
        )
    if pairs.n_cannot_link == 0:
        raise ValueError(
            f"{name} requires at least one cannot-link, or labels of at least 2 classes, because otherwise all "
            f"samples would get the same features; got {pairs} of n_samples={len(X)} samples."
        )
    return pairs


def labeled_classes(y: Any, X: npt.NDArray[Any], name: str) -> tuple[IntArray, IntArray]:
    """Return the labeled samples and their classes.

    Returns
    -------
    labeled : ndarray of int of shape (n_labeled,)
        Indices of the samples that have a label.
    classes : ndarray of int of shape (n_labeled,)
        Their classes, numbered from 0. There are at least 2.
    """
    if y is None:
        raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None.")
    codes = read_labels(y, X)
    (labeled,) = np.nonzero(codes >= 0)
    classes = codes[labeled]
    n_classes = len(np.unique(classes))
    if n_classes < 2:
        raise ValueError(
            f"{name} requires labels of at least 2 classes, got {n_classes} class(es) among {len(labeled)} "
            f"labeled of n_samples={len(X)} samples; samples with the label -1, NaN or None are unlabeled."
        )
    return labeled, classes


def read_labels(y: Any, X: npt.NDArray[Any]) -> IntArray:
    """Return labels as integers, with -1 for unlabeled samples."""
    labels = y if hasattr(y, "__array__") or isinstance(y, list) else np.asarray(y)
    if getattr(labels, "ndim", 1) == 2 and labels.shape[1] == 1:  # a single column of a frame
        labels = np.asarray(labels)[:, 0]
    codes = label_codes(labels, -1, "y")
    check_consistent_length(X, codes)
    return codes


def _pairs_of_labels(codes: IntArray, random: np.random.RandomState) -> PairwiseConstraints:
    n_labeled = int((codes >= 0).sum())
    if n_labeled * (n_labeled - 1) // 2 <= MAX_PAIRS:
        return PairwiseConstraints.from_labels(codes)
    return PairwiseConstraints.sample(codes, MAX_PAIRS, random_state=random)


class LinearFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, CallbackSupportMixin, BaseEstimator):
    """Base class: features are products of the original features with `components_`."""

    n_features_in_: fields.Stored[fields.PositiveCount]
    feature_names_in_: fields.StoredIfSet[fields.FeatureNames]
    objective_: fields.StoredIfSet[fields.ExtendedNumber]
    objective_history_: fields.StoredIfSet[fields.ExtendedVector]
    n_iter_: fields.StoredIfSet[int]
    converged_: fields.StoredIfSet[bool]
    ratios_: fields.StoredIfSet[fields.ExtendedVector]

    components_: fields.StoredIfSet[fields.Matrix]

    def transform(self, X: ArrayLike) -> FloatArray:
        """Compute the features of samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Their features; Euclidean distances between these are the learned distances.
        """
        check_is_fitted(self)
        data = read_numbers(self, X, reset=False, dtype=np.float64).data
        check_range("X", data, fitting=False)
        return np.asarray(data @ self.components_.T)

    def _read_data(self, X: Any) -> FloatArray:
        data = read_numbers(self, X, reset=True, dtype=np.float64).data
        check_range("X", data, fitting=True)
        check_no_extreme_rows("X", data)
        return data

    def __sklearn_is_fitted__(self) -> bool:
        # n_features_in_ is set before the fit is complete.
        return "components_" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _after_loading(self) -> None:
        """Raise unless the attributes from a file are consistent."""
        n_components, n_features = self.components_.shape
        fields.check_features(self, n_features)
        check_shape("ratios_", self.__dict__.get("ratios_"), (n_components,))


class LinearOrKernelFeatures(LinearFeatures):
    """Base class: linear features if `kernel` is None, else products of kernel values with `dual_coef_`."""

    _support_rows: fields.StoredIfSet[fields.Matrix]
    _intercept: fields.StoredIfSet[Annotated[Any, fields.any_of(fields.number(), fields.array(1))]]

    kernel: Any
    gamma: float | None
    kernel_params: dict[str, float] | None
    dual_coef_: fields.StoredIfSet[fields.Matrix]
    support_: fields.StoredIfSet[fields.Indices]

    def transform(self, X: ArrayLike) -> FloatArray:
        """Compute the features of samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            The samples, or the values of the kernel between them and all samples of the fit if `kernel` is
            "precomputed".

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Their features; Euclidean distances between these are the learned distances.
        """
        check_is_fitted(self)
        if self._is_linear():
            return super().transform(X)
        data = read_numbers(self, X, reset=False, dtype=np.float64).data
        if self._is_precomputed():
            values = data[:, self.support_]
        else:
            check_range("X", data, fitting=False)
            values = self._kernel_values(data, self._support_rows)
        return np.asarray(values @ self.dual_coef_.T + self._intercept)

    def __sklearn_is_fitted__(self) -> bool:
        return self._is_linear() or "dual_coef_" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.components_ if self._is_linear() else self.dual_coef_)

    def _is_linear(self) -> bool:
        """Return True if the features are fitted and linear."""
        return "components_" in self.__dict__

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _check_kernel(self) -> None:
        if self.kernel is not None and not callable(self.kernel):
            check_choice("kernel", self.kernel, KERNELS)
        if self.gamma is not None:
            check_real("gamma", self.gamma, 0, open_low=True)
        if self.kernel_params is not None and not isinstance(self.kernel_params, dict):
            raise ValueError(
                f"kernel_params must be None or a dict with 'degree' or 'coef0', got {self.kernel_params!r}."
            )
        parameters = self._all_kernel_params()
        unknown = [name for name in parameters if name not in KERNEL_PARAMS]
        if unknown:
            raise ValueError(f"kernel_params must contain only 'degree' and 'coef0', got {unknown[0]!r}.")
        check_real("kernel_params['degree']", parameters["degree"], 0, open_low=True)
        check_real("kernel_params['coef0']", parameters["coef0"], float("-inf"))

    def _all_kernel_params(self) -> dict[str, float]:
        return KERNEL_PARAMS | (self.kernel_params or {})

    def _read_data(self, X: Any) -> FloatArray:
        if not self._is_precomputed():
            return super()._read_data(X)
        data = read_numbers(self, X, reset=True, dtype=np.float64).data
        check_range("X", data, fitting=True)
        if data.shape[0] != data.shape[1]:
            raise ValueError(f"X must be square when kernel='precomputed', got shape {data.shape}.")
        return data

    def _kernel_among(self, data: FloatArray, samples: IntArray) -> FloatArray:
        """Return the values of the kernel between samples of the fit as a symmetric matrix."""
        if self._is_precomputed():
            values = data[np.ix_(samples, samples)]
        else:
            values = self._kernel_values(data[samples], data[samples])
        if not np.isfinite(values).all():
            raise ValueError(
                f"kernel={self.kernel!r} gives values that are not finite; scale X, or choose another kernel."
            )
        return np.asarray(values + values.T) / 2

    def _kernel_values(self, samples: FloatArray, support: FloatArray) -> FloatArray:
        """Return the values of the kernel between samples and samples of the fit."""
        parameters: dict[str, Any] = {}
        if not callable(self.kernel):
            parameters = {"gamma": self.gamma, **self._all_kernel_params()}
        if isinstance(self.kernel, str) and self.kernel in _TRANSLATION_INVARIANT:
            # Differences by products lose digits far from the origin, and not the same ones in every batch.
            center = support.mean(axis=0)
            samples, support = samples - center, support - center
        values = pairwise_kernels(samples, support, metric=self.kernel, filter_params=True, **parameters)
        return np.asarray(values)

    def _set_linear(self, components: FloatArray) -> None:
        """Set the attributes of linear features, and remove those of an earlier fit with a kernel."""
        for name in KERNEL_ATTRIBUTES:
            self.__dict__.pop(name, None)
        self.components_ = components

    def _set_kernel(
        self, data: FloatArray, samples: IntArray, dual_coef: FloatArray, intercept: Any = 0.0
    ) -> None:
        """Set the attributes of kernel features, and remove those of an earlier fit without a kernel."""
        self.__dict__.pop("components_", None)
        self.support_ = samples
        self._support_rows = data[:0] if self._is_precomputed() else data[samples]
        self._intercept = intercept
        self.dual_coef_ = dual_coef

    def _after_loading(self) -> None:
        """Raise unless the attributes from a file are consistent."""
        self._check_stored_kernel()
        attributes, is_linear = vars(self).keys(), self.kernel is None
        required = {"components_"} if is_linear else {"support_", "_support_rows", "_intercept", "dual_coef_"}
        missing = required - attributes
        if missing:
            raise ValueError(f"its structure is broken, because it lacks {min(missing)!r}")
        excess = attributes & (set(KERNEL_ATTRIBUTES) if is_linear else {"components_"})
        if excess:
            raise ValueError(f"with kernel={self.kernel!r} it must not have {min(excess)!r}")
        if is_linear:
            super()._after_loading()
        else:
            self._check_expansion()

    def _check_expansion(self) -> None:
        """Raise unless the attributes of a fit with a kernel are consistent."""
        n_components, n_support = self.dual_coef_.shape
        precomputed = self.kernel == "precomputed"
        rows = (0 if precomputed else n_support, self.n_features_in_)
        check_shape("support_", self.support_, (n_support,))
        check_shape("_support_rows", self._support_rows, rows)
        for name in ("_intercept", "intercept_"):
            value = self.__dict__.get(name)
            if isinstance(value, np.ndarray):
                check_shape(name, value, (n_components,))
        if precomputed and self.support_.max(initial=0) >= self.n_features_in_:
            raise ValueError(f"it refers to a sample beyond the {self.n_features_in_} columns of a row")

    def _check_stored_kernel(self) -> None:
        fields.optional(fields.text(*KERNELS))("kernel", self.kernel)
        fields.optional(_POSITIVE)("gamma", self.gamma)
        if self.kernel_params is not None:
            fields.check_keys("kernel_params", self.kernel_params, (), KERNEL_PARAMS)
            _POSITIVE("degree", self.kernel_params.get("degree", KERNEL_PARAMS["degree"]))
            fields.number()("coef0", self.kernel_params.get("coef0", KERNEL_PARAMS["coef0"]))
        for name in ("n_components", "reg", "tol"):
            if isinstance(value := getattr(self, name, None), str):
                fields.text("auto")(name, value)


_POSITIVE = fields.number(0, above=True)
