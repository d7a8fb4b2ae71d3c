"""Prototypes as a query: the masses of the rows of a table, computed by the database that has it."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from evlearn.belief import FocalSets
from evlearn.cluster import BPEC, CCM, ECM
from evlearn.cluster.centroids.adaptive import AdaptiveModel
from evlearn.cluster.centroids.model import FARTHEST, EuclideanModel
from evlearn.cluster.outlier_rule import OutlierRule
from evlearn.model_steps import Affine, scaler_and_last
from evlearn.partition import SURE_LEVEL
from evlearn.partition.verdict import OUTLIER_MASS
from evlearn.utils.typing import EstimatorLike
from evlearn.utils.validation import check_choice, check_real


class _Dialect(NamedTuple):
    """The differences between databases.

    Attributes
    ----------
    quote : str
        The quotation mark of names.
    double : str
        A column in double precision, with the column in braces.
    fence : str, default=""
        The end of a subquery that the database must not merge with the query around it. Some databases replace
        each name by its expression, and the expressions of 12 steps multiply to thousands.
    least, greatest : str
        The functions for the least and the greatest value.
    most_arguments : int
        The largest number of arguments of a function.
    """

    quote: str
    double: str
    fence: str = ""
    least: str = "LEAST"
    greatest: str = "GREATEST"
    most_arguments: int = 1000


_DIALECTS = {
    "ansi": _Dialect('"', "CAST({} AS DOUBLE PRECISION)"),
    # Neither form stores the rows of a step, as MATERIALIZED would.
    "postgresql": _Dialect('"', "CAST({} AS DOUBLE PRECISION)", fence="OFFSET 0", most_arguments=100),
    # SQLite takes an unknown name in double quotes for text, and reads any text as a number.
    "sqlite": _Dialect(
        "`",
        "CASE WHEN TYPEOF({0}) IN ('integer', 'real') THEN CAST({0} AS REAL) END",
        fence="LIMIT -1 OFFSET 0",
        least="MIN",
        greatest="MAX",
        most_arguments=100,
    ),
    "spark": _Dialect("`", "CAST({} AS DOUBLE)"),
}
#: Numbers in a query, and columns of its result: databases take no more, or think about them for minutes.
_MOST_TERMS, _MOST_COLUMNS = 20_000, 1000
#: Names of columns that every database takes are not longer.
_LONGEST_NAME = 60
_LARGEST = float(np.finfo(np.float64).max)
#: Coordinates below this are 0: PostgreSQL raises an error if a square is too small for a number.
_FLUSHED = 1e-140
#: As in the kernel: what counts as zero, and which share of a difference is rounding.
_ZERO, _LOST = 1e-200, 16 * float(np.finfo(np.float64).eps)
#: As in verdicts: what is as good as equal.
_EQUAL = 1 - 1e-6


def to_sql(
    estimator: EstimatorLike,
    table: str | Sequence[str],
    *,
    key: str | Sequence[str] = (),
    features: Sequence[str] | None = None,
    level: float = SURE_LEVEL,
    dialect: Literal["ansi", "postgresql", "sqlite", "spark"] = "ansi",
) -> str:
    """A query that gives the masses of the rows of a table, so that a database can score them by itself.

    It is one SELECT of plain arithmetic, without user-defined functions; its only functions are POWER, LEAST and
    GREATEST (in SQLite TYPEOF, POWER, MIN and MAX). It computes in double precision what `predict_mass` computes.
    A row that has a NULL, a NaN or an infinity among its features gets NULL everywhere, whatever `fit` has learned
    about gaps: never an answer.

    The columns are the key; ``cluster_number``, the most plausible cluster; ``verdict``, which is ``sure``,
    ``torn`` or ``outlier``; ``belief_0``, ``plausibility_0`` and so on for each cluster; and the masses:
    ``mass_empty``, ``mass_0``, ``mass_0_2`` for the set of clusters 0 and 2, and ``mass_all``. All are plain
    lower-case names, which databases take without quotes.

    Parameters
    ----------
    estimator : ECM, CCM, BPEC or Pipeline
        Fitted, with Euclidean distances; or a pipeline of ``StandardScaler`` and one of these.
    table : str or sequence of str
        The name of the table, or the names of schema and table. Names are quoted, so they must be what the
        database has stored, also in upper and lower case.
    key : str or sequence of str, default=()
        The columns that identify a row; the result has them too. Different names.
    features : sequence of str or None, default=None
        The columns of the features, in the order of the fit. None means the names that the estimator knows.
    level : float, default=0.6
        A sample with at least this belief in one cluster is sure, see `CredalPartition.verdict`.
    dialect : {"ansi", "postgresql", "sqlite", "spark"}, default="ansi"
        The database. "ansi" follows the standard and suits DuckDB. PostgreSQL and SQLite need their own dialects:
        they replace the names of computed columns by their expressions, so that the standard query takes hours.
        SQLite must have its mathematical functions (version 3.35 or later); there, text in a feature column
        counts as NULL.

    Returns
    -------
    str
        The query, without a semicolon at its end.

    See Also
    --------
    save_model : The estimator as a file.
    to_onnx : More kinds of estimators, for engines that run ONNX models.

    Examples
    --------
    >>> import evlearn
    >>> from evlearn.cluster import ECM
    >>> from evlearn.datasets import load_butterfly
    >>> model = ECM(2, random_state=0).fit(load_butterfly().data)
    >>> query = evlearn.to_sql(model, "butterfly", key="id", features=["x", "y"])
    >>> print(query[query.rindex("m_0") :])
    m_0 AS mass_empty,
      m_1 AS mass_0,
      m_2 AS mass_1,
      m_3 AS mass_all
    FROM evlearn_11
    """
    check_choice("dialect", dialect, tuple(_DIALECTS))
    check_real("level", level, 0, 1, open_low=True)
    scaler, model = _model_of(estimator)
    names = _feature_names(estimator, features, model.n_features)
    language = _DIALECTS[dialect]
    writer = _Writer(model.focal_sets, language)
    keys = [key] if isinstance(key, str) else list(key)
    writer.refuse_taken(keys)
    _refuse_long(model)
    parts = [table] if isinstance(table, str) else list(table)
    prefix = "evlearn"
    while any(str(part).lower().startswith(f"{prefix}_") for part in parts):
        prefix += "x"  # steps must not have the name of the table
    steps = [
        writer.given(names, keys, ".".join(writer.quoted(part) for part in parts)),
        writer.rows(scaler, model),
        writer.distances(model),
        writer.sums(model),
        writer.costs(model),
        writer.least(model),
        writer.ratios(model),
        writer.weights(model),
        writer.total(model),
        writer.masses(model),
        writer.clusters(),
        writer.best(),
    ]
    written, source = [], ""
    for number, (columns, given) in enumerate(steps):
        name = f"{prefix}_{number}"
        written.append(_select(name, columns, given or source, keys, language.fence))
        source = name
    head = [f"k_{i} AS {writer.quoted(name)}" for i, name in enumerate(keys)]
    last = ",\n  ".join([*head, *writer.results(level)])
    return "WITH " + ",\n".join(written) + f"\nSELECT\n  {last}\nFROM {source}"


def _refuse_long(model: EuclideanModel) -> None:
    """Refuse models whose query no database would take."""
    n_terms = model.prototypes.size + int(model.costs.membership.sum())
    if model.outliers is not None:
        n_terms += 8 * len(model.segments.pairs)
    n_columns = 2 * len(model.prototypes) + len(model.focal_sets)
    if n_terms > _MOST_TERMS or n_columns > _MOST_COLUMNS:
        raise ValueError(
            f"the query would have {n_terms:,} numbers and {n_columns:,} columns, and databases take "
            f"{_MOST_TERMS:,} and {_MOST_COLUMNS:,} at most; score batches with predict_mass, or use fewer "
            "clusters, sets or features."
        )


#: Expressions by their names, and where these come from: None for the step before.
_Step = tuple[dict[str, str], str | None]


class _Writer:
    """Writes each step of the way from features to masses."""

    def __init__(self, focal_sets: FocalSets, dialect: _Dialect) -> None:
        self._sets, self._dialect = focal_sets, dialect
        self._n_clusters = focal_sets.frame_size
        self._names = [_name_of(members, self._n_clusters, j) for j, members in enumerate(_members(focal_sets))]

    def quoted(self, name: str) -> str:
        """A name as an identifier, whatever is in it."""
        if not isinstance(name, str) or not name or any(ord(one) < 32 for one in name):
            raise ValueError(f"names of tables and columns must be text without control characters, got {name!r}.")
        quote = self._dialect.quote
        return quote + name.replace(quote, 2 * quote) + quote

    def refuse_taken(self, keys: list[str]) -> None:
        """Refuse a key with the name of a result or of another key."""
        of_clusters = [f"{what}_{k}" for what in ("belief", "plausibility") for k in range(self._n_clusters)]
        taken = {"cluster_number", "verdict", *of_clusters, *self._names}
        for name in keys:
            if str(name).lower() in taken:
                raise ValueError(f"key={name!r} is also the name of a column of the result; rename it.")
        if len({str(name).lower() for name in keys}) < len(keys):
            raise ValueError(f"key must be different names, in upper or lower case, got {keys}; remove copies.")

    def given(self, names: list[str], keys: list[str], table: str) -> _Step:
        """The key, and the features in double precision."""
        columns = {f"k_{i}": self.quoted(name) for i, name in enumerate(keys)}
        return columns | {
            f"v_{a}": self._dialect.double.replace("{0}", "{}").replace("{}", self.quoted(name))
            for a, name in enumerate(names)
        }, table

    def rows(self, scaler: Affine | None, model: EuclideanModel) -> _Step:
        """The features in the coordinates of the model, none of them farther than squares can tell."""
        columns = {}
        scale = model.coordinates.scale
        for a, centre in enumerate(model.coordinates.centre):
            shift, size = (0.0, 1.0) if scaler is None else (float(scaler.shift[a]), float(scaler.size[a]))
            far = FARTHEST / scale / 2
            low, high = ((centre + end * far) * size + shift for end in (-1, 1))
            below, above = ((centre + end * _FLUSHED / scale) * size + shift for end in (-1, 1))
            scaled = f"v_{a}" if scaler is None else f"(v_{a} - {_number(shift)}) / {_number(size)}"
            # What is not a number fails the first test in every database, however it is ordered there.
            columns[f"x_{a}"] = (
                f"CASE WHEN NOT (v_{a} <= {_number(_LARGEST)} AND v_{a} >= {_number(-_LARGEST)}) THEN NULL "
                f"WHEN v_{a} >= {_number(high)} THEN {_number(FARTHEST)} "
                f"WHEN v_{a} <= {_number(low)} THEN {_number(-FARTHEST)} "
                f"WHEN v_{a} >= {_number(below)} AND v_{a} <= {_number(above)} THEN {_number(0.0)} "
                f"ELSE ({scaled} - {_number(centre)}) * {_number(scale)} END"
            )
        return columns, None

    def distances(self, model: EuclideanModel) -> _Step:
        """The squared distances to the prototypes."""
        # Powers, because databases look long for products of equal factors.
        return {
            f"d_{k}": _sum([f"POWER(x_{a} - {_number(value)}, 2)" for a, value in enumerate(row)])
            for k, row in enumerate(np.where(np.abs(model.prototypes) < _FLUSHED, 0, model.prototypes))
        }, None

    def sums(self, model: EuclideanModel) -> _Step:
        """Their sums over the clusters of each set, times what the set costs."""
        columns = {}
        for j, members in enumerate(_members(self._sets)[1:], 1):
            factor = float(model.costs.spread[j - 1])
            whole = _sum([f"d_{k}" for k in members])
            columns[f"s_{j}"] = whole if factor == 1 else f"{_number(factor)} * {whole}"
        if model.outliers is not None:
            columns["rho"] = self._extreme(
                self._dialect.least, _ratios(model, model.outliers, self._dialect.greatest)
            )
        return columns, None

    def costs(self, model: EuclideanModel) -> _Step:
        """What each set costs; zero where it is lost in rounding, and as little as the kernel takes for zero."""
        columns = {}
        for j, offset in enumerate(model.costs.gain * model.costs.spreads(model.prototypes), 1):
            lost = _number(max(offset / (1 - _LOST), _ZERO))
            left = f"s_{j}" if offset == 0 else f"s_{j} - {_number(offset)}"
            # A comparison with NULL is never true: NULL goes on.
            columns[f"c_{j}"] = f"CASE WHEN s_{j} <= {lost} THEN {_number(_ZERO)} ELSE {left} END"
        return columns | _carried(model), None

    def least(self, model: EuclideanModel) -> _Step:
        """The same, and the least of them."""
        columns = {f"c_{j}": f"c_{j}" for j in range(1, len(self._sets))}
        empty = _empty_cost(model)
        costs = [*columns, *([_number(max(empty, _ZERO))] if np.isfinite(empty) else [])]
        # Some databases leave NULL out here; but then the sum of the weights is NULL, and all masses are.
        columns["least"] = self._extreme(self._dialect.least, costs)
        return columns | _carried(model), None

    def ratios(self, model: EuclideanModel) -> _Step:
        """How much less the best of them costs."""
        columns = {f"r_{j}": f"least / c_{j}" for j in range(1, len(self._sets))}
        empty = max(_empty_cost(model), _ZERO)
        first = f"least / {_number(empty)}" if np.isfinite(empty) else _number(0.0)
        return {"r_0": first, **columns, **_carried(model)}, None

    def weights(self, model: EuclideanModel) -> _Step:
        """Masses before they are divided by their sum."""
        power = 1 / (float(model.costs.beta) - 1)
        columns = {f"w_{j}": _power(f"r_{j}", power) for j in range(len(self._sets))}
        return columns | _carried(model), None

    def total(self, model: EuclideanModel) -> _Step:
        """The same, their sum, and the mass on the empty set if there is a rule for outliers."""
        columns = {f"w_{j}": f"w_{j}" for j in range(len(self._sets))}
        score = {} if model.outliers is None else {"score": _score(model.outliers)}
        return {**columns, "total": _sum(list(columns)), **score}, None

    def masses(self, model: EuclideanModel) -> _Step:
        """The masses."""
        if model.outliers is None:
            return {f"m_{j}": f"w_{j} / total" for j in range(len(self._sets))}, None
        inside = {f"m_{j}": f"w_{j} / total * (1 - score)" for j in range(1, len(self._sets))}
        # NULL goes on: what is NULL in the total is NULL in the score.
        return {"m_0": "score + 0 * total", **inside}, None

    def clusters(self) -> _Step:
        """The masses, and what they say of each cluster."""
        columns = {f"m_{j}": f"m_{j}" for j in range(len(self._sets))}
        for k, single in enumerate(self._sets.singleton_positions):  # which every family of an estimator has
            columns[f"b_{k}"] = f"m_{single}"
            columns[f"p_{k}"] = _sum([f"m_{j}" for j in np.flatnonzero(self._sets.membership[:, k])])
        return columns, None

    def best(self) -> _Step:
        """The same, and the plausibility of the most plausible cluster."""
        columns = {f"m_{j}": f"m_{j}" for j in range(len(self._sets))}
        clusters = range(self._n_clusters)
        columns |= {f"{one}_{k}": f"{one}_{k}" for k in clusters for one in "bp"}
        columns["best"] = self._extreme(self._dialect.greatest, [f"p_{k}" for k in clusters])
        return columns, None

    def _extreme(self, function: str, terms: list[str]) -> str:
        """Return the least or the greatest of some terms; one term is its own extreme."""
        most = self._dialect.most_arguments
        while len(terms) > 1:
            groups = [terms[start : start + most] for start in range(0, len(terms), most)]
            terms = [f"{function}({', '.join(group)})" if len(group) > 1 else group[0] for group in groups]
        return terms[0]

    def results(self, level: float) -> list[str]:
        """The columns of the result."""
        clusters = range(self._n_clusters)
        number = " ".join(f"WHEN p_{k} >= best THEN {k}" for k in clusters)
        belief = " ".join(f"WHEN p_{k} >= best THEN b_{k}" for k in clusters)
        equal = _sum([f"CASE WHEN p_{k} >= {_number(_EQUAL)} * best THEN 1 ELSE 0 END" for k in clusters])
        enough = f"CASE {belief} END >= {_number(level * _EQUAL)} * (1 - m_0)"
        verdict = f"WHEN m_0 >= {OUTLIER_MASS!r} THEN 'outlier' WHEN {enough} AND {equal} = 1 THEN 'sure'"
        of_clusters = (("b", "belief"), ("p", "plausibility"))
        return [
            f"CASE {number} END AS cluster_number",
            f"CASE {verdict} WHEN m_0 < {OUTLIER_MASS!r} THEN 'torn' END AS verdict",
            *(f"{short}_{k} AS {word}_{k}" for k in clusters for short, word in of_clusters),
            *(f"m_{j} AS {name}" for j, name in enumerate(self._names)),
        ]


def _model_of(estimator: Any) -> tuple[Affine | None, EuclideanModel]:
    scaler, last = scaler_and_last(estimator, "to_sql")
    model = getattr(last, "_model", None)
    if not isinstance(last, (ECM, CCM, BPEC)) or not isinstance(model, EuclideanModel):
        what = type(last).__name__ + (" with metric='adaptive'" if isinstance(model, AdaptiveModel) else "")
        raise ValueError(
            f"to_sql writes ECM, CCM and BPEC with Euclidean distances, got {what}; score with predict_mass."
        )
    return scaler, model


def _feature_names(estimator: Any, features: Sequence[str] | None, n_features: int) -> list[str]:
    known = getattr(estimator, "feature_names_in_", None) if features is None else features
    if known is None:
        raise ValueError("features must name the columns: the estimator was fitted to data without names.")
    names = [known] if isinstance(known, str) else list(known)
    if len(names) != n_features or len(set(names)) != len(names):
        raise ValueError(f"features must be {n_features} different names, in the order of the fit, got {names}.")
    return names


def _members(focal_sets: FocalSets) -> list[list[int]]:
    return [np.flatnonzero(row).tolist() for row in focal_sets.membership]


def _name_of(members: list[int], n_clusters: int, position: int) -> str:
    if not members:
        return "mass_empty"
    if len(members) == n_clusters > 1:
        return "mass_all"
    name = "mass_" + "_".join(map(str, members))
    return name if len(name) <= _LONGEST_NAME else f"mass_set_{position}"


def _select(name: str, columns: dict[str, str], source: str, keys: list[str], fence: str) -> str:
    carried = [] if "k_0" in columns else [f"k_{i}" for i in range(len(keys))]
    written = [*carried, *(one if one == text else f"{text} AS {one}" for one, text in columns.items())]
    end = f"\n  {fence}" if fence else ""
    return f"{name} AS (\n  SELECT\n    " + ",\n    ".join(written) + f"\n  FROM {source}{end}\n)"


def _empty_cost(model: EuclideanModel) -> float:
    """Return the cost of the empty set, which has no mass of its own if there is a rule for outliers."""
    return model.empty_cost if model.outliers is None else np.inf


def _carried(model: EuclideanModel) -> dict[str, str]:
    """Return the column of the rule for outliers, for steps that do not use it."""
    return {} if model.outliers is None else {"rho": "rho"}


def _ratios(model: EuclideanModel, rule: OutlierRule, greatest: str) -> list[str]:
    """Return the squared ratios of distance and reach, of clusters and of segments between them."""
    squares = rule.reaches**2
    ratios = [f"d_{k} / {_number(square)}" for k, square in enumerate(squares)]
    for (first, second), length in zip(*model.segments, strict=True):
        step = f"d_{first} - d_{second}"
        foot = f"d_{first} - POWER({step} + {_number(length)}, 2) / {_number(4 * length)}"
        between = f"{step} < {_number(length)} AND {step} > {_number(-length)}"
        reach = _number(min(squares[first], squares[second]))
        ratios.append(
            f"CASE WHEN {between} THEN {greatest}({foot}, {_number(0.0)}) / {reach} "
            f"ELSE d_{first} / {_number(squares[first])} END"
        )
    return ratios


def _score(rule: OutlierRule) -> str:
    """Return the mass on the empty set, by powers of ratios of at most 1."""
    power = rule.steepness / 2
    inside, outside = _power("rho", power), _power("(1 / rho)", power)
    return f"CASE WHEN rho <= 1 THEN 1 - 1 / (1 + {inside}) ELSE 1 / (1 + {outside}) END"


def _sum(terms: list[str]) -> str:
    """A sum in halves: databases limit how deep expressions may be."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return f"({_sum(terms[:half])} + {_sum(terms[half:])})"


def _power(ratio: str, power: float) -> str:
    """A power of a ratio of at most one; some databases raise errors where it is too small for a number."""
    if power == 1:
        return ratio
    smallest = 10.0 ** (-300 / power)
    return f"CASE WHEN {ratio} < {_number(smallest)} THEN {_number(0.0)} ELSE POWER({ratio}, {_number(power)}) END"


def _number(value: float) -> str:
    """A number with an exponent, which databases take for one of double precision, and every digit that counts."""
    text = np.format_float_scientific(float(value), unique=True, trim="0")
    return f"({text})" if text.startswith("-") else text


__all__ = ["to_sql"]
