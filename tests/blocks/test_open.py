"""Opening of all kinds of data as rows."""

import pickle
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from evlearn import RowDataset, open_dataset
from evlearn.blocks.dataset import ArrayDataset
from evlearn.blocks.open import open_once
from evlearn.blocks.parquet import _missing_path
from evlearn.cluster import ECM
from evlearn.utils.reading import select_rows

X = np.random.default_rng(0).normal(size=(1000, 3)) + np.array([0, 10, -5])
NAMES = ["a", "b", "c"]


class Chunks:
    """Iterable that returns a new iterator at each call."""

    def __iter__(self):
        return iter(np.array_split(X, 7))


def table_of(rows):
    return pa.table(dict(zip(NAMES, rows.T, strict=True)))


def parquet_file(folder):
    path = folder / "x.parquet"
    pq.write_table(pa.table(dict(zip(NAMES, X.T, strict=True))), path, row_group_size=300)
    return path


def parquet_folder(folder):
    path = folder / "parts"
    path.mkdir()
    for number, part in enumerate(np.array_split(X, 4)):
        table = pa.table(dict(zip(NAMES, part.T, strict=True)))
        pq.write_table(table, path / f"part-{number}.parquet", row_group_size=100)
    (path / "_SUCCESS").touch()
    (path / "notes.txt").write_text("not data")
    return path


def memory_map(folder):
    np.save(folder / "x.npy", X)
    return np.load(folder / "x.npy", mmap_mode="r")


KINDS = {
    "array": lambda folder: X,
    "fortran": lambda folder: np.asfortranarray(X),
    "memory map": memory_map,
    "pandas": lambda folder: pd.DataFrame(X, columns=NAMES),
    "polars": lambda folder: pl.DataFrame(X, schema=NAMES),
    "parquet file": parquet_file,
    "name of a parquet file": lambda folder: str(parquet_file(folder)),
    "parquet folder": parquet_folder,
    "dask array": lambda folder: da.from_array(X, chunks=(300, 2)),
    "dask frame": lambda folder: dd.from_pandas(pd.DataFrame(X, columns=NAMES), npartitions=3),
    "list of chunks": lambda folder: np.array_split(X, 7),
    "list of frames": lambda folder: [pd.DataFrame(part, columns=NAMES) for part in np.array_split(X, 7)],
    "pyarrow": lambda folder: table_of(X),
    "record batch": lambda folder: table_of(X).to_batches()[0],
    "list of polars frames": lambda folder: [pl.DataFrame(part, schema=NAMES) for part in np.array_split(X, 7)],
    "list of pyarrow tables": lambda folder: [table_of(part) for part in np.array_split(X, 7)],
    "list of record batches": lambda folder: table_of(X).to_batches(300),
    "list of lazy frames": lambda folder: [
        pl.DataFrame(part, schema=NAMES).lazy() for part in np.array_split(X, 7)
    ],
    "generator of tables": lambda folder: (table_of(part) for part in np.array_split(X, 7)),
    "generator": lambda folder: (part for part in np.array_split(X, 7)),
    "iterable": lambda folder: Chunks(),
}


def read_all(rows):
    return np.concatenate(list(rows.map(_copy)))


def _copy(block, weights=None):
    return np.array(block)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_rows_come_from_every_kind_of_data(kind, tmp_path):
    with open_dataset(KINDS[kind](tmp_path)) as rows:
        assert (rows.n_rows, rows.n_features, len(rows)) == (1000, 3, 1000)
        assert rows.dtype == np.float64
        np.testing.assert_allclose(read_all(rows), X, rtol=0, atol=1e-14)
        indices = np.array([0, 1, 299, 300, 998])
        np.testing.assert_allclose(rows.take(indices), X[indices], rtol=0, atol=1e-14)
        if kind in ("array", "fortran", "memory map", "dask array", "list of chunks", "generator", "iterable"):
            assert rows.feature_names is None
        else:
            assert list(rows.feature_names) == NAMES


@pytest.mark.parametrize("kind", KINDS)
def test_temporary_files_are_removed_when_the_rows_are_closed(kind, tmp_path):
    folder = tmp_path / "scratch"
    folder.mkdir()
    with open_dataset(KINDS[kind](tmp_path), folder=folder) as rows:
        pickle.loads(pickle.dumps(rows))  # as for another process
        assert list(folder.iterdir())
    assert not list(folder.iterdir())


def test_temporary_files_are_removed_with_the_last_reference(tmp_path):
    rows = open_dataset(iter([X]), folder=tmp_path)
    assert list(tmp_path.iterdir())
    del rows
    assert not list(tmp_path.iterdir())


def test_rows_in_another_process_are_read_from_a_file_and_not_sent():
    rows = open_dataset(X)
    message = pickle.dumps(rows)
    assert len(message) < X.nbytes / 10
    np.testing.assert_array_equal(read_all(pickle.loads(message)), X)
    copy = pickle.dumps(pickle.loads(message))  # sent on by a worker
    np.testing.assert_array_equal(read_all(pickle.loads(copy)), X)
    rows.close()


def test_single_precision_stays_single_precision(tmp_path):
    single = X.astype(np.float32)
    frame = pd.DataFrame(single, columns=NAMES)
    frame.to_parquet(tmp_path / "x.parquet")
    for data in (single, frame, tmp_path / "x.parquet", [single], da.from_array(single)):
        with open_dataset(data) as rows:
            assert rows.dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("remote", [1e6, 1e10, -3.4e38])
def test_files_contain_the_given_rows(dtype, remote, tmp_path):
    extreme = X.astype(dtype)
    extreme[0] = remote
    pq.write_table(pa.table(dict(zip(NAMES, extreme.T, strict=True))), tmp_path / "x.parquet")
    for data in (tmp_path / "x.parquet", iter([extreme])):
        with open_dataset(data) as rows:
            np.testing.assert_array_equal(read_all(rows), extreme)


def test_whole_numbers_booleans_and_the_index_of_a_frame_are_understood(tmp_path):
    frame = pd.DataFrame({"i": np.arange(5), "b": [True, False] * 2 + [True]}, index=list("vwxyz"))
    frame.to_parquet(tmp_path / "x.parquet")
    with open_dataset(tmp_path / "x.parquet") as rows:
        assert list(rows.feature_names) == ["i", "b"]
        np.testing.assert_allclose(read_all(rows), frame.to_numpy(float))


def test_opened_rows_are_returned_unchanged():
    with open_dataset(X) as rows:
        assert open_dataset(rows) is rows
        assert isinstance(rows, ArrayDataset)
        assert isinstance(rows, RowDataset)


def write(folder, **columns):
    path = folder / "x.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def broken(folder):
    path = folder / "broken.parquet"
    path.write_bytes(parquet_file(folder).read_bytes()[:5000])
    return path


def text(folder):
    (folder / "data.csv").write_text("a,b\n1,2\n")
    return folder / "data.csv"


def empty_folder(folder):
    (folder / "empty").mkdir()
    return folder / "empty"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: write(folder, a=[1.0, None]), "column 'a' has missing or infinite values"),
        (lambda folder: write(folder, a=[1.0, np.inf]), "column 'a' has missing or infinite values"),
        (lambda folder: write(folder, a=["x", "y"]), "column 'a' holds string"),
        (lambda folder: write(folder, a=pa.array([], pa.float64())), "has no rows"),
        (broken, "broken.parquet cannot be read as Parquet"),
        (lambda folder: broken(folder).parent, "cannot be read as Parquet, .* read other files with pandas"),
        (text, "data.csv cannot be read as Parquet, .* read other files with pandas"),
        (empty_folder, "holds no files that end in .parquet"),
        (lambda folder: iter([]), "X gave no rows"),
        (lambda folder: [X, X[:, :2]], "must be matrices of one width"),
        (lambda folder: [X, np.full((2, 3), np.nan)], "NaN or infinity"),
        (lambda folder: np.ones(3), "must have rows and columns"),
        (lambda folder: da.from_array(np.array([["x"]])), "X holds <U1"),
        (lambda folder: da.from_array(np.full((4, 2), np.nan)), "NaN or infinity"),
        (lambda folder: da.zeros((0, 2)), "no rows"),
        (lambda folder: dd.from_pandas(pd.DataFrame({"a": ["x"]}), npartitions=1), "column 'a' holds"),
    ],
)
def test_unreadable_data_are_named(make, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        open_dataset(make(tmp_path))


def test_missing_paths_and_folders_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file or folder"):
        open_dataset(tmp_path / "nothing.parquet")
    with pytest.raises(FileNotFoundError, match="create it first"):
        open_dataset([X], folder=tmp_path / "nothing")


def test_columns_with_one_name_in_a_file_are_named(tmp_path):
    pq.write_table(pa.table([X[:, 0], X[:, 1], X[:, 2]], names=["a", "b", "a"]), tmp_path / "x.parquet")
    for path in (tmp_path, tmp_path / "x.parquet", (tmp_path / "x.parquet").as_uri()):
        with pytest.raises(ValueError, match=r"^x.parquet has 2 columns with the name 'a'; give each"):
            open_dataset(path)


@pytest.mark.parametrize("change", [Path.unlink, lambda path: write(path.parent, a=[1.0, 2.0])])
def test_a_change_of_an_open_file_is_reported(change, tmp_path):
    rows = open_once(parquet_file(tmp_path), None)
    change(tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=r"x.parquet was changed or removed after it had been opened"):
        list(rows.map(_copy))


def test_a_damaged_file_is_not_reported_as_changed(tmp_path):
    content = bytearray(parquet_file(tmp_path).read_bytes())
    content[4:40] = b"\xff" * 36  # the header of the first page
    (tmp_path / "x.parquet").write_bytes(content)
    with pytest.raises(ValueError, match=r"x.parquet cannot be read as Parquet"):
        open_dataset(tmp_path / "x.parquet")


def test_a_url_without_a_file_is_explained():
    with pytest.raises(FileNotFoundError, match=r"no such file or folder\. In a URL, '\?' begins the options"):
        open_dataset("memory://nowhere/part-?.parquet")
    with pytest.raises(FileNotFoundError, match=r"no such file or folder\.$"):
        open_dataset("memory://nowhere/part.parquet")
    assert "or its server cannot be reached" in _missing_path("https://example.org/x.parquet")


def test_missing_values_in_opened_rows_are_refused_with_a_remedy():
    frame = pd.DataFrame(X.copy(), columns=NAMES)
    frame.iloc[3, 1] = np.nan
    with pytest.raises(ValueError, match="passed to the estimator itself, without open_dataset"):
        open_dataset(frame)
    assert ECM(2, random_state=0).fit(frame).masses_.shape[0] == 1000


def test_no_files_remain_when_reading_fails(tmp_path):
    folder = tmp_path / "scratch"
    folder.mkdir()
    for data in ([X, X[:, :2]], write(tmp_path, a=[1.0, None]), da.from_array(np.full((4, 2), np.nan))):
        with pytest.raises(ValueError, match=r"one width|missing|NaN"):
            open_dataset(data, folder=folder)
    assert not list(folder.iterdir())


def test_missing_pyarrow_is_named(monkeypatch, tmp_path):
    import builtins

    real = builtins.__import__

    def missing(name, *args, **kwargs):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match=r"pip install 'evidential-learn\[distributed\]'"):
        open_dataset(Path(tmp_path / "x.parquet"))


# Parquet files written by engines


def write_parts(folder, *tables):
    path = folder / "parts"
    path.mkdir()
    for number, table in enumerate(tables):
        pq.write_table(pa.table(table), path / f"part-{number}.parquet", row_group_size=7)
    return path


A = np.arange(20.0)


def fixed_lists(size):
    return pa.FixedSizeListArray.from_arrays(pa.array(np.arange(20.0 * size)), size)


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ({"x": A}, {"x": A, "y": A}, r"different columns: \['x'\] in part-0.parquet, and \['x', 'y'\] in part-1"),
        ({"x": A, "y": A}, {"x": A}, "different columns"),
        (
            {"x": A},
            {"x": [str(value) for value in A]},
            "column 'x' holds string in part-1.parquet, and not numbers",
        ),
    ],
    ids=["one more", "one less", "text"],
)
def test_parquet_files_of_different_columns_are_refused(first, second, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        open_dataset(write_parts(tmp_path, first, second))


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (A, [[1.0, 2.0]] * 20, "holds lists in {}, and single numbers in {}"),
        ([[1.0, 2.0]] * 20, A, "holds single numbers in {}, and lists.* in {}"),
        (fixed_lists(2), fixed_lists(3), "holds lists of 3 numbers in {}, and lists of 2 numbers in {}"),
        ([[1.0, 2.0]] * 20, [[1.0]] * 20, "lists of other lengths than 2"),
    ],
    ids=["numbers and lists", "lists and numbers", "fixed sizes", "lengths"],
)
def test_columns_of_numbers_and_of_lists_are_distinguished(first, second, words, tmp_path):
    tables = [pa.table({"x": column}) for column in (first, second)]
    with pytest.raises(ValueError, match="column 'x' .*" + words.replace("{}", r"part-\d.parquet")):
        open_dataset(write_parts(tmp_path, *tables))
    with pytest.raises(ValueError, match="column 'x' .*" + words.replace("{}", "the .*")):
        open_dataset(iter(tables))


def test_later_chunks_with_more_columns_are_refused():
    with pytest.raises(ValueError, match=r"after 20 rows has the columns \['x', 'y'\], and .* had \['x'\]"):
        open_dataset(iter([{"x": A}, {"x": A, "y": A}]))
    with pytest.raises(ValueError, match="after 20 rows has no column 'y'"):
        open_dataset(iter([{"x": A, "y": A}, {"x": A}]))
    with open_dataset(iter([{"x": A}, {"x": A, "y": A}]), columns=["x"]) as rows:
        assert len(rows) == 40


def encodings():
    numbers, ends = pa.array(A + 0.5), pa.array(np.arange(0, 21, 2), pa.int32())
    yield numbers.dictionary_encode()
    yield pc.run_end_encode(numbers)
    yield pa.array([*A, None]).dictionary_encode()
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray((A + 0.5).reshape(5, 2, 2))
    yield tensors
    if hasattr(pa, "ListViewArray"):
        sizes = pa.array([2] * 10, pa.int32())
        yield pa.ListViewArray.from_arrays(ends[:-1], sizes, numbers)
        yield pa.LargeListViewArray.from_arrays(ends[:-1].cast(pa.int64()), sizes.cast(pa.int64()), numbers)


@pytest.mark.parametrize("column", list(encodings()), ids=lambda column: str(column.type))
def test_numbers_are_read_in_every_encoding_of_arrow(column):
    if column.null_count:
        with pytest.raises(ValueError, match=r"column 'x' has missing or infinite values: .* row 20 of X"):
            open_dataset(pa.table({"x": column}).to_reader())
        return
    for stream in (pa.table({"x": column}).to_reader(), [pa.table({"x": column})]):
        with open_dataset(stream) as rows:
            np.testing.assert_array_equal(read_all(rows).ravel(), A + 0.5)


def test_columns_are_found_by_name_in_every_parquet_file(tmp_path):
    with open_dataset(write_parts(tmp_path, {"x": A, "y": A + 1}, {"y": A + 1, "x": A})) as rows:
        np.testing.assert_array_equal(read_all(rows), np.tile(np.c_[A, A + 1], (2, 1)))


def test_parquet_files_of_two_precisions_are_read_in_the_better_one(tmp_path):
    with open_dataset(write_parts(tmp_path, {"x": A.astype(np.float32)}, {"x": A + 1e-9})) as rows:
        assert rows.dtype == np.float64
        np.testing.assert_array_equal(read_all(rows)[20:, 0], A + 1e-9)


def test_parquet_files_without_rows_do_not_determine_columns(tmp_path):
    with open_dataset(write_parts(tmp_path, {"x": pa.array([], pa.null())}, {"x": A})) as rows:
        np.testing.assert_array_equal(read_all(rows)[:, 0], A)


def test_auxiliary_files_of_engines_are_not_read(tmp_path):
    path = write_parts(tmp_path, {"x": A})
    for name in ("_temporary", ".trash"):
        (path / name).mkdir()
        pq.write_table(pa.table({"x": A}), path / name / "part-0.parquet")
    with open_dataset(path) as rows:
        assert len(rows) == 20


# Chunks from users


def test_chunks_of_frames_have_the_same_columns_in_the_same_order():
    frame = pd.DataFrame(X, columns=NAMES)
    with pytest.raises(ValueError, match=r"\['a', 'b', 'c'\] at first, and \['b', 'a', 'c'\] after 500 rows"):
        open_dataset(iter([frame[:500], frame[500:][["b", "a", "c"]]]))
    with open_dataset(iter([pd.DataFrame(X)])) as rows:
        assert rows.feature_names is None  # numbers are not names


@pytest.mark.filterwarnings("ignore:the objective still changed")
@pytest.mark.parametrize(
    "kind",
    [
        "pandas",
        "polars",
        "pyarrow",
        "record batch",
        "list of polars frames",
        "list of pyarrow tables",
        "list of record batches",
        "list of lazy frames",
        "generator of tables",
    ],
)
@pytest.mark.slow_cells("list of pyarrow tables")
def test_estimators_take_tables_of_every_library(kind, tmp_path):
    expected = ECM(3, max_iter=5, random_state=0).fit(X)
    model = ECM(3, max_iter=5, random_state=0).fit(KINDS[kind](tmp_path))
    np.testing.assert_array_equal(model.cluster_centers_, expected.cluster_centers_)
    np.testing.assert_array_equal(model.predict(KINDS[kind](tmp_path)), expected.labels_)
    if kind != "record batch":  # whose names scikit-learn does not read
        assert list(model.feature_names_in_) == NAMES


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_of_text_are_named_in_tables_of_every_library(make):
    with pytest.raises(ValueError, match=r"Column 'b' contains values that are not numbers.*TableEncoder"):
        ECM(2).fit(make({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "z"]}))


def test_columns_with_one_name_are_refused_in_arrow_tables():
    table = pa.table([X[:, 0], X[:, 1]], names=["a", "a"])
    for data in (table, table.to_batches()[0]):
        with pytest.raises(ValueError, match="X has more than one column with the name 'a'"):
            ECM(2).fit(data)


def test_rows_are_taken_from_tables_of_every_library():
    for table in (pd.DataFrame(X, columns=NAMES), pl.DataFrame(X, schema=NAMES), table_of(X), X):
        rows = select_rows(table, np.array([5, 3]))
        np.testing.assert_array_equal(np.asarray(rows), X[[5, 3]])


def test_column_names_of_arrow_tables_are_feature_names():
    assert list(open_dataset(pa.table(dict(zip(NAMES, X.T, strict=True)))).feature_names) == NAMES


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (np.array([["a", "b"]]), "not numbers"),
        (np.array([[None, 1.0]]), "NaN or infinity"),
        (np.array([[1j, 1.0]]), "complex128 and not numbers"),
        (np.empty((3, 0)), r"\(3, 0\)"),
    ],
    ids=["text", "None", "complex", "no columns"],
)
def test_other_data_than_numeric_matrices_are_refused(data, words):
    with pytest.raises(ValueError, match=words):
        open_dataset(iter([data]))
    with pytest.raises(ValueError, match=words):
        open_dataset(data)


def test_chunks_too_large_for_the_precision_of_the_first_are_refused():
    with pytest.raises(ValueError, match="infinity"):
        open_dataset(iter([X.astype(np.float32), X + 1e200]))


@pytest.mark.parametrize(
    "data",
    [da.from_array(X[:, 0]), da.from_array(X[:, :, None]), da.from_array(X[:, :0])],
    ids=["one dimension", "three", "no columns"],
)
def test_dask_collections_that_are_not_tables_are_refused(data):
    with pytest.raises(ValueError, match="must have rows and columns, got a Dask collection of shape"):
        open_dataset(data)


def test_delayed_objects_are_not_taken_for_tables():
    with pytest.raises(ValueError, match="X"):
        open_dataset(dask.delayed(X))
