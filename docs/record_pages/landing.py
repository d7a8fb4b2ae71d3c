"""Parts of the front page and of README: a figure of doubt and errors, 3 answers, limits and 3 claims."""

from statistics import median

from matplotlib.figure import Figure

from benchmarks.common.cells import agrees
from benchmarks.studies.answers.one_call import pool_lists
from benchmarks.studies.answers.summary import by_family, duel, interval

from . import peers, reproduction, scale
from .tables import interval_text

#: Lists of data sets that were not used to choose a default.
LISTS = ("validation", "held-out families", "tables")
#: Methods of the figure, by their names in the results; those of this library are in blue.
METHODS = {
    "CCM": "CCM",
    "ECM": "ECM",
    "Ward": "Ward, ratio of distances",
    "CredalEnsemble": "CredalEnsemble",
    "k-means": "k-means, ratio of distances",
    "tied mixture": "GaussianMixture, tied",
    "spectral": "spectral, neighbors",
    "Gaussian mixture": "GaussianMixture",
    "MergedMixture": "MergedMixture",
    "hdbscan": "HDBSCAN",
}
LIBRARY_METHODS = ("CCM", "ECM", "CredalEnsemble", "MergedMixture")
CURVES = {
    "CredalEnsemble": ("CredalEnsemble", "#0072B2", "o"),
    "CCM": ("CCM", "#56B4E9", "s"),
    "Gaussian mixture": ("GaussianMixture", "#D55E00", "^"),
    "hdbscan": ("HDBSCAN", "#595959", "D"),
}
BLUE, GRAY = "#0072B2", "#8C8C8C"


def parts(read_results):
    """Return the texts and figures of the front page."""
    doubt = read_doubt(read_results)
    answer_texts, limit_texts = answers(read_results, doubt), limits(doubt)
    proofs = [f"**{title}.** {text} See :doc:`/record/{page}`." for title, text, page in proved(read_results)]
    return {
        "sets": sets(doubt) + "\n\n",
        "doubt": doubt_figure(doubt),
        "answers": "\n".join(f"* {text}" for text in answer_texts) + "\n\n",
        "deciles": deciles_figure(read_results("answers_deciles")["summary"]),
        "last_tenth": last_tenth(read_results("answers_deciles")["summary"]) + "\n\n",
        "limits": "\n".join(f"* {text}" for text in limit_texts) + "\n\n",
        "proofs": "\n".join(f"* {text}" for text in proofs) + "\n\n",
    }


def markdown(read_results):
    """Return the same texts for README, in Markdown."""
    doubt = read_doubt(read_results)
    lists = (answers(read_results, doubt), limits(doubt))
    texts = ["\n".join(f"- {text}" for text in list_of_texts) for list_of_texts in lists]
    return [alternative_text(doubt), *(text.replace("``", "`") for text in (sets(doubt), *texts))]


def read_doubt(read_results):
    """Return the entries of all data sets by method, and those on which each method makes errors."""
    lists = read_results("answers_one_call")["lists"]
    entries = {}
    for entry in pool_lists({name: lists[name] for name in LISTS}):
        entries.setdefault(entry["data"], {})[entry["method"]] = entry
    with_errors = {
        data: by_method
        for data, by_method in entries.items()
        if all(by_method[method].get("aurc_normalized") is not None for method in METHODS)
    }
    return {"all": entries, "with errors": with_errors}


def mean(entries, method, score):
    """Return the mean score of a method over families, with its interval."""
    pairs = [(by_method[method]["family"], by_method[method].get(score)) for by_method in entries.values()]
    return interval(list(by_family(pairs).values()))


def of_method(entries, method):
    """Return the entries of a method by data set."""
    return {data: by_method[method] for data, by_method in entries.items()}


def difference(entries, method, other, score):
    """Return the mean difference between the scores of 2 methods over families, with its interval."""
    pairs = [
        (by_method[method]["family"], by_method[method][score] - by_method[other][score])
        for by_method in entries.values()
        if None not in (by_method[method].get(score), by_method[other].get(score))
    ]
    return interval(list(by_family(pairs).values()))


def scores(doubt):
    """Return the score of each method of the figure, the best first."""
    means = {method: mean(doubt["with errors"], method, "aurc_normalized") for method in METHODS}
    return dict(sorted(means.items(), key=lambda pair: pair[1]["mean"]))


def sets(doubt):
    """Return the number of data sets and the meaning of the score."""
    with_errors = doubt["with errors"]
    families = {next(iter(by_method.values()))["family"] for by_method in with_errors.values()}
    return (
        "Doubt is a number for each sample, which should be large if the label may be wrong. The score of a "
        "method, the normalized area under the risk-coverage curve, is 0 if its wrong labels have the largest "
        "doubt, and 1 if its doubt is no better than a random order: small is good. Means over "
        f"{len(with_errors)} data sets of {len(families)} kinds that were not used to choose defaults, with 95 % "
        "intervals. ``CCM`` is k-means with doubt, and ``ECM`` its fuzzy counterpart; ``CredalEnsemble`` "
        "combines 7 methods, for clusters of other shapes."
    )


def answers(read_results, doubt):
    """Return the answers to 3 questions, each as a text."""
    score = {method: f"{entry['mean']:.2f}" for method, entry in scores(doubt).items()}
    cloud = {
        entry["method"]: entry
        for entry in read_results("answers")["special"]
        if entry["data"].startswith("one cloud") and "10 features" in entry["data"]
    }
    sure_of_cloud = {name: f"{100 * cloud[name]['others_sure']:.0f} %" for name in ("mixture", "CCM")}
    of_outliers = peers.of_kind(read_results("peers_side_by_side"), "cluster")
    alarms, recall = (
        {
            name: f"{100 * peers.average(of_outliers['outliers_1000', name], figure):.0f} %"
            for name in ("CCM", "hdbscan")
        }
        for figure in ("false_alarms", "outliers_found")
    )
    margin = difference(doubt["with errors"], "k-means", "CCM", "aurc_normalized")
    return (
        "**Why not predict_proba?** Probabilities of clusters sum to 1 even far from all of them, and a "
        "Gaussian mixture has probabilities near 0 or 1 for nearly all samples, right or wrong: its score is "
        f"{score['Gaussian mixture']}, and the score of CCM is {score['CCM']}. For a single Gaussian with 10 "
        f"features, which has no clusters, a mixture is sure of {sure_of_cloud['mixture']} of the samples (with a "
        f"probability of at least 0.6), and CCM of {sure_of_cloud['CCM']}.",
        "**Why not HDBSCAN?** It has one label, noise, for samples between clusters, far from all, or in sparse "
        f"parts of a cluster: its score is {score['hdbscan']}. With 3 % planted outliers, it "
        f"labeled {recall['hdbscan']} of the outliers and {alarms['hdbscan']} of the other samples as noise; CCM "
        f"marked {recall['CCM']} of the outliers, and {alarms['CCM']} of the others.",
        "**Why not the margin of k-means?** The ratio of the 2 smallest distances ranks nearly as well: its score "
        f"is {score['k-means']}, a difference of {margin['mean']:.2f} (95 % interval from {margin['low']:.2f} to "
        f"{margin['high']:.2f}). But it has no threshold for sure labels, no candidates for the others, and no "
        "outliers.",
    )


def limits(doubt):
    """Return the limits of the library, each as a text."""
    entries = doubt["all"]
    single = difference(entries, "CCM", "k-means", "ari")
    ensemble = duel(of_method(entries, "CredalEnsemble"), of_method(entries, "CCM"), "ari")
    return (
        "**No better labels from a single method.** The ARI of CCM differs from that of k-means by "
        f"{interval_text(single, '+.2f')}. The ARI of the ensemble is higher than that of CCM by "
        f"{interval_text(ensemble, '.2f')}, but lower on {ensemble['lost']} of {ensemble['families']} kinds of "
        "data.",
        "**No curved clusters from CCM.** It needs the number of clusters, and its clusters are roughly round.",
        "**Not your classes.** Doubt is about clusters. If these are not your classes, sure labels are wrong "
        "too; only some known labels can show this.",
        "**No probability of error.** Doubt ranks samples. It is not calibrated, and a label has no guarantee, "
        "except in conformal sets.",
    )


def doubt_figure(doubt):
    """Draw the score of each method with its interval."""
    means = scores(doubt)
    picture = Figure(figsize=(7.2, 3.9), layout="constrained")
    ax = picture.subplots()
    for position, (method, entry) in enumerate(means.items()):
        color = BLUE if method in LIBRARY_METHODS else GRAY
        ax.barh(position, entry["mean"], color=color, height=0.72)
        ax.plot([entry["low"], entry["high"]], [position, position], color="black", linewidth=1.4)
        ax.text(0.01, position, f"{entry['mean']:.2f}", color="white", va="center", weight="bold", fontsize=12)
    ax.set_yticks(range(len(means)), [METHODS[method] for method in means], fontsize=12)
    for label, method in zip(ax.get_yticklabels(), means, strict=True):
        label.set(color=BLUE if method in LIBRARY_METHODS else "black")
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    ax.set_xticks([0, 0.5, 1], ["0: doubt finds\nall errors", "0.5", "1: a random\norder"], fontsize=11)
    ax.spines[["top", "right"]].set_visible(False)
    return picture


def alternative_text(doubt):
    """Return the figure as text."""
    return "Score by method: " + ", ".join(
        f"{METHODS[method]} {entry['mean']:.2f}" for method, entry in scores(doubt).items()
    )


def deciles_figure(summary):
    """Draw the error rate by decile of doubt."""
    picture = Figure(figsize=(7.2, 3.6), layout="constrained")
    ax = picture.subplots()
    for method, (name, color, marker) in CURVES.items():
        means = [100 * entry["mean"] for entry in summary[method]]
        ax.plot(range(1, 11), means, color=color, marker=marker, label=name, linewidth=2)
    ax.set_xticks(range(1, 11), ["least", *map(str, range(2, 10)), "most"], fontsize=11)
    ax.tick_params(axis="y", labelsize=11)
    ax.set_xlabel("tenth of the samples, by doubt", fontsize=12)
    ax.set_ylabel("wrong labels, %", fontsize=12)
    ax.set_ylim(0)
    ax.legend(fontsize=11, frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return picture


def last_tenth(summary):
    """Return the error rates of the first and last tenth as a sentence."""
    texts = [
        f"{CURVES[method][0]} {100 * summary[method][0]['mean']:.0f} and {100 * summary[method][-1]['mean']:.0f} %"
        for method in CURVES
    ]
    return f"Wrong labels in the first and in the last tenth: {'; '.join(texts)}."


def proved(read_results):
    """Return 3 claims: a title, a sentence, and the page with the evidence."""
    cells = [cell for name in reproduction.PARTS for cell in read_results(f"reproduction_{name}")["cells"]]
    full = reproduction.informative_cells(cells)
    peer_ratios, r_ratios = ratios(read_results("peers_side_by_side"))
    largest = max(
        (
            run
            for run in scale.finished(read_results("scale_sizes"))
            if (run["method"], run["way"]) == ("ecm", "files")
        ),
        key=lambda run: run["rows"],
    )
    return [
        (
            "Agreement with the papers and R",
            f"{sum(map(agrees, full))} of {len(full)} published numbers agree within tolerance or chance; the "
            "others are explained. Tests compare our results with those of R's evclust and evclass.",
            "reproduction",
        ),
        (
            "Speed",
            f"ECM reaches the criterion of PyPI's evclust with {min(peer_ratios):.0f} to {max(peer_ratios):.0f} "
            f"times less CPU time, on the same machine. R's evclust took {min(r_ratios):.0f} to "
            f"{max(r_ratios):.0f} times our time in {len(r_ratios)} runs recorded on another machine.",
            "peers",
        ),
        (
            "A hundred million rows",
            f"ECM clusters {largest['rows'] / 1e6:.0f} million rows from Parquet files and writes their masses in "
            f"{scale.whole(largest, 'wall') / 60:.1f} minutes on two cores, with "
            f"{largest['peak_bytes'] / 1e9:.1f} GB of memory.",
            "scale",
        ),
    ]


def ratios(results):
    """Return ratios of CPU time: PyPI's evclust for the same criterion, and R's recorded runs."""
    pairs = peers.of_kind(results, "same_criterion")
    pairs_of_entries = [
        (pairs[data, "ECM"], pairs[data, "evclust ecm"]) for data in dict.fromkeys(data for data, _ in pairs)
    ]
    peer_ratios = [
        peers.average(their, "cpu_seconds") / peers.average(our, "cpu_seconds")
        for our, their in pairs_of_entries
        if "ended" not in their
    ]
    r_ratios = [
        median(results["of_r"][case]["cpu_seconds"]) / peers.average(entry, "cpu_seconds", median)
        for (_, case), entry in peers.of_kind(results, "recorded").items()
        if case in results["of_r"] and "ended" not in entry
    ]
    return peer_ratios, r_ratios
