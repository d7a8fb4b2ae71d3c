"""Recipes of the guide for engines that are too large for CI: `make test-engines` runs them."""

import doctest
import importlib
import os
import re
import shutil
import signal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from evlearn import open_dataset
from evlearn.cluster import ECM

GUIDE = Path(__file__).parents[1] / "docs" / "guide" / "engines.rst"


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """Return the variables of the guide before its recipes: those of the first example."""
    examples = doctest.DocTestParser().get_examples(GUIDE.read_text(encoding="utf-8"))
    last = next(i for i, example in enumerate(examples) if example.source.startswith("model = "))
    variables = {}
    for example in examples[: last + 1]:
        exec(example.source, variables)
    exec("import evlearn\nfrom evlearn import open_dataset", variables)
    return variables | {"folder": tmp_path_factory.mktemp("engines")}


def run(name, names):
    """Run a block of code of the guide."""
    block = re.search(rf"   :name: {name}\n\n((?:   .*\n|\n)+)", GUIDE.read_text(encoding="utf-8"))
    exec(re.sub("^   ", "", block.group(1), flags=re.MULTILINE), names)
    return names


def check(table, names):
    """Check that clusters and assignments are those of the model, in any order of the rows."""
    expected = names["customers"].merge(table, on="customer", suffixes=("", "_said"))
    assert len(expected) == 600
    partition = names["model"].predict_mass(expected[names["features"]])
    assert (partition.to_hard() == expected["cluster"]).all()
    assert (partition.verdict().labels() == expected["assignment"]).all()


def check_masses(table, names):
    """Check that joined masses are those of the fitted model."""
    fitted = names["fitted"]
    assert len(table) == 600
    assert list(table.columns[:4]) == list(names["customers"].columns)
    partition = fitted.predict_mass(table[names["features"]])
    assert abs(table.iloc[:, 4:].to_numpy() - partition.masses).max() < 1e-12


def check_keys(opened, key, folder):
    """Check that masses of opened rows, written with their keys, belong to these keys."""
    frame, rows = opened
    with rows:
        model = ECM(2, random_state=0).fit(rows)
        masses = pq.read_table(model.predict_mass(rows, out=folder / "masses.parquet")).to_pandas()
    shutil.rmtree(folder / "masses.parquet")
    merged = masses.merge(frame, on=key, validate="one_to_one")
    assert len(masses) == len(merged) == len(frame)
    expected = model.predict_mass(merged[["x", "y"]]).masses
    np.testing.assert_allclose(merged[list(model.focal_sets_.labels)], expected, rtol=0, atol=1e-12)


RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(300, 2)) + 9 * (np.arange(300) % 2)[:, None]
ODD = pd.DataFrame(
    {"id": np.arange(300) + 2**33, "name": [f"n{k}" for k in range(300)], "x": X[:, 0], "y": X[:, 1]}
)


def odd_frames_of_spark(spark, folder):
    functions = importlib.import_module("pyspark.sql.functions")

    table = spark.createDataFrame(ODD)

    def opened(frame, key):
        return frame.select("id", "name", "x", "y").toPandas(), open_dataset(frame, columns=["x", "y"], key=key)

    subset = table.repartition(20).filter(functions.col("id") < 2**33 + 60)  # most partitions are empty
    check_keys(opened(subset, "id"), "id", folder)
    missing = functions.when(functions.col("id") < 2**33 + 100, None).otherwise(functions.col("name"))
    check_keys(opened(table.withColumn("name", missing), ["name", "id"]), ["name", "id"], folder)
    timed = table.withColumn("time", functions.timestamp_seconds(functions.col("id")))  # Spark cannot send these
    check_keys(opened(timed, "id"), "id", folder)
    for key, columns in (("time", ["x", "y"]), ("id", None)):
        with pytest.raises(ValueError, match=r"cannot be sent as Arrow: a column has a type, such as a timestamp"):
            open_dataset(timed, columns=columns, key=key, folder=folder)
    with pytest.raises(ValueError, match=r"no column 'z'; its columns are \['id', 'name', 'x', 'y'\]"):
        open_dataset(table, columns=["x", "z"], folder=folder)
    dotted = table.withColumnRenamed("x", "x.1 `a`")
    with open_dataset(dotted, columns=["x.1 `a`", "y"], key="id") as rows:
        assert list(rows.feature_names) == ["x.1 `a`", "y"]
    hole = table.withColumn(
        "x", functions.when(functions.col("id") == 2**33 + 7, None).otherwise(functions.col("x"))
    )
    with pytest.raises(ValueError, match=r"column 'x' has missing or infinite values: the first in row 7 of X"):
        open_dataset(hole, columns=["x", "y"], key="id", folder=folder)
    with pytest.raises(ValueError, match="X gave no rows"):
        open_dataset(table.filter("x > 1e9"), columns=["x", "y"], key="id", folder=folder)
    assert not list(folder.iterdir())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_spark_scores_batches_and_runs_the_query(names, monkeypatch, tmp_path):
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    builder = pyspark.sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        odd_frames_of_spark(spark, tmp_path)
        run("spark", names)
        check(names["scored"].toPandas(), names)
        assert names["joined"].count() == 600
        run("spark-fit", names)
        check_masses(names["back"].toPandas(), names)
        run("spark-sql", names)
        torn_rows = names["asked"].toPandas()
        expected = names["customers"].merge(torn_rows, on="customer")
        partition = names["model"].predict_mass(expected[names["features"]])
        masses = expected[[column for column in expected if column.startswith("mass_")]].to_numpy()
        assert abs(masses - partition.masses).max() < 1e-12
        assert (expected["cluster_number"] == partition.to_hard()).all()
        holes = spark.sql("SELECT 'x' AS customer, CAST(NULL AS DOUBLE) AS spent, double('NaN') AS visits")
        holes.createOrReplaceTempView("customers")
        (row,) = spark.sql(names["evlearn"].to_sql(names["model"], "customers", dialect="spark")).collect()
        assert set(row) == {None}
    finally:
        spark.stop()


def odd_datasets_of_ray(ray, folder):
    dataset = ray.data.from_pandas(ODD)

    def opened(data, key):
        return data.to_pandas(), open_dataset(data, columns=["x", "y"], key=key)

    subset = dataset.repartition(20).filter(lambda row: row["id"] < 2**33 + 60)
    check_keys(opened(subset, "id"), "id", folder)

    def forget(batch):
        return batch.assign(name=batch["name"].where(batch["id"] >= 2**33 + 100, None))

    parts = dataset.repartition(6)
    check_keys(opened(parts.map_batches(forget, batch_format="pandas"), ["name", "id"]), ["name", "id"], folder)

    def narrow(batch):
        small = batch.assign(id=batch["id"] - 2**33)
        return small.astype({"id": "int32"}) if small["id"].max() < 100 else batch

    check_keys(opened(parts.map_batches(narrow, batch_format="pandas"), "id"), "id", folder)
    died = folder / "died"

    def die(batch):
        if not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return batch

    check_keys(opened(parts.map_batches(die), "id"), "id", folder)
    died.unlink()
    for tensors in (ray.data.from_numpy(X), parts.map_batches(lambda batch: {"e": np.c_[batch["x"], batch["y"]]})):
        with open_dataset(tensors) as rows:
            block = rows.take(np.arange(300))
        np.testing.assert_array_equal(block[np.argsort(block[:, 0])], X[np.argsort(X[:, 0])])
    with pytest.raises(ValueError, match="X gave no rows"):
        open_dataset(dataset.filter(lambda row: False), columns=["x", "y"], key="id", folder=folder)
    assert not list(folder.iterdir())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_ray_scores_batches(names, tmp_path):
    ray = pytest.importorskip("ray", reason="ray is not installed")
    pytest.importorskip("ray.data", reason="ray is not installed")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        odd_datasets_of_ray(ray, tmp_path)
        check(run("ray", names)["scored"], names)
        run("ray-fit", names)
        check_masses(names["customers"].merge(names["masses"], on="customer"), names)
    finally:
        ray.shutdown()
