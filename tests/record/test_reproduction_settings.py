"""Tests of the code under the published tables, and of the commands for single tables and figures."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from benchmarks.common import record, reference
from benchmarks.common.cells import chance_tolerance
from benchmarks.studies.reproduction import bootclus, comparisons, figures, nnevclus_methods, settings, study

pytestmark = pytest.mark.slow
#: The kind and the key of the command for each table of the record.
COMMANDS = {
    **{f"NN-EVCLUS, Table {number}": ("nnevclus", "table", number) for number in (1, 3, 4, 6, 7, 8)},
    **{f"NN-EVCLUS, Example {number}": ("nnevclus", "example", number) for number in (1, 4, 5)},
    **{f"NN-EVCLUS, Figure {number}": ("nnevclus", "figure", number) for number in (7, 14)},
    **{f"k-CEVCLUS, Table {number}": ("kcevclus", "table", number) for number in (2, 3)},
    "k-CEVCLUS, Section 4.4 and Figures 5 to 7": ("kcevclus", "figure", 6),
    "k-CEVCLUS, Section 4.5 and Figure 9": ("kcevclus", "figure", 9),
    **{f"Bootclus, Table {number}": ("bootclus", "table", number) for number in range(2, 13)},
    "Bootclus, Example 2": ("bootclus", "example", 2),
    "Bootclus, Section 4.2": ("bootclus", "section", "GvHD"),
    "Lecture on clustering, pairs of objects": ("slides", "section", "pairs"),
    "Lecture on machine learning, Dempster's rule": ("slides", "section", "combinations"),
    "Lecture on clustering, Protein": ("slides", "section", "Protein"),
    "Lecture on clustering, number of clusters": ("slides", "section", "number of clusters"),
    **{
        f"Lecture on machine learning, {name}": ("slides", "section", name)
        for name in ("Ionosphere", "Glass", "Vowel")
    },
}


def cells():
    return [cell for part in study.PARTS for cell in record.load(f"reproduction_{part}")["cells"]]


def find(table, row=None, column=None):
    """Return the recorded cells of a table, a row or a column."""
    return [
        cell
        for cell in cells()
        if cell["table"] == table and row in (None, cell["row"]) and column in (None, cell["column"])
    ]


def run(code, X, y, **names):
    """Return the result of the last statement of the code under a table."""
    space = {"X": X, "y": y, **names}
    exec(settings.PREPARATION, space)
    *statements, last = code.strip().split("\n")
    exec("\n".join(statements), space)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(last, space)


def data(name):
    X, y = nnevclus_methods.read_data(name)
    return X, y - 1


def test_every_cell_has_code_without_syntax_errors():
    codes = {settings.code_of(cell) for cell in cells()} - {None}
    assert len(codes) > 50
    for code in codes:
        compile(code, "code", "exec")
        assert "papers." in code or "ParsimoniousGaussianMixture" in code or "belief_peaks" in code


def test_every_recorded_table_has_one_command():
    assert {cell["table"] for cell in cells()} == set(COMMANDS)
    for part, kind, key in COMMANDS.values():
        tables, _ = study.selection(part, kind, str(key))
        assert len(tables) == 1, (part, kind, key)


@pytest.mark.parametrize(
    ("part", "kind", "key"),
    [
        ("kcevclus", "figure", "4"),
        ("nnevclus", "figure", "24"),
        ("nnevclus", "figure", "26"),
        ("bootclus", "example", "3"),
    ],
)
def test_figures_without_printed_numbers_have_one_command(part, kind, key):
    tables, pictures = study.selection(part, kind, key)
    assert (len(tables), len(pictures)) == (0, 1)


def test_evclus_dominates_ecmdd_on_protein_as_in_figure_26(needs):
    needs("protein_D")
    (picture,) = comparisons.of_proteins(True)  # without NN-EVCLUS
    plt.close(picture.display.figure_)
    display = picture.display
    places = {
        name: (display.consistencies[i], -display.nonspecificities[i]) for i, name in enumerate(display.names)
    }
    assert min(np.subtract(places["EVCLUS"], places["sECMdd"])) > 0.01
    assert min(np.subtract(places["EVCLUS"], places["wECMdd"])) > 0.01


def test_unknown_tables_are_errors_that_list_the_known_ones():
    with pytest.raises(SystemExit, match=r"slides has no table 3; choose one of: pairs; .*Ionosphere"):
        study.run_selection("slides", "table", "3", True, None)


def test_the_code_of_table_1_has_the_recorded_masses():
    X = reference.read_table("butterfly")
    masses = run(settings.OF_TABLES["NN-EVCLUS, Table 1"], X, np.zeros(len(X))).masses_
    recorded = np.array([cell["ours"] for cell in find("NN-EVCLUS, Table 1")]).reshape(12, 4)
    errors = [abs(masses[:, order] - recorded).max() for order in ([0, 1, 2, 3], [0, 2, 1, 3])]
    assert min(errors) < 1e-4


@pytest.mark.parametrize("name", ["Wine", "Iris"])
@pytest.mark.parametrize("method", ["EVCLUS", "ECM", "ECM-bp", "CCM", "CCM-bp", "sECMdd", "wECMdd", "BPEC"])
def test_the_code_of_table_3_has_the_recorded_agreement(name, method):
    (recorded,) = find("NN-EVCLUS, Table 3", name, method)
    X, y = data(name.lower())
    models = [run(settings.code_of(recorded), X, y, seed=seed) for seed in range(5)]
    best = min(models, key=lambda model: model.objective_)
    assert abs(adjusted_rand_score(y, best.labels_) - recorded["ours"]) <= chance_tolerance(recorded, 1, 1e-3)


@pytest.mark.parametrize("column", ["Iris: ARI", "Iris: nonspecificity"])
def test_the_code_of_table_2_of_k_cevclus_has_the_recorded_numbers(column):
    (recorded,) = find("k-CEVCLUS, Table 2", "200 constraints, ξ 0.5", column)
    X, y = data("iris")
    models = [run(settings.code_of(recorded), X, y, n=200, xi=0.5, seed=seed) for seed in range(10)]
    if column.endswith("ARI"):
        values = [adjusted_rand_score(y, model.labels_) for model in models]
    else:
        values = [model.credal_partition_.nonspecificity() for model in models]
    assert abs(np.mean(values) - recorded["ours"]) < 1e-3


@pytest.mark.parametrize(("number", "n_runs"), [(7, 1), (8, 10)])
def test_the_code_of_tables_7_and_8_of_bootclus_has_the_recorded_counts(number, n_runs):
    table = find(f"Bootclus, Table {number}")
    X, y = data("iris")
    models = [run(settings.code_of(table[0]), X, y, seed=seed) for seed in range(n_runs)]
    names = np.array(bootclus.IRIS)[y]
    partitions = [figures.name_clusters(model.credal_partition_, names) for model in models]
    counts = bootclus.confusion_cells(number, names, bootclus.IRIS, partitions, 0, "")
    for cell, recorded in zip(counts, table, strict=True):
        assert (cell["row"], cell["column"]) == (recorded["row"], recorded["column"])
        assert abs(cell["ours"] - recorded["ours"]) <= chance_tolerance(recorded, n_runs), cell
