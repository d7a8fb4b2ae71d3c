"""The recipes of the guide for engines that are too large for CI: `make test-engines` runs them."""

import doctest
import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[1] / "docs" / "guide" / "engines.rst"


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """What the guide has made before its recipes: the first example."""
    examples = doctest.DocTestParser().get_examples(GUIDE.read_text(encoding="utf-8"))
    last = next(i for i, one in enumerate(examples) if one.source.startswith("model = "))
    found = {}
    for one in examples[: last + 1]:
        exec(one.source, found)
    exec("import evlearn\nfrom evlearn.blocks import open_rows", found)
    return found | {"folder": tmp_path_factory.mktemp("engines")}


def run(name, names):
    """Run a block of code of the guide."""
    block = re.search(rf"   :name: {name}\n\n((?:   .*\n|\n)+)", GUIDE.read_text(encoding="utf-8"))
    exec(re.sub("^   ", "", block.group(1), flags=re.MULTILINE), names)
    return names


def check(found, names):
    """Clusters and assignments are those of the model, whatever the order of the rows."""
    expected = names["customers"].merge(found, on="customer", suffixes=("", "_said"))
    assert len(expected) == 600
    said = names["model"].predict_mass(expected[names["features"]])
    assert (said.to_hard() == expected["cluster"]).all()
    assert (said.verdict().labels() == expected["assignment"]).all()


def check_masses(found, names):
    """Masses that were joined to their customers are those of the model that was fitted to them."""
    fitted = names["fitted"]
    assert len(found) == 600
    assert list(found.columns[:4]) == list(names["customers"].columns)
    said = fitted.predict_mass(found[names["features"]])
    assert abs(found.iloc[:, 4:].to_numpy() - said.masses).max() < 1e-12


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_spark_scores_batches_and_runs_the_query(names, monkeypatch):
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    builder = pyspark.sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        run("spark", names)
        check(names["scored"].toPandas(), names)
        assert names["joined"].count() == 600
        run("spark-fit", names)
        check_masses(names["back"].toPandas(), names)
        run("spark-sql", names)
        asked = names["asked"].toPandas()
        expected = names["customers"].merge(asked, on="customer")
        said = names["model"].predict_mass(expected[names["features"]])
        masses = expected[[one for one in expected if one.startswith("mass_")]].to_numpy()
        assert abs(masses - said.masses).max() < 1e-12
        assert (expected["cluster_number"] == said.to_hard()).all()
        holes = spark.sql("SELECT 'x' AS customer, CAST(NULL AS DOUBLE) AS spent, double('NaN') AS visits")
        holes.createOrReplaceTempView("customers")
        (row,) = spark.sql(names["evlearn"].to_sql(names["model"], "customers", dialect="spark")).collect()
        assert set(row) == {None}
    finally:
        spark.stop()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_ray_scores_batches(names):
    ray = pytest.importorskip("ray", reason="ray is not installed")
    pytest.importorskip("ray.data", reason="ray is not installed")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        check(run("ray", names)["scored"], names)
        run("ray-fit", names)
        check_masses(names["customers"].merge(names["masses"], on="customer"), names)
    finally:
        ray.shutdown()
