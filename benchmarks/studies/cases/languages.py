"""Languages that are known by their words only, the team of translators for each, and which need a person.

62 languages that are written in Latin letters, by the names of months, weekdays and countries, which come with the
package Babel (Unicode CLDR). There are no features: two languages are as far apart as their words, by the edit
distance of each pair over the length of the longer word. An agency has teams for Romance, Germanic, Slavic and
Turkic languages. Some languages belong to none of these families. A wrong team costs 5, a look by a linguist 1; a
language of no family is an error unless somebody looks at it.

Protocol, written before the first run: accents are dropped; words are the months, the weekdays and every third
country; ten random halves of the words, which are ten matrices of dissimilarities. Four clusters; each goes to the
team that most of its languages call for. A linguist looks at a third of the languages, those of largest doubt.
Ours are `EVCLUS`, which the guide names for dissimilarities of any kind, and `RECM`, by default; outliers come
first. Peers: average linkage with silhouettes, hdbscan of the matrix (noise has the cluster of the nearest, in
full doubt), spectral clustering with silhouettes, and k-means and a Gaussian mixture of five coordinates from
classical scaling. No other variant was tried.
"""

import unicodedata

import numpy as np
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.metrics import silhouette_samples
from sklearn.mixture import GaussianMixture

from benchmarks.studies.answers.methods import Answer, ratio_of_two, told
from benchmarks.studies.cases.decisions import gains, intervals, looked_at
from evlearn.cluster import EVCLUS, RECM
from evlearn.metrics import majority_classes

FAMILIES = {
    "Romance": "ca pt lld sc lij fur scn it oc ast rm vec gl an es fr ro",
    "Germanic": "fy af ksh nl nn frr de da sv nb gsw nds lb wae en fo is",
    "Slavic": "cs szl hsb bs sl dsb sk hr pl",
    "Turkic": "tk tr az uz",
    "none": "lt lv et fi se smn hu sq eu ga gd br cy mt ku",
}
N_TEAMS, BUDGET, SEEDS, EVERY, DIMENSIONS = 4, 1 / 3, 10, 3, 5
COSTS = {"wrong team": 5, "look": 1}
OURS = "EVCLUS"


def load():
    """Codes, families, and the dissimilarity of each pair for each word."""
    codes = [one for names in FAMILIES.values() for one in names.split()]
    families = np.array([family for family, names in FAMILIES.items() for _ in names.split()])
    lists = [words_of(code) for code in codes]
    common = sorted(one for one in lists[0] if all(one in each for each in lists))
    countries = [one for one in common if len(one) == 2]
    common = [one for one in common if one not in countries] + countries[::EVERY]
    words = [[each[one] for one in common] for each in lists]
    distances = np.zeros((len(common), len(codes), len(codes)))
    for i in range(len(codes)):
        for j in range(i):
            distances[:, i, j] = distances[:, j, i] = [
                relative(*two) for two in zip(words[i], words[j], strict=True)
            ]
    return codes, families, distances


def words_of(code):
    """Words of a language, by what they mean."""
    from babel import Locale

    locale = Locale.parse(code)
    countries = [one for one in locale.territories if len(one) == 2]
    found = {f"month {k}": one for k, one in locale.months["format"]["wide"].items()}
    found |= {f"day {k}": one for k, one in locale.days["format"]["wide"].items()}
    return {key: plain(one) for key, one in (found | {one: locale.territories[one] for one in countries}).items()}


def plain(word):
    """Small letters without accents."""
    letters = unicodedata.normalize("NFKD", word.casefold())
    return "".join(one for one in letters if not unicodedata.combining(one))


def relative(first, second):
    """The edit distance over the length of the longer word."""
    row = list(range(len(second) + 1))
    for i, letter in enumerate(first, start=1):
        before, row[0] = row[0], i
        for j, other in enumerate(second, start=1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (letter != other))
    return row[-1] / max(len(first), len(second), 1)


def coordinates(D):
    """Classical scaling."""
    centred = np.eye(len(D)) - 1 / len(D)
    values, vectors = np.linalg.eigh(-centred @ D**2 @ centred / 2)
    return vectors[:, -DIMENSIONS:] * np.sqrt(np.maximum(values[-DIMENSIONS:], 0))


def by_silhouette(D, labels):
    return Answer(labels, -silhouette_samples(D, labels, metric="precomputed"))


def linkage(D, seed):
    return by_silhouette(
        D, AgglomerativeClustering(N_TEAMS, metric="precomputed", linkage="average").fit_predict(D)
    )


def spectral(D, seed):
    affinity = np.exp(-((D / np.median(D)) ** 2))
    return by_silhouette(
        D, SpectralClustering(N_TEAMS, affinity="precomputed", random_state=seed).fit_predict(affinity)
    )


def hdbscan(D, seed):
    model = HDBSCAN(metric="precomputed", min_cluster_size=3, copy=True).fit(D)
    labels, noise = model.labels_.copy(), model.labels_ < 0
    if noise.all():
        return Answer(np.zeros(len(D), dtype=int), np.ones(len(D)))
    inside = np.flatnonzero(~noise)
    labels[noise] = labels[inside[D[np.ix_(noise, inside)].argmin(axis=1)]]
    return Answer(labels, 1 - model.probabilities_)


def k_means(D, seed):
    X = coordinates(D)
    model = KMeans(N_TEAMS, n_init=10, random_state=seed).fit(X)
    return Answer(model.labels_, ratio_of_two(model.transform(X)))


def mixture(D, seed):
    X = coordinates(D)
    probabilities = GaussianMixture(N_TEAMS, n_init=5, random_state=seed).fit(X).predict_proba(X)
    return Answer(probabilities.argmax(axis=1), 1 - probabilities.max(axis=1))


def of_partition(partition):
    """What is said of languages; outliers are in the largest doubt."""
    answer = told(partition)
    return answer._replace(doubt=answer.doubt + answer.outlier)


PEERS = {
    "average linkage": linkage,
    "spectral": spectral,
    "hdbscan": hdbscan,
    "k-means": k_means,
    "Gaussian mixture": mixture,
}
PARTITIONS = {
    OURS: lambda D, seed: EVCLUS(N_TEAMS, metric="precomputed", random_state=seed).fit(D).credal_partition_,
    "RECM": lambda D, seed: RECM(N_TEAMS, metric="precomputed", random_state=seed).fit(D).credal_partition_,
}
METHODS = PEERS | {
    name: lambda D, seed, make=make: of_partition(make(D, seed)) for name, make in PARTITIONS.items()
}


def judged(families, answer):
    """Wrong teams before and after looks, and costs, for a hundred languages."""
    has_family = families != "none"
    teams = np.empty(len(families), dtype=object)
    for one in np.unique(answer.labels):
        members = answer.labels == one
        names = families[members & has_family]
        teams[members] = majority_classes(names, np.zeros(len(names)))[0] if len(names) else "nobody"
    wrong, seen = teams != families, looked_at(answer.doubt, BUDGET)
    left = wrong & ~seen
    return {
        "errors": 100 * float(wrong.mean()),
        "errors_left": 100 * float(left.mean()),
        "none_left": 100 * float((left & ~has_family).mean()),
        "cost": 100 * float((COSTS["wrong team"] * left + COSTS["look"] * seen).mean()),
    }


def study(seeds=SEEDS, chosen=tuple(METHODS)):
    """All figures, over random halves of the words."""
    codes, families, distances = load()
    rows = []
    for seed in range(seeds):
        half = np.random.default_rng(seed).permutation(len(distances))[: len(distances) // 2]
        D = distances[half].mean(axis=0)
        rows.append({name: judged(families, METHODS[name](D, seed)) for name in chosen})
    peers = [name for name in chosen if name in PEERS]
    return {
        "samples": len(codes),
        "words": len(distances),
        "repetitions": seeds,
        "looks": round(BUDGET * len(codes)),
        "costs": COSTS,
        "variants": 0,
        "methods": intervals(rows),
        "gains": gains(rows, OURS, peers, "cost"),
        "gains_of_recm": gains(rows, "RECM", peers, "cost") if "RECM" in chosen else {},
        "map": map_of_languages(codes, families, distances.mean(axis=0)),
    }


def map_of_languages(codes, families, D):
    """Where languages are drawn, their families, doubts and candidates, from all words."""
    partition = PARTITIONS[OURS](D, 0)
    verdict, places = partition.verdict(), coordinates(D)[:, ::-1][:, :2]
    return [
        {
            "language": code,
            "family": str(family),
            "place": [round(float(one), 3) for one in place],
            "candidates": np.flatnonzero(some).tolist(),
            "label": int(label),
            "doubt": round(float(doubt), 3),
        }
        for code, family, place, some, label, doubt in zip(
            codes, families, places, verdict.candidates, partition.to_hard(), partition.doubt(), strict=True
        )
    ]
