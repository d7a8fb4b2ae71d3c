"""RECM compared with the R package, from its starts."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics import adjusted_rand_score

from evlearn import belief as bf
from evlearn import papers

pytestmark = pytest.mark.filterwarnings("ignore:the masses still changed:sklearn.exceptions.ConvergenceWarning")

CASES = {
    "recm_butterfly_c2_full": {"alpha": 1, "beta": 2, "delta": 50**0.5},
    "recm_fourclass_c4_full": {"alpha": 1, "beta": 2, "delta": 10},
    "recm_iris_c3_full": {"alpha": 1, "beta": 2, "delta": 3},
    "recm_protein_c4_full": {"alpha": 0.2, "beta": 1.1, "delta": 20**0.5},
    "recm_protein_c4_simple": {"alpha": 1, "beta": 1.5, "delta": 10},
}


@pytest.fixture
def squares(reference_file):
    """Return a loader of the matrix of R: squared distances, or the unchanged dissimilarities of the proteins."""

    def load(name):
        if name == "protein":
            with np.load(reference_file("data/protein_D.npz")) as file:
                return file["D"].astype(float)
        table = np.genfromtxt(reference_file(f"data/{name}.csv"), delimiter=",", names=True)
        columns = [column for column in table.dtype.names if column != "y" and not np.isnan(table[column]).any()]
        X = np.column_stack([table[column] for column in columns])
        return cdist(X, X, "sqeuclidean")

    return load


def like_r(case, max_iter=None, **settings):
    """Return RECM with the start, the focal sets and the number of iterations of R.

    An iteration is the same in both programs: from masses to prototypes, and from prototypes to masses. Therefore
    the number of iterations replaces the stopping rule of R.
    """
    F = case.arrays["F"].astype(int)
    start, focal_sets = bf.reorder_masses(case.arrays["m0"], F, F.shape[1])
    return papers.recm(
        focal_sets.frame_size,
        focal_sets=focal_sets,
        metric="precomputed",
        squared_input=True,  # R interprets the matrix as squares
        init=start,  # with masses on the empty set, which have no effect
        tol=0,
        max_iter=max_iter or case.scalars["iterations"],
        **settings,
    )


@pytest.mark.parametrize("name", CASES)
def test_the_same_start_gives_the_masses_and_the_objective_of_r(reference, squares, name):
    case = reference(name)
    model = like_r(case, **CASES[name]).fit(squares(name.split("_")[1]))
    masses, _ = bf.reorder_masses(case.arrays["mass"], case.arrays["F"].astype(int), model.n_clusters)
    np.testing.assert_allclose(model.masses_, masses, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.objective_history_[1:], case.arrays["J_trace"], rtol=1e-12)
    # R draws among labels whose plausibilities differ by less than 1e-5.
    plausibility = model.credal_partition_.to_possibilistic()
    chosen = np.take_along_axis(plausibility, case.arrays["y_pl_1b"].reshape(-1, 1) - 1, axis=1)[:, 0]
    np.testing.assert_allclose(chosen, plausibility.max(axis=1), rtol=1e-5)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.slow
def test_masses_change_in_every_iteration_as_much_as_in_r(reference, squares, name):
    case = reference(name)
    D = squares(name.split("_")[1])
    changes = case.arrays["deltaM_trace"]
    # The first entry is not a change, because there are no previous masses.
    for number in {2, 3, len(changes)}:
        before, after = (like_r(case, k, **CASES[name]).fit(D).masses_ for k in (number - 1, number))
        change = np.linalg.norm(after - before) / after.size
        assert change == pytest.approx(changes[number - 1], rel=1e-5, abs=1e-13)


def test_dissimilarities_of_proteins_are_squares_of_euclidean_distances(reference, squares):
    # Therefore no squares are clipped, and the results agree with R.
    D = squares("protein")
    settings = {"metric": "precomputed", "focal_sets": "simple", "random_state": 0}
    assert papers.recm(4, squared_input=True, nonmetric="shift", **settings).fit(D).shift_ == 0
    assert papers.recm(4, nonmetric="shift", **settings).fit(D).shift_ > 0


def test_kmeans_starts_find_a_better_minimum_for_proteins_than_random_starts(reference_file, reference, squares):
    # The paper on NN-EVCLUS reports an adjusted Rand index of 0.863. By default, R ends a fit of these data after
    # 2 or 3 iterations, with an index between 0.2 and 1. At convergence, the index is 0.785.
    D = squares("protein")
    with np.load(reference_file("data/protein_D.npz")) as file:
        y = file["y"].ravel()
    settings = {"focal_sets": "simple", "metric": "precomputed", "squared_input": True, "delta": 10}
    for seed in range(3):
        model = papers.recm(4, init="kmeans", random_state=seed, **settings).fit(D)
        assert model.objective_ < 0.997 * reference("recm_protein_c4_simple").scalars["crit"]
        assert adjusted_rand_score(y, model.labels_) == pytest.approx(0.785, abs=0.01)
