"""Estimators with the settings of the papers.

The defaults of the library are chosen for other data and often differ from the papers. Each function returns an
estimator with the settings of a method in its paper, and its notes list the settings of the tables that this
estimator reproduces. All other parameters of the estimator can be passed by name.
"""

from typing import TYPE_CHECKING, Any, Literal

from evlearn.classify import EvidentialKNNClassifier, EvidentialNeuralClassifier
from evlearn.cluster import (
    BPEC,
    CCM,
    CECM,
    ECM,
    EVCLUS,
    RECM,
    BootClus,
    ECMdd,
    EKNNClus,
    MedoidKind,
    Quantile,
)
from evlearn.utils.parameters import with_switches

if TYPE_CHECKING:
    from evlearn.neural import NNEVCLUS

__all__ = [
    "bootclus",
    "bpec",
    "ccm",
    "cecm",
    "ecm",
    "ecmdd",
    "eknn",
    "eknnclus",
    "enn",
    "evclus",
    "k_cevclus",
    "nn_evclus",
    "recm",
]


def ecm(n_clusters: int = 3, **parameters: Any) -> ECM:
    """Return evidential c-means as in its paper and in R.

    All sets of clusters are focal sets, alpha is 1 and beta is 2, and there is one start.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of clusters.
    **parameters
        Other parameters of `evlearn.cluster.ECM`. They replace those of the paper.

    Returns
    -------
    evlearn.cluster.ECM
        Unfitted estimator.

    Notes
    -----
    Settings of the tables. `X` are raw features, and `Z` the features after ``StandardScaler``:

    - NN-EVCLUS, Table 3, up to 3 clusters: ``ecm(c, focal_sets=FocalFamily("pairs", include_omega=False), delta=5,
      init="random")`` on `Z`; with ``"neighbor_pairs"`` for more clusters, and with belief peaks as `init` for
      ECM-bp.
    - Bootclus, Example 2: ``ecm(2, delta=100, tol=1e-12, max_iter=10000)`` on the first 11 samples of the
      butterfly.
    - Bootclus, Tables 7 (Iris, `X`) and 11 (Diabetes, `Z`): ``ecm(3, focal_sets=FocalFamily("neighbor_pairs",
      include_omega=False), delta=100, n_init=5)``.
    - Lecture on clustering, number of clusters: ``ecm(c, alpha=2, delta=20**0.5, n_init=3)`` on `X`.

    References
    ----------
    Masson and Denœux (2008), ECM: an evidential version of the fuzzy c-means algorithm,
    Pattern Recognition 41, doi:10.1016/j.patcog.2007.08.014.

    Examples
    --------
    >>> from evlearn import papers
    >>> from evlearn.datasets import load_butterfly
    >>> X = load_butterfly().data[:11]
    >>> model = papers.ecm(2, delta=100, tol=1e-12, max_iter=10000, random_state=0).fit(X)
    >>> sorted(
    ...     model.masses_[4].round(3).tolist()
    ... )  # 0.074, 0.368 and 0.558 in the Bootclus paper
    [0.0, 0.074, 0.365, 0.561]
    """
    settings: dict[str, Any] = {"focal_sets": "full", "alpha": 1.0, "beta": 2.0, "init": "k-means++", "n_init": 1}
    return ECM(n_clusters, **settings | parameters)


def ccm(n_clusters: int = 3, **parameters: Any) -> CCM:
    """Return credal c-means as in its paper, with one start.

    The focal sets are single clusters, pairs and the set of all clusters, and beta is 2.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of clusters.
    **parameters
        Other parameters of `evlearn.cluster.CCM`. They replace those of the paper.

    Returns
    -------
    evlearn.cluster.CCM
        Unfitted estimator.

    Notes
    -----
    NN-EVCLUS, Table 3: ``ccm(c, delta=5, init="random")`` on standardized features, and belief peaks as `init` for
    CCM-bp.

    References
    ----------
    Liu et al. (2015), Credal c-means clustering method based on belief functions,
    Knowledge-Based Systems 74, doi:10.1016/j.knosys.2014.11.013.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from sklearn.preprocessing import StandardScaler
    >>> from evlearn import papers
    >>> X, y = load_wine(return_X_y=True)
    >>> model = papers.ccm(3, delta=5, init="random", random_state=0)
    >>> labels = model.fit_predict(StandardScaler().fit_transform(X))
    >>> print(f"{adjusted_rand_score(y, labels):.2f}")  # 0.45 in the NN-EVCLUS paper
    0.44
    """
    settings: dict[str, Any] = {"focal_sets": "pairs", "beta": 2.0, "init": "k-means++", "n_init": 1}
    return CCM(n_clusters, **settings | parameters)


def bpec(n_clusters: int | Literal["auto"] = "auto", **parameters: Any) -> BPEC:
    """Return belief-peak evidential clustering as in its paper and in R.

    All sets of clusters are focal sets, alpha is 1 and beta is 2.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        Number of clusters. "auto": the number of belief peaks above the thresholds.
    **parameters
        Other parameters of `evlearn.cluster.BPEC`. They replace those of the paper.

    Returns
    -------
    evlearn.cluster.BPEC
        Unfitted estimator.

    Notes
    -----
    NN-EVCLUS, Table 3, up to 3 clusters: ``bpec(c, focal_sets=FocalFamily("pairs", include_omega=False), delta=5,
    n_neighbors=50)`` on standardized features; with ``"neighbor_pairs"`` for more clusters.

    References
    ----------
    Su and Denœux (2019), BPEC: belief-peaks evidential clustering, IEEE Transactions on
    Fuzzy Systems 27, doi:10.1109/TFUZZ.2018.2869125.

    Examples
    --------
    >>> from evlearn import papers
    >>> papers.bpec(4, n_neighbors=50).alpha
    1.0
    """
    settings: dict[str, Any] = {"focal_sets": "full", "alpha": 1.0, "beta": 2.0}
    return BPEC(n_clusters, **settings | parameters)


def cecm(n_clusters: int = 3, **parameters: Any) -> CECM:
    """Return constrained evidential c-means as in its paper and in R.

    All sets of clusters are focal sets, and alpha is 1.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of clusters.
    **parameters
        Other parameters of `evlearn.cluster.CECM`. They replace those of the paper.

    Returns
    -------
    evlearn.cluster.CECM
        Unfitted estimator, which is fitted with ``fit(X, constraints=...)``.

    Notes
    -----
    - NN-EVCLUS, Figures 27 and 28: ``cecm(c, focal_sets="pairs", n_init=5)``, with "simple" for Glass.
    - k-CEVCLUS, Figure 4: ``cecm(c, focal_sets="simple", delta=D.max())``, in which `D` are the distances.

    References
    ----------
    Antoine et al. (2012), CECM: constrained evidential c-means algorithm, Computational
    Statistics and Data Analysis 56, doi:10.1016/j.csda.2010.09.021.

    Examples
    --------
    >>> from evlearn import papers
    >>> papers.cecm(3).focal_sets
    'full'
    """
    settings: dict[str, Any] = {"focal_sets": "full", "alpha": 1.0, "init": "k-means++"}
    return CECM(n_clusters, **settings | parameters)


def recm(n_clusters: int = 3, **parameters: Any) -> RECM:
    """Return relational evidential c-means as in its paper, with one random start.

    All sets of clusters are focal sets, alpha is 1 and beta is 1.5.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of clusters.
    **parameters
        Other parameters of `evlearn.cluster.RECM`. They replace those of the paper.

    Returns
    -------
    evlearn.cluster.RECM
        Unfitted estimator.

    Notes
    -----
    NN-EVCLUS, Table 6 (Protein, dissimilarities `D`): ``recm(4, metric="precomputed", focal_sets="simple",
    delta=D.max())``. According to Table 5 delta is the root of this number, with which the adjusted Rand index is
    0.446 instead of 0.863.

    References
    ----------
    Masson and Denœux (2009), RECM: relational evidential c-means algorithm, Pattern
    Recognition Letters 30, doi:10.1016/j.patrec.2009.04.008.

    Examples
    --------
    >>> from evlearn import papers
    >>> papers.recm(4, metric="precomputed").beta
    1.5
    """
    settings: dict[str, Any] = {"focal_sets": "full", "alpha": 1.0, "beta": 1.5, "init": "random", "n_init": 1}
    return RECM(n_clusters, **settings | parameters)


def ecmdd(
    n_clusters: int = 3,
    *,
    medoids: Literal["single", "weighted", "median"] = "single",
    **parameters: Any,
) -> ECMdd:
    """Return evidential c-medoids as in its paper: sECMdd or wECMdd, or the related MECM.

    All sets of clusters are focal sets, alpha and beta are 2, and so is the exponent of the weights (psi).

    Parameters
    ----------
    n_clusters : int, default=3
        Number of clusters.
    medoids : "single", "weighted" or "median", default="single"
        "single": a medoid for each cluster (sECMdd); "weighted": weights of all samples (wECMdd); "median": MECM.
    **parameters
        Other parameters of `evlearn.cluster.ECMdd`. They replace those of the paper.

    Returns
    -------
    evlearn.cluster.ECMdd
        Unfitted estimator.

    Notes
    -----
    - NN-EVCLUS, Table 3: ``ecmdd(c, metric="sqeuclidean", focal_sets="simple", delta=5, init="random")`` on
      standardized features.
    - NN-EVCLUS, Table 6 (Protein, dissimilarities `D`): ``ecmdd(4, metric="precomputed", focal_sets="pairs",
      delta=D.max() ** 0.5, init="random")``.

    wECMdd also has ``medoids="weighted"``.

    References
    ----------
    Zhou et al. (2016), ECMdd: evidential c-medoids clustering with multiple prototypes,
    Pattern Recognition 60.

    Examples
    --------
    >>> from evlearn import papers
    >>> papers.ecmdd(4, medoids="weighted").medoids.weight_exponent
    2.0
    """
    settings: dict[str, Any] = {"medoids": MedoidKind(medoids, weight_exponent=2.0), "beta": 2.0, "init": "spread"}
    return ECMdd(n_clusters, **settings | parameters)


def evclus(n_clusters: int = 3, **parameters: Any) -> EVCLUS:
    """Return EVCLUS as in the paper on k-EVCLUS.

    The scale of dissimilarities `d0` is their 0.9-quantile.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of clusters.
    **parameters
        Other parameters of `evlearn.cluster.EVCLUS`. They replace those of the paper. `n_partners` counts partners
        in both directions, so twice the number in the paper.

    Returns
    -------
    evlearn.cluster.EVCLUS
        Unfitted estimator.

    Notes
    -----
    `X` are raw features, `Z` the features after ``StandardScaler``, and `D` dissimilarities:

    - NN-EVCLUS, Table 1: ``evclus(2, focal_sets="full", d0=11, tol=1e-9)`` on the butterfly; 11 was fitted to the
      table.
    - NN-EVCLUS, Table 3, up to 4 clusters: ``evclus(c, focal_sets="pairs", init="random")`` on `Z`, and for Iris
      ``evclus(3, focal_sets="pairs", d0=Quantile(0.6), init="random")`` on `X`; for more clusters ``evclus(c,
      d0=Quantile(level), init="random")`` on `Z` with the levels of `nn_evclus`.
    - NN-EVCLUS, Example 4: ``evclus(4, focal_sets="pairs", n_partners=200, loss="mse", init="random", n_init=5)``
      on `X`.
    - NN-EVCLUS, Table 6 (Protein): ``evclus(4, metric="precomputed", d0=Quantile(1.0), init="random", tol=1e-6)``
      on `D`.
    - Bootclus, Tables 8 and 12, first step: ``evclus(3, n_partners=50, n_init=5)`` on `Z`.

    References
    ----------
    - Denœux and Masson (2004), EVCLUS: evidential clustering of proximity data, IEEE
      Transactions on Systems, Man, and Cybernetics, Part B 34,
      doi:10.1109/TSMCB.2002.806496.
    - Denœux et al. (2016), Evidential clustering of large dissimilarity data,
      Knowledge-Based Systems 106, doi:10.1016/j.knosys.2016.05.043.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from sklearn.preprocessing import StandardScaler
    >>> from evlearn import papers
    >>> X, y = load_wine(return_X_y=True)
    >>> model = papers.evclus(
    ...     3, focal_sets="pairs", init="random", n_init=5, random_state=0
    ... )
    >>> labels = model.fit_predict(StandardScaler().fit_transform(X))
    >>> print(f"{adjusted_rand_score(y, labels):.2f}")  # 0.91 in the NN-EVCLUS paper
    0.91
    """
    settings: dict[str, Any] = {"d0": Quantile(0.9)}
    return EVCLUS(n_clusters, **settings | parameters)


def k_cevclus(n_clusters: int = 3, *, xi: float = 0.5, **parameters: Any) -> EVCLUS:
    """Return EVCLUS with constraints, as in the paper on k-CEVCLUS.

    The focal sets are single clusters and the set of all clusters, and `d0` is the 0.9-quantile of the
    dissimilarities. The weight of constraints grows in 3 fits, each from the result of the previous one: 0, 0.05
    and `xi`. As in R, it is 4 times the weight in equation (9).

    Parameters
    ----------
    n_clusters : int, default=3
        Number of clusters.
    xi : float, default=0.5
        Weight of constraints, relative to that of the dissimilarities.
    **parameters
        Other parameters of `evlearn.cluster.EVCLUS`. They replace those of the paper. `n_partners` counts partners
        in both directions, so twice the number in the paper.

    Returns
    -------
    evlearn.cluster.EVCLUS
        Unfitted estimator, which is fitted with ``fit(X, constraints=...)``.

    Notes
    -----
    - Tables 2 and 3: ``k_cevclus(c, xi=xi, d0=Quantile(q))`` on raw features. In Table 2, q is 0.9, and 0.6 for
      Iris; in Table 3, xi is 0.5.
    - Figures 5 and 6 (Banana): ``k_cevclus(2, n_partners=k)``.
    - Figure 7 (Letter): ``k_cevclus(3, xi=0.1, d0=Quantile(0.8), n_partners=k)``.
    - Figure 9: the same with ``constraints.expand(X, K)``.

    References
    ----------
    Li et al. (2018), k-CEVCLUS: constrained evidential clustering of large
    dissimilarity data, Knowledge-Based Systems 142, doi:10.1016/j.knosys.2017.11.023.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from evlearn import papers
    >>> from evlearn.cluster import Quantile
    >>> from evlearn.constraints import PairwiseConstraints
    >>> X, y = load_iris(return_X_y=True)
    >>> constraints = PairwiseConstraints.sample(y, 200, random_state=0)
    >>> model = papers.k_cevclus(3, d0=Quantile(0.6), random_state=0).fit(
    ...     X, constraints=constraints
    ... )
    >>> print(
    ...     f"{adjusted_rand_score(y, model.labels_):.2f}"
    ... )  # 0.97, the mean of 10 draws, in Table 2
    0.94
    """
    settings: dict[str, Any] = {"d0": Quantile(0.9), "n_partners": "all", "constraint_weight": xi}
    return EVCLUS(n_clusters, **settings | parameters)


def nn_evclus(n_clusters: int = 3, *, n_components: int = 10, **parameters: Any) -> "NNEVCLUS":
    """Return NN-EVCLUS as in Section 4.1 of its paper; needs PyTorch.

    For up to 4 clusters, pairs are focal sets and `d0` is the 0.9-quantile of the dissimilarities. For more
    clusters there are no pairs; the paper states "0.5, 0.2 or 0.1", and here the quantile is 0.5 for up to 9
    clusters, 0.2 for up to 19, and 0.1 for more. The network starts from random weights and has 1.5 times as many
    hidden units as focal sets.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of clusters.
    n_components : int, default=10
        Number of principal components of the rows of a dissimilarity matrix, which are the inputs of the network
        if `metric` is "precomputed".
    **parameters
        Other parameters of `evlearn.neural.NNEVCLUS`. They replace those of the paper, which kept the best of 5
        runs (``n_init=5``).

    Returns
    -------
    evlearn.neural.NNEVCLUS
        Unfitted estimator.

    Notes
    -----
    `X` are raw features, `Z` the features after ``StandardScaler``, and `D` dissimilarities:

    - Table 3: ``nn_evclus(c)`` on `Z`, and ``nn_evclus(3, d0=Quantile(0.6))`` on `X` of Iris; for NN-EVCLUS-bp,
      belief peaks are labels (``fit(Z, labels=...)``).
    - Table 4: ``nn_evclus(c, network=(30,), solver=Solver(batch_size=n // 30, learning_rate=0.001))`` on `Z`.
    - Example 4 and Figure 14: ``nn_evclus(4, network=(20,), n_partners=200, outlier_model="svm", n_init=5)`` on
      `X`.
    - Example 5: ``nn_evclus(2, focal_sets="full", network=(30,), l2=0.01, tol=0.001, init="evclus",
      constraint_weight=0.1)`` on `X`, with dissimilarities by `PCCA` or `FDA`.
    - Table 6 (Protein): ``nn_evclus(4, metric="precomputed", n_components=3, focal_sets="simple", network=(20,),
      d0=Quantile(1.0))`` on `D`.

    References
    ----------
    Denœux (2021), NN-EVCLUS: neural network-based evidential clustering, Information
    Sciences 572, doi:10.1016/j.ins.2021.05.011.
    """
    from evlearn.neural import NNEVCLUS

    has_pairs = n_clusters < 5
    quantile = 0.9 if has_pairs else 0.5 if n_clusters < 10 else 0.2 if n_clusters < 20 else 0.1
    settings: dict[str, Any] = {
        "focal_sets": "pairs" if has_pairs else "simple",
        "d0": Quantile(quantile),
        "init": ("random", None),
    }
    estimator = NNEVCLUS(n_clusters, **settings | parameters)
    with_switches(estimator, n_components=n_components)
    return estimator


def eknnclus(n_neighbors: int | Literal["auto"] = "auto", **parameters: Any) -> EKNNClus:
    """Return EK-NNclus as in its paper, with one start.

    The scale of distances is their median among neighbors (q = 0.5).

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        Number of neighbors.
    **parameters
        Other parameters of `evlearn.cluster.EKNNClus`. They replace those of the paper.

    Returns
    -------
    evlearn.cluster.EKNNClus
        Unfitted estimator.

    Notes
    -----
    The papers have no table of results with this method; the studies of speed use it.

    References
    ----------
    Denœux et al. (2015), EK-NNclus: a clustering procedure based on the evidential
    K-nearest neighbor rule, Knowledge-Based Systems 88,
    doi:10.1016/j.knosys.2015.08.007.

    Examples
    --------
    >>> from evlearn import papers
    >>> papers.eknnclus(30).q
    0.5
    """
    settings: dict[str, Any] = {"q": 0.5, "n_init": 1}
    return EKNNClus(n_neighbors, **settings | parameters)


def bootclus(n_clusters: int | None = None, *, model: str = "auto", **parameters: Any) -> BootClus:
    """Return Bootclus as in its paper, with 1000 resamples.

    The covariance model is the same for all resamples (Algorithm 1), and components have no minimum variance. By
    default, `evlearn.cluster.BootClus` selects the model again in each resample, which makes intervals longer.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters. None: the number between 1 and 9 with the best Bayesian information criterion.
    model : str, default="auto"
        Covariance model, such as "EII" or "VVV". "auto": the model with the best Bayesian information criterion
        for the original data.
    **parameters
        Other parameters of `evlearn.cluster.BootClus`. They replace those of the paper.

    Returns
    -------
    evlearn.cluster.BootClus
        Unfitted estimator.

    Notes
    -----
    - Tables 2 to 4: ``bootclus(3, model=model, confidence_level=level)``, in which `model` is "EII", "EEE", "VVV"
      or "auto", on samples of `evlearn.datasets.make_gaussian_mixture`.
    - Tables 5 and 6 (Iris, raw): ``bootclus(3, model="VEV")``.
    - Table 10 (Diabetes, raw), with EM stopped as early as by mclust: ``bootclus(mixture=
      ParsimoniousGaussianMixture(3, covariance_models="VVV", tol=1.6e-4, variance_floor=0))``.
    - Section 4.2 (GvHD): ``bootclus(7, model="VVV", focal_sets=FocalFamily("neighbor_pairs", n_neighbors=2))``.
    - NN-EVCLUS, Table 3 (raw): ``bootclus(c, n_bootstrap=500)``.

    References
    ----------
    Denœux (2020), Calibrated model-based evidential clustering using bootstrapping,
    Information Sciences 528, doi:10.1016/j.ins.2020.04.014.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from evlearn import papers
    >>> X = load_iris().data
    >>> model = papers.bootclus(3, model="VEV", n_bootstrap=100, random_state=0).fit(X)
    >>> model.credal_partition_.to_rough("max_mass")[
    ...     [0, 83]
    ... ].tolist()  # sample 83 is an error in Table 6, too
    [[True, False, False], [False, False, True]]
    """
    settings: dict[str, Any] = {"covariance_models": model, "n_bootstrap": 1000}
    estimator = BootClus(n_clusters, **settings | parameters)
    with_switches(estimator, variance_floor=0.0, selection="once")
    return estimator


def eknn(n_neighbors: int = 10, **parameters: Any) -> EvidentialKNNClassifier:
    """Return the evidential nearest-neighbor classifier as in the lecture on machine learning and in R.

    The maximum mass of a neighbor is 0.95, and the scales are learned.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbors.
    **parameters
        Other parameters of `evlearn.classify.EvidentialKNNClassifier`. They replace those of the lecture.

    Returns
    -------
    evlearn.classify.EvidentialKNNClassifier
        Unfitted estimator.

    Notes
    -----
    Ionosphere: ``eknn(10).fit(X[:176], y[:176])``, for predictions of ``X[176:]``.

    References
    ----------
    - Denœux (1995), A k-nearest neighbor classification rule based on Dempster-Shafer
      theory, IEEE Transactions on Systems, Man, and Cybernetics 25,
      doi:10.1109/21.376493.
    - Zouhal and Denœux (1998), An evidence-theoretic k-NN rule with parameter
      optimization, IEEE Transactions on Systems, Man, and Cybernetics, Part C 28,
      doi:10.1109/5326.669565.

    Examples
    --------
    >>> from evlearn import papers
    >>> papers.eknn().alpha
    0.95
    """
    settings: dict[str, Any] = {"alpha": 0.95}
    return EvidentialKNNClassifier(n_neighbors, **settings | parameters)


def enn(
    n_prototypes: int | Literal["auto"] = "auto",
    *,
    loss_lambda: float | Literal["pignistic"] = "pignistic",
    **parameters: Any,
) -> EvidentialNeuralClassifier:
    """Return the evidential neural network as in the lecture on machine learning and in R.

    `n_prototypes` is the number for all classes together, not for each class. Features are not standardized, and
    the training stops later than by default.

    Parameters
    ----------
    n_prototypes : int or "auto", default="auto"
        Number of prototypes.
    loss_lambda : float or "pignistic", default="pignistic"
        Share of the mass of the set of all classes that each class gets in the loss. "pignistic": 1 divided by the
        number of classes, as in R; 1: the loss compares plausibilities with labels, as in the lecture.
    **parameters
        Other parameters of `evlearn.classify.EvidentialNeuralClassifier`. They replace those of the lecture.

    Returns
    -------
    evlearn.classify.EvidentialNeuralClassifier
        Unfitted estimator.

    Notes
    -----
    Raw features: ``enn(7).fit(X[:89], y[:89])`` for Glass, ``enn(33, loss_lambda=1)`` for Vowel, also with 44 and
    55 prototypes.

    References
    ----------
    Denœux (2000), A neural network classifier based on Dempster-Shafer theory, IEEE
    Transactions on Systems, Man, and Cybernetics, Part A 30, doi:10.1109/3468.833094.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from evlearn import papers
    >>> X, y = load_iris(return_X_y=True)
    >>> len(papers.enn(6, random_state=0).fit(X, y).prototypes_)  # 6 for all 3 classes
    6
    """
    settings: dict[str, Any] = {"tol": 1e-4, "max_iter": 1000}
    estimator = EvidentialNeuralClassifier(n_prototypes, **settings | parameters)
    with_switches(estimator, per_class=False, standardize=False, loss_lambda=loss_lambda)
    return estimator
