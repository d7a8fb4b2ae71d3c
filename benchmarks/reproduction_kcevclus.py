"""The tables of the k-CEVCLUS paper (Li, Li and Denoeux 2018) beside ours.

Run it with ``python benchmarks/reproduction_kcevclus.py [--quick] [--json FILE] [--shared ../shared]``. It
reproduces Table 2 (against the weight xi), Table 3 (against the quantile for d0) and what Section 4.5 says about
Figure 9.

What the paper leaves open, and how it was settled:

- Attributes are raw. The unconstrained row of Table 2 comes out to 0.01 with raw Glass, Iris and Ecoli;
  standardised, Iris drops to 0.66 and the nonspecificity of Glass rises from 0.21 to 0.29.
- Glass has two classes with 214 objects: window glass (types 1 to 3) and other glass (5 to 7). Ecoli has 272
  objects in three classes: its three largest, cp, im and pp (143, 77 and 52).
- Constraints weigh as much as in the R package, and in evlearn: four times what equation (9) prints. The
  printed weight fits Table 2 much worse; the output counts its cells too.
- The Banana data are random draws and the authors' are not published. Ours are a draw of the R generator with
  seed 7, not chosen for its results. For cells that differ, the range over ten other draws is shown.
- d0 is a quantile over pairs of different objects; with the zero diagonal it would be the 0.8995-quantile.
- Starts and the order of sweeps are evlearn's defaults. One random start in a fixed order, R's defaults, brings
  about as many cells within 0.05 (89 and 61), but for Glass without constraints nonspecificity 0.25, not 0.21; its
  minimum is flat: the stress is the same to 0.0002 of it.
- Every run draws new constraints; run number i has the same ones in all cells of a column.
"""

import argparse
import csv
import json
import platform
import time
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import adjusted_rand_score

import evlearn
from evlearn.cluster import EVCLUS
from evlearn.constraints import PairwiseConstraints
from evlearn.datasets import make_bananas

CLOSE = 0.05
QUANTILES = {"Banana_200": 0.9, "Glass": 0.9, "Iris": 0.6, "Ecoli": 0.9}
EQUATION_9 = 0.25  # the weight that the paper prints, as a share of that of the R package
DRAWS = 10
FIGURE_9 = (
    (500, 0, "about 0.5"),
    (500, 5, "about 0.8, as 1500 without expansion"),
    (1500, 0, "as 500 with K=5"),
    (1500, 5, "not stated"),
    (2000, 0, "about 0.88 (Section 4.4)"),
)


def load(shared):
    """The four small data sets and Banana_2000: name -> (X, y)."""

    def read(name, n_attributes):
        table = np.genfromtxt(shared / "data" / name, delimiter=",", skip_header=1)
        return table[:, :n_attributes], table[:, n_attributes].astype(int)

    glass, kind = read("glass_uci.csv", 9)
    ecoli, site = read("ecoli.csv", 7)
    return {
        "Banana_200": read("bananas_n200_seed7.csv", 2),
        "Glass": (glass, (kind >= 5).astype(int)),
        "Iris": read("iris.csv", 4),
        "Ecoli": (ecoli[site <= 3], site[site <= 3]),
        "Banana_2000": read("bananas_n2000_seed7.csv", 2),
    }


def one_run(X, y, n_constraints, xi, quantile, seed, *, weight=1.0, n_neighbors=0, n_partners="all"):
    """ARI and nonspecificity of one fit, with new constraints and the paper's schedule 0, 0.05, xi."""
    constraints = PairwiseConstraints.sample(y, n_constraints, random_state=seed).expand(X, n_neighbors)
    model = EVCLUS(
        len(np.unique(y)),
        focal_sets="simple",
        d0_quantile=quantile,
        n_partners=n_partners,
        xi_schedule=[weight * value for value in sorted({0.0, min(0.05, xi), xi})],
        random_state=seed,
    )
    model.fit(X, constraints=constraints)
    return adjusted_rand_score(y, model.labels_), model.credal_partition_.nonspecificity()


def published(shared, number, quick):
    """The cells of a table: what they are about, and the values in print."""
    with open(shared / "reference" / "seed_tables" / f"kcevclus_table0{number}.csv") as file:
        for row in csv.DictReader(file):
            xi = float(row.get("xi", 0.5))
            quantile = float(row.get("d0_quantile", QUANTILES[row["dataset"]]))
            if not quick or (xi in (0, 0.05, 0.5) and quantile in (0.3, 0.6, 0.9)):
                yield {
                    "table": number,
                    "dataset": row["dataset"],
                    "n_constraints": int(row["nb_constraints"]),
                    "xi": xi,
                    "quantile": quantile,
                    "published_ari": float(row["ari_mean"]),
                    "published_nonspecificity": float(row["nonspecificity_mean"]),
                }


def settings(cell):
    """What a cell is about, in the order of `one_run`."""
    return cell["n_constraints"], cell["xi"], cell["quantile"]


def fill(cells, data, pool, n_runs, weight=1.0):
    """Our values of the cells, with the spread of ARI over the runs."""
    runs = pool(
        delayed(one_run)(*data[one["dataset"]], *settings(one), seed, weight=weight)
        for one in cells
        for seed in range(n_runs)
    )
    for cell, values in zip(cells, np.reshape(runs, (-1, n_runs, 2)), strict=True):
        cell["ari"], cell["nonspecificity"] = values.mean(axis=0).round(4).tolist()
        cell["ari_sd"] = round(float(values[:, 0].std(ddof=1)), 4)
        cell["within"] = abs(cell["ari"] - cell["published_ari"]) <= CLOSE + 1e-9
    return cells


def explain(cell, pool, n_runs):
    """What speaks for chance where a cell is not close: two means over few runs, local minima, another draw."""
    difference = cell["published_ari"] - cell["ari"]
    error = cell["ari_sd"] * np.sqrt(1 / n_runs + 1 / 10)
    note = f"{difference / max(error, 1e-3):+.1f} standard errors of the difference"
    if cell["ari_sd"] > 0.1:
        note += f"; runs end in different local minima (s.d. {cell['ari_sd']:.2f})"
    if cell["dataset"] == "Banana_200":
        draws = [make_bananas(200, random_state=draw) for draw in range(DRAWS)]
        runs = pool(delayed(one_run)(*draw, *settings(cell), seed) for draw in draws for seed in range(n_runs))
        means = np.reshape(runs, (DRAWS, n_runs, 2))[..., 0].mean(axis=1)
        note += f"; {DRAWS} other draws of the data give {means.min():.2f} to {means.max():.2f}"
    return note


def show(cells, number):
    """Print a table, ours beside the published values."""
    varied = "xi" if number == 2 else "quantile"
    print(f"\nTable {number}: ours / published (difference), * if ARI is not within {CLOSE}")
    print(f"{'constraints':>11} {varied:>8}  {'data':<12} {'ARI':<21} nonspecificity")
    for one in cells:
        values = [
            f"{one[name]:.2f} / {one[f'published_{name}']:.2f} ({one[name] - one[f'published_{name}']:+.2f})"
            for name in ("ari", "nonspecificity")
        ]
        values.insert(1, " " if one["within"] else "*")
        print(f"{one['n_constraints']:>11} {one[varied]:>8g}  {one['dataset']:<12}", *values)


def summarise(cells, title):
    """Counts and mean differences, printed and returned."""
    ari, vague = (
        np.array([one[name] - one[f"published_{name}"] for one in cells]) for name in ("ari", "nonspecificity")
    )
    within, ari, vague = sum(one["within"] for one in cells), np.abs(ari).mean(), np.abs(vague).mean()
    print(f"{title}: {within} of {len(cells)} cells within {CLOSE} in ARI;", end=" ")
    print(f"mean absolute difference {ari:.3f} in ARI, {vague:.3f} in nonspecificity")
    differences = {"mean_ari_difference": round(ari, 4), "mean_nonspecificity_difference": round(vague, 4)}
    return {"cells": len(cells), "within": within, **differences}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="some cells only, and three runs each")
    parser.add_argument("--json", help="also write the results to this file")
    root = Path(__file__).resolve().parents[1]
    parser.add_argument("--shared", type=Path, default=root.parent / "shared", help="where data and tables are")
    arguments = parser.parse_args()
    start = time.perf_counter()
    data, n_runs = load(arguments.shared), 3 if arguments.quick else 10
    pool = Parallel(n_jobs=2)
    versions = {"evlearn": evlearn.__version__, "numpy": np.__version__, "python": platform.python_version()}
    results = {"versions": versions, "quick": arguments.quick, "runs": n_runs, "cells": [], "summary": {}}
    for number in (2, 3):
        cells = fill(list(published(arguments.shared, number, arguments.quick)), data, pool, n_runs)
        show(cells, number)
        for cell in cells:
            if not cell["within"]:
                cell["note"] = explain(cell, pool, n_runs)
                where = f"{cell['dataset']}, {cell['n_constraints']} constraints, xi {cell['xi']:g}, quantile"
                print(f"  * {where} {cell['quantile']:g}: {cell['note']}")
        results["summary"][f"table_{number}"] = summarise(cells, f"Table {number}")
        results["cells"] += cells
    print()
    cells = fill(list(published(arguments.shared, 2, arguments.quick)), data, pool, n_runs, EQUATION_9)
    results["summary"]["table_2_equation_9"] = summarise(cells, "Table 2 with the weight of equation (9)")
    print("\nFigure 9 and Section 4.4, Banana_2000, 200 partners, xi 0.5: median ARI (quartiles)")
    results["figure_9"] = []
    for n_constraints, K, text in FIGURE_9:
        task = *data["Banana_2000"], n_constraints, 0.5, 0.9
        runs = pool(delayed(one_run)(*task, s, n_neighbors=K, n_partners=200) for s in range(n_runs))
        low, median, high = np.quantile([ari for ari, _ in runs], [0.25, 0.5, 0.75]).round(4).tolist()
        print(f"  {n_constraints} constraints, K={K}: {median:.2f} ({low:.2f} to {high:.2f})   paper: {text}")
        results["figure_9"].append({"n_constraints": n_constraints, "K": K, "quartiles": [low, median, high]})
    results["seconds"] = round(time.perf_counter() - start)
    print(f"\n{results['seconds']} seconds")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
