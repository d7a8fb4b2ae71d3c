"""Case study: languages known only by their words, assigned to teams of translators.

62 languages written in Latin letters, described by the names of months, weekdays and countries from the package
Babel (Unicode CLDR). There are no features: the dissimilarity of 2 words is their edit distance divided by the
length of the longer word. An agency has teams for Romance, Germanic, Slavic and Turkic languages. Some languages
belong to none of these families. A wrong team costs 5, a review by a linguist 1; a language of no family is an
error unless it is reviewed.

Protocol, written before the first run: accents are removed; words are the months, the weekdays and every third
country; 10 random halves of the words yield 10 dissimilarity matrices. There are 4 clusters; each is assigned to
the team of its most frequent family. A linguist reviews the third of the languages with the largest doubt. Our
methods are `EVCLUS`, the recommendation of the guide for dissimilarities, and `RECM`, with defaults; outliers come
first. Peers: average linkage with silhouettes, HDBSCAN of the matrix (noise goes to the nearest cluster, with
doubt 1), spectral clustering with silhouettes, and k-means and a Gaussian mixture of 5 coordinates from classical
scaling. No other variant was tried.
"""

import unicodedata

import numpy as np
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.metrics import silhouette_samples
from sklearn.mixture import GaussianMixture

from benchmarks.studies.answers.methods import Answer, ratio_of_two, to_answer
from benchmarks.studies.cases.decisions import gains, intervals, select_for_review
from evlearn.cluster import EVCLUS, RECM
from evlearn.metrics.risk_coverage import majority_classes

FAMILIES = {
    "Romance": "ca pt lld sc lij fur scn it oc ast rm vec gl an es fr ro",
    "Germanic": "fy af ksh nl nn frr de da sv nb gsw nds lb wae en fo is",
    "Slavic": "cs szl hsb bs sl dsb sk hr pl",
    "Turkic": "tk tr az uz",
    "none": "lt lv et fi se smn hu sq eu ga gd br cy mt ku",
}
N_TEAMS, BUDGET, SEEDS, COUNTRY_STEP, DIMENSIONS = 4, 1 / 3, 10, 3, 5
COSTS = {"wrong team": 5, "look": 1}
METHOD = "EVCLUS"


def load():
    """Return codes, families, and the dissimilarity of each pair for each word."""
    codes = [code for names in FAMILIES.values() for code in names.split()]
    families = np.array([family for family, names in FAMILIES.items() for _ in names.split()])
    vocabularies = [words_of(code) for code in codes]
    common = sorted(word for word in vocabularies[0] if all(word in vocabulary for vocabulary in vocabularies))
    countries = [word for word in common if len(word) == 2]
    common = [word for word in common if word not in countries] + countries[::COUNTRY_STEP]
    words = [[vocabulary[word] for word in common] for vocabulary in vocabularies]
    distances = np.zeros((len(common), len(codes), len(codes)))
    for i in range(len(codes)):
        for j in range(i):
            distances[:, i, j] = distances[:, j, i] = [
                relative(*pair) for pair in zip(words[i], words[j], strict=True)
            ]
    return codes, families, distances


def words_of(code):
    """Return the words of a language, by meaning."""
    from babel import Locale

    locale = Locale.parse(code)
    countries = [country for country in locale.territories if len(country) == 2]
    words = {f"month {k}": word for k, word in locale.months["format"]["wide"].items()}
    words |= {f"day {k}": word for k, word in locale.days["format"]["wide"].items()}
    return {
        key: plain(word)
        for key, word in (words | {country: locale.territories[country] for country in countries}).items()
    }


def plain(word):
    """Return lowercase letters without accents."""
    letters = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def relative(first, second):
    """Return the edit distance divided by the length of the longer word."""
    row = list(range(len(second) + 1))
    for i, letter in enumerate(first, start=1):
        diagonal, row[0] = row[0], i
        for j, other in enumerate(second, start=1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (letter != other))
    return row[-1] / max(len(first), len(second), 1)


def coordinates(D):
    """Return coordinates from classical scaling."""
    centered = np.eye(len(D)) - 1 / len(D)
    values, vectors = np.linalg.eigh(-centered @ D**2 @ centered / 2)
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
    clustered = np.flatnonzero(~noise)
    labels[noise] = labels[clustered[D[np.ix_(noise, clustered)].argmin(axis=1)]]
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
    """Return labels and doubt, with the largest doubt for outliers."""
    answer = to_answer(partition)
    return answer._replace(doubt=answer.doubt + answer.outlier)


PEERS = {
    "average linkage": linkage,
    "spectral": spectral,
    "hdbscan": hdbscan,
    "k-means": k_means,
    "Gaussian mixture": mixture,
}
PARTITIONS = {
    METHOD: lambda D, seed: EVCLUS(N_TEAMS, metric="precomputed", random_state=seed).fit(D).credal_partition_,
    "RECM": lambda D, seed: RECM(N_TEAMS, metric="precomputed", random_state=seed).fit(D).credal_partition_,
}
METHODS = PEERS | {
    name: lambda D, seed, make=make: of_partition(make(D, seed)) for name, make in PARTITIONS.items()
}


def evaluate(families, answer):
    """Return wrong teams before and after the review, and costs, per 100 languages."""
    has_family = families != "none"
    teams = np.empty(len(families), dtype=object)
    for label in np.unique(answer.labels):
        members = answer.labels == label
        names = families[members & has_family]
        teams[members] = majority_classes(names, np.zeros(len(names)))[0] if len(names) else "no team"
    wrong, reviewed = teams != families, select_for_review(answer.doubt, BUDGET)
    wrong_left = wrong & ~reviewed
    return {
        "errors": 100 * float(wrong.mean()),
        "errors_left": 100 * float(wrong_left.mean()),
        "none_left": 100 * float((wrong_left & ~has_family).mean()),
        "cost": 100 * float((COSTS["wrong team"] * wrong_left + COSTS["look"] * reviewed).mean()),
    }


def study(seeds=SEEDS, chosen=tuple(METHODS)):
    """Return all results, over random halves of the words."""
    codes, families, distances = load()
    rows = []
    for seed in range(seeds):
        half = np.random.default_rng(seed).permutation(len(distances))[: len(distances) // 2]
        D = distances[half].mean(axis=0)
        rows.append({name: evaluate(families, METHODS[name](D, seed)) for name in chosen})
    peers = [name for name in chosen if name in PEERS]
    return {
        "samples": len(codes),
        "words": len(distances),
        "repetitions": seeds,
        "looks": round(BUDGET * len(codes)),
        "costs": COSTS,
        "variants": 0,
        "methods": intervals(rows),
        "gains": gains(rows, METHOD, peers, "cost"),
        "gains_of_recm": gains(rows, "RECM", peers, "cost") if "RECM" in chosen else {},
        "map": map_of_languages(codes, families, distances.mean(axis=0)),
    }


def map_of_languages(codes, families, D):
    """Return coordinates, families, doubts and candidates of the languages, from all words."""
    partition = PARTITIONS[METHOD](D, 0)
    verdict, places = partition.verdict(), coordinates(D)[:, ::-1][:, :2]
    return [
        {
            "language": code,
            "family": str(family),
            "place": [round(float(value), 3) for value in place],
            "candidates": np.flatnonzero(candidates).tolist(),
            "label": int(label),
            "doubt": round(float(doubt), 3),
        }
        for code, family, place, candidates, label, doubt in zip(
            codes, families, places, verdict.candidates, partition.to_hard(), partition.doubt(), strict=True
        )
    ]
