import numpy as np
import pytest
from scipy import stats

from evlearn import datasets

GENERATORS = {
    "fourclass": datasets.make_fourclass,
    "bananas": datasets.make_bananas,
    "circles": datasets.make_core_and_ring,
}


def read_csv(path):
    return np.genfromtxt(path, delimiter=",", names=True)


def test_butterfly_has_the_published_coordinates(reference_file):
    table = read_csv(reference_file("data/butterfly.csv"))
    np.testing.assert_array_equal(datasets.load_butterfly().data, np.column_stack([table["x1"], table["x2"]]))
    assert datasets.load_butterfly().sample_names[11] == "12"


@pytest.mark.parametrize("name", GENERATORS)
def test_the_same_seed_makes_the_same_data(name):
    make = GENERATORS[name]
    first, repeated, other = (make(101, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first[0], repeated[0])
    np.testing.assert_array_equal(first[1], repeated[1])
    assert not np.array_equal(first[0], other[0])
    assert first[0].shape == (101, 2)


@pytest.mark.parametrize(
    ("name", "file"), [("fourclass", "fourclass.csv"), ("bananas", "bananas_n2000_seed7.csv")]
)
def test_generated_data_follow_the_distribution_of_the_data_in_the_papers(reference_file, name, file):
    table = read_csv(reference_file(f"data/{file}"))
    X, y = GENERATORS[name](20_000, random_state=0)
    for k in np.unique(y):
        for attribute, column in (("x1", 0), ("x2", 1)):
            published = table[attribute][table["y"] == k + 1]
            assert stats.ks_2samp(published, X[y == k, column]).pvalue > 0.001, (k, attribute)
        published = table["x1"][table["y"] == k + 1] - table["x2"][table["y"] == k + 1]
        assert stats.ks_2samp(published, X[y == k, 0] - X[y == k, 1]).pvalue > 0.001


def test_fourclass_has_student_tails_about_the_corners_of_a_square():
    X, y = datasets.make_fourclass(40_000, random_state=0)
    centers = np.array([[0, 0], [0, 4], [4, 0], [4, 4]])
    residuals = X - centers[y]
    assert stats.kstest(residuals[:, 0], stats.t(5).cdf).pvalue > 0.001
    # Both coordinates share a random scale: their squares are correlated, the values are not.
    assert abs(np.corrcoef(residuals.T)[0, 1]) < 0.03
    assert np.corrcoef((residuals**2).T)[0, 1] > 0.05


def test_circles_have_the_shares_of_the_paper_and_do_not_touch():
    X, y = datasets.make_core_and_ring(random_state=0)
    assert len(X) == 500
    assert (y == 0).sum() == 200
    distance = np.hypot(*X.T)
    assert distance[y == 0].max() < distance[y == 1].min()


@pytest.mark.parametrize("mixture", [1, 2, 3])
def test_mixtures_have_the_published_parameters_and_true_posteriors(seed_examples, mixture):
    published = seed_examples["bootclus_mixtures"][f"mixture{mixture}"]
    X, y, posterior = datasets.make_gaussian_mixture(mixture, 60_000, random_state=0)
    np.testing.assert_allclose(np.bincount(y) / len(y), 1 / 3, atol=0.01)
    densities = []
    for k in range(3):
        np.testing.assert_allclose(X[y == k].mean(axis=0), published["means"][k], atol=0.03)
        np.testing.assert_allclose(np.cov(X[y == k].T), published["cov"][k], atol=0.05)
        densities.append(stats.multivariate_normal(published["means"][k], published["cov"][k]).pdf(X))
    expected = np.column_stack(densities)
    np.testing.assert_allclose(posterior, expected / expected.sum(axis=1, keepdims=True), atol=1e-10)


def test_pairs_are_in_the_same_component_with_the_true_probability():
    _, y, posterior = datasets.make_gaussian_mixture(2, 200_000, random_state=1)
    pairs = np.random.default_rng(0).permutation(200_000).reshape(-1, 2)
    probability = datasets.same_cluster_probability(posterior, pairs)
    is_same = y[pairs[:, 0]] == y[pairs[:, 1]]
    for low in np.arange(0, 1, 0.25):
        chosen = (probability >= low) & (probability < low + 0.25)
        assert is_same[chosen].mean() == pytest.approx(probability[chosen].mean(), abs=0.02)
    square = datasets.same_cluster_probability(posterior[:50])
    np.testing.assert_allclose(square[3, 7], datasets.same_cluster_probability(posterior, [(3, 7)])[0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: datasets.make_gaussian_mixture(4), "mixture must be 1, 2 or 3, got 4"),
        (lambda: datasets.make_bananas(0), "n_samples must be a positive whole number, got 0"),
        (lambda: datasets.make_fourclass(10.5), "got 10.5"),
        (lambda: datasets.make_fourclass(degrees_of_freedom=0), "degrees_of_freedom must be positive, got 0"),
    ],
)
def test_errors_contain_a_remedy(call, message):
    with pytest.raises(ValueError, match=message):
        call()
