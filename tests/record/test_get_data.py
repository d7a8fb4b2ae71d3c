"""Tests of the data of the record: data of packages are identical, and the others have a source."""

import numpy as np
import pytest

from benchmarks import get_data
from benchmarks.common import needs, reference
from benchmarks.studies.peers.data import table

INSTALLED = [name for name, (package, _) in get_data.FROM_PACKAGES.items() if get_data.is_installed(package)]


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("name", INSTALLED)
def test_data_of_packages_are_those_of_the_record(name, tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    get_data.write(tmp_path / "data" / f"{name}.csv", *get_data.FROM_PACKAGES[name][1]())
    expected = table(name)
    monkeypatch.setenv("EVLEARN_REFERENCE", str(tmp_path))
    result = table(name)
    # The order of rows and the names of classes may differ.
    orders = [np.lexsort(values[0].T) for values in (expected, result)]
    np.testing.assert_allclose(result[0][orders[1]], expected[0][orders[0]], atol=1e-9)
    assert sorted(np.unique(result[1], return_counts=True)[1]) == sorted(
        np.unique(expected[1], return_counts=True)[1]
    )


def test_every_file_of_the_record_comes_from_a_package_or_has_a_listed_source(shared):
    known_names = {*get_data.FROM_PACKAGES, *get_data.OTHER_SOURCES}
    files = {path.stem for path in (shared / "data").iterdir() if path.suffix in (".csv", ".npz")}
    shipped = {path.stem for path in (reference.SHIPPED / "data").iterdir()}
    assert files - {"faithful"} <= known_names | shipped  # faithful is not used by any study


def test_shipped_data_are_those_of_the_record(shared):
    for path in (reference.SHIPPED / "seed_tables").iterdir():
        assert path.read_text() == (shared / "reference" / "seed_tables" / path.name).read_text()
    assert (reference.SHIPPED / "timings.csv").read_text() == (shared / "reference" / "timings.csv").read_text()
    for path in (reference.SHIPPED / "data").iterdir():
        if path.suffix == ".npz":
            with np.load(path) as shipped, np.load(shared / "data" / path.name) as original:
                assert all(np.array_equal(shipped[name], original[name]) for name in original)
        else:
            shipped, original = (
                np.genfromtxt(file, delimiter=",", skip_header=1) for file in (path, shared / "data" / path.name)
            )
            np.testing.assert_allclose(shipped, original, atol=1e-9)


def test_every_cell_requires_data_with_a_source():
    known_names = {*get_data.FROM_PACKAGES, *get_data.OTHER_SOURCES}
    for study, cells in needs.studies().items():
        names = {name for need in cells for name in need.files if not reference.is_in(reference.SHIPPED, name)}
        assert names <= known_names, study


def test_cells_are_counted_if_their_data_are_available(tmp_path, monkeypatch, capsys):
    cells = [needs.NO_NEEDS, needs.Needs(files=("iris",)), needs.Needs(files=("seeds",))]
    cells += [needs.Needs(files=("wdbc",)), needs.Needs(packages=("no_such_package",))]
    monkeypatch.setattr(needs, "studies", lambda: {"a study": cells})
    (tmp_path / "data").mkdir()
    for expected in ("a study 2 4 5", "a study 3 4 5"):
        get_data.show_cells(tmp_path)
        assert capsys.readouterr().out.splitlines()[-1].split() == expected.split()
        (tmp_path / "data" / "seeds.csv").write_text("")


def test_without_the_folder_most_of_the_record_can_be_run():
    able = {study: sum(map(get_data.by_packages, cells)) / len(cells) for study, cells in needs.studies().items()}
    assert able["cases"] == able["scale"] == able["robustness"] == able["answers.classifiers"] == 1
    assert min(able.values()) > 0.2


def test_596_of_845_published_numbers_can_be_reproduced_with_data_of_packages():
    cells = needs.studies()["reproduction"]
    assert (sum(map(get_data.by_packages, cells)), len(cells)) == (596, 845)  # 71 %, and more than 60 %


def test_existing_files_are_kept_and_missing_ones_are_written(tmp_path, monkeypatch, capsys):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "wine.csv").write_text("mine")
    monkeypatch.setattr("sys.argv", ["get_data", str(tmp_path)])
    get_data.main()
    output = capsys.readouterr().out
    assert (tmp_path / "data" / "wine.csv").read_text() == "mine"
    assert "wdbc: written" in output
    assert "iris: " not in output  # comes with the repository
    assert "wine: " not in output
    assert "fourclass: get it from R package evclust" in output
    assert (tmp_path / "data" / "wdbc.csv").read_text().splitlines()[1].startswith("17.99,10.38,122.8,1001.0,")
