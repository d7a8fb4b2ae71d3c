"""Why cells of the NN-EVCLUS paper differ: what it leaves open is varied, and single starts are looked at.

This module runs nothing; `reproduction_nnevclus.py` asks it about the cells that are off.
"""

from itertools import product

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.studies.reproduction.nnevclus_methods import LARGE, SCALES, load, protocol, repeat, words
from evlearn.mixture import ParsimoniousGaussianMixture
from evlearn.mixture.covariance_models import MULTIVARIATE


def cause(one, runs, tried):
    """What was measured about a cell, in words; `tried` are other settings, in words, each with its ARI."""
    text, ari = min(tried, key=lambda pair: abs(pair[1] - one["published"]))
    nearest = f"Of {len(tried)} other settings, the nearest is {ari:.3f}: {text}."
    return f"{nearest} {starts(one, runs)}" if len(runs.singles) > 1 else nearest


def starts(one, runs):
    """How single starts are spread, and how good a minimum those near the published number are."""
    aris, objectives = np.array(runs.singles), np.array(runs.objectives)
    near = np.abs(aris - one["published"]) <= one["tolerance"]
    text = f"{len(aris)} single starts go from {aris.min():.2f} to {aris.max():.2f}"
    if not near.any():
        return f"{text}, none within the tolerance."
    excess = np.median(objectives[near]) / objectives.min() - 1
    return f"{text}; {near.mean():.0%} are within the tolerance, with an objective {excess:.1%} above the least."


def of_table_3(one):
    """The cause for a cell of Table 3."""
    name, method = one["row"], one["column"]
    if method == "Bootclus":
        return " ".join(models(which, one["published"]) for which in (name, *others(name)))
    large = len(load(name).X) > LARGE
    n_starts = 5 if method.startswith("NN") else 10 if large else 50
    return cause(one, protocol(name, method, 1, n_starts)[0], list(variants(name, method, large)))


def variants(name, method, large):
    """Other settings of a method, in words, and the ARI of each."""
    slow = method.startswith("NN") or large
    for which, scale, changes in product([name, *others(name)], SCALES, open_settings(method, name)):
        if scale == "from 0 to 1" and (which != name or slow):
            continue
        ari = attempt(method, load(which), scale, 2 if slow else 5, changes)
        if ari is not None:
            yield f"{which}, {scale} attributes, {words(changes)}", ari


def attempt(method, data, scale, n_starts, changes):
    """The ARI of the best start, or None where there is no fit."""
    if changes.get("init") in ("points", "middle"):
        n_starts, changes = (
            1,
            changes | {"init": first_points(data.scaled(scale), data.n_clusters, changes["init"])},
        )
    try:
        return repeat(method, data, scale, 1, n_starts, **changes).best[0]
    except ValueError:
        return None


def first_points(X, n_clusters, where):
    """Prototypes drawn in the box around the data, or in their middle."""
    low, high = X.min(axis=0), X.max(axis=0)
    points = np.random.default_rng(0).uniform(low, high, size=(n_clusters, X.shape[1]))
    return points if where == "points" else X.mean(axis=0) + 0.01 * (points - X.mean(axis=0))


def open_settings(method, name):
    """Parameters that the paper does not fix."""
    large = name in ("Segment", "S2", "S4", "D31")
    quantiles = (0.5, 0.2, 0.1) if large or name == "Glass" else (0.9, 0.6)
    network = grid(d0_quantile=quantiles, tol=(1e-2, 1e-4))
    return {
        "EVCLUS": grid(d0_quantile=quantiles, focal_sets=("simple",) if large else ("simple", "pairs")),
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
        "CCM-bp": grid(delta=(5, "auto"), include_omega=(False, True)),
    }[method]


def grid(**values):
    """All combinations."""
    return [dict(zip(values, one, strict=True)) for one in product(*values.values())]


def others(name):
    """The same data with other attributes."""
    return {"Glass": ["Glass without Id"], "Segment": ["Segment without places"]}.get(name, [])


def models(name, published):
    """Bootclus: the ARI of each covariance model, beside how much worse it is than the one that BIC chooses."""
    data, found = load(name), {}
    for model in MULTIVARIATE:
        try:
            mixture = ParsimoniousGaussianMixture(data.n_clusters, covariance_models=[model], random_state=0)
            mixture.fit(data.X)
        except ValueError:  # a covariance became singular
            continue
        found[model] = mixture.bic_, adjusted_rand_score(data.y, mixture.predict(data.X))
    chosen = min(found, key=lambda model: found[model][0])
    nearest = min(found, key=lambda model: abs(found[model][1] - published))
    text = f"{name}: BIC chooses {chosen} (ARI of the mixture {found[chosen][1]:.3f}); "
    if nearest == chosen:
        text += "no other model is nearer."
    else:
        excess = found[nearest][0] - found[chosen][0]
        text += f"{nearest} is nearest ({found[nearest][1]:.3f}), and its BIC is {excess:.0f} worse."
    lost = [model for model in MULTIVARIATE if model not in found]
    return text + (f" Singular for {', '.join(lost)}." if lost else "")
