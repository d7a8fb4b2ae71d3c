"""Whether doubt finds errors: the error rate among the samples of least doubt, against how many are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from evlearn.metrics import (
    RiskCoverageCurve,
    augrc_score,
    aurc_score,
    errors_by_verdict,
    majority_classes,
    risk_coverage_curve,
)
from evlearn.partition import CredalPartition
from evlearn.partition.estimators import partition_of, predicts_masses, split_pipeline
from evlearn.plotting import palette
from evlearn.plotting.axes import open_axes
from evlearn.plotting.legends import draw_legend
from evlearn.plotting.names import shortened
from evlearn.utils.typing import EstimatorLike, FloatArray

_GID = "risk and coverage"
_STEPS = 200  # at which curves are drawn beside their own points


class RiskCoverageDisplay:
    """Risk against coverage: how errors grow when samples of more and more doubt are kept.

    A doubt that finds errors has a curve that stays low and rises at its end. A dotted line is the error rate,
    which a random order has; a thin line is the best curve that labels with so many errors can have. For a
    partition, a mark shows the samples that are sure: how many they are, and how often they are wrong.

    Make it with `from_estimator`, `from_partition` or `from_predictions`; curves can be compared on the same axes.

    Parameters
    ----------
    curve : RiskCoverageCurve
        The curve.
    aurc, augrc : float
        The areas under the curve and under that of the generalized risk.
    sure : tuple of float, default=None
        The share of samples that are sure, and their error rate.
    name : str, default=""
        What to call the curve in the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the picture is drawn.
    figure_ : matplotlib Figure
        The figure around it.
    line_, best_, random_ : matplotlib Line2D
        The curve, that of the best order, and that of a random one.
    mark_ : matplotlib Line2D or None
        The samples that are sure.
    legend_ : matplotlib Legend or None
        Names and areas.

    See Also
    --------
    evlearn.metrics.aurc_score, evlearn.metrics.augrc_score : The areas, and how ties count.

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

    def __init__(
        self,
        *,
        curve: RiskCoverageCurve,
        aurc: float,
        augrc: float,
        sure: tuple[float, float] | None = None,
        name: str = "",
    ) -> None:
        self.curve = curve
        self.aurc = aurc
        self.augrc = augrc
        self.sure = sure
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: EstimatorLike,
        X: ArrayLike,
        y: npt.ArrayLike,
        *,
        generalized: bool = False,
        name: str | None = None,
        ax: Axes | None = None,
        legend: bool = True,
    ) -> RiskCoverageDisplay:
        """The curve of a fitted clusterer or classifier, also at the end of a pipeline.

        Parameters
        ----------
        estimator : fitted estimator
            Has ``predict_mass``, or ``predict_proba`` as scikit-learn classifiers; then doubt is one minus the
            largest probability.
        X : array-like or data frame of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their true classes.
        generalized : bool, default=False
            Whether to draw the generalized risk, see `plot`.
        name : str or None, default=None
            What to call the curve in the legend; None means the name of the class.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure. Give the ``ax_`` of another display to compare curves.
        legend : bool, default=True
            Whether to name the curve and its areas.

        Returns
        -------
        RiskCoverageDisplay
            The picture, drawn.
        """
        last = split_pipeline(estimator)[1]
        name = type(last).__name__ if name is None else name
        options: dict[str, Any] = {"generalized": generalized, "name": name, "ax": ax, "legend": legend}
        if predicts_masses(estimator):
            classes = getattr(last, "classes_", None)
            return cls.from_partition(partition_of(estimator, X), y, classes=classes, **options)
        if not hasattr(estimator, "predict_proba"):
            raise ValueError(
                f"estimator must have predict_mass or predict_proba, got {estimator!r}; give labels and doubts to "
                "from_predictions."
            )
        classifier: Any = estimator
        doubt = 1 - classifier.predict_proba(X).max(axis=1)
        return cls.from_predictions(y, classifier.predict(X), doubt, **options)

    @classmethod
    def from_partition(
        cls,
        partition: CredalPartition,
        y: npt.ArrayLike,
        *,
        classes: npt.ArrayLike | None = None,
        generalized: bool = False,
        name: str = "",
        ax: Axes | None = None,
        legend: bool = True,
    ) -> RiskCoverageDisplay:
        """The curve of a credal partition.

        Parameters
        ----------
        partition : CredalPartition
            The partition; its ``doubt()`` orders the samples.
        y : array-like of shape (n_samples,)
            The true classes.
        classes : array-like of shape (n_clusters,), default=None
            What the clusters stand for, the ``classes_`` of a classifier. None means the class that most samples
            of each cluster have.
        generalized : bool, default=False
            Whether to draw the generalized risk, see `plot`.
        name : str, default=""
            What to call the curve in the legend.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure. Give the ``ax_`` of another display to compare curves.
        legend : bool, default=True
            Whether to name the curve and its areas.

        Returns
        -------
        RiskCoverageDisplay
            The picture, drawn.
        """
        found, labels = errors_by_verdict(y, partition, classes=classes), partition.to_hard()
        said = majority_classes(y, labels) if classes is None else np.asarray(classes)[labels]
        display = cls._of(y, said, partition.doubt(), name)
        display.sure = (found.n_sure / found.n_samples, found.sure_error) if found.n_sure else None
        return display.plot(ax, generalized=generalized, legend=legend)

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
        """The curve of given predictions and doubts.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            The true classes.
        y_pred : array-like of shape (n_samples,)
            The predicted classes. For clusters, see `evlearn.metrics.majority_classes`.
        doubt : array-like of shape (n_samples,)
            The doubt about each prediction, larger where an error is likelier.
        generalized : bool, default=False
            Whether to draw the generalized risk, see `plot`.
        name : str, default=""
            What to call the curve in the legend.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure. Give the ``ax_`` of another display to compare curves.
        legend : bool, default=True
            Whether to name the curve and its areas.

        Returns
        -------
        RiskCoverageDisplay
            The picture, drawn.
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
        """Draw the picture, again or elsewhere.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        generalized : bool, default=False
            Whether to draw errors that are kept as a share of all samples, and not of those that are kept.
        legend : bool, default=True
            Whether to name the curve and its areas.

        Returns
        -------
        RiskCoverageDisplay
            The display itself.
        """
        self.ax_: Axes
        self.figure_: Figure | SubFigure
        self.ax_, self.figure_ = open_axes(ax, width=8.4 if legend else 6.4)
        number = sum(line.get_gid() == _GID for line in self.ax_.lines)
        look: dict[str, Any] = {"color": palette.cluster_shade(number)}
        error = float(self.curve.risk[-1])
        self.line_: Line2D = self._draw(
            self.curve.coverage,
            self.curve.generalized_risk,
            generalized,
            label=self._label(),
            gid=_GID,
            linewidth=1.8,
            linestyle=palette.line_style(number),
            **look,
        )
        right, whole, errors = np.array([1 - error, 1.0]), np.ones(1), np.array([0.0, error])
        self.best_: Line2D = self._draw(right, errors, generalized, linewidth=0.8, alpha=0.6, **look)
        self.random_: Line2D = self._draw(whole, errors[1:], generalized, linewidth=0.8, linestyle=":", **look)
        self.mark_: Line2D | None = self._mark_sure(number, generalized) if self.sure else None
        share = "all samples" if generalized else "those that are kept"
        self.ax_.set(xlabel="share of samples kept, least doubt first", ylabel=f"errors, as a share of {share}")
        self.ax_.set_xlim(0, 1.02)
        self.legend_: Legend | None = self._draw_legend() if legend else None
        return self

    def _draw_legend(self) -> Legend:
        handles, _ = self.ax_.get_legend_handles_labels()
        return draw_legend(self.ax_, handles, "", crowded=False)

    def _draw(self, coverage: FloatArray, kept: FloatArray, generalized: bool, **look: Any) -> Line2D:
        """A curve; within ties the errors that are kept grow evenly, so that their share is no straight line."""
        steps = np.union1d(coverage[coverage > 0], np.arange(1, _STEPS + 1) / _STEPS)
        errors = np.interp(steps, np.append(0.0, coverage), np.append(0.0, kept))
        (line,) = self.ax_.plot(steps, errors if generalized else errors / steps, **look)
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
        beginning = f"{shortened(self.name)}: " if self.name else ""
        return f"{beginning}AURC {self.aurc:.3f}, AUGRC {self.augrc:.3f}"
