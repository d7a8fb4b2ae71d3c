"""Settings of the published numbers: code that fits the estimator of a cell, printed under its table.

The code of a cell uses these names: `X` are the features, `Z` the features after ``StandardScaler``, `D`
dissimilarities, `y` the classes, `c` the number of clusters, and `seed` the number of the run. `n`, `xi`, `q`,
`level` and `model` are those of the row or column.
"""

from benchmarks.studies.peers.nn_constraints import SETTINGS
from benchmarks.studies.reproduction import nnevclus_methods as methods

#: Import statements and definitions for all code.
PREPARATION = """\
import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import confusion_matrix
from sklearn.preprocessing import StandardScaler

from evlearn import papers
from evlearn.cluster import FocalFamily, Quantile, belief_peaks
from evlearn.constraints import PairwiseConstraints
from evlearn.datasets import make_gaussian_mixture
from evlearn.metric_learning import FDA, PCCA
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.neural import Solver

Z = StandardScaler().fit_transform(X)
c = len(np.unique(y))
"""

CONSTRAINTS = "constraints = PairwiseConstraints.sample(y, n, random_state=seed)"
RING = "focal_sets='full', network=(30,), l2=0.01, tol=0.001, init='evclus', random_state=seed"
TWO_STEPS = """\
first = papers.evclus(3, n_init=5, n_partners=50, random_state=seed).fit(Z)
clusters = linear_sum_assignment(-confusion_matrix(y, first.labels_))[1]
sets = first.focal_sets_.with_sets([sorted(clusters[[1, 2]])])
masses = np.insert(first.masses_, sets.index(sorted(clusters[[1, 2]])), 0.0, axis=1)
papers.evclus(3, focal_sets=sets, init=masses, n_partners=50, random_state=seed).fit(Z)"""
BY_ECM = """\
sets = FocalFamily('neighbor_pairs', include_omega=False)
papers.ecm(3, focal_sets=sets, delta=100, n_init=5, random_state=0)"""
MIXTURE = "ParsimoniousGaussianMixture({}, variance_floor=0, random_state=0).fit(X)"
INTERVALS = """\
X, y, posterior = make_gaussian_mixture({}, 300, random_state=seed)
papers.bootclus(3, model=model, confidence_level=level, random_state=seed).fit(X)"""
#: Functions of `evlearn.papers` and settings of Table 8 of NN-EVCLUS that do not depend on the data.
WITH_CONSTRAINTS = {
    "EVCLUS": ("evclus", {"n_init": 5}),
    "NN-EVCLUS": ("nn_evclus", {"init": "evclus"}),
    "CECM": ("cecm", {"n_init": 5}),
}

#: Code by table, for tables with the same settings in all cells.
OF_TABLES = {
    "NN-EVCLUS, Table 1": "papers.evclus(2, focal_sets='full', d0=11, tol=1e-9, random_state=0).fit(X)",
    "NN-EVCLUS, Figure 7": "belief_peaks(X, n_neighbors=50, q=0.9).peaks()",
    "Bootclus, Example 2": ("papers.ecm(2, delta=100, tol=1e-12, max_iter=10_000, random_state=0).fit(X[:11])"),
    **{f"Bootclus, Table {1 + number}": INTERVALS.format(number) for number in (1, 2, 3)},
    **dict.fromkeys(
        ("Bootclus, Table 5", "Bootclus, Table 6"),
        "papers.bootclus(3, model='VEV', random_state=seed).fit(X)",
    ),
    "Bootclus, Table 7": f"{BY_ECM}.fit(X)",
    "Bootclus, Table 8": TWO_STEPS,
    "Bootclus, Table 9": MIXTURE.format("3, covariance_models='VVV'"),
    "Bootclus, Table 10": (
        "mixture = ParsimoniousGaussianMixture(3, covariance_models='VVV', tol=1.6e-4, variance_floor=0)\n"
        "papers.bootclus(mixture=mixture, random_state=seed).fit(X)"
    ),
    "Bootclus, Table 11": f"{BY_ECM}.fit(Z)",
    "Bootclus, Table 12": TWO_STEPS,
    "Lecture on clustering, Protein": (
        "settings = {'d0': D.max(), 'n_init': 5, 'tol': 1e-9, 'max_iter': 20_000}\n"
        "papers.evclus(4, metric='precomputed', random_state=0, **settings).fit(D)"
    ),
    "Lecture on clustering, number of clusters": (
        "[papers.ecm(c, alpha=2, delta=20**0.5, n_init=3, random_state=0).fit(X) for c in range(2, 7)]"
    ),
    "Lecture on machine learning, Ionosphere": "papers.eknn(10).fit(X[:176], y[:176]).predict(X[176:])",
    "Lecture on machine learning, Glass": ("papers.enn(7, random_state=seed).fit(X[:89], y[:89]).predict(X[89:])"),
}
#: Tables of results without an estimator.
EXACT = (
    "NN-EVCLUS, Example 1",
    "Lecture on clustering, pairs of objects",
    "Lecture on machine learning, Dempster's rule",
)


def code_of(cell):
    """Return the code of a cell, or None if its result has no settings."""
    table = cell["table"]
    if table in EXACT:
        return None
    if table in OF_TABLES:
        return OF_TABLES[table]
    return OF_CELLS[table](cell)


def of_methods(cell):
    """Return the code of a cell of Tables 3 and 4 of NN-EVCLUS."""
    return methods.code(cell["row"], cell["column"].removesuffix(", CPU seconds"), cell["table"][-1] == "4")


def of_protein(cell):
    """Return the code of a cell of Tables 6 and 7 of NN-EVCLUS."""
    name, parameters = methods.PROTEIN[cell["column"].removesuffix(", CPU seconds")]
    options = {**parameters}
    text = methods.words({name: value for name, value in options.items() if name != "delta"})
    if "delta" in options:
        text += ", delta=D.max()" if name == "recm" else ", delta=D.max() ** 0.5"
    return f"papers.{name}(4, metric='precomputed', {text}, random_state=seed).fit(D)"


def of_fourclass(cell):
    """Return the code of a cell of Example 4."""
    if cell["column"] == "loss" and cell["row"] == "EVCLUS":
        settings = "focal_sets='pairs', n_partners=200, loss='mse', init='random', n_init=5"
        return f"papers.evclus(4, {settings}, random_state=0).fit(X)"
    settings = "network=(20,), n_partners=200, outlier_model='svm', n_init=5"
    return f"papers.nn_evclus(4, {settings}, random_state=0).fit(X)"


def of_architecture(cell):
    """Return the code of a cell of Figure 14; `units` and `penalty` are on the horizontal axes."""
    varied = "network=(units,)" if cell["row"].startswith("plateau") else "network=(50,), l2=penalty"
    return f"papers.nn_evclus(4, {varied}, outlier_model='svm', n_init=3, random_state=0).fit(X)"


def of_circles(cell):
    """Return the code of a cell of Example 5; `labels` are -1 for all but 50 samples."""
    if "KFDA" in cell["row"]:
        return (
            "feature = FDA(kernel='rbf', gamma=0.3).fit(X, labels)\n"
            f"papers.nn_evclus(2, {RING}).fit(X, labels=labels, dissimilarities=feature)"
        )
    return (
        "constraints = PairwiseConstraints.sample(y, 50, random_state=seed)\n"
        "feature = PCCA(kernel='rbf', gamma=0.3, random_state=0).fit(X, constraints=constraints)\n"
        f"papers.nn_evclus(2, constraint_weight=0.1, {RING})"
        ".fit(X, constraints=constraints, dissimilarities=feature)"
    )


def of_constrained(cell):
    """Return the code of a cell of Table 8 of NN-EVCLUS, with 200 constraints."""
    method, *pcca = cell["column"].removesuffix(", CPU seconds").split("+")
    data = SETTINGS[cell["row"]]
    name, parameters = WITH_CONSTRAINTS[method]
    scale = {} if method == "CECM" else {"d0": data["d0"]}
    text = methods.words({"focal_sets": data["focal_sets"]} | scale | parameters)
    constraints = "constraints = PairwiseConstraints.sample(y, 200, random_state=seed)"
    feature = f"feature = PCCA({data['n_features']}, random_state=seed).fit(X, constraints=constraints)"
    rows = "feature.transform(X)" if pcca and method != "NN-EVCLUS" else "X"
    pairs = ", dissimilarities=feature" if pcca and method == "NN-EVCLUS" else ""
    model = f"papers.{name}({data['n_clusters']}, {text}, random_state=seed)"
    return "\n".join(
        [constraints, *([feature] if pcca else []), f"{model}.fit({rows}, constraints=constraints{pairs})"]
    )


def of_weights(cell):
    """Return the code of a cell of Table 2 of k-CEVCLUS, in which xi varies."""
    level = cell["asked"]["quantile"]
    model = f"papers.k_cevclus(c, xi=xi, d0=Quantile({level:g}), n_partners='all', random_state=seed)"
    return f"{CONSTRAINTS}\n{model}.fit(X, constraints=constraints)"


def of_quantiles(cell):
    """Return the code of a cell of Table 3 of k-CEVCLUS, in which the quantile varies."""
    model = "papers.k_cevclus(c, d0=Quantile(q), n_partners='all', random_state=seed)"
    return f"{CONSTRAINTS}\n{model}.fit(X, constraints=constraints)"


def of_large(cell):
    """Return the code of a cell of Figures 5 to 7 and 9 of k-CEVCLUS."""
    settings = "xi=0.1, d0=Quantile(0.8), n_partners=300" if "Letter" in cell["row"] else "n_partners=200"
    constraints = CONSTRAINTS
    if "Figure 9" in cell["table"]:
        constraints += ".expand(X, K)"
    elif " distances instead of " in cell["row"]:
        settings = settings.rsplit("=", 1)[0] + "=k"
    return f"{constraints}\npapers.k_cevclus(c, {settings}, random_state=seed).fit(X, constraints=constraints)"


def of_mixtures(cell):
    """Return the code of a cell of Section 4.2 of Bootclus."""
    if "non-empty focal sets" in cell["row"]:
        sets = "FocalFamily('neighbor_pairs', n_neighbors=2)"
        settings = f"model='VVV', focal_sets={sets}, n_bootstrap=20, n_partners=20"
        return f"papers.bootclus(7, {settings}, random_state=0).fit(X)"
    if "GvHD" in cell["row"]:
        return MIXTURE.format("range(4, 11), n_init=2")
    if "Bootclus" in cell["row"]:
        return OF_TABLES["Bootclus, Table 10"]
    if cell["row"].startswith("Iris"):
        return MIXTURE.format("3")
    is_chosen = "chosen" in cell["column"] or cell["column"] == "clusters"
    return MIXTURE.format("range(1, 10)" if is_chosen else "3, covariance_models='VVV'")


def of_vowels(cell):
    """Return the code of a cell of Vowel."""
    number = cell["row"].split()[0]
    return f"papers.enn({number}, loss_lambda=1, random_state=seed).fit(X, y)"


#: Code of the other tables, in which settings depend on the cell.
OF_CELLS = {
    "NN-EVCLUS, Table 3": of_methods,
    "NN-EVCLUS, Table 4": of_methods,
    "NN-EVCLUS, Table 6": of_protein,
    "NN-EVCLUS, Table 7": of_protein,
    "NN-EVCLUS, Table 8": of_constrained,
    "NN-EVCLUS, Example 4": of_fourclass,
    "NN-EVCLUS, Example 5": of_circles,
    "NN-EVCLUS, Figure 14": of_architecture,
    "k-CEVCLUS, Table 2": of_weights,
    "k-CEVCLUS, Table 3": of_quantiles,
    "k-CEVCLUS, Section 4.4 and Figures 5 to 7": of_large,
    "k-CEVCLUS, Section 4.5 and Figure 9": of_large,
    "Bootclus, Section 4.2": of_mixtures,
    "Lecture on machine learning, Vowel": of_vowels,
}
