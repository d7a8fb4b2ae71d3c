"""What the transformers share: features that are linear in attributes, or in values of a kernel."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.validation import check_is_fitted

from evlearn.utils.callbacks import CallbackSupportMixin
from evlearn.utils.progress import Steps
from evlearn.utils.reading import read_numbers
from evlearn.utils.typing import FloatArray, IntArray
from evlearn.utils.validation import check_choice, check_integer, check_range, check_real, refuse_remote

#: The kernels that `pairwise_kernels` knows and that take any numbers, and "precomputed".
KERNELS = ("linear", "poly", "rbf", "laplacian", "sigmoid", "cosine", "precomputed")
#: The kernels that depend on differences of samples alone.
_TRANSLATION_INVARIANT = ("rbf", "laplacian")


class LinearFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, CallbackSupportMixin, BaseEstimator):
    """Base class: features are products of attributes with `components_`."""

    components_: FloatArray

    def transform(self, X: ArrayLike) -> FloatArray:
        """The features of samples, new or old.

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

    def _read(self, X: Any) -> FloatArray:
        data = read_numbers(self, X, reset=True, dtype=np.float64).data
        check_range("X", data, fitting=True)
        refuse_remote("X", data)
        return data

    def __sklearn_is_fitted__(self) -> bool:
        # Not n_features_in_, which is set before anything is learned.
        return "components_" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        return _with_required_y(super().__sklearn_tags__())

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


class KernelFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, CallbackSupportMixin, BaseEstimator):
    """Base class: features are products of kernel values with `dual_coef_`."""

    kernel: Any
    gamma: float | None
    degree: float
    coef0: float
    dual_coef_: FloatArray
    support_: IntArray

    def transform(self, X: ArrayLike) -> FloatArray:
        """The features of samples, new or old.

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
        data = read_numbers(self, X, reset=False, dtype=np.float64).data
        if self._is_precomputed():
            values = data[:, self.support_]
        else:
            check_range("X", data, fitting=False)
            values = self._kernel_values(data, self._support_rows)
        return np.asarray(values @ self.dual_coef_.T + self._intercept)

    def __sklearn_is_fitted__(self) -> bool:
        return "dual_coef_" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = _with_required_y(super().__sklearn_tags__())
        tags.input_tags.pairwise = self._is_precomputed()
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.dual_coef_)

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _check_kernel(self) -> None:
        if not callable(self.kernel):
            check_choice("kernel", self.kernel, KERNELS)
        if self.gamma is not None:
            check_real("gamma", self.gamma, 0, open_low=True)
        check_real("degree", self.degree, 0, open_low=True)
        check_real("coef0", self.coef0, float("-inf"))

    def _read(self, X: Any) -> FloatArray:
        data = read_numbers(self, X, reset=True, dtype=np.float64).data
        check_range("X", data, fitting=True)
        if not self._is_precomputed():
            refuse_remote("X", data)
        if self._is_precomputed() and data.shape[0] != data.shape[1]:
            raise ValueError(f"X must be square when kernel='precomputed', got shape {data.shape}.")
        return data

    def _kernel_among(self, data: FloatArray, objects: IntArray) -> FloatArray:
        """The values of the kernel between some samples of the fit, as a symmetric matrix."""
        if self._is_precomputed():
            values = data[np.ix_(objects, objects)]
        else:
            values = self._kernel_values(data[objects], data[objects])
        if not np.isfinite(values).all():
            raise ValueError(
                f"kernel={self.kernel!r} gives values that are not finite; scale X, or choose another."
            )
        return np.asarray(values + values.T) / 2

    def _kernel_values(self, samples: FloatArray, support: FloatArray) -> FloatArray:
        """Return the values of the kernel between samples and samples of the fit."""
        parameters = (
            {} if callable(self.kernel) else {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        )
        if isinstance(self.kernel, str) and self.kernel in _TRANSLATION_INVARIANT:
            # Differences by products lose digits far from the origin, and not the same ones in every batch.
            center = support.mean(axis=0)
            samples, support = samples - center, support - center
        values = pairwise_kernels(samples, support, metric=self.kernel, filter_params=True, **parameters)
        return np.asarray(values)

    def _publish(self, data: FloatArray, objects: IntArray, dual_coef: FloatArray, intercept: Any = 0.0) -> None:
        self.support_ = objects
        self._support_rows = data[:0] if self._is_precomputed() else data[objects]
        self._intercept = intercept
        self.dual_coef_ = dual_coef


class LearnsFromPairs:
    """What PCCA and its kernel version share: parameters, and the account of a fit."""

    n_components: int
    beta: float
    n_init: int
    max_iter: int
    tol: float
    verbose: int

    def _check_pair_parameters(self) -> None:
        check_integer("n_components", self.n_components, 1)
        check_real("beta", self.beta, 0, open_low=True)
        check_integer("n_init", self.n_init, 1)
        check_integer("max_iter", self.max_iter, 1)
        check_real("tol", self.tol, 0)

    def _settings(self) -> dict[str, Any]:
        return {
            "beta": float(self.beta),
            "n_components": self.n_components,
            "n_init": self.n_init,
            "tol": self.tol,
            "max_iter": self.max_iter,
            "report": Steps(self.max_iter, self.n_init),
        }


def _with_required_y(tags: Any) -> Any:
    tags.target_tags.required = True
    return tags
