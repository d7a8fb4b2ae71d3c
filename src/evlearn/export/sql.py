"""SQL queries that compute the masses of the rows of a table from prototypes."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from evlearn.belief import FocalSets
from evlearn.cluster import BPEC, CCM, ECM
from evlearn.cluster.centroids.adaptive import AdaptiveModel
from evlearn.cluster.centroids.model import FARTHEST, EuclideanModel
from evlearn.cluster.outlier_rule import OutlierRule
from evlearn.export.pipeline import Affine, scaler_and_last
from evlearn.partition import SURE_LEVEL
from evlearn.partition.verdict import OUTLIER_MASS
from evlearn.utils.typing import EstimatorLike
from evlearn.utils.validation import check_choice, check_real


class _Dialect(NamedTuple):
    """The differences between databases.

    Attributes
    ----------
    quote : str
        Quotation mark of names.
    double : str
        Template of a conversion to double precision, with braces for the column.
    fence : str, default=""
        End of a subquery, so that the database does not merge it with the outer query. Some databases replace
        each name by its expression, and the expressions of 12 steps multiply to thousands.
    least, greatest : str
        Functions for the smallest and the largest value.
    most_arguments : int
        Maximum number of arguments of a function.
    """

    quote: str
    double: str
    fence: str = ""
    smallest: str = "LEAST"
    largest: str = "GREATEST"
    max_arguments: int = 1000


_DIALECTS = {
    "ansi": _Dialect('"', "CAST({} AS DOUBLE PRECISION)"),
    # Unlike MATERIALIZED, these do not store the rows of a step.
    "postgresql": _Dialect('"', "CAST({} AS DOUBLE PRECISION)", fence="OFFSET 0", max_arguments=100),
    # SQLite treats an unknown name in double quotes as text, and converts any text to a number.
    "sqlite": _Dialect(
        "`",
        "CASE WHEN TYPEOF({0}) IN ('integer', 'real') THEN CAST({0} AS REAL) END",
        fence="LIMIT -1 OFFSET 0",
        smallest="MIN",
        largest="MAX",
        max_arguments=100,
    ),
    "spark": _Dialect("`", "CAST({} AS DOUBLE)"),
}
#: Maximum numbers of constants and of columns in a query; databases reject longer queries or are slow.
_MAX_TERMS, _MAX_COLUMNS = 20_000, 1000
#: Maximum length of a column name that all databases accept.
_MAX_NAME_LENGTH = 60
_LARGEST = float(np.finfo(np.float64).max)
#: Coordinates below this are 0: PostgreSQL raises an error if a square is too small for a number.
_UNDERFLOW = 1e-140
#: Zero threshold and relative rounding error of a difference, as in the kernel.
_ZERO, _ROUNDING = 1e-200, 16 * float(np.finfo(np.float64).eps)
#: Tolerance of equality, as in verdicts.
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
    """Return a SQL query that computes the masses of the rows of a table.

    The query is a single SELECT whose only functions are POWER, LEAST and GREATEST (in SQLite TYPEOF, POWER, MIN
    and MAX). It computes the result of `predict_mass` in double precision. A row with a NULL, a NaN or an infinity
    among its features gets NULL in all columns, even if the estimator supports missing values.

    The columns are the key; ``cluster_number``, the most plausible cluster; ``verdict``, which is ``sure``,
    ``torn`` or ``outlier``; ``belief_0``, ``plausibility_0`` and so on for each cluster; and the masses:
    ``mass_empty``, ``mass_0``, ``mass_0_2`` for the set of clusters 0 and 2, and ``mass_all``. All names are
    in lower case and need no quotes.

    Parameters
    ----------
    estimator : ECM, CCM, BPEC or Pipeline
        Fitted estimator with Euclidean distances, or a pipeline of ``StandardScaler`` and one of these.
    table : str or sequence of str
        Name of the table, or the names of schema and table. Names are quoted, so they must match the names in
        the database exactly, including upper and lower case.
    key : str or sequence of str, default=()
        Names of the columns that identify a row. The result contains them, too.
    features : sequence of str or None, default=None
        Names of the feature columns, in the order of the fit. None uses ``feature_names_in_``.
    level : float, default=0.6
        A sample with at least this belief in one cluster is sure, see `CredalPartition.verdict`.
    dialect : {"ansi", "postgresql", "sqlite", "spark"}, default="ansi"
        Dialect of the database. "ansi" follows the standard and works in DuckDB. PostgreSQL and SQLite need their
        own dialects: they replace the names of computed columns by their expressions, so the standard query
        takes hours. SQLite 3.35 or later with mathematical functions is required; text in a feature column counts
        as NULL there.

    Returns
    -------
    str
        The query, without a final semicolon.

    See Also
    --------
    save_model : Write the estimator to a file.
    to_onnx : Export more types of estimators to ONNX.

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
    writer.check_keys(keys)
    _check_size(model)
    parts = [table] if isinstance(table, str) else list(table)
    prefix = "evlearn"
    while any(str(part).lower().startswith(f"{prefix}_") for part in parts):
        prefix += "x"  # the steps must not have the name of the table
    first_step = writer.source(names, keys, ".".join(writer.quoted(part) for part in parts))
    queries, source = [], ""
    for number, (columns, table_name) in enumerate([first_step, *writer.steps(scaler, model)]):
        name = f"{prefix}_{number}"
        queries.append(_select(name, columns, table_name or source, keys, language.fence))
        source = name
    head = [f"k_{i} AS {writer.quoted(name)}" for i, name in enumerate(keys)]
    last = ",\n  ".join([*head, *writer.results(level)])
    return "WITH " + ",\n".join(queries) + f"\nSELECT\n  {last}\nFROM {source}"


def _check_size(model: EuclideanModel) -> None:
    """Raise if the query of a model is too long for databases."""
    n_terms = model.prototypes.size + int(model.costs.membership.sum())
    if model.outliers is not None:
        n_terms += 8 * len(model.segments.pairs)
    n_columns = 2 * len(model.prototypes) + len(model.focal_sets)
    if n_terms > _MAX_TERMS or n_columns > _MAX_COLUMNS:
        raise ValueError(
            f"the query would have {n_terms:,} numbers and {n_columns:,} columns, but at most "
            f"{_MAX_TERMS:,} and {_MAX_COLUMNS:,} are supported; score batches with predict_mass, or use fewer "
            "clusters, sets or features."
        )


#: Expressions by name, and their source table; None for the previous step.
_Step = tuple[dict[str, str], str | None]


class _Writer:
    """Writer of the steps from features to masses."""

    def __init__(self, focal_sets: FocalSets, dialect: _Dialect) -> None:
        self._sets, self._dialect = focal_sets, dialect
        self._n_clusters = focal_sets.frame_size
        self._names = [_name_of(members, self._n_clusters, j) for j, members in enumerate(_members(focal_sets))]

    def quoted(self, name: str) -> str:
        """Return a name as a quoted identifier."""
        if not isinstance(name, str) or not name or any(ord(character) < 32 for character in name):
            raise ValueError(f"names of tables and columns must be text without control characters, got {name!r}.")
        quote = self._dialect.quote
        return quote + name.replace(quote, 2 * quote) + quote

    def check_keys(self, keys: list[str]) -> None:
        """Raise if a key has the name of a column of the result or of another key."""
        of_clusters = [f"{prefix}_{k}" for prefix in ("belief", "plausibility") for k in range(self._n_clusters)]
        reserved = {"cluster_number", "verdict", *of_clusters, *self._names}
        for name in keys:
            if str(name).lower() in reserved:
                raise ValueError(f"key={name!r} is also a column of the result; rename it.")
        if len({str(name).lower() for name in keys}) < len(keys):
            raise ValueError(f"key must be different names, ignoring case, got {keys}; remove duplicates.")

    def steps(self, scaler: Affine | None, model: EuclideanModel) -> list[_Step]:
        """Return the steps after the first one, in order."""
        return [
            self.rows(scaler, model),
            self.distances(model),
            self.sums(model),
            self.costs(model),
            self.smallest(model),
            self.ratios(model),
            self.weights(model),
            self.total(model),
            self.masses(model),
            self.clusters(),
            self.best(),
        ]

    def source(self, names: list[str], keys: list[str], table: str) -> _Step:
        """Return the key, and the features in double precision."""
        columns = {f"k_{i}": self.quoted(name) for i, name in enumerate(keys)}
        return columns | {
            f"v_{a}": self._dialect.double.replace("{0}", "{}").replace("{}", self.quoted(name))
            for a, name in enumerate(names)
        }, table

    def rows(self, scaler: Affine | None, model: EuclideanModel) -> _Step:
        """Return the features in the coordinates of the model, clipped so that squares do not overflow."""
        columns = {}
        scale = model.coordinates.scale
        for a, center in enumerate(model.coordinates.center):
            shift, size = (0.0, 1.0) if scaler is None else (float(scaler.shift[a]), float(scaler.size[a]))
            distance = FARTHEST / scale / 2
            low, high = ((center + end * distance) * size + shift for end in (-1, 1))
            below, above = ((center + end * _UNDERFLOW / scale) * size + shift for end in (-1, 1))
            scaled = f"v_{a}" if scaler is None else f"(v_{a} - {_number(shift)}) / {_number(size)}"
            # NaN fails the first test in all databases, regardless of its sort order.
            columns[f"x_{a}"] = (
                f"CASE WHEN NOT (v_{a} <= {_number(_LARGEST)} AND v_{a} >= {_number(-_LARGEST)}) THEN NULL "
                f"WHEN v_{a} >= {_number(high)} THEN {_number(FARTHEST)} "
                f"WHEN v_{a} <= {_number(low)} THEN {_number(-FARTHEST)} "
                f"WHEN v_{a} >= {_number(below)} AND v_{a} <= {_number(above)} THEN {_number(0.0)} "
                f"ELSE ({scaled} - {_number(center)}) * {_number(scale)} END"
            )
        return columns, None

    def distances(self, model: EuclideanModel) -> _Step:
        """Return the squared distances to the prototypes."""
        # Powers, because databases are slow at products of equal factors.
        return {
            f"d_{k}": _sum([f"POWER(x_{a} - {_number(value)}, 2)" for a, value in enumerate(row)])
            for k, row in enumerate(np.where(np.abs(model.prototypes) < _UNDERFLOW, 0, model.prototypes))
        }, None

    def sums(self, model: EuclideanModel) -> _Step:
        """Return their sums over the clusters of each set, times the cost factor of the set."""
        columns = {}
        for j, members in enumerate(_members(self._sets)[1:], 1):
            factor = float(model.costs.spread[j - 1])
            whole = _sum([f"d_{k}" for k in members])
            columns[f"s_{j}"] = whole if factor == 1 else f"{_number(factor)} * {whole}"
        if model.outliers is not None:
            columns["rho"] = self._extreme(
                self._dialect.smallest, _ratios(model, model.outliers, self._dialect.largest)
            )
        return columns, None

    def costs(self, model: EuclideanModel) -> _Step:
        """Return the cost of each set, at least the zero threshold of the kernel."""
        columns = {}
        for j, offset in enumerate(model.costs.gain * model.costs.spreads(model.prototypes), 1):
            bound = _number(max(offset / (1 - _ROUNDING), _ZERO))
            difference = f"s_{j}" if offset == 0 else f"s_{j} - {_number(offset)}"
            # A comparison with NULL is never true, so the result is NULL.
            columns[f"c_{j}"] = f"CASE WHEN s_{j} <= {bound} THEN {_number(_ZERO)} ELSE {difference} END"
        return columns | _carried(model), None

    def smallest(self, model: EuclideanModel) -> _Step:
        """Return the costs and the smallest of them."""
        columns = {f"c_{j}": f"c_{j}" for j in range(1, len(self._sets))}
        empty = _empty_cost(model)
        costs = [*columns, *([_number(max(empty, _ZERO))] if np.isfinite(empty) else [])]
        # Some databases ignore NULL here, but then the sum of the weights and all masses are NULL.
        columns["least"] = self._extreme(self._dialect.smallest, costs)
        return columns | _carried(model), None

    def ratios(self, model: EuclideanModel) -> _Step:
        """Return the ratios of the smallest cost to the costs."""
        columns = {f"r_{j}": f"least / c_{j}" for j in range(1, len(self._sets))}
        empty = max(_empty_cost(model), _ZERO)
        first = f"least / {_number(empty)}" if np.isfinite(empty) else _number(0.0)
        return {"r_0": first, **columns, **_carried(model)}, None

    def weights(self, model: EuclideanModel) -> _Step:
        """Return the unnormalized masses."""
        power = 1 / (float(model.costs.beta) - 1)
        columns = {f"w_{j}": _power(f"r_{j}", power) for j in range(len(self._sets))}
        return columns | _carried(model), None

    def total(self, model: EuclideanModel) -> _Step:
        """Return the unnormalized masses, their sum, and the outlier score if there is an outlier rule."""
        columns = {f"w_{j}": f"w_{j}" for j in range(len(self._sets))}
        score = {} if model.outliers is None else {"score": _score(model.outliers)}
        return {**columns, "total": _sum(list(columns)), **score}, None

    def masses(self, model: EuclideanModel) -> _Step:
        """Return the masses."""
        if model.outliers is None:
            return {f"m_{j}": f"w_{j} / total" for j in range(len(self._sets))}, None
        nonempty = {f"m_{j}": f"w_{j} / total * (1 - score)" for j in range(1, len(self._sets))}
        # A NULL in the total makes the score NULL, too.
        return {"m_0": "score + 0 * total", **nonempty}, None

    def clusters(self) -> _Step:
        """Return the masses, and the belief and plausibility of each cluster."""
        columns = {f"m_{j}": f"m_{j}" for j in range(len(self._sets))}
        # All families of estimators contain the singletons, except those of removed clusters.
        for k, single in enumerate(self._sets.singleton_positions):
            columns[f"b_{k}"] = f"m_{single}" if single >= 0 else _number(0.0)
            columns[f"p_{k}"] = _sum([f"m_{j}" for j in np.flatnonzero(self._sets.membership[:, k])])
        return columns, None

    def best(self) -> _Step:
        """Return the same columns, and the plausibility of the most plausible cluster."""
        columns = {f"m_{j}": f"m_{j}" for j in range(len(self._sets))}
        clusters = range(self._n_clusters)
        columns |= {f"{letter}_{k}": f"{letter}_{k}" for k in clusters for letter in "bp"}
        columns["best"] = self._extreme(self._dialect.largest, [f"p_{k}" for k in clusters])
        return columns, None

    def _extreme(self, function: str, terms: list[str]) -> str:
        """Return the smallest or the largest of some terms."""
        limit = self._dialect.max_arguments
        while len(terms) > 1:
            groups = [terms[start : start + limit] for start in range(0, len(terms), limit)]
            terms = [f"{function}({', '.join(group)})" if len(group) > 1 else group[0] for group in groups]
        return terms[0]

    def results(self, level: float) -> list[str]:
        """Return the columns of the result."""
        clusters = range(self._n_clusters)
        number = " ".join(f"WHEN p_{k} >= best THEN {k}" for k in clusters)
        belief = " ".join(f"WHEN p_{k} >= best THEN b_{k}" for k in clusters)
        equal = _sum([f"CASE WHEN p_{k} >= {_number(_EQUAL)} * best THEN 1 ELSE 0 END" for k in clusters])
        is_sure = f"CASE {belief} END >= {_number(level * _EQUAL)} * (1 - m_0)"
        verdict = f"WHEN m_0 >= {OUTLIER_MASS!r} THEN 'outlier' WHEN {is_sure} AND {equal} = 1 THEN 'sure'"
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
        name = type(last).__name__ + (" with metric='adaptive'" if isinstance(model, AdaptiveModel) else "")
        raise ValueError(
            f"to_sql supports ECM, CCM and BPEC with Euclidean distances, got {name}; score with predict_mass."
        )
    return scaler, model


def _feature_names(estimator: Any, features: Sequence[str] | None, n_features: int) -> list[str]:
    columns = getattr(estimator, "feature_names_in_", None) if features is None else features
    if columns is None:
        raise ValueError("features must be the column names: the estimator was fitted to data without names.")
    names = [columns] if isinstance(columns, str) else list(columns)
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
    return name if len(name) <= _MAX_NAME_LENGTH else f"mass_set_{position}"


def _select(name: str, columns: dict[str, str], source: str, keys: list[str], fence: str) -> str:
    carried = [] if "k_0" in columns else [f"k_{i}" for i in range(len(keys))]
    expressions = [
        *carried,
        *(alias if alias == text else f"{text} AS {alias}" for alias, text in columns.items()),
    ]
    end = f"\n  {fence}" if fence else ""
    return f"{name} AS (\n  SELECT\n    " + ",\n    ".join(expressions) + f"\n  FROM {source}{end}\n)"


def _empty_cost(model: EuclideanModel) -> float:
    """Return the cost of the empty set; infinity if there is an outlier rule."""
    return model.empty_cost if model.outliers is None else np.inf


def _carried(model: EuclideanModel) -> dict[str, str]:
    """Return the column of the outlier rule, for steps that only pass it through."""
    return {} if model.outliers is None else {"rho": "rho"}


def _ratios(model: EuclideanModel, rule: OutlierRule, largest: str) -> list[str]:
    """Return the squared ratios of distance and reach, of clusters and of segments between them."""
    squares = rule.reaches**2
    ratios = [f"d_{k} / {_number(square)}" for k, square in enumerate(squares)]
    for (first, second), length in zip(*model.segments, strict=True):
        step = f"d_{first} - d_{second}"
        foot = f"d_{first} - POWER({step} + {_number(length)}, 2) / {_number(4 * length)}"
        condition = f"{step} < {_number(length)} AND {step} > {_number(-length)}"
        reach = _number(min(squares[first], squares[second]))
        ratios.append(
            f"CASE WHEN {condition} THEN {largest}({foot}, {_number(0.0)}) / {reach} "
            f"ELSE d_{first} / {_number(squares[first])} END"
        )
    return ratios


def _score(rule: OutlierRule) -> str:
    """Return the mass on the empty set, by powers of ratios of at most 1."""
    power = rule.steepness / 2
    small, large = _power("rho", power), _power("(1 / rho)", power)
    return f"CASE WHEN rho <= 1 THEN 1 - 1 / (1 + {small}) ELSE 1 / (1 + {large}) END"


def _sum(terms: list[str]) -> str:
    """Return a sum as nested halves, because databases limit the depth of expressions."""
    if len(terms) <= 1:
        return terms[0] if terms else _number(0.0)  # a cluster without focal set has no terms
    half = len(terms) // 2
    return f"({_sum(terms[:half])} + {_sum(terms[half:])})"


def _power(ratio: str, power: float) -> str:
    """Return a power of a ratio of at most 1; some databases raise errors on underflow."""
    if power == 1:
        return ratio
    smallest = 10.0 ** (-300 / power)
    return f"CASE WHEN {ratio} < {_number(smallest)} THEN {_number(0.0)} ELSE POWER({ratio}, {_number(power)}) END"


def _number(value: float) -> str:
    """Return a number in scientific notation, which databases read in double precision, without loss."""
    text = np.format_float_scientific(float(value), unique=True, trim="0")
    return f"({text})" if text.startswith("-") else text
