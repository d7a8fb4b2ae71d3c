"""What sizes cost: time and memory against rows, the cost model, engines, and forecasts."""

import math

from .tables import provenance, table, verdict

NAMES = {"ecm": "ECM", "evclus": "EVCLUS, landmarks", "nn_evclus": "NN-EVCLUS, one epoch"}
COLOURS = {"ecm": "#0072B2", "evclus": "#D55E00", "nn_evclus": "#009E73"}


def parts(read):
    """Texts and figures of the page."""
    sizes, costs, engines = read("scale_sizes"), read("scale_costs"), read("scale_engines")
    small, forecast, service = read("scale_small"), read("scale_forecast"), read("scale_service")
    embeddings, kills = read("scale_embeddings"), read("scale_kills")
    many = read("scale_many_embeddings")
    iterations = [*read("scale_ecm_iteration")["iteration"], *embeddings["iterations"]]
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
        "many_embeddings": many_table(many) + provenance(many),
        "kills": kills_text(kills) + provenance(kills),
        "service": service_table(service) + provenance(service),
        "one_row": one_row_table(read("scale_one_row")) + provenance(read("scale_one_row")),
        "small": small_table(small) + provenance(small),
        "beside_r": beside_r(read("scale_evclus"), read("scale_bootclus")) + provenance(read("scale_evclus")),
        "iterations": iterations_table(read("scale_ecm_iteration")) + provenance(read("scale_ecm_iteration")),
        "starts": starts_table(read("scale_starts")) + provenance(read("scale_starts")),
        "epochs": epochs_table(read("scale_epochs")) + provenance(read("scale_epochs")),
    }


def in_short(sizes, iterations, engines, kills, small):
    """The largest runs, their growth, an iteration beside k-means and on engines, kills, and small data."""
    top = max(run["rows"] for run in finished(sizes))
    runs = [run for run in finished(sizes) if run["rows"] == top]
    told = "; ".join(
        f"{NAMES[run['method']]} ({run['way']}) {whole(run, 'wall') / 60:.1f} minutes and "
        f"{run['peak_bytes'] / 1e9:.1f} GB"
        for run in runs
    )
    powers = [slope for _, _, slope, *_ in growths(sizes)]
    ratios = [one["ratio"] for one in iterations]
    over_bare = {one["engine"]: f"{one['ratio']:.2f}" for one in engines["iterations"]}
    programs = {one["program"]: one["cpu_seconds"] for one in small["programs"]}
    ours, theirs = (programs[f"first fit of {name}"] for name in ("ECM", "sklearn's KMeans"))
    return verdict(
        f"**{top:,} rows on one machine with {sizes['machine']['cores']} cores**, from Parquet files to masses in "
        f"Parquet files: {told}.",
        "**Time grows about like the rows**: CPU like rows to the power of "
        f"{min(powers):.2f} to {max(powers):.2f} between the two largest sizes.",
        f"**An iteration of ECM** takes {min(ratios):.1f} to {max(ratios):.1f} times the CPU of one of k-means "
        "(scikit-learn).",
        f"**Engines**: an iteration on ten million rows takes {over_bare['dask']} (Dask), "
        f"{over_bare['ray']} (Ray) and {over_bare['processes']} (processes) times the CPU of the bare loop.",
        f"**Kills**: {kills['kills']} random kills of workers and clients, {kills['wrong']} wrong results, "
        f"{len(kills['failed'])} errors.",
        f"**Small data**: a first fit of 150 samples takes {ours:.1f} s of CPU with all imports, and "
        f"{theirs:.1f} s with scikit-learn's k-means.",
        "Ten billion rows are a forecast; nobody has run them.",
    )


def beside_r(evclus, bootclus):
    """CPU seconds of R's package as recorded, over ours."""
    names = {"gauss4_n10000": "four Gaussians, 10,000", "s2": "S2, 5,000, 15 clusters", "protein": "Protein, 213"}
    rows = [
        [
            f"EVCLUS, {names[name]}",
            f"{one['r_cpu_seconds']:.1f}",
            f"{one['cpu_seconds_median']:.2f}",
            f"{one['ratio_median']:.0f}",
            f"{one['one_start_ratio_median']:.0f}",
            f"{one['r_stress']:.5f} / {one['stress_median']:.5f}",
        ]
        for name, one in evclus["speed"].items()
    ]
    iris = bootclus["iris"]
    theirs = sorted(iris["r_cpu_seconds"])
    ratio = f"{iris['times_less_cpu']:.0f}"
    rows.append(
        ["BootClus, Iris, 150", f"{theirs[1]:.1f}", f"{theirs[1] / iris['times_less_cpu']:.2f}", ratio, ratio, "–"]
    )
    names = ("R, CPU s", "ours, CPU s", "times less", "with one start", "stress: R / ours")
    return table(["data and samples", *names], rows)


def iterations_table(found):
    """An iteration of ECM beside one of k-means."""
    rows = [
        [
            f"{one['n']:,} × {one['d']}, {one['c']}",
            one["dtype"],
            f"{one['lloyd_ms']:.0f}",
            f"{one['ecm_ms']:.0f}",
            f"{one['ratio']:.2f} ({min(one['ratios']):.2f} to {max(one['ratios']):.2f})",
        ]
        for one in found["iteration"]
    ]
    return table(["samples × features, clusters", "numbers", "k-means, ms", "ECM, ms", "ratio"], rows)


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
        "missed, best of ten",
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
        f"\nAt the pace of the last line, an epoch of {forecast['rows']:,} rows takes {forecast['hours']} hours.\n"
    )
    return table(["data", "rows", "epoch, CPU s", "all else, CPU s", "loss", "peak, MB"], rows) + after


def whole(run, clock="cpu"):
    """Seconds from files to files, without the start of the cluster: of CPU in all processes, or elapsed."""
    return sum(lap[clock] for name, lap in run["laps"].items() if name != "start")


def finished(sizes):
    return [run for run in sizes["runs"] if "failed" not in run]


def sizes_table(sizes):
    rows = []
    for run in sizes["runs"]:
        if "failed" in run:
            rows.append([NAMES[run["method"]], run["way"], f"{run['rows']:,}", "did not end", *[None] * 5])
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
    """How CPU grows between the largest two sizes: of reading, of one iteration and of masses together."""
    return "".join(
        f"- {NAMES[method]}, {way}: CPU grows like rows to the power of {slope:.2f} from {first:,} to {last:,} "
        "rows, with one iteration of the fit.\n"
        for method, way, slope, first, last in growths(sizes)
    )


def growths(sizes):
    """For each method and way, the power of the rows, and the two sizes."""
    for method in NAMES:
        for way in ("files", "collection"):
            runs = [one for one in finished(sizes) if one["method"] == method and one["way"] == way]
            if len(runs) > 1:
                first, last = sorted(runs, key=lambda one: one["rows"])[-2:]
                slope = math.log(one_pass(last) / one_pass(first)) / math.log(last["rows"] / first["rows"])
                yield method, way, slope, first["rows"], last["rows"]


def one_pass(run):
    return whole(run) - run["laps"]["fit"]["cpu"] * (1 - 1 / run["iterations"])


def largest(sizes):
    """What the largest runs took."""
    top = max(run["rows"] for run in finished(sizes))
    lines = []
    for run in finished(sizes):
        if run["rows"] == top:
            held = run.get("held_to_bytes")
            limit = f", held to {held / 1e9:.0f} GB by the kernel, cached files included" if held else ""
            lines.append(
                f"- {NAMES[run['method']]} ({run['way']}): {whole(run, 'wall') / 60:.1f} minutes "
                f"({whole(run) / 60:.1f} of CPU), {run['peak_bytes'] / 1e9:.2f} GB at the most, "
                f"{run['peak_private_bytes'] / 1e9:.2f} GB of them private{limit}; "
                f"{run['bytes_written'] / 1e9:.1f} GB of masses written."
            )
    return "\n".join(lines) + "\n"


def figure(sizes):
    import matplotlib.pyplot as plt

    drawn, (time_axes, memory_axes) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for method, name in NAMES.items():
        for way, style in (("files", "-o"), ("collection", "--s")):
            runs = [one for one in finished(sizes) if one["method"] == method and one["way"] == way]
            if runs:
                counts = [one["rows"] for one in runs]
                look = {"color": COLOURS[method], "markersize": 4, "label": f"{name} ({way})"}
                time_axes.loglog(counts, [whole(one) for one in runs], style, **look)
                memory_axes.semilogx(counts, [one["peak_bytes"] / 1e9 for one in runs], style, **look)
    time_axes.set(xlabel="rows", ylabel="CPU seconds, from files to files")
    memory_axes.set(xlabel="rows", ylabel="GB, all processes", ylim=(0, None))
    memory_axes.legend(frameon=False, fontsize=8)
    for axes in (time_axes, memory_axes):
        axes.grid(True, alpha=0.3)
    plt.close(drawn)
    return drawn


TERMS = {
    "ecm": ["1", "d c", "f", "f c"],
    "evclus": ["1", "L", "L d", "L f", "f²"],
    "nn_evclus": ["1", "1/b", "b", "b f", "1.5 f (d + f)"],
}


def costs_table(costs):
    rows = []
    for method, name in NAMES.items():
        one = costs[method]
        pairs = zip(one["coefficients"], TERMS[method], strict=True)
        terms = [written(value, term) for value, term in pairs if value]
        errors = f"{100 * one['median_relative_error']:.0f} %, {100 * one['largest_relative_error']:.0f} %"
        rows.append([name, " + ".join(terms), len(one["runs"]), errors])
    files = costs["parquet_nanoseconds_per_number"]
    rows.append(["reading Parquet, a number", f"{files['read']:.3g}", None, None])
    rows.append(["writing Parquet, a number", f"{files['write']:.3g}", None, None])
    return table(["a row of", "nanoseconds of CPU", "settings", "error: median, largest"], rows, [24, 46, 10, 20])


def written(value, term):
    number = f"{value:,.0f}" if value >= 100 else f"{value:.2g}"
    return number if term == "1" else f"{number} · {term}"


def engines_table(engines):
    ratios = {one["engine"]: one for one in engines["iterations"]}
    rows = [
        [
            one["engine"],
            one["start_seconds"],
            f"{one['memory_bytes'] / 1e6:.0f}",
            one["milliseconds_per_task"],
            one["latency_milliseconds"],
            f"{ratios[one['engine']]['ratio']:.2f} ({ratios[one['engine']]['ratios'][0]:.2f} to "
            f"{ratios[one['engine']]['ratios'][-1]:.2f})",
            f"{min(ratios[one['engine']]['wall_per_iteration']):.2f}",
        ]
        for one in engines["engines"]
    ]
    header = [
        "engine",
        "start, s",
        "memory, MB",
        "ms per task",
        "ms for two tasks",
        "iteration of ECM over the bare loop, CPU",
        "elapsed, s",
    ]
    return table(header, rows) + elapsed(engines)


def elapsed(engines):
    """How long an iteration takes by the clock, beside one on processes of joblib."""
    best = {one["engine"]: min(one["wall_per_iteration"]) for one in engines["iterations"]}
    told = [f"{name} {best[name] / best['processes']:.2f}" for name in best if name != "processes"]
    return f"\nBy the clock, an iteration takes so many times that of joblib's processes: {', '.join(told)}.\n"


def workers_table(engines):
    rows = [[one["workers"], one["tasks"], one["milliseconds_per_task"]] for one in engines["many_workers"]]
    return table(["workers", "tasks", "ms per task"], rows)


def forecast_table(forecast):
    rows = [
        [
            NAMES[one["method"]],
            one["way"],
            one["workers"],
            f"{one['block']:,}",
            duration(one["read"]),
            duration(one["fit"]),
            duration(one["masses"]),
            duration(one["total"]),
            f"{100 * one['scheduling_share']:.0f} %",
            f"{one['worker_bytes'] / 1e9:.1f}, {one['disk_bytes'] / 1e9:.1f}",
            f"{one['read_bytes_per_second'] / 1e9:.1f}, {one['write_bytes_per_second'] / 1e9:.1f}",
        ]
        for one in forecast["forecasts"]
    ]
    header = ["method", "data", "workers", "rows of a block", "read", "fit", "masses", "in all", "engine"]
    header += ["GB per worker: memory, disk", "GB/s in all: read, written"]
    return table(header, rows)


def duration(seconds):
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def check_table(forecast):
    rows = [
        [NAMES[one["method"]], one["way"], f"{one['rows']:,}", one["model"], one["measured"], one["ratio"]]
        for one in forecast["check"]
    ]
    return table(["method", "data", "rows", "model, CPU s", "measured, CPU s", "ratio"], rows)


def breaks(forecast):
    """What breaks first with more workers, and what a pass of training by one process takes."""
    lines = []
    for workers in (10, 100, 1000):
        own = [one for one in forecast["forecasts"] if one["workers"] == workers and one["method"] == "ecm"]
        told = [f"{100 * one['scheduling_share']:.0f} % ({one['way']})" for one in own]
        lines.append(f"- With {workers} workers, the engine takes {' and '.join(told)} of the time of ECM.")
    hours = forecast["epoch_of_1e10_hours"]
    return "\n".join(lines) + (
        "\n\nNN-EVCLUS is another matter. It trains in one process, or a few: an epoch of ten billion rows would "
        f"take {hours:.0f} hours of CPU. Train it on a sample, and predict the rest: prediction is one pass, "
        "shared by all workers.\n"
    )


def service_table(service):
    header = [
        "clusters, features",
        "requests, threads",
        "p50 (ms)",
        "p99 (ms)",
        "a second",
        "equal answers",
        "resident before and after (MB)",
    ]
    rows = []
    for run in service["runs"]:
        resident = " and ".join(f"{size / 1e6:.1f}" for size in run["resident_bytes"])
        for load, memory in ((run["alone"], None), (run["busy"], resident)):
            told = [f"{load['requests']:,}, {load['threads']}", load["p50_ms"], load["p99_ms"]]
            equal = f"{load['equal']:,}"
            rows.append([f"{run['clusters']}, {run['features']}", *told, round(load["per_second"]), equal, memory])
    direct, server = (
        " and ".join(f"{run[name]:.2g}" for run in service["runs"]) for name in ("direct_ms", "server_cpu_ms")
    )
    return table(header, rows) + (
        f"A request takes {server} ms of the server's CPU, all that is JSON and HTTP included; a call of "
        f"``predict_mass`` takes {direct} ms by the clock.\n\n"
    )


def one_row_table(found):
    header = [
        "model",
        "predict_mass: p50, p99 (ms)",
        "of that CPU: p50, p99 (ms)",
        "onnxruntime: p50, p99 (ms)",
        "largest difference",
        "over HTTP: p50, p99 (ms)",
        "resident after 1,000 and 10,000 (MB)",
        "cores of other programs",
    ]

    def told(times):
        return None if times is None else f"{times['p50_ms']:.2f}, {times['p99_ms']:.2f}"

    rows = []
    for run in found["runs"]:
        own, other = run["evlearn"], run.get("onnxruntime")
        resident = " and ".join(f"{size / 1e6:.1f}" for size in own["resident_bytes"])
        apart = f"{run['difference']:.0e}" if other else None
        times = [told(own["clock"]), told(own["cpu"]), told(other["clock"]) if other else None]
        rows.append([run["model"], *times, apart, told(run.get("http")), resident, own["cores_of_others"]])
    return table(header, rows)


def small_table(small):
    rows = [[one["program"], one["cpu_seconds"], ", ".join(one["extras"]) or "none"] for one in small["programs"]]
    return table(["program", "CPU seconds", "extras in memory"], rows)


def embeddings_table(embeddings):
    rows = [
        [
            f"{one['samples']:,}",
            one["clusters"],
            one["features"],
            one["beta"],
            f"{one['ecm']:.3f}",
            f"{one['lloyd']:.3f}",
            f"{one['ratio']:.2f} ({one['ratios'][0]:.2f} to {one['ratios'][-1]:.2f})",
            f"{one['products'] / one['lloyd']:.2f}",
        ]
        for one in embeddings["iterations"]
    ]
    header = [
        "samples",
        "clusters",
        "features",
        "beta",
        "ECM, s",
        "Lloyd, s",
        "ECM over Lloyd",
        "products over Lloyd",
    ]
    return table(header, rows)


def many_table(many):
    rows = [
        [
            f"{one['rows']:,}",
            f"{one['laps']['rows']['cpu']:.0f}",
            f"{one['laps']['fit']['cpu']:.0f}",
            one["iterations"],
            f"{one['laps']['labels']['cpu']:.0f}",
            f"{sum(one['laps'][lap]['wall'] for lap in ('rows', 'fit', 'labels')):.0f}",
            f"{one['peak_bytes'] / 1e9:.1f}",
            f"{one['ari']:.2f}",
        ]
        for one in many["runs"]
    ]
    header = [
        "samples",
        "CPU s, making rows",
        "CPU s, fit",
        "iterations",
        "CPU s, labels",
        "s elapsed",
        "GB",
        "ARI",
    ]
    return table(header, rows)


def rows_table(embeddings):
    rows = [
        [
            one["clusters"],
            one["features"],
            f"{1e3 * one['median_seconds']:.1f}",
            f"{one['bytes'] / 1e6:.1f}",
            f"{one['bytes_of_eight_threads'] / 1e6:.0f}",
        ]
        for one in embeddings["rows"]
    ]
    return table(["clusters", "features", "ms for one row", "MB for one row", "MB more with eight threads"], rows)


def kills_text(kills):
    """How many kills there were, and what came of them."""
    failed = f"; {len(kills['failed'])} ended in an error" if kills["failed"] else ", and none hung or failed"
    told = f"{kills['kills']} kills ({kills['of_clients']} of clients): {kills['wrong']} results were wrong"
    return f"{told}{failed}.\n"
