"""Data that packages bring are those that the record was made of, and all others are told where to find."""

import numpy as np
import pytest

from benchmarks import get_data
from benchmarks.studies.peers.data import table

INSTALLED = [name for name, load in get_data.FROM_PACKAGES.items() if get_data.is_installed(load)]


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("name", INSTALLED)
def test_data_of_packages_are_those_of_the_record(name, tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    get_data.write(tmp_path / "data" / f"{name}.csv", *get_data.FROM_PACKAGES[name]())
    expected = table(name)
    monkeypatch.setenv("EVLEARN_REFERENCE", str(tmp_path))
    found = table(name)
    # Rows in any order, and classes by any name.
    orders = [np.lexsort(one[0].T) for one in (expected, found)]
    np.testing.assert_allclose(found[0][orders[1]], expected[0][orders[0]], atol=1e-9)
    assert sorted(np.unique(found[1], return_counts=True)[1]) == sorted(
        np.unique(expected[1], return_counts=True)[1]
    )


def test_every_file_of_the_record_comes_from_a_package_or_is_told_where_to_find(shared):
    known = {*get_data.FROM_PACKAGES, *get_data.ELSEWHERE}
    generated = ("bananas_", "gauss4_", "butterfly", "faithful", "protein_labels")
    files = {path.stem for path in (shared / "data").iterdir() if path.suffix in (".csv", ".npz")}
    assert {name for name in files if not name.startswith(generated)} <= known


def test_files_that_are_there_stay_and_the_others_are_written(tmp_path, monkeypatch, capsys):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "wine.csv").write_text("mine")
    monkeypatch.setattr("sys.argv", ["get_data", str(tmp_path)])
    get_data.main()
    told = capsys.readouterr().out
    assert (tmp_path / "data" / "wine.csv").read_text() == "mine"
    assert "iris: written" in told
    assert "wine" not in told
    assert "fourclass: get it from R package evclust" in told
    assert (tmp_path / "data" / "iris.csv").read_text().splitlines()[1] == "5.1,3.5,1.4,0.2,1"
