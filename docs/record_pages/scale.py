"""Cost at scale: time and memory by number of rows, the cost model, engines, and forecasts."""

import math

from .tables import provenance, table, verdict

NAMES = {"ecm": "ECM", "evclus": "EVCLUS, landmarks", "nn_evclus": "NN-EVCLUS, one epoch"}
COLORS = {"ecm": "#0072B2", "evclus": "#D55E00", "nn_evclus": "#009E73"}


def parts(read_results):
    """Return the texts and figures of the page."""
    sizes, costs, engines = read_results("scale_sizes"), read_results("scale_costs"), read_results("scale_engines")
    small, forecast, service = (
        read_results("scale_small"),
        read_results("scale_forecast"),
        read_results("scale_service"),
    )
    embeddings, kills = read_results("scale_embeddings"), read_results("scale_kills")
    many_embeddings, very_many = (
        read_results(f"scale_{name}") for name in ("many_embeddings", "very_many_clusters")
    )
    iterations = [*read_results("scale_ecm_iteration")["iteration"], *embeddings["iterations"]]
    return {
        "verdict": in_short(sizes, iterations, engines, kills, small),
        "sizes": sizes_table(sizes) + provenance(sizes),
        "slopes": slopes(sizes),
        "figure": figure(sizes),
        "largest": largest(sizes),
        "costs": costs_table(costs) + provenance(costs),
        "engines": engines_table(engines) + provenance(engines),
        "workers": workers_table(engines),
        "forecast": forecast_table(forecast),
        "check": check_table(forecast),
        "breaks": breaks(forecast),
        "embeddings": embeddings_table(embeddings) + provenance(embeddings),
        "rows": rows_table(embeddings),
        "many_embeddings": many_table(many_embeddings) + provenance(many_embeddings),
        "very_many": very_many_table(very_many) + provenance(very_many),
        "kills": kills_text(kills) + provenance(kills),
        "service": service_table(service) + provenance(service),
        "one_row": one_row_table(read_results("scale_one_row")) + provenance(read_results("scale_one_row")),
        "small": small_table(small) + provenance(small),
        "beside_r": beside_r(read_results("scale_evclus"), read_results("scale_bootclus"))
        + provenance(read_results("scale_evclus")),
        "iterations": iterations_table(read_results("scale_ecm_iteration"))
        + provenance(read_results("scale_ecm_iteration")),
        "starts": starts_table(read_results("scale_starts")) + provenance(read_results("scale_starts")),
        "epochs": epochs_table(read_results("scale_epochs")) + provenance(read_results("scale_epochs")),
    }


def in_short(sizes, iterations, engines, kills, small):
    """Return the largest runs, their growth, the cost of iterations and engines, kills, and small data."""
    top = max(run["rows"] for run in finished(sizes))
    runs = [run for run in finished(sizes) if run["rows"] == top]
    texts = "; ".join(
        f"{NAMES[run['method']]} ({run['way']}) {whole(run, 'wall') / 60:.1f} minutes and "
        f"{run['peak_bytes'] / 1e9:.1f} GB"
        for run in runs
    )
    powers = [slope for _, _, slope, *_ in growths(sizes)]
    ratios = [entry["ratio"] for entry in iterations]
    over_bare = {entry["engine"]: f"{entry['ratio']:.2f}" for entry in engines["iterations"]}
    programs = {entry["program"]: entry["cpu_seconds"] for entry in small["programs"]}
    library_seconds, peer_seconds = (programs[f"first fit of {name}"] for name in ("ECM", "sklearn's KMeans"))
    return verdict(
        f"**{top:,} rows on one machine with {sizes['machine']['cores']} cores**, from Parquet files to masses in "
        f"Parquet files: {texts}.",
        "**Time is about linear in the number of rows**: the exponent of CPU time is "
        f"{min(powers):.2f} to {max(powers):.2f} between the 2 largest sizes.",
        f"**An iteration of ECM** takes {min(ratios):.1f} to {max(ratios):.1f} times the CPU of an iteration of "
        "k-means (scikit-learn).",
        f"**Engines**: an iteration on 10 million rows takes {over_bare['dask']} (Dask), "
        f"{over_bare['ray']} (Ray) and {over_bare['processes']} (processes) times the CPU of the bare loop.",
        f"**Kills**: {kills['kills']} random kills of workers and clients, {kills['wrong']} wrong results, "
        f"{len(kills['failed'])} errors.",
        f"**Small data**: a first fit of 150 samples takes {library_seconds:.1f} s of CPU with all imports, and "
        f"{peer_seconds:.1f} s with scikit-learn's k-means.",
        "The results for 10 billion rows are a forecast.",
    )


def beside_r(evclus, bootclus):
    """Return recorded CPU seconds of R's package, and those of this library."""
    names = {"gauss4_n10000": "4 Gaussians, 10,000", "s2": "S2, 5,000, 15 clusters", "protein": "Protein, 213"}
    rows = [
        [
            f"EVCLUS, {names[name]}",
            f"{entry['r_cpu_seconds']:.1f}",
            f"{entry['cpu_seconds_median']:.2f}",
            f"{entry['ratio_median']:.0f}",
            f"{entry['one_start_ratio_median']:.0f}",
            f"{entry['r_stress']:.5f} / {entry['stress_median']:.5f}",
        ]
        for name, entry in evclus["speed"].items()
    ]
    iris = bootclus["iris"]
    r_seconds = sorted(iris["r_cpu_seconds"])
    ratio = f"{iris['times_less_cpu']:.0f}"
    rows.append(
        [
            "BootClus, Iris, 150",
            f"{r_seconds[1]:.1f}",
            f"{r_seconds[1] / iris['times_less_cpu']:.2f}",
            ratio,
            ratio,
            "–",
        ]
    )
    names = ("R, CPU s", "ours, CPU s", "ratio", "ratio, one start", "stress: R / ours")
    return table(["data and samples", *names], rows)


def iterations_table(results):
    """Return the times of an iteration of ECM and of k-means."""
    rows = [
        [
            f"{entry['n']:,} × {entry['d']}, {entry['c']}",
            entry["dtype"],
            f"{entry['lloyd_ms']:.0f}",
            f"{entry['ecm_ms']:.0f}",
            f"{entry['ratio']:.2f} ({min(entry['ratios']):.2f} to {max(entry['ratios']):.2f})",
        ]
        for entry in results["iteration"]
    ]
    return table(["samples × features, clusters", "type", "k-means, ms", "ECM, ms", "ratio"], rows)


def starts_table(starts):
    rows = [
        [
            run["sizes"],
            f"{100 * run['missed']:.1f} %",
            f"{run['seconds']:.1f}",
            f"{100 * run['missed_by_best_of_ten']:.1f} %",
            f"{run['seconds_of_best_of_ten']:.1f}",
            f"{run['lloyd_seconds']:.2f}",
        ]
        for run in starts["runs"]
    ]
    header = [
        "sizes of clusters",
        "missed",
        "CPU, s",
        "missed, best of 10",
        "CPU, s",
        "iteration of k-means, CPU s",
    ]
    return table(header, rows)


def epochs_table(epochs):
    rows = [
        [
            run["way"],
            f"{run['rows']:,}",
            f"{run['epoch_seconds']:.1f}",
            f"{run['other_seconds']:.1f}",
            f"{run['loss']:.5f}",
            run["peak_mb"],
        ]
        for run in epochs["runs"]
    ]
    forecast = epochs["forecast"]
    after = (
        f"\nAt the speed of the last row, an epoch of {forecast['rows']:,} rows takes {forecast['hours']} hours.\n"
    )
    return table(["data", "rows", "epoch, CPU s", "other, CPU s", "loss", "peak, MB"], rows) + after


def whole(run, clock="cpu"):
    """Return seconds from files to files, without the start of the cluster, of CPU in all processes or elapsed."""
    return sum(lap[clock] for name, lap in run["laps"].items() if name != "start")


def finished(sizes):
    return [run for run in sizes["runs"] if "failed" not in run]


def sizes_table(sizes):
    rows = []
    for run in sizes["runs"]:
        if "failed" in run:
            rows.append([NAMES[run["method"]], run["way"], f"{run['rows']:,}", "did not finish", *[None] * 5])
            continue
        laps = run["laps"]
        rows.append(
            [
                NAMES[run["method"]],
                run["way"],
                f"{run['rows']:,}",
                f"{whole(run, 'wall'):.1f}",
                f"{whole(run):.1f}",
                f"{laps['fit']['cpu']:.1f} ({run['iterations']})",
                f"{run['peak_bytes'] / 1e9:.2f}",
                f"{run['peak_private_bytes'] / 1e9:.2f}",
                f"{run['ari']:.3f}, {100 * run['outliers_found']:.0f} %",
            ]
        )
    header = [
        "method",
        "data",
        "rows",
        "elapsed, s",
        "CPU, s",
        "fit, CPU s (iterations)",
        "GB",
        "private GB",
        "ARI, outliers",
    ]
    return table(header, rows)


def slopes(sizes):
    """Return the growth of CPU time of reading, one iteration and masses between the 2 largest sizes."""
    return "".join(
        f"- {NAMES[method]}, {way}: the exponent of CPU time is {slope:.2f} from {first:,} to {last:,} "
        "rows, with one iteration of the fit.\n"
        for method, way, slope, first, last in growths(sizes)
    )


def growths(sizes):
    """Yield the exponent of the number of rows, and the 2 sizes, for each method and kind of data."""
    for method in NAMES:
        for way in ("files", "collection"):
            runs = [run for run in finished(sizes) if run["method"] == method and run["way"] == way]
            if len(runs) > 1:
                first, last = sorted(runs, key=lambda run: run["rows"])[-2:]
                slope = math.log(one_pass(last) / one_pass(first)) / math.log(last["rows"] / first["rows"])
                yield method, way, slope, first["rows"], last["rows"]


def one_pass(run):
    return whole(run) - run["laps"]["fit"]["cpu"] * (1 - 1 / run["iterations"])


def largest(sizes):
    """Return the cost of the largest runs."""
    top = max(run["rows"] for run in finished(sizes))
    lines = []
    for run in finished(sizes):
        if run["rows"] == top:
            limit_bytes = run.get("held_to_bytes")
            limit = (
                f", limited to {limit_bytes / 1e9:.0f} GB by the kernel, including cached files"
                if limit_bytes
                else ""
            )
            lines.append(
                f"- {NAMES[run['method']]} ({run['way']}): {whole(run, 'wall') / 60:.1f} minutes "
                f"({whole(run) / 60:.1f} of CPU), {run['peak_bytes'] / 1e9:.2f} GB at most, "
                f"{run['peak_private_bytes'] / 1e9:.2f} GB of them private{limit}; "
                f"{run['bytes_written'] / 1e9:.1f} GB of masses written."
            )
    return "\n".join(lines) + "\n"


def figure(sizes):
    import matplotlib.pyplot as plt

    picture, (time_axes, memory_axes) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for method, name in NAMES.items():
        for way, style in (("files", "-o"), ("collection", "--s")):
            runs = [run for run in finished(sizes) if run["method"] == method and run["way"] == way]
            if runs:
                counts = [run["rows"] for run in runs]
                style_options = {"color": COLORS[method], "markersize": 4, "label": f"{name} ({way})"}
                time_axes.loglog(counts, [whole(run) for run in runs], style, **style_options)
                memory_axes.semilogx(counts, [run["peak_bytes"] / 1e9 for run in runs], style, **style_options)
    time_axes.set(xlabel="rows", ylabel="CPU seconds, from files to files")
    memory_axes.set(xlabel="rows", ylabel="GB, all processes", ylim=(0, None))
    memory_axes.legend(frameon=False, fontsize=8)
    for axes in (time_axes, memory_axes):
        axes.grid(True, alpha=0.3)
    plt.close(picture)
    return picture


TERMS = {
    "ecm": ["1", "d c", "f", "f c"],
    "evclus": ["1", "L", "L d", "L f", "f²"],
    "nn_evclus": ["1", "1/b", "b", "b f", "1.5 f (d + f)"],
}


def costs_table(costs):
    rows = []
    for method, name in NAMES.items():
        entry = costs[method]
        pairs = zip(entry["coefficients"], TERMS[method], strict=True)
        terms = [term_text(value, term) for value, term in pairs if value]
        errors = f"{100 * entry['median_relative_error']:.0f} %, {100 * entry['largest_relative_error']:.0f} %"
        rows.append([name, " + ".join(terms), len(entry["runs"]), errors])
    files = costs["parquet_nanoseconds_per_number"]
    rows.append(["reading Parquet, per number", f"{files['read']:.3g}", None, None])
    rows.append(["writing Parquet, per number", f"{files['write']:.3g}", None, None])
    return table(
        ["method, per row", "nanoseconds of CPU", "settings", "error: median, largest"], rows, [24, 46, 10, 20]
    )


def term_text(value, term):
    number = f"{value:,.0f}" if value >= 100 else f"{value:.2g}"
    return number if term == "1" else f"{number} · {term}"


def engines_table(engines):
    ratios = {entry["engine"]: entry for entry in engines["iterations"]}
    rows = [
        [
            entry["engine"],
            entry["start_seconds"],
            f"{entry['memory_bytes'] / 1e6:.0f}",
            entry["milliseconds_per_task"],
            entry["latency_milliseconds"],
            f"{ratios[entry['engine']]['ratio']:.2f} ({ratios[entry['engine']]['ratios'][0]:.2f} to "
            f"{ratios[entry['engine']]['ratios'][-1]:.2f})",
            f"{min(ratios[entry['engine']]['wall_per_iteration']):.2f}",
        ]
        for entry in engines["engines"]
    ]
    header = [
        "engine",
        "start, s",
        "memory, MB",
        "ms per task",
        "ms for 2 tasks",
        "iteration of ECM relative to the bare loop, CPU",
        "elapsed, s",
    ]
    return table(header, rows) + elapsed(engines)


def elapsed(engines):
    """Return the elapsed time of an iteration, relative to joblib's processes."""
    best = {entry["engine"]: min(entry["wall_per_iteration"]) for entry in engines["iterations"]}
    texts = [f"{name} {best[name] / best['processes']:.2f}" for name in best if name != "processes"]
    return f"\nElapsed time of an iteration relative to joblib's processes: {', '.join(texts)}.\n"


def workers_table(engines):
    rows = [
        [entry["workers"], entry["tasks"], entry["milliseconds_per_task"]] for entry in engines["many_workers"]
    ]
    return table(["workers", "tasks", "ms per task"], rows)


def forecast_table(forecast):
    rows = [
        [
            NAMES[entry["method"]],
            entry["way"],
            f"{entry['rows'] / 1e9:g}",
            entry["workers"],
            f"{entry['block']:,}",
            duration(entry["read"]),
            duration(entry["fit"]),
            duration(entry["masses"]),
            duration(entry["total"]),
            f"{100 * entry['scheduling_share']:.0f} %",
            f"{entry['worker_bytes'] / 1e9:.1f}, {entry['disk_bytes'] / 1e9:.1f}",
            f"{entry['read_bytes_per_second'] / 1e9:.1f}, {entry['write_bytes_per_second'] / 1e9:.1f}",
            f"{entry['written_bytes'] / 1e9:.0f}, {entry['frame_bytes'] / 1e9:.0f}",
        ]
        for entry in forecast["forecasts"]
    ]
    header = ["method", "data", "billion rows", "workers", "rows per block", "read", "fit", "masses", "total"]
    header += ["engine", "GB per worker: memory, disk", "total GB/s: read, written", "GB: masses, columns"]
    return table(header, rows)


def duration(seconds):
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def check_table(forecast):
    rows = [
        [
            NAMES[entry["method"]],
            entry["way"],
            f"{entry['rows']:,}",
            entry["model"],
            entry["measured"],
            entry["ratio"],
        ]
        for entry in forecast["check"]
    ]
    return table(["method", "data", "rows", "model, CPU s", "measured, CPU s", "ratio"], rows)


def breaks(forecast):
    """Return the share of the engine by number of workers, and the time of an epoch in one process."""
    lines = []
    for workers in (10, 100, 1000):
        forecasts = [
            entry for entry in forecast["forecasts"] if entry["workers"] == workers and entry["rows"] == 10**10
        ]
        texts = [f"{100 * entry['scheduling_share']:.0f} % ({entry['way']})" for entry in forecasts]
        lines.append(f"- With {workers} workers, the engine takes {' and '.join(texts)} of the time of ECM.")
    hours = forecast["epoch_of_1e10_hours"]
    return "\n".join(lines) + (
        "\n\nNN-EVCLUS trains in one or a few processes: an epoch of 10 billion rows would take "
        f"{hours:.0f} hours of CPU. Fit it to a subset, and predict the other rows: prediction is one pass, "
        "shared by all workers.\n"
    )


def service_table(service):
    header = [
        "clusters, features",
        "requests, threads",
        "p50 (ms)",
        "p99 (ms)",
        "per second",
        "equal results",
        "resident before and after (MB)",
    ]
    rows = []
    for run in service["runs"]:
        resident = " and ".join(f"{size / 1e6:.1f}" for size in run["resident_bytes"])
        for load, memory in ((run["alone"], None), (run["busy"], resident)):
            texts = [f"{load['requests']:,}, {load['threads']}", load["p50_ms"], load["p99_ms"]]
            equal = f"{load['equal']:,}"
            rows.append(
                [f"{run['clusters']}, {run['features']}", *texts, round(load["per_second"]), equal, memory]
            )
    direct, server = (
        " and ".join(f"{run[name]:.2g}" for run in service["runs"]) for name in ("direct_ms", "server_cpu_ms")
    )
    return table(header, rows) + (
        f"A request takes {server} ms of the server's CPU, including JSON and HTTP; the elapsed time of a call of "
        f"``predict_mass`` is {direct} ms.\n\n"
    )


def one_row_table(results):
    header = [
        "model",
        "predict_mass: p50, p99 (ms)",
        "its CPU: p50, p99 (ms)",
        "onnxruntime: p50, p99 (ms)",
        "largest difference",
        "over HTTP: p50, p99 (ms)",
        "resident after 1,000 and 10,000 (MB)",
        "cores of other programs",
    ]

    def percentiles(times):
        return None if times is None else f"{times['p50_ms']:.2f}, {times['p99_ms']:.2f}"

    rows = []
    for run in results["runs"]:
        library_run, onnx_run = run["evlearn"], run.get("onnxruntime")
        resident = " and ".join(f"{size / 1e6:.1f}" for size in library_run["resident_bytes"])
        difference = f"{run['difference']:.0e}" if onnx_run else None
        times = [
            percentiles(library_run["clock"]),
            percentiles(library_run["cpu"]),
            percentiles(onnx_run["clock"]) if onnx_run else None,
        ]
        rows.append(
            [
                run["model"],
                *times,
                difference,
                percentiles(run.get("http")),
                resident,
                library_run["cores_of_others"],
            ]
        )
    return table(header, rows)


def small_table(small):
    rows = [
        [entry["program"], entry["cpu_seconds"], ", ".join(entry["extras"]) or "none"]
        for entry in small["programs"]
    ]
    return table(["program", "CPU seconds", "extras in memory"], rows)


def embeddings_table(embeddings):
    rows = [
        [
            f"{entry['samples']:,}",
            entry["clusters"],
            entry["features"],
            entry["beta"],
            f"{entry['ecm']:.3f}",
            f"{entry['lloyd']:.3f}",
            f"{entry['ratio']:.2f} ({entry['ratios'][0]:.2f} to {entry['ratios'][-1]:.2f})",
            f"{entry['products'] / entry['lloyd']:.2f}",
        ]
        for entry in embeddings["iterations"]
    ]
    header = [
        "samples",
        "clusters",
        "features",
        "beta",
        "ECM, s",
        "Lloyd, s",
        "ECM / Lloyd",
        "products / Lloyd",
    ]
    return table(header, rows)


def many_table(many_embeddings):
    rows = [
        [
            f"{entry['rows']:,}",
            f"{entry['laps']['rows']['cpu']:.0f}",
            f"{entry['laps']['fit']['cpu']:.0f}",
            entry["iterations"],
            f"{entry['laps']['labels']['cpu']:.0f}",
            f"{sum(entry['laps'][lap]['wall'] for lap in ('rows', 'fit', 'labels')):.0f}",
            f"{entry['peak_bytes'] / 1e9:.1f}",
            f"{entry['ari']:.2f}",
        ]
        for entry in many_embeddings["runs"]
    ]
    header = [
        "samples",
        "CPU s, generating rows",
        "CPU s, fit",
        "iterations",
        "CPU s, labels",
        "elapsed, s",
        "GB",
        "ARI",
    ]
    return table(header, rows)


def very_many_table(very_many):
    """Return costs of a row with 10,000 clusters beside faiss, and of 10 million rows composed of them."""
    n_rows, ccm, faiss = very_many["rows"], very_many["ours"], very_many["faiss"]
    parts = [
        ("an iteration", ccm["laps"]["collect"], faiss["laps"]["iteration"]),
        ("prediction", ccm["laps"]["assign"], faiss["laps"]["search"]),
        ("labels and doubt from the masses", ccm["laps"]["labels"] + ccm["laps"]["doubt"], None),
        ("reading a Parquet file", very_many["parquet"]["laps"]["read"], None),
        ("writing sets and masses to Parquet", ccm["laps"]["write"], None),
    ]
    rows = [
        [
            name,
            f"{1e6 * seconds / n_rows:.0f}",
            "" if faiss_seconds is None else f"{1e6 * faiss_seconds / n_rows:.0f}",
        ]
        for name, seconds, faiss_seconds in parts
    ]
    composed = very_many["composed"]
    hours = f"{composed['rows'] / 1e6:.0f} million rows, {composed['iterations']} iterations, CPU hours (composed)"
    rows.append([hours, f"{composed['cpu_hours']:.1f}", f"{composed['faiss_cpu_hours']:.1f}"])
    peaks = [
        f"{method['peak_of_iteration'] / 1e6:.0f}" if method["peak_of_iteration"] else "less than to draw the rows"
        for method in (ccm, faiss)
    ]
    rows.append(["memory of an iteration beyond the rows, MB", *peaks])
    rows.append(["bytes of the masses of a row", f"{ccm['bytes_per_row']:.0f}", ""])
    fitted = very_many["fitted"]["float32"]
    rows.append(["the same for 400 clusters of a fit", f"{fitted['bytes_per_row']:.0f}", ""])
    return table(["microseconds of CPU time for each row", "CCM", "faiss"], rows)


def rows_table(embeddings):
    rows = [
        [
            entry["clusters"],
            entry["features"],
            f"{1e3 * entry['median_seconds']:.1f}",
            f"{entry['bytes'] / 1e6:.1f}",
            f"{entry['bytes_of_eight_threads'] / 1e6:.0f}",
        ]
        for entry in embeddings["rows"]
    ]
    return table(
        ["clusters", "features", "ms for one row", "MB for one row", "additional MB with 8 threads"], rows
    )


def kills_text(kills):
    """Return the numbers of kills by outcome."""
    failed = (
        f"; {len(kills['failed'])} ended with an error" if kills["failed"] else ", and no process hung or failed"
    )
    texts = f"{kills['kills']} kills ({kills['of_clients']} of clients): {kills['wrong']} results were wrong"
    return f"{texts}{failed}.\n"
