"""Drift monitoring: comparison of batches with reference samples, with a given false alarm rate."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from evlearn.conformal.nonconformity import surprisal
from evlearn.conformal.p_values import OutlierScorer
from evlearn.conformal.two_sample import PermutationTest, PooledScores, permutation_test, rank_scores
from evlearn.partition.estimators import (
    digest_of_data,
    n_rows_of,
    predicted_partition,
    split_pipeline,
    transform_through_pipeline,
)
from evlearn.preprocessing import TableEncoder
from evlearn.utils.formatting import format_share, one_line
from evlearn.utils.reading import select_rows
from evlearn.utils.typing import EstimatorLike, FloatArray, IntArray
from evlearn.utils.validation import check_real

#: Maximum numbers of reference samples, of the samples among them to which distances are measured, and of samples
#: of a batch that are compared.
_MAX_REFERENCES, _MAX_LANDMARKS, _MAX_BATCH = 11_000, 1_000, 10_000
_LANDMARK_SHARE, _N_NEIGHBORS, _MIN_REFERENCES = 0.2, 5, 50
#: Minimum number of random subsets, and their number times the false alarm rate.
_MIN_DRAWS, _DRAWS_BELOW = 999, 50
#: Digits of doubt and masses; smaller changes, for example from 1e-9 to 1e-12, are irrelevant.
_DECIMALS = 3
_SEED = 0
#: Minimum difference between masses of samples by which training samples are recognized.
_MIN_DIFFERENCE = 1e-3
#: Maximum number of changes, and of those in the diagnosis.
_MAX_LISTED, _MAX_CHANGES = 10, 3
#: Statistics, in the order of the frame.
STATISTICS = ("sizes", "doubt", "outliers", "distances", "columns", "positions")


class DriftChange(NamedTuple):
    """Change of a batch relative to the reference samples.

    Attributes
    ----------
    statistic : {"sizes", "doubt", "outliers", "distances", "columns", "positions"}
        Statistic to which the change belongs.
    cluster : str or None
        Name of the cluster, or None for changes in all samples.
    column : str or None
        Name of the column, or None for changes of the result of the model.
    deviation : float
        Difference from the reference samples, in standard deviations of batches without drift.
    p_value : float
        P-value, adjusted for the number of clusters and columns.
    text : str
        Sentence about the change.
    """

    statistic: str
    cluster: str | None
    column: str | None
    deviation: float
    p_value: float
    text: str


@dataclass(frozen=True)
class DriftTest:
    """Result of `DriftMonitor.test`. Prints as text.

    Attributes
    ----------
    n_samples : int
        Number of samples in the batch.
    p_value : float
        P-value of all statistics together.
    p_values : dict of str to float
        P-value of each statistic.
    alarm : bool
        True if `p_value` is at most the false alarm rate.
    changes : tuple of DriftChange
        Largest changes, at most one for each cluster and column, in the order of their p-values.
    """

    n_samples: int
    p_value: float
    p_values: Mapping[str, float]
    alarm: bool
    changes: tuple[DriftChange, ...]

    @property
    def diagnosis(self) -> str:
        """Sentences about the largest changes; empty without an alarm."""
        return "; ".join(self._texts)

    @property
    def _texts(self) -> list[str]:
        if not self.alarm:
            return []
        others = [change for change in self.changes[1:_MAX_CHANGES] if change.p_value <= self.p_value]
        return [change.text for change in (*self.changes[:1], *others)]

    def __str__(self) -> str:
        verdict = "drift" if self.alarm else "no drift"
        lines = [f"{verdict} in {self.n_samples:,} samples, p-value {self.p_value:.3g}"]
        lines += [f"  {name:<10} {value:.3g}" for name, value in self.p_values.items()]
        lines += [f"  {text}" for text in self._texts]
        return "\n".join(lines)

    __repr__ = __str__


@dataclass(frozen=True)
class _Rows:
    """Values of samples that are compared: the result of the model, and the encoded columns of the table."""

    clusters: IntArray
    doubt: FloatArray
    empty: FloatArray
    strangeness: FloatArray
    columns: FloatArray
    missing: FloatArray

    def after(self, others: "_Rows") -> "_Rows":
        """Return other rows followed by these."""
        pairs = zip(vars(others).values(), vars(self).values(), strict=True)
        return _Rows(*(np.concatenate(pair) for pair in pairs))

    def take(self, rows: IntArray) -> "_Rows":
        """Return selected rows."""
        return _Rows(*(values[rows] for values in vars(self).values()))

    def in_order(self) -> "_Rows":
        """Return the rows in an order that does not depend on their own."""
        keys = np.column_stack([self.columns, self.doubt, self.clusters])
        return self.take(np.lexsort(keys.T))


class DriftMonitor:
    """Comparison of batches with reference samples, with a given false alarm rate.

    A batch is compared by the sizes of clusters, the doubt of the model, its outlier scores, the distances to
    reference samples, and the columns of the table, overall and within clusters. If the batch and the reference
    samples come from the same distribution, there is an alarm with a probability of `false_alarm_rate`, for any
    data and any model.

    Parameters
    ----------
    estimator : fitted estimator
        Clusterer or classifier with ``predict_mass``, such as `CredalClusterer` around labels of any clusterer; a
        scikit-learn estimator with ``predict_proba`` or ``predict``; or a pipeline that ends in one.
    reference : array-like or data frame of shape (n_samples, n_features)
        At least 50 samples from the time without drift, which the estimator was not fitted to. Ten times as many
        as in a batch are a good number; of more than 11,000, a random subset is used.
    false_alarm_rate : float, default=0.05
        Probability of an alarm for a batch without drift.

    Attributes
    ----------
    estimator : fitted estimator
        The estimator.
    false_alarm_rate : float
        Probability of an alarm for a batch without drift.
    n_reference : int
        Number of reference samples that batches are compared with. The others, a fifth or 1,000, are the samples
        to which distances are measured.

    See Also
    --------
    UnseenClassDetector : P-value of each sample, for classifiers.
    evlearn.partition.track_clusters : Clusters that a new fit has kept, split, merged, removed or created.
    evlearn.plotting.DriftDisplay : Plot of p-values of batches.

    Notes
    -----
    The statistics are: ``sizes``, the share of each cluster and of the outliers; ``doubt``; ``outliers``, the mass
    on the empty set; ``distances``, the distance to neighbor number 5 among 1,000 reference samples relative to
    its median in the cluster, overall and within clusters; ``columns``, the location and spread of each column and
    its share of missing values; and ``positions``, the location of each column within each cluster. Columns are
    encoded by `TableEncoder`. All are sums of ranks. The largest deviation of each statistic, and the smallest
    p-value of the 6 statistics, are compared with those of random subsets of the reference samples and the batch.

    The p-value is valid on average over reference samples. With few of them, the rate of alarms of a given monitor
    may differ: their random deviations are part of all comparisons. Samples of a batch must be independent; if 10
    rows are from the same patient, leave 9 out.

    Samples that the estimator was fitted to are nearer to its clusters than others are, so they are no valid
    reference. Of batches of more than 10,000 samples, a random subset is compared.

    Examples
    --------
    >>> import numpy as np
    >>> from evlearn.cluster import CCM
    >>> from evlearn.conformal import DriftMonitor
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(900, 2)) + 6 * random.integers(2, size=(900, 1))
    >>> model = CCM(2, random_state=0).fit(X[:200])
    >>> monitor = DriftMonitor(model, X[200:700])
    >>> monitor.test(X[700:]).alarm
    False
    >>> monitor.test(X[700:] + [1, 0]).changes[0].column
    'x0'
    """

    def __init__(self, estimator: EstimatorLike, reference: ArrayLike, *, false_alarm_rate: float = 0.05) -> None:
        check_real("false_alarm_rate", false_alarm_rate, 1e-4, 0.5)
        check_is_fitted(split_pipeline(estimator)[1])
        self.estimator = estimator
        self.false_alarm_rate = false_alarm_rate
        _check_held_out(estimator, reference)
        random, n_samples = np.random.default_rng(_SEED), n_rows_of(reference)
        order = random.permutation(n_samples)[:_MAX_REFERENCES]
        n_landmarks = min(int(_LANDMARK_SHARE * len(order)), _MAX_LANDMARKS)
        landmarks = select_rows(reference, order[:n_landmarks])
        self._encoder = TableEncoder().fit(landmarks)
        clusters, partition = self._assign(landmarks)
        encoded = np.nan_to_num(self._encoder.transform(landmarks))
        self._names = partition.cluster_names
        self._scorer = OutlierScorer.fit(
            encoded, clusters, len(self._names), np.arange(n_landmarks), _N_NEIGHBORS
        )[0]
        self._reference = self._read(select_rows(reference, order[n_landmarks:]))

    @property
    def n_reference(self) -> int:
        """Number of reference samples that batches are compared with."""
        return len(self._reference.clusters)

    def test(self, X: ArrayLike) -> DriftTest:
        """Compare a batch with the reference samples.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Independent samples, for example of one day or one machine.

        Returns
        -------
        DriftTest
            P-values and the largest changes. Prints as text.
        """
        n_samples = n_rows_of(X)
        if n_samples == 0:
            raise ValueError("X must contain at least one sample, got 0; leave empty batches out.")
        rows = X
        if n_samples > _MAX_BATCH:
            rows = select_rows(X, np.random.default_rng(_SEED).permutation(n_samples)[:_MAX_BATCH])
        batch = self._read(rows).in_order()
        pool = batch.after(self._reference)
        n_draws = max(_MIN_DRAWS, int(np.ceil(_DRAWS_BELOW / self.false_alarm_rate)) - 1)
        result = permutation_test(_scores_of(pool), len(batch.clusters), n_draws)
        return DriftTest(
            n_samples=n_samples,
            p_value=result.p_value,
            p_values={name: result.p_values[name] for name in STATISTICS},
            alarm=result.p_value <= self.false_alarm_rate,
            changes=tuple(self._changes(result, batch, pool)),
        )

    def test_batches(self, batches: Mapping[Hashable, ArrayLike] | Iterable[ArrayLike]) -> Any:
        """Compare several batches with the reference samples.

        Parameters
        ----------
        batches : dict or iterable of tables
            Batches by name, such as the date; without names, they are numbered.

        Returns
        -------
        pandas.DataFrame
            One row per batch: ``batch``, ``size``, ``p_value``, ``alarm``, ``false_alarm_rate``, the p-value of
            each statistic, and ``diagnosis``, sentences about the largest changes, which is empty without an
            alarm. Tables of several days can be concatenated.
        """
        import pandas as pd

        rows = []
        for name, batch in batches.items() if isinstance(batches, Mapping) else enumerate(batches):
            result = self.test(batch)
            values = {"batch": name, "size": result.n_samples, "p_value": result.p_value, "alarm": result.alarm}
            values |= {"false_alarm_rate": self.false_alarm_rate, **result.p_values}
            rows.append(values | {"diagnosis": result.diagnosis})
        columns = ["batch", "size", "p_value", "alarm", "false_alarm_rate", *STATISTICS, "diagnosis"]
        return pd.DataFrame(rows, columns=columns)

    def _assign(self, X: Any) -> Any:
        """Return the cluster of each sample, or the number of clusters for outliers, and the partition."""
        partition = predicted_partition(self.estimator, X)
        return np.where(partition.outliers(), partition.n_clusters, partition.to_hard()), partition

    def _read(self, X: Any) -> _Rows:
        encoded = np.asarray(self._encoder.transform(X), dtype=np.float64)
        clusters, partition = self._assign(X)
        missing = np.isnan(encoded)
        columns = np.nan_to_num(encoded)
        return _Rows(
            clusters=clusters,
            doubt=np.round(np.asarray(partition.doubt(), dtype=np.float64), _DECIMALS),
            empty=np.round(np.asarray(partition.masses[:, 0], dtype=np.float64), _DECIMALS),
            strangeness=self._scorer.ratios(columns, clusters),
            columns=columns,
            missing=missing.astype(np.float64),
        )

    def _changes(self, result: PermutationTest, batch: _Rows, pool: _Rows) -> list[DriftChange]:
        """Return the changes in the order of their p-values, at most one for each cluster and column."""
        describe = _Description(
            np.unique(pool.clusters),
            self._names,
            list(self._encoder.get_feature_names_out()),
            self._reference,
            batch,
        )
        changes: dict[tuple[str | None, str | None], DriftChange] = {}
        candidates = [
            (float(p_value), -abs(float(deviation)), name, number)
            for name in STATISTICS
            for number, (p_value, deviation) in enumerate(
                zip(result.adjusted[name], result.deviations[name], strict=True)
            )
        ]
        for p_value, _, name, number in sorted(candidates):
            if len(changes) == _MAX_LISTED:
                break
            change = describe(name, number, float(result.deviations[name][number]), p_value)
            subject = change.cluster, change.column or (None if change.cluster else name)
            changes.setdefault(subject, change)
        return list(changes.values())


@dataclass(frozen=True)
class _Description:
    """Sentences about deviations."""

    clusters: IntArray
    names: Sequence[str]
    columns: Sequence[str]
    reference: _Rows
    batch: _Rows

    def __call__(self, statistic: str, number: int, deviation: float, p_value: float) -> DriftChange:
        """Return the change of a deviation, by its number in the result of `permutation_test`."""
        cluster = column = None
        if statistic == "sizes":
            cluster = int(self.clusters[number])
            text = self._text_of_size(cluster)
        elif statistic == "positions":
            cluster, column = int(self.clusters[number // len(self.columns)]), number % len(self.columns)
            text = f"{self._column(column)} in {self._cluster(cluster)}: {self._difference(column, cluster)}"
        elif statistic == "columns":
            kind, column = divmod(number, len(self.columns))
            text = f"{self._column(column)}: {self._text_of_column(kind, column, deviation)}"
        elif statistic == "distances":
            cluster = int(self.clusters[number - 2]) if number >= 2 else None
            place = "" if cluster is None else f" in {self._cluster(cluster)}"
            text = f"distances to reference samples{place}: {'larger' if deviation > 0 else 'smaller'}"
        else:
            noun, values = {"doubt": ("doubt", "doubt"), "outliers": ("outlier score", "empty")}[statistic]
            before, after = (float(getattr(rows, values).mean()) for rows in (self.reference, self.batch))
            text = f"mean {noun}: {before:.2g} -> {after:.2g}"
        return DriftChange(
            statistic,
            None if cluster is None else self._name(cluster),
            None if column is None else str(self.columns[column]),
            deviation,
            p_value,
            text,
        )

    def _name(self, cluster: int) -> str:
        return self.names[cluster] if cluster < len(self.names) else "outliers"

    def _cluster(self, cluster: int) -> str:
        return f"cluster {self._name(cluster)}" if cluster < len(self.names) else "outliers"

    def _column(self, column: int) -> str:
        return one_line(self.columns[column])

    def _text_of_size(self, cluster: int) -> str:
        before, after = (float((rows.clusters == cluster).mean()) for rows in (self.reference, self.batch))
        return f"share of {self._cluster(cluster)}: {100 * before:.1f} % -> {100 * after:.1f} %"

    def _text_of_column(self, kind: int, column: int, deviation: float) -> str:
        if kind == 0:
            return self._difference(column)
        if kind == 1:
            return "more values at both ends" if deviation > 0 else "fewer values at both ends"
        before, after = (float(rows.missing[:, column].mean()) for rows in (self.reference, self.batch))
        return f"missing values {format_share(before)} -> {format_share(after)}"

    def _difference(self, column: int, cluster: int | None = None) -> str:
        """Return the difference of means, in standard deviations of the reference samples."""
        before, after = (
            rows.columns[:, column] if cluster is None else rows.columns[rows.clusters == cluster, column]
            for rows in (self.reference, self.batch)
        )
        if not len(before) or not len(after):
            return "changed"
        deviation = float(before.std()) or float(self.reference.columns[:, column].std()) or 1.0
        return f"{(after.mean() - before.mean()) / deviation:+.2f} standard deviations"


def _scores_of(pool: _Rows) -> PooledScores:
    strangeness = pool.strangeness[:, None]
    location = rank_scores(pool.columns)
    overall = {
        "doubt": _two_sided(pool.doubt[:, None]),
        "outliers": _two_sided(pool.empty[:, None]),
        "distances": _two_sided(strangeness),
        "columns": np.hstack([location, location**2, pool.missing]),
    }
    return PooledScores(pool.clusters, overall, {"distances": strangeness, "positions": pool.columns})


def _two_sided(values: FloatArray) -> FloatArray:
    """Return ranks, and surprisals, which emphasize large values."""
    return np.hstack([rank_scores(values), surprisal(values, np.sort(values, axis=0), are_included=True)])


def _check_held_out(estimator: Any, reference: Any) -> None:
    n_samples = n_rows_of(reference)
    if n_samples < _MIN_REFERENCES:
        raise ValueError(
            f"reference must contain at least {_MIN_REFERENCES} samples, got {n_samples}; add samples from the "
            "time without drift."
        )
    if _is_training_data(estimator, reference):
        raise ValueError(
            "reference contains the samples that the estimator was fitted to, which are nearer to its clusters "
            "than new samples are; pass other samples, or fit the estimator to a part of them."
        )


def _is_training_data(estimator: Any, X: Any) -> bool:
    """Return True if data are the training samples: other data have other masses, unless all are equal."""
    clusterer, rows = transform_through_pipeline(estimator, X)
    digest, fitted = getattr(clusterer, "_fitted_to", None), getattr(clusterer, "credal_partition_", None)
    if digest is not None and digest == digest_of_data(rows):
        return True
    if fitted is None or fitted.n_samples != n_rows_of(X):
        return False
    masses = predicted_partition(clusterer, rows).masses
    if np.ptp(masses, axis=0).max() <= _MIN_DIFFERENCE:
        return False
    return masses.shape == fitted.masses.shape and np.allclose(masses, fitted.masses, atol=1e-6)
