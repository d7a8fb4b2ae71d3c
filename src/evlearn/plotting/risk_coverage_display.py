"""Risk-coverage curve: error rate of the least doubtful samples against their share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D

from evlearn.metrics import (
    RiskCoverageCurve,
    augrc_score,
    aurc_score,
    errors_by_verdict,
    risk_coverage_curve,
)
from evlearn.metrics.risk_coverage import majority_classes
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import partition_for, predicts_masses, split_pipeline
from evlearn.plotting import palette
from evlearn.plotting.axes import open_axes, shorten
from evlearn.plotting.palette import draw_legend
from evlearn.utils.typing import DataLike, EstimatorLike, FloatArray

_GID = "risk and coverage"
_STEPS = 200  # additional points of curves


@dataclass(kw_only=True, repr=False, eq=False)
class RiskCoverageDisplay:
    """Risk-coverage curve: error rate of the kept samples, in increasing order of doubt.

    If doubt finds the errors, the curve stays low and rises at the end. A dotted line is the overall error rate,
    the curve of a random order; a thin line is the curve of the best order for the same errors. For a partition, a
    marker shows the share of sure samples and their error rate.

    Create it with `from_result` or `from_predictions`; curves can be compared on the same axes.

    Parameters
    ----------
    curve : RiskCoverageCurve
        Curve to draw.
    aurc, augrc : float
        Areas under the curve and under that of the generalized risk.
    sure : tuple of float, default=None
        Share of the sure samples, and their error rate.
    name : str, default=""
        Name of the curve in the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    line_, best_, random_ : matplotlib Line2D
        Curve, and those of the best and of a random order.
    mark_ : matplotlib Line2D or None
        Marker of the sure samples.
    legend_ : matplotlib Legend or None
        Legend with names and areas.

    See Also
    --------
    evlearn.metrics.aurc_score, evlearn.metrics.augrc_score : Areas under the curves.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from evlearn.plotting import RiskCoverageDisplay
    >>> display = RiskCoverageDisplay.from_predictions(
    ...     [0, 1, 1, 0], [0, 1, 0, 1], [0.1, 0.2, 0.7, 0.4]
    ... )
    >>> display.legend_.get_texts()[0].get_text()
    'AURC 0.153, AUGRC 0.125'
    >>> plt.close(display.figure_)
    """

    curve: RiskCoverageCurve
    aurc: float
    augrc: float
    sure: tuple[float, float] | None = None
    name: str = ""

    @classmethod
    def from_result(
        cls,
        result: CredalPartition | EstimatorLike,
        y: npt.ArrayLike,
        *,
        X: DataLike | None = None,
        classes: npt.ArrayLike | None = None,
        generalized: bool = False,
        name: str | None = None,
        ax: Axes | None = None,
        legend: bool = True,
    ) -> RiskCoverageDisplay:
        """Draw the curve of a partition, or of a fitted clusterer, classifier or pipeline.

        Parameters
        ----------
        result : CredalPartition or fitted estimator
            Partition whose ``doubt()`` determines the order, or an estimator with ``predict_mass`` or
            ``predict_proba``; with ``predict_proba``, doubt is 1 minus the largest probability.
        y : array-like of shape (n_samples,)
            True classes.
        X : array-like or data frame of shape (n_samples, n_features), default=None
            Samples to predict. None draws the training samples of a clusterer.
        classes : array-like of shape (n_clusters,), default=None
            Class of each cluster of a partition. None uses ``classes_`` of a classifier, or else the most
            frequent class of each cluster.
        generalized : bool, default=False
            Whether to draw the generalized risk, see `plot`.
        name : str or None, default=None
            Name of the curve in the legend; None uses the name of the class of an estimator.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure. Pass the ``ax_`` of another display to compare curves.
        legend : bool, default=True
            Whether to draw a legend with the areas under the curve.

        Returns
        -------
        RiskCoverageDisplay
            The drawn display.
        """
        is_partition = isinstance(result, CredalPartition)
        last: Any = split_pipeline(result)[1]
        name = "" if is_partition and name is None else type(last).__name__ if name is None else name
        if is_partition or X is None or predicts_masses(result):
            partition = partition_for(result, X)
            classes = getattr(last, "classes_", None) if classes is None else classes
            summary, labels = errors_by_verdict(y, partition, classes=classes), partition.to_hard()
            predictions = majority_classes(y, labels) if classes is None else np.asarray(classes)[labels]
            display = cls._of(y, predictions, partition.doubt(), name)
            display.sure = (summary.n_sure / summary.n_samples, summary.sure_error) if summary.n_sure else None
            return display.plot(ax, generalized=generalized, legend=legend)
        if not hasattr(result, "predict_proba"):
            raise ValueError(
                f"estimator must have predict_mass or predict_proba, got {result!r}; use from_predictions for "
                "labels and doubts."
            )
        classifier: Any = result
        doubt = 1 - classifier.predict_proba(X).max(axis=1)
        options: dict[str, Any] = {"generalized": generalized, "name": name, "ax": ax, "legend": legend}
        return cls.from_predictions(y, classifier.predict(X), doubt, **options)

    @classmethod
    def from_predictions(
        cls,
        y_true: npt.ArrayLike,
        y_pred: npt.ArrayLike,
        doubt: npt.ArrayLike,
        *,
        generalized: bool = False,
        name: str = "",
        ax: Axes | None = None,
        legend: bool = True,
    ) -> RiskCoverageDisplay:
        """Draw the curve of given predictions and doubts.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True classes.
        y_pred : array-like of shape (n_samples,)
            The predicted classes. For clusters, the most frequent class of each cluster.
        doubt : array-like of shape (n_samples,)
            Doubt about each prediction; larger values indicate likelier errors.
        generalized : bool, default=False
            Whether to draw the generalized risk, see `plot`.
        name : str, default=""
            Name of the curve in the legend.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure. Pass the ``ax_`` of another display to compare curves.
        legend : bool, default=True
            Whether to draw a legend with the areas under the curve.

        Returns
        -------
        RiskCoverageDisplay
            The drawn display.
        """
        return cls._of(y_true, y_pred, doubt, name).plot(ax, generalized=generalized, legend=legend)

    @classmethod
    def _of(cls, y_true: Any, y_pred: Any, doubt: Any, name: str) -> RiskCoverageDisplay:
        return cls(
            curve=risk_coverage_curve(y_true, y_pred, doubt),
            aurc=aurc_score(y_true, y_pred, doubt),
            augrc=augrc_score(y_true, y_pred, doubt),
            name=name,
        )

    def plot(
        self, ax: Axes | None = None, *, generalized: bool = False, legend: bool = True
    ) -> RiskCoverageDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        generalized : bool, default=False
            Whether to draw errors as a share of all samples, instead of the kept samples.
        legend : bool, default=True
            Whether to draw a legend with the areas under the curve.

        Returns
        -------
        RiskCoverageDisplay
            This display.
        """
        self.ax_: Axes = open_axes(ax, width=8.4 if legend else 6.4)
        self.figure_: Figure | SubFigure = self.ax_.figure
        number = palette.n_curves(self.ax_, _GID)
        style = palette.curve_style(number)
        thin = style | {"linewidth": 0.8}
        error = float(self.curve.risk[-1])
        self.line_: Line2D = self._draw(
            self.curve.coverage,
            self.curve.generalized_risk,
            generalized,
            label=self._label(),
            gid=_GID,
            linewidth=1.8,
            **style,
        )
        best_coverage, full_coverage, errors = np.array([1 - error, 1.0]), np.ones(1), np.array([0.0, error])
        self.best_: Line2D = self._draw(
            best_coverage, errors, generalized, **thin | {"linestyle": "-", "alpha": 0.6}
        )
        self.random_: Line2D = self._draw(full_coverage, errors[1:], generalized, **thin | {"linestyle": ":"})
        self.mark_: Line2D | None = self._mark_sure(number, generalized) if self.sure else None
        population = "all samples" if generalized else "the kept samples"
        self.ax_.set(
            xlabel="share of samples kept, least doubtful first", ylabel=f"errors, as a share of {population}"
        )
        self.ax_.set_xlim(0, 1.02)
        self.legend_: Legend | None = self._draw_legend() if legend else None
        return self

    def _draw_legend(self) -> Legend:
        handles, _ = self.ax_.get_legend_handles_labels()
        return draw_legend(self.ax_, handles, "", crowded=False)

    def _draw(self, coverage: FloatArray, kept_errors: FloatArray, generalized: bool, **style: Any) -> Line2D:
        """Draw a curve; within ties the number of kept errors increases linearly."""
        steps = np.union1d(coverage[coverage > 0], np.arange(1, _STEPS + 1) / _STEPS)
        errors = np.interp(steps, np.append(0.0, coverage), np.append(0.0, kept_errors))
        (line,) = self.ax_.plot(steps, errors if generalized else errors / steps, **style)
        return line

    def _mark_sure(self, number: int, generalized: bool) -> Line2D:
        share, error = self.sure or (0.0, 0.0)
        (mark,) = self.ax_.plot(
            share,
            share * error if generalized else error,
            linestyle="none",
            marker=palette.cluster_marker(number),
            color=palette.cluster_color(number),
            markeredgecolor=palette.cluster_shade(number),
            markersize=8,
            label=f"sure: {share:.1%}, {error:.1%} wrong",
        )
        return mark

    def _label(self) -> str:
        prefix = f"{shorten(self.name)}: " if self.name else ""
        return f"{prefix}AURC {self.aurc:.3f}, AUGRC {self.augrc:.3f}"
