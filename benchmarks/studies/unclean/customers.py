"""A raw table of customers: 5 segments, 4 formats of numbers, typing errors, missing values and 1 % nonsense.

``python -m benchmarks.studies.unclean.customers [--write]``

A file with 12,000 customers is clustered by 3 lines of Python and by one command, with 5 clusters and with an
estimated number. The saved model scores 3,000 new customers in another process. For comparison: k-means after the
same encoding, and after an encoding with scikit-learn and quantiles instead of values. The ARI is that of
customers without nonsense; nonsense should be flagged as an outlier. Results are written to
``benchmarks/results/unclean_customers.json``. It takes 5 minutes of CPU time.
"""

import csv
import subprocess
import sys
import tempfile
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer

from benchmarks.common import command_line, record
from evlearn.metrics.risk_coverage import majority_classes
from evlearn.preprocessing import TableEncoder

NAME = "unclean_customers"
SEGMENTS, N_CUSTOMERS, N_NEW, SEEDS = 5, 12_000, 3000, (1, 3, 5)
SHARES, NONSENSE, MISSING, TYPOS = (0.40, 0.27, 0.18, 0.10, 0.05), 0.01, 0.08, 0.04
HEADER = ("customer_id", "customer_since", "last_order", "yearly_spend", "orders", "age", "return_rate")
HEADER += ("channel", "plan", "region")
CHANNELS = ([0.7, 0.25, 0.05], [0.3, 0.6, 0.1], [0.5, 0.4, 0.1], [0.03, 0.12, 0.85], [0.05, 0.9, 0.05])
PLANS = ([0.9, 0.1, 0], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7], [0.6, 0.35, 0.05], [0.5, 0.25, 0.25])
VARIANTS = {
    "store": ["Store", "stroe", "STORE", "store "],
    "web": ["Web", "wbe", "web-shop"],
    "app": ["App", "aap"],
    "none": ["None", "non"],
    "silver": ["Silver", "sliver"],
    "gold": ["Gold", "gld"],
}
#: Three lines of Python; `{number}` is empty or the number of clusters.
PYTHON = """
import pandas as pd, evlearn
customers = pd.read_csv("customers.csv", index_col="customer_id")
model = evlearn.tabular_clusterer({number}random_state=0).fit(customers)
evlearn.save_model(model, "python.json")
"""
SCORING = """
import sys, pandas as pd, evlearn
customers = pd.read_csv(sys.argv[2], index_col="customer_id")
partition = evlearn.predict_mass(evlearn.load_model(sys.argv[1]), customers)
verdict = partition.verdict()
pd.DataFrame({"label": partition.to_hard(), "sure": verdict.sure, "outlier": verdict.outlier}).to_csv(sys.argv[3])
"""


def write_customers(path, n, seed, first=0):
    """Write customers to a CSV file, and return their segments and whether they have nonsense values."""
    random = np.random.default_rng(seed)
    segment, is_nonsense = random.choice(SEGMENTS, n, p=SHARES), random.random(n) < NONSENSE
    columns = draw_columns(random, segment)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        for k in range(n):
            row = [f"K{first + k:06d}", *(column[k] for column in columns)]
            if is_nonsense[k]:
                spoil(random, row)
            for place in range(1, len(row)):
                if random.random() < MISSING:
                    row[place] = random.choice(["", "", "NA"])
            writer.writerow(row)
    return segment, is_nonsense


def draw_columns(random, segment):
    """Return the columns of customers as text or numbers."""
    n = len(segment)
    age = random.normal(np.array([45, 52, 58, 26, 48])[segment], 6).round().astype(int)
    spend = np.exp(random.normal(np.array([4.2, 5.6, 7.3, 4.8, 8.6])[segment], 0.35))
    orders = random.poisson(np.array([3, 14, 18, 24, 6])[segment])
    days = np.abs(random.normal(np.array([150, 30, 40, 12, 420])[segment], np.array([50, 12, 15, 6, 70])[segment]))
    returned = random.beta(2, np.array([20, 30, 12, 6, 40])[segment])
    tenure = np.abs(random.normal(np.array([900, 2000, 2500, 250, 1800])[segment], 200))
    channel = [random.choice(["store", "web", "app"], p=CHANNELS[s]) for s in segment]
    plan = [random.choice(["none", "silver", "gold"], p=PLANS[s]) for s in segment]
    return (
        [day_before(number).isoformat() for number in tenure],
        [day_before(number).strftime("%d/%m/%Y") for number in days],
        [money(random, value) for value in spend],
        orders,
        age,
        [f"{100 * value:.1f}%" for value in returned],
        [misspell(random, word) for word in channel],
        [misspell(random, word) for word in plan],
        random.choice(["North", "South", "East", "West"], n),
    )


def day_before(number):
    return date(2026, 10, 31) - timedelta(days=int(number))


def money(random, value):
    kind = random.random()
    if kind < 0.7:
        return f"€ {value:,.2f}"
    return f"{value:.2f} EUR" if kind < 0.85 else f"€{value:,.0f}"


def misspell(random, word):
    return random.choice(VARIANTS[word]) if random.random() < TYPOS else word


def spoil(random, row):
    """Replace 3 of 4 numbers of a row by nonsense."""
    values = {
        3: f"€ {random.choice([0.01, 999999, -500]):,.2f}",
        4: random.choice([999, -1, 5000]),
        5: random.choice([999, 0, -3, 150]),
        6: f"{random.choice([400, -20, 999])}%",
    }
    for place in random.choice(list(values), 3, replace=False):
        row[place] = values[place]


def run(words, folder):
    """Run a command, and return its output."""
    return subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True).stdout


def fit_in_python(folder, n_clusters):
    number = "" if n_clusters == "auto" else f"{n_clusters}, "
    run([sys.executable, "-c", PYTHON.format(number=number)], folder)
    return "python.json"


def fit_by_command(folder, n_clusters):
    options = () if n_clusters == "auto" else ("-k", str(n_clusters))
    words = ["customers.csv", *options, "--seed", "0", "--model", "command.json"]
    run([sys.executable, "-m", "evlearn", "cluster", *words], folder)
    return "command.json"


WAYS = {"Python": fit_in_python, "command": fit_by_command}


def score(folder, model, table, truth):
    """Return the scores of a table with a stored model, in another process."""
    run([sys.executable, "-c", SCORING, model, table, "scores.csv"], folder)
    scores, (segment, is_nonsense) = pd.read_csv(folder / "scores.csv"), truth
    is_good, label, outlier = ~is_nonsense, scores["label"].to_numpy(), scores["outlier"].to_numpy()
    sure = scores["sure"].to_numpy() & is_good
    wrong = majority_classes(segment, label) != segment
    return {
        "ari": adjusted_rand_score(segment[is_good], label[is_good]),
        "sure": sure.mean(),
        "sure_wrong": wrong[sure].mean(),
        "recall": outlier[is_nonsense].mean(),
        "precision": (outlier & is_nonsense).sum() / max(outlier.sum(), 1),
    }


def peers(table, truth, seed):
    """Return the ARI of k-means with the encoding of `TableEncoder`, and with scikit-learn's."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), QuantileTransformer(output_distribution="normal"))
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (words, ["channel", "plan", "region"]),
        sparse_threshold=0,
    )
    encoders = {"TableEncoder": TableEncoder(missing="impute"), "scikit-learn's encoders": columns}
    segment, is_nonsense = truth
    aris = {}
    for name, encoder in encoders.items():
        labels = make_pipeline(encoder, KMeans(SEGMENTS, n_init=10, random_state=seed)).fit_predict(table)
        aris[f"k-means, {name}"] = round(
            float(adjusted_rand_score(segment[~is_nonsense], labels[~is_nonsense])), 4
        )
    return aris


def study(seeds=SEEDS, n_customers=N_CUSTOMERS, n_new=N_NEW):
    """Return the scores of each way, number of clusters and seed, and those of k-means."""
    entries = []
    for seed in seeds:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            truths = {
                "customers.csv": write_customers(folder / "customers.csv", n_customers, seed),
                "december.csv": write_customers(folder / "december.csv", n_new, seed + 1, n_customers),
            }
            for way, fit in WAYS.items():
                for n_clusters in (SEGMENTS, "auto"):
                    model = fit(folder, n_clusters)
                    for table, truth in truths.items():
                        scores = score(folder, model, table, truth)
                        (folder / "scores.csv").unlink()
                        entry = {"seed": seed, "way": way, "n_clusters": n_clusters, "table": table}
                        entries.append(entry | {key: round(float(value), 4) for key, value in scores.items()})
                        print(entries[-1], flush=True)
            table = pd.read_csv(folder / "customers.csv", index_col="customer_id")
            entries.append({"seed": seed, "table": "customers.csv"} | peers(table, truths["customers.csv"], seed))
            print(entries[-1], flush=True)
    return entries


def main():
    reader = command_line.parser(__doc__)
    reader.add_argument("--write", action="store_true", help=f"write to results/{NAME}.json")
    arguments = reader.parse_args()
    entries = study()
    if arguments.write:
        record.write(NAME, {"entries": entries})


if __name__ == "__main__":
    main()
