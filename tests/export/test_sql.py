"""SQL queries in databases return the results of the model."""

import io
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
import warnings
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import evlearn
from evlearn import belief, to_sql
from evlearn.belief import FocalSets
from evlearn.cluster import BPEC, CCM, ECM, EVCLUS

X, _ = make_blobs(300, n_features=3, centers=4, cluster_std=2.0, random_state=0)
NAMES = ["a", "b", "c"]


def ask(query, rows, names, **tables):
    """Return the result of DuckDB for rows in a table, as a frame in their order."""
    with duckdb.connect() as database:
        frame = pd.DataFrame(rows, columns=names).assign(id=np.arange(len(rows)))
        database.register("rows", frame)
        database.execute('CREATE TABLE "given" AS SELECT * FROM rows')
        for name, table in tables.items():
            database.register(name, table)
        return database.sql(f"SELECT * FROM ({query}) AS found ORDER BY id").df()


def check(model, rows, *, level=0.6):
    names = [f"f{i}" for i in range(rows.shape[1])]
    result = ask(to_sql(model, "given", key="id", features=names, level=level), rows, names)
    partition = evlearn.predict_mass(model, rows)
    masses = result[[name for name in result if name.startswith("mass_")]].to_numpy()
    np.testing.assert_allclose(masses, partition.masses, rtol=1e-9, atol=1e-12)
    numbers = range(partition.n_clusters)
    plausibilities = result[[f"plausibility_{k}" for k in numbers]].to_numpy()
    np.testing.assert_allclose(
        plausibilities, belief.contour(partition.masses, partition.focal_sets), rtol=1e-9, atol=1e-12
    )
    single = partition.masses[:, partition.focal_sets.singleton_positions]
    np.testing.assert_allclose(result[[f"belief_{k}" for k in numbers]], single, rtol=1e-9, atol=1e-12)
    clear = np.sort(plausibilities, axis=1)
    clear = np.ones(len(rows), bool) if clear.shape[1] < 2 else clear[:, -1] > clear[:, -2] * (1 + 1e-5)
    np.testing.assert_array_equal(result["cluster_number"][clear], partition.to_hard()[clear])
    verdict = partition.verdict(level)
    expected = np.select([verdict.sure, verdict.torn], ["sure", "torn"], "outlier")
    np.testing.assert_array_equal(result["verdict"][clear], expected[clear])
    return result, partition


MODELS = {
    "ECM": ECM(4, random_state=0),
    "full": ECM(4, alpha=1, beta=2, focal_sets="full", random_state=0),
    "sharp": ECM(4, beta=1.02, random_state=0),
    "fuzzy": ECM(4, beta=5, random_state=0),
    "no outliers": ECM(4, delta=np.inf, beta=2, random_state=0),
    "all outliers": ECM(4, delta=1e-3, beta=2, random_state=0),
    "CCM": CCM(4, random_state=0),
    "BPEC": BPEC(4, metric="euclidean", n_neighbors=20),
    "some sets": ECM(4, focal_sets=FocalSets([[0], [1], [2], [3], [0, 1, 3]], 4), random_state=0),
    "one cluster": ECM(1, random_state=0),
    "scaled": make_pipeline(StandardScaler(), ECM(4, random_state=0)),
    "not centered": make_pipeline(StandardScaler(with_mean=False), CCM(4, random_state=0)),
    "not scaled": make_pipeline(StandardScaler(with_std=False), CCM(4, random_state=0)),
}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MODELS[request.param].fit(X)


def test_the_database_returns_the_results_of_the_model(fitted):
    last = fitted[-1] if hasattr(fitted, "steps") else fitted
    centers = (
        fitted[0].inverse_transform(last.cluster_centers_) if hasattr(fitted, "steps") else last.cluster_centers_
    )
    midpoints = (centers[:, None] + centers[None]).reshape(-1, 3) / 2
    random = np.random.default_rng(0)
    extreme = random.normal(size=(60, 3)) * 10.0 ** random.integers(0, 300, size=(60, 1))
    check(fitted, np.vstack([X, centers, midpoints, np.clip(extreme, -1e300, 1e300)]))
    check(fitted, X, level=1.0)
    check(fitted, X, level=0.3)


@given(
    st.integers(1, 5),
    st.integers(1, 4),
    st.sampled_from(["auto", "full", "pairs", "simple"]),
    st.floats(1.05, 4),
    st.integers(-8, 8),
    st.integers(0, 2**31 - 1),
)
@settings(max_examples=8, deadline=None)
@pytest.mark.slow
def test_models_in_any_unit_are_supported(n_clusters, n_features, focal_sets, beta, unit, seed):
    random = np.random.default_rng(seed)
    rows = (random.normal(size=(60, n_features)) + 5 * random.integers(0, 3, size=(60, 1))) * 10.0**unit
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ECM(n_clusters, focal_sets=focal_sets, beta=beta, random_state=0).fit(rows)
    check(model, rows)


@pytest.mark.parametrize("value", ["NULL", "'NaN'::DOUBLE", "'Infinity'::DOUBLE", "'-Infinity'::DOUBLE"])
@pytest.mark.parametrize("name", ["ECM", "full", "no outliers", "one cluster", "scaled"])
def test_missing_and_invalid_values_have_no_result(value, name):
    model = MODELS[name].fit(X)
    query = to_sql(model, "holes", key="id", features=NAMES)
    rows = np.full((3, 3), ["1.0", "2.0", "3.0"], dtype=object)
    np.fill_diagonal(rows, value)
    selects = [f"SELECT {number} AS id, {a} a, {b} b, {c} c" for number, (a, b, c) in enumerate(rows)]
    with duckdb.connect() as database:
        database.execute(f"CREATE TABLE holes AS {' UNION ALL '.join(selects)}")
        results = sorted(database.sql(query).fetchall(), key=lambda result: result[0])
    n_columns = len(results[0]) - 1
    assert n_columns > 0
    assert results == [(number, *[None] * n_columns) for number in range(3)]


@pytest.mark.slow
def test_numbers_of_any_type_are_computed_in_double_precision():
    model = ECM(4, random_state=0).fit(np.round(X))
    whole = np.round(X).astype(np.int64)
    query = to_sql(model, "given", key="id", features=NAMES)
    expected = model.predict_mass(whole.astype(np.float64)).masses
    for dtype in ("TINYINT", "INTEGER", "BIGINT", "DECIMAL(9, 2)", "REAL", "HUGEINT"):
        with duckdb.connect() as database:
            rows = pd.DataFrame(whole, columns=NAMES)
            database.register("rows", rows)
            cast = ", ".join(f"CAST({name} AS {dtype}) AS {name}" for name in NAMES)
            database.execute(f'CREATE TABLE "given" AS SELECT row_number() OVER () AS id, {cast} FROM rows')
            result = database.sql(f"SELECT * FROM ({query}) AS found ORDER BY id").df()
        np.testing.assert_allclose(result["mass_0"], expected[:, 1], rtol=1e-9, atol=1e-12)


# Names


@pytest.mark.parametrize(
    "name", ['a"b', "x; DROP TABLE x --", "sélect", "a.b", "'", "SELECT", "evlearn_0", "k_0", "x_0", "\\", " "]
)
def test_names_may_be_anything(name):
    model = ECM(2, random_state=0).fit(X)
    quoted = '"' + name.replace('"', '""') + '"'
    with duckdb.connect() as database:
        rows = pd.DataFrame(X, columns=[name, "b", "c"]).assign(**{name + "k": np.arange(len(X))})
        database.register("rows", rows)
        database.execute(f"CREATE TABLE {quoted} AS SELECT * FROM rows")
        query = to_sql(model, name, key=name + "k", features=[name, "b", "c"])
        result = database.sql(query).df().sort_values(name + "k")
        assert database.sql("SELECT count(*) FROM duckdb_tables()").fetchall() == [(1,)]
    np.testing.assert_allclose(result["mass_0"], model.masses_[:, 1], rtol=1e-9, atol=1e-12)


def test_a_frame_gives_the_names_and_a_table_may_have_a_schema():
    model = make_pipeline(StandardScaler(), ECM(4, random_state=0)).fit(pd.DataFrame(X, columns=NAMES))
    query = to_sql(model, ("sales", "customers"), key=["region", "id"])
    assert 'FROM "sales"."customers"' in query
    with duckdb.connect() as database:
        rows = pd.DataFrame(X, columns=NAMES).assign(id=np.arange(300), region="north")
        database.register("rows", rows)
        database.execute("CREATE SCHEMA sales")
        database.execute("CREATE TABLE sales.customers AS SELECT * FROM rows")
        database.execute(f"CREATE VIEW scored AS {query}")
        counts = database.sql("SELECT count(*) FROM scored JOIN sales.customers USING (region, id)").fetchall()
    assert counts == [(300,)]


def test_databases_accept_the_names_of_results():
    model = ECM(30, focal_sets="neighbor_pairs", max_iter=1, n_init=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        query = to_sql(model.fit(X), "t", features=NAMES)
    names = re.findall(r" AS (\w+)", query[query.rindex("\nSELECT") :])
    assert len(set(names)) == len(names) == 2 + 60 + len(model.focal_sets_)
    assert all(re.fullmatch("[a-z][a-z0-9_]{0,59}", name) for name in names)
    assert {"cluster_number", "verdict", "belief_29", "plausibility_0", "mass_empty", "mass_3"} <= set(names)


def test_sets_with_long_names_are_numbered():
    sets = FocalSets([[], *[[k] for k in range(40)], list(range(30)), list(range(40))], 40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ECM(40, focal_sets=sets, max_iter=1, n_init=1, random_state=0).fit(X)
    query = to_sql(model, "t", features=NAMES)
    assert query.endswith("m_41 AS mass_set_41,\n  m_42 AS mass_all\nFROM evlearn_11")


def test_spark_uses_backquotes():
    query = to_sql(ECM(4, random_state=0).fit(X), "a`b", features=NAMES, dialect="spark")
    assert "FROM `a``b`" in query
    assert "CAST(`a` AS DOUBLE) AS v_0" in query


@pytest.mark.parametrize("name", ["evlearn_0", "Evlearn_11", "evlearn_x_1", "evlearnx_0"])
def test_no_step_has_the_name_of_the_table(name):
    query = to_sql(ECM(4, random_state=0).fit(X), name, features=NAMES)
    steps = re.findall(r"(\w+) AS \(", query)
    assert len(steps) == 12
    assert name.lower() not in steps


# Databases that replace names by expressions


def run_sqlite(model, rows, names=None, **settings):
    """Return the result of SQLite in the order of the rows, and how often it called POWER for each row."""
    names = names or [f"f{i}" for i in range(len(rows[0]))]
    calls = 0

    def power(base, exponent):
        nonlocal calls
        calls += 1
        return None if base is None else base**exponent

    with closing(sqlite3.connect(":memory:")) as database:
        database.create_function("POWER", 2, power, deterministic=True)
        database.execute(f'CREATE TABLE "given" (id, {", ".join(f"f{i}" for i in range(len(rows[0])))})')
        places = ", ".join("?" * (1 + len(rows[0])))
        database.executemany(f'INSERT INTO "given" VALUES ({places})', [(i, *row) for i, row in enumerate(rows)])
        query = to_sql(model, "given", key="id", features=names, dialect="sqlite", **settings)
        result = pd.read_sql_query(f"SELECT * FROM ({query}) ORDER BY id", database)
    return result, calls / len(rows)


def test_sqlite_returns_the_results_of_the_model(fitted):
    random = np.random.default_rng(0)
    rows = np.vstack([X, random.normal(size=(60, 3)) * 10.0 ** random.integers(-250, 140, size=(60, 1))])
    result, n_calls = run_sqlite(fitted, rows.tolist())
    partition = evlearn.predict_mass(fitted, rows)
    masses = result[[name for name in result if name.startswith("mass_")]].to_numpy()
    np.testing.assert_allclose(masses, partition.masses, rtol=1e-9, atol=1e-12)
    # Each square of a coordinate, each weight, each distance to a segment and the score are computed once.
    n_pairs = int((partition.focal_sets.sizes == 2).sum())
    assert n_calls <= 3 * partition.n_clusters + len(partition.focal_sets) + n_pairs + 1


def test_sqlite_takes_many_clusters_and_sets():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ECM(16, focal_sets="pairs", max_iter=3, n_init=1, random_state=0).fit(X)
    result, _ = run_sqlite(model, X[:5].tolist())
    masses = result[[name for name in result if name.startswith("mass_")]].to_numpy(float)
    np.testing.assert_allclose(masses, model.predict_mass(X[:5]).masses, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("value", [None, np.inf, -np.inf, np.nan, "text", "1.5", b"1"])
def test_sqlite_has_no_result_for_invalid_numbers(value):
    result, _ = run_sqlite(MODELS["ECM"].fit(X), [(1.0, value, 2.0)])
    assert result.drop(columns="id").isna().all(axis=None)


def test_sqlite_refuses_a_column_that_does_not_exist():
    with pytest.raises(pd.errors.DatabaseError, match="no such column"):
        run_sqlite(MODELS["ECM"].fit(X), X[:5].tolist(), ["f0", "f1", "f3"])


@pytest.fixture(scope="module")
def postgresql(tmp_path_factory):
    """Return a function that runs statements in a separate PostgreSQL server and returns a frame."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not programs or shutil.which("psql") is None:
        pytest.skip("PostgreSQL is not installed")
    # The server refuses to run as root, and the path of its socket must be short.
    user = "postgres" if os.getuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="pg", dir="/tmp") as folder:
        if user:
            shutil.chown(folder, user)
        control, data = programs[-1].with_name("pg_ctl"), f"{folder}/data"

        def call(*command):
            subprocess.run(
                command, user=user, cwd=folder, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
            )

        call(programs[-1], "-D", data, "-A", "trust", "-E", "UTF8", "-U", "tester", "--no-sync")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        call(control, "-D", data, "-o", options, "-w", "-l", f"{folder}/log", "start")

        def run(statements):
            command = [
                "psql",
                "-h",
                folder,
                "-U",
                "tester",
                "-d",
                "postgres",
                "-q",
                "--csv",
                "-v",
                "ON_ERROR_STOP=1",
            ]
            process = subprocess.run(command, input=statements, text=True, capture_output=True)
            assert process.returncode == 0, process.stderr
            return pd.read_csv(io.StringIO(process.stdout)) if process.stdout else None

        try:
            yield run
        finally:
            call(control, "-D", data, "-m", "immediate", "-w", "stop")


def test_postgresql_returns_the_results_of_the_model(fitted, postgresql):
    random = np.random.default_rng(0)
    scales = 10.0 ** random.integers(-320, 300, size=(90, 1))
    rows = np.vstack([X, np.clip(random.normal(size=(90, 3)) * scales, -1e300, 1e300), np.zeros((1, 3))])
    values = ", ".join(f"({i}, {a!r}, {b!r}, {c!r})" for i, (a, b, c) in enumerate(rows.tolist()))
    query = to_sql(fitted, "given", key="id", features=NAMES, dialect="postgresql")
    result = postgresql(
        "CREATE TEMP TABLE given (id int, a float8, b float8, c float8);"
        f"INSERT INTO given VALUES {values};"
        f"SELECT * FROM ({query}) AS found ORDER BY id;"
    )
    partition = evlearn.predict_mass(fitted, rows)
    masses = result[[name for name in result if name.startswith("mass_")]].to_numpy()
    np.testing.assert_allclose(masses, partition.masses, rtol=1e-9, atol=1e-12)
    verdict = partition.verdict()
    expected = np.select([verdict.sure, verdict.torn], ["sure", "torn"], "outlier")
    assert (result["verdict"] == expected).mean() > 0.99


def test_postgresql_computes_each_column_once(postgresql):
    model = MODELS["ECM"].fit(X)
    query = to_sql(model, "given", features=NAMES, dialect="postgresql")
    plan = postgresql(
        f"CREATE TEMP TABLE given AS SELECT 1.0::float8 AS a, 'NaN'::float8 AS b, NULL::float8 AS c;"
        f"EXPLAIN VERBOSE {query};"
    )
    text = "\n".join(plan.iloc[:, 0])
    assert text.count("power(") <= 2 * (3 * 4 + len(model.focal_sets_))


def test_squares_that_are_too_small_for_numbers_are_no_errors(postgresql):
    model = ECM(4, random_state=0).fit(np.column_stack([X[:, :2], np.zeros(300)]))
    query = to_sql(model, "given", features=NAMES, dialect="postgresql")
    result = postgresql(
        f"CREATE TEMP TABLE given AS SELECT 1.0::float8 AS a, 2.0::float8 AS b, 1e-200::float8 AS c; {query};"
    )
    masses = result[[name for name in result if name.startswith("mass_")]].to_numpy()
    np.testing.assert_allclose(masses, model.predict_mass([[1.0, 2.0, 0.0]]).masses, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("value", ["NULL", "'NaN'", "'Infinity'", "'-Infinity'"])
def test_postgresql_has_no_result_for_invalid_numbers(value, postgresql):
    query = to_sql(MODELS["ECM"].fit(X), "given", features=NAMES, dialect="postgresql")
    result = postgresql(
        f"CREATE TEMP TABLE given AS SELECT 1.0::float8 AS a, {value}::float8 AS b, 2.0::float8 AS c; {query};"
    )
    assert len(result) == 1
    assert result.isna().all(axis=None)


# Unsupported models


@pytest.mark.parametrize(
    ("model", "settings", "message"),
    [
        (ECM(4, metric="adaptive"), {}, "Euclidean distances, got ECM with metric='adaptive'"),
        (EVCLUS(4), {}, "supports ECM, CCM and BPEC with Euclidean distances, got EVCLUS;"),
        (make_pipeline(PCA(2), ECM(4)), {}, "only a StandardScaler before the last step, got PCA"),
        (make_pipeline(MinMaxScaler(), ECM(4)), {}, "before the last step, got MinMaxScaler"),
        (ECM(4), {"features": None}, "features must be the column names"),
        (ECM(4), {"features": ["a", "b"]}, "features must be 3 different names, in the order of the fit"),
        (ECM(4), {"features": ["a", "b", "b"]}, "features must be 3 different names"),
        (ECM(4), {"features": ["a", "b", ""]}, "must be text without control characters, got ''"),
        (ECM(4), {"features": ["a", "b", "c\n"]}, "must be text without control characters"),
        (ECM(4), {"key": "Verdict"}, "key='Verdict' is also a column of the result"),
        (ECM(4), {"key": "mass_0"}, "is also a column of the result"),
        (ECM(4), {"key": ["id", "ID"]}, "key must be different names, ignoring case, got"),
        (ECM(4), {"level": 0}, "level must be"),
        (ECM(4), {"dialect": "cobol"}, "dialect must be"),
        (ECM(10, focal_sets="full"), {}, "the query would have .* and 1,044 columns, but at most"),
    ],
)
def test_unsupported_models_are_refused_with_a_reason(model, settings, message):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[::6])
    with pytest.raises(ValueError, match=message):
        to_sql(model, "t", **{"features": NAMES} | settings)


def test_unfitted_and_too_large_models_are_refused():
    with pytest.raises(NotFittedError):
        to_sql(ECM(4), "t", features=NAMES)
    wide = np.random.default_rng(0).normal(size=(60, 600))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ECM(40, focal_sets="simple", max_iter=1, n_init=1, random_state=0).fit(wide)
    with pytest.raises(ValueError, match="the query would have 24,"):
        to_sql(model, "t", features=[f"f{i}" for i in range(600)])


@pytest.mark.slow
def test_the_best_of_a_search_is_written():
    search = GridSearchCV(ECM(random_state=0), {"n_clusters": [4]}, cv=2, scoring=lambda *_: 0).fit(X)
    check(search, X)
