"""Properties of all public estimators: batches, order, units, data types, copies, weights, clones, files, threads.

The estimators, and exempt properties, are listed in ``estimator_cases.py``.
"""

import copy
import inspect
import pickle
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.metrics import pairwise_distances

import evlearn
from estimator_cases import CASES, N_NEW, N_TRAINING, NEW_POINTS, TARGET, outputs, public_estimators, rows_of
from evlearn.belief import FocalSets, expand_masses
from evlearn.partition import align_clusters

PROPERTIES = set()
TOLERANCE = 1e-9  # maximum difference of results that must be equal
#: Maximum difference of results of 2 descents that end near the same optimum.
LOOSE_TOLERANCE = 1e-3


def cases(promise, *, data=None, having=None):
    """Return a parameter for each case to which a property applies; known defects are expected to fail."""
    PROPERTIES.add(promise)
    selected = []
    for name, case in CASES.items():
        if promise in case.exempt or (data and case.data not in data) or (having and not having(case)):
            continue
        marks = [pytest.mark.xfail(reason=case.defects[promise])] if promise in case.defects else []
        selected.append(pytest.param(name, marks=marks))
    return pytest.mark.parametrize("name", selected)


def tolerance_of(case, promise):
    return case.tolerances.get(promise, LOOSE_TOLERANCE)


def assert_same(actual, expected, tolerance=0.0):
    assert actual.keys() == expected.keys()
    for name, value in expected.items():
        if name == "focal sets":
            assert actual[name] == value, name
        elif value.dtype.kind == "f":
            np.testing.assert_allclose(actual[name], value, rtol=0, atol=tolerance, err_msg=name)
        else:
            np.testing.assert_array_equal(actual[name], value, err_msg=name)


def select(results, rows):
    return {name: value if name == "focal sets" else value[rows] for name, value in results.items()}


def partition_of(model, rows):
    return evlearn.predict_mass(model, rows)


def on_all_sets(partition):
    return expand_masses(partition.masses, partition.focal_sets, FocalSets.full(partition.n_clusters))


def assert_near(model, reference, rows, reference_rows, tolerance):
    """Check that 2 fits agree on rows, up to the numbers of clusters, and signs and rotations of features."""
    if hasattr(reference, "predict"):
        expected = partition_of(reference, reference_rows)
        actual = partition_of(model, rows)
        if not hasattr(reference, "classes_"):
            actual = align_clusters(actual, expected)
        np.testing.assert_allclose(on_all_sets(actual), on_all_sets(expected), rtol=0, atol=tolerance)
    else:
        expected, actual = reference.transform(reference_rows), model.transform(rows)
        np.testing.assert_allclose(
            pairwise_distances(np.nan_to_num(actual)),
            pairwise_distances(np.nan_to_num(expected)),
            rtol=tolerance,
            atol=tolerance,
        )


def last_step(estimator):
    return estimator[-1] if hasattr(estimator, "steps") else estimator


def is_clusterer(case):
    last = last_step(case.estimator)
    return hasattr(last, "predict_mass") and hasattr(last, "fit_predict")


def result_unless_rejected(call, *words):
    """Return the result of a call, or None if it raises a ValueError that contains one of these words."""
    try:
        return call()
    except ValueError as error:
        message = str(error)
    if not any(word in message for word in words):
        pytest.fail(f"the error does not explain itself: {message}")
    return None


def assert_valid(partition):
    assert np.isfinite(partition.masses).all()
    assert (partition.masses >= 0).all()
    np.testing.assert_allclose(partition.masses.sum(axis=1), 1, rtol=0, atol=1e-6)


# The registry


def test_every_public_estimator_has_a_case():
    assert public_estimators().keys() <= {type(case.estimator).__name__ for case in CASES.values()}


def test_every_exemption_names_a_property_and_a_reason():
    for case in CASES.values():
        exceptions = {**case.exempt, **case.defects}
        assert exceptions.keys() <= PROPERTIES
        assert all(len(reason) > 20 for reason in exceptions.values())
        assert not case.exempt.keys() & case.defects.keys()


# Batches


@cases("batches")
def test_a_single_row_has_the_result_that_it_has_among_others(name):
    case = CASES[name]
    for row in (*range(3), *range(4, N_NEW, 4)):
        assert_same(outputs(case.fitted, rows_of(case.new, [row])), select(case.expected, [row]), TOLERANCE)


@cases("batches")
def test_results_do_not_depend_on_the_chunks(name):
    case = CASES[name]
    for rows in np.split(np.arange(N_NEW), [2, 5, 9, 16]):
        assert_same(outputs(case.fitted, rows_of(case.new, rows)), select(case.expected, rows), TOLERANCE)


@cases("order of new rows")
def test_results_follow_the_order_of_the_rows(name):
    case = CASES[name]
    random = np.random.default_rng(0)
    for order in (np.arange(N_NEW)[::-1], random.permutation(N_NEW), random.integers(N_NEW, size=300)):
        assert_same(outputs(case.fitted, rows_of(case.new, order)), select(case.expected, order), TOLERANCE)


@cases("batches in single precision", data=("points",))
def test_batches_in_single_precision(name):
    case = CASES[name]
    model, new = case.fitted_in_single_precision, case.new.astype(np.float32)
    expected = outputs(model, np.tile(new, (13, 1)))
    for rows in ([0], [1], [2], [7], np.arange(4), np.arange(5, N_NEW)):
        assert_same(outputs(model, new[rows]), select(expected, rows), TOLERANCE)


@cases("no rows", data=("points",))
def test_no_rows_are_rejected_or_have_no_results(name):
    case = CASES[name]
    for method in ("predict", "transform"):
        if hasattr(case.fitted, method):
            call = getattr(case.fitted, method)
            result = result_unless_rejected(lambda call=call: call(np.empty((0, 3))), "0 sample", "empty")
            assert result is None or len(result) == 0


# Order of the training rows, units, copies


@cases("row order")
def test_the_order_of_the_training_rows_only_changes_the_numbers_of_clusters(name):
    case = CASES[name]
    order = np.random.default_rng(5).permutation(N_TRAINING)
    model = case.fit_to_rows(order)
    assert_near(model, case.fitted, case.new_for_rows(order), case.new, tolerance_of(case, "row order"))


@cases("scaling", data=("points", "distances"))
def test_the_unit_of_all_features_does_not_matter(name):
    case = CASES[name]
    model = case.fit(37.5 * case.training)
    assert_near(model, case.fitted, 37.5 * case.new, case.new, tolerance_of(case, "scaling"))


@cases("shift", data=("points",))
def test_the_origin_of_the_features_does_not_matter(name):
    case = CASES[name]
    shift = np.array([1000.0, -250.0, 4000.0])
    model = case.fit(case.training + shift)
    assert_near(model, case.fitted, case.new + shift, case.new, tolerance_of(case, "shift"))


def fitted_to_copies(case):
    """Return a model fitted to every row twice, and the numbers of these rows."""
    rows = np.tile(np.arange(N_TRAINING), 2)
    return case.fit_to_rows(rows), rows


@cases("copies")
def test_copies_of_all_rows_do_not_change_the_clusters(name):
    case = CASES[name]
    model, rows = fitted_to_copies(case)
    if hasattr(model, "predict"):
        partition, expected = partition_of(model, case.new_for_rows(rows)), partition_of(case.fitted, case.new)
        assert_valid(partition)
        if not hasattr(model, "classes_"):
            partition = align_clusters(partition, expected)
        n_special = 3  # the first rows lie between clusters and far away
        assert (partition.to_hard() == expected.to_hard())[n_special:].mean() >= 0.9
    else:
        assert model.transform(case.new).shape[0] == N_NEW


@cases("equal copies", having=is_clusterer)
def test_copies_of_a_row_have_the_same_masses(name):
    case = CASES[name]
    model = last_step(fitted_to_copies(case)[0])
    first, second = np.split(model.credal_partition_.masses, 2)
    np.testing.assert_allclose(first, second, rtol=0, atol=case.tolerances.get("equal copies", TOLERANCE))


# Weights


def takes_weights(case):
    return "sample_weight" in inspect.signature(type(case.estimator).fit).parameters


@cases("weights", having=takes_weights)
def test_a_weight_of_zero_equals_removal_of_the_row(name):
    case = CASES[name]
    rows = np.arange(N_TRAINING) % 4 != 1
    data = case.training.copy()
    data[~rows] += 9.0  # information learned from them differs
    weighted = case.fit(data, sample_weight=rows.astype(float))
    assert_near(
        weighted, case.fit_to_rows(np.flatnonzero(rows)), case.new, case.new, tolerance_of(case, "weights")
    )


@cases("weights", having=takes_weights)
def test_a_weight_of_two_equals_repetition_of_the_row(name):
    case = CASES[name]
    weights = 1 + np.arange(N_TRAINING) % 3 // 2
    weighted = case.fit(sample_weight=weights.astype(float))
    assert_near(
        weighted,
        case.fit_to_rows(np.repeat(np.arange(N_TRAINING), weights)),
        case.new,
        case.new,
        tolerance_of(case, "weights"),
    )


# Data types and containers


def strided(data):
    wide = np.full((2 * data.shape[0], 2 * data.shape[1]), -99.0)
    wide[::2, 1::2] = data
    return wide[::2, 1::2]


def read_only(data):
    fixed = data.copy()
    fixed.flags.writeable = False
    return fixed


LAYOUTS = {
    "Fortran order": np.asfortranarray,
    "strides": strided,
    "read-only": read_only,
    "big-endian": lambda data: data.astype(">f8"),
    "objects": lambda data: data.astype(object),
    "lists": lambda data: data.tolist(),
}


@cases("layout", data=("points", "distances"))
def test_the_layout_in_memory_does_not_matter_in_predictions(name):
    case = CASES[name]
    for convert in LAYOUTS.values():
        assert_same(outputs(case.fitted, convert(case.new)), case.expected, TOLERANCE)


@pytest.mark.parametrize(
    "layout", ["Fortran order", *(pytest.param(layout, marks=pytest.mark.slow) for layout in list(LAYOUTS)[1:])]
)
@cases("layout", data=("points", "distances"))
def test_the_layout_in_memory_does_not_matter_in_a_fit(name, layout):
    case = CASES[name]
    model = case.fit(LAYOUTS[layout](case.training))
    assert_same(outputs(model, case.new), case.expected, TOLERANCE)


@cases("single precision", data=("points",))
def test_single_precision_is_close_to_double_precision(name):
    case = CASES[name]
    tolerance = max(1e-2, tolerance_of(case, "single precision"))
    assert_near(case.fitted_in_single_precision, case.fitted, case.new.astype(np.float32), case.new, tolerance)


CONTAINERS = {
    "pandas": lambda data: pd.DataFrame(data, columns=list("abc")),
    "polars": lambda data: pl.DataFrame(data, schema=list("abc")),
    "pyarrow": lambda data: pa.table(dict(zip("abc", data.T, strict=True))),
}


@pytest.mark.parametrize("container", ["pandas", pytest.param("polars", marks=pytest.mark.slow), "pyarrow"])
@cases("containers", data=("points",))
def test_frames_of_all_libraries_give_the_results_of_arrays(name, container):
    case = CASES[name]
    model = case.fit(CONTAINERS[container](case.training))
    assert_same(outputs(model, CONTAINERS[container](case.new)), case.expected, TOLERANCE)


@pytest.mark.parametrize("container", ["polars", "pyarrow"])
@cases("containers", data=("table",))
def test_mixed_tables_of_all_libraries_give_the_same_results(name, container):
    case = CASES[name]
    training, new = (table.drop(columns="grade") for table in (case.training, case.new))  # ordered in pandas only

    def convert(table):
        arrow = pa.Table.from_pandas(table, preserve_index=False)
        return pl.from_arrow(arrow) if container == "polars" else arrow

    model = case.fit(convert(training))
    assert_same(outputs(model, convert(new)), outputs(case.fit(training), new), TOLERANCE)


# Estimators as values


@cases("clone")
def test_a_clone_has_the_same_parameters_and_no_fit(name):
    case = CASES[name]
    copied = clone(case.fitted)
    assert repr(copied) == repr(clone(case.estimator))
    assert not [key for key in vars(copied) if key.endswith("_") and not key.startswith("_")]


@cases("clone")
def test_parameters_can_be_read_and_set(name):
    estimator = clone(CASES[name].estimator)
    parameters = estimator.get_params(deep=False)
    assert estimator.set_params(**parameters) is estimator
    for key, value in estimator.get_params(deep=False).items():
        assert value is parameters[key]
    with pytest.raises(ValueError, match="Invalid parameter"):
        estimator.set_params(no_such_parameter=1)


@cases("fit twice")
@pytest.mark.slow_cells("NNEVCLUS, outlier model")
def test_a_second_fit_gives_the_same_bits_and_forgets_the_first(name):
    case = CASES[name]
    model = case.fit_to_rows(np.arange(N_TRAINING)[::-1])
    assert case.fit(model=model) is model
    assert_same(outputs(model, case.new), case.expected)


@cases("pickle")
def test_a_pickled_model_gives_the_same_bits(name):
    case = CASES[name]
    assert_same(outputs(pickle.loads(pickle.dumps(case.fitted)), case.new), case.expected)


@cases("model file")
def test_a_model_file_gives_the_same_bits(name, tmp_path):
    case = CASES[name]
    evlearn.save_model(case.fitted, tmp_path / "model.json")
    assert_same(outputs(evlearn.load_model(tmp_path / "model.json"), case.new), case.expected)


# Side effects, threads and jobs


@cases("side effects")
def test_neither_a_fit_nor_a_prediction_changes_its_input(name):
    case = CASES[name]
    training, new = copy.deepcopy(case.training), copy.deepcopy(case.new)
    outputs(case.fit(training), new)
    for data, original in ((training, case.training), (new, case.new)):
        assert pd.DataFrame(data).equals(pd.DataFrame(original))


@cases("side effects")
def test_predictions_do_not_change_the_model(name):
    case = CASES[name]
    model = pickle.loads(pickle.dumps(case.fitted))
    outputs(model, rows_of(case.new, np.arange(5)))  # some models cache products of their landmarks
    before = joblib.hash(model)
    outputs(model, rows_of(case.new, np.arange(5, 10)))
    assert joblib.hash(model) == before


@cases("threads")
def test_two_threads_give_the_results_of_one(name):
    case = CASES[name]
    with ThreadPoolExecutor(2) as pool:
        predictions = [pool.submit(outputs, case.fitted, case.new) for _ in range(2)]
        for prediction in predictions:
            assert_same(prediction.result(), case.expected)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # threads share warning filters, and reset those of each other
@cases("threads")
def test_two_fits_at_once_give_the_results_of_one(name):
    case = CASES[name]
    with ThreadPoolExecutor(2) as pool:
        fits = [pool.submit(case.fit, model=clone(case.estimator)) for _ in range(2)]
        for model in fits:
            assert_same(outputs(model.result(), case.new), case.expected)


def with_jobs(case, n_jobs):
    estimator = clone(case.estimator)
    return estimator.set_params(**dict.fromkeys(jobs_of(case), n_jobs))


def jobs_of(case):
    return [key for key in case.estimator.get_params(deep=True) if key.split("__")[-1] == "n_jobs"]


@cases("jobs", having=jobs_of)
def test_two_jobs_give_the_bits_of_one(name):
    case = CASES[name]
    with joblib.parallel_config("threading"):
        model = case.fit(model=with_jobs(case, 2))
        assert_same(outputs(model, case.new), case.expected)


@pytest.mark.slow
@cases("jobs", having=jobs_of)
def test_two_processes_give_the_bits_of_one(name):
    case = CASES[name]
    model = case.fit(model=with_jobs(case, 2))
    assert_same(outputs(model, case.new), case.expected)


# Rows without information


def is_confident(partition):
    """Return True for samples with more than 0.6 of their mass on a single cluster or class."""
    return partition.masses[:, partition.focal_sets.singleton_positions].max(axis=1) > 0.6


@cases("far rows", data=("points",), having=lambda case: hasattr(case.estimator, "predict"))
def test_rows_far_from_all_training_rows_are_doubtful_or_rejected(name):
    case = CASES[name]
    for value in (1e20, 1e100, 1e150, 1e300):
        rows = np.array([[value, value, value], [0.0, -value, 0.0], [value, 0.0, 1.0]])
        partition = result_unless_rejected(lambda rows=rows: partition_of(case.fitted, rows), "X")
        if partition is not None:
            assert_valid(partition)
            assert not is_confident(partition).any()


@cases("missing values", data=("points",), having=lambda case: hasattr(case.estimator, "predict"))
def test_rows_of_missing_values_are_doubtful_or_rejected(name):
    case = CASES[name]
    rows = np.vstack([NEW_POINTS[4:6], np.full((1, 3), np.nan)])
    partition = result_unless_rejected(lambda: partition_of(case.fitted, rows), "NaN")
    if partition is not None:
        assert_valid(partition)
        assert not is_confident(partition)[2]
        complete = partition_of(case.fitted, NEW_POINTS[4:6])
        np.testing.assert_allclose(on_all_sets(partition)[:2], on_all_sets(complete), rtol=0, atol=TOLERANCE)


def is_transformer(case):
    return hasattr(case.estimator, "transform") and not hasattr(case.estimator, "predict")


@cases("missing values", data=("points",), having=is_transformer)
def test_features_of_missing_values_are_missing_or_rejected(name):
    case = CASES[name]
    rows = NEW_POINTS[:3].copy()
    rows[1, 2] = np.nan
    features = result_unless_rejected(lambda: case.fitted.transform(rows), "NaN")
    assert features is None or np.isnan(features[1]).any()


@pytest.mark.slow
def test_the_labels_of_the_data_are_found():
    """Check accuracy on easy data, so that equal results are not just equally wrong."""
    for name, case in CASES.items():
        if hasattr(case.fitted, "classes_"):
            assert (partition_of(case.fitted, case.training).to_hard() == TARGET).mean() > 0.9, name
