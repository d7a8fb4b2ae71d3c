"""Causes of differences for cells of the NN-EVCLUS paper: variation of open settings, and single starts.

It is used by `nnevclus.py`.
"""

from itertools import product

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.studies.reproduction.nnevclus_methods import LARGE, SCALES, load, protocol, repeat, words
from evlearn.cluster import FocalFamily, Quantile
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.mixture.covariance_models import MULTIVARIATE


def cause(entry, runs, alternatives):
    """Return the measured cause of a difference; `alternatives` are other settings as text, with their ARI."""
    text, ari = min(alternatives, key=lambda pair: abs(pair[1] - entry["published"]))
    nearest = f"Of {len(alternatives)} other settings, the nearest is {ari:.3f}: {text}."
    return f"{nearest} {starts(entry, runs)}" if len(runs.singles) > 1 else nearest


def starts(entry, runs):
    """Return the distribution of single starts, and the quality of minima near the published number."""
    aris, objectives = np.array(runs.singles), np.array(runs.objectives)
    is_close = np.abs(aris - entry["published"]) <= entry["tolerance"]
    text = f"{len(aris)} single starts go from {aris.min():.2f} to {aris.max():.2f}"
    if not is_close.any():
        return f"{text}, none within the tolerance."
    excess = np.median(objectives[is_close]) / objectives.min() - 1
    return (
        f"{text}; {is_close.mean():.0%} are within the tolerance, with an objective {excess:.1%} above the least."
    )


def of_table_3(entry):
    """Return the cause for a cell of Table 3."""
    name, method = entry["row"], entry["column"]
    if method == "Bootclus":
        return " ".join(models(data_name, entry["published"]) for data_name in (name, *alternative_data(name)))
    large = len(load(name).X) > LARGE
    n_starts = 5 if method.startswith("NN") else 10 if large else 50
    return cause(entry, protocol(name, method, 1, n_starts)[0], list(variants(name, method, large)))


def variants(name, method, large):
    """Yield other settings of a method as text, and the ARI of each."""
    slow = method.startswith("NN") or large
    for data_name, scale, changes in product([name, *alternative_data(name)], SCALES, open_settings(method, name)):
        if scale == "from 0 to 1" and (data_name != name or slow):
            continue
        ari = attempt(method, load(data_name), scale, 2 if slow else 5, changes)
        if ari is not None:
            yield f"{data_name}, {scale} attributes, {words(changes)}", ari


def attempt(method, data, scale, n_starts, changes):
    """Return the ARI of the best start, or None if the fit fails."""
    if changes.get("init") in ("points", "middle"):
        n_starts, changes = (
            1,
            changes | {"init": first_points(data.scaled(scale), data.n_clusters, changes["init"])},
        )
    try:
        return repeat(method, data, scale, 1, n_starts, **changes).best[0]
    except ValueError:
        return None


def first_points(X, n_clusters, kind):
    """Return prototypes drawn in the bounding box of the data, or near its mean."""
    low, high = X.min(axis=0), X.max(axis=0)
    points = np.random.default_rng(0).uniform(low, high, size=(n_clusters, X.shape[1]))
    return points if kind == "points" else X.mean(axis=0) + 0.01 * (points - X.mean(axis=0))


def open_settings(method, name):
    """Return parameters that the paper does not specify."""
    large = name in ("Segment", "S2", "S4", "D31")
    levels = (0.5, 0.2, 0.1) if large or name == "Glass" else (0.9, 0.6)
    quantiles = [Quantile(level) for level in levels]
    pairs = [FocalFamily("pairs", include_omega=value) for value in (False, True)]
    network = grid(d0=quantiles, tol=(1e-2, 1e-4))
    return {
        "EVCLUS": grid(d0=quantiles, focal_sets=("simple",) if large else ("simple", "pairs")),
        "NN-EV": network,
        "NN-EV-bp": network,
        "ECM": grid(init=("random", "kmeans"), delta=(5, "auto")),
        "CCM": grid(init=("random", "points", "middle", "kmeans"), tol=(1e-6, 1e-3)),
        "sECMdd": grid(
            metric=("euclidean", "sqeuclidean"),
            focal_sets=("simple", "pairs"),
            init=("random", "spread"),
            delta=(5, "auto"),
        ),
        "wECMdd": grid(metric=("euclidean", "sqeuclidean"), focal_sets=("simple", "pairs"), delta=(5, "auto")),
        "BPEC": grid(metric=("adaptive", "euclidean"), n_neighbors=(10, 20, 30, 50, 80)),
        "ECM-bp": grid(delta=(5, "auto")),
        "CCM-bp": grid(delta=(5, "auto"), focal_sets=pairs),
    }[method]


def grid(**values):
    """Return all combinations."""
    return [dict(zip(values, combination, strict=True)) for combination in product(*values.values())]


def alternative_data(name):
    """Return names of the same data with other features."""
    return {"Glass": ["Glass without Id"], "Segment": ["Segment without places"]}.get(name, [])


def models(name, published):
    """Return the ARI of each covariance model with the settings of the cells, and its BIC relative to the best."""
    data, results = load(name), {}
    seed = np.random.RandomState(0).randint(np.iinfo(np.int32).max)  # that of the mixture of BootClus
    for model in MULTIVARIATE:
        try:
            mixture = ParsimoniousGaussianMixture(
                data.n_clusters, covariance_models=[model], variance_floor=0, random_state=seed
            ).fit(data.X)
        except ValueError:  # a covariance became singular
            continue
        results[model] = mixture.bic_, adjusted_rand_score(data.y, mixture.predict(data.X))
    chosen = min(results, key=lambda model: results[model][0])
    nearest = min(results, key=lambda model: abs(results[model][1] - published))
    text = f"{name}: BIC chooses {chosen} (ARI of the mixture {results[chosen][1]:.3f}); "
    if nearest == chosen:
        text += "no other model is nearer."
    else:
        excess = results[nearest][0] - results[chosen][0]
        text += f"{nearest} is nearest ({results[nearest][1]:.3f}), and its BIC is {excess:.0f} worse."
    failed = [model for model in MULTIVARIATE if model not in results]
    return text + (f" Singular for {', '.join(failed)}." if failed else "")
