"""Customer data: numbers in different units, categories, booleans, dates, missing values, and a text id."""

import numpy as np
import pandas as pd

#: Income, age, orders per year, months as a customer; then proportions of contracts, regions and newsletters.
_SEGMENTS = {
    "students": ((16_000, 24, 22, 14), (0.85, 0.10, 0.05), (0.25, 0.25, 0.25, 0.25), 0.75),
    "families": ((52_000, 41, 34, 60), (0.15, 0.75, 0.10), (0.20, 0.30, 0.30, 0.20), 0.50),
    "pensioners": ((27_000, 69, 6, 130), (0.05, 0.30, 0.65), (0.40, 0.20, 0.20, 0.20), 0.15),
    "professionals": ((88_000, 36, 12, 30), (0.60, 0.35, 0.05), (0.10, 0.15, 0.15, 0.60), 0.30),
}
CONTRACTS = ("monthly", "yearly", "lifelong")
REGIONS = ("north", "south", "east", "west")
_SPREAD = (0.18, 0.12, 0.25, 0.25)  # standard deviation of each number, relative to its mean


def make_customers(n_samples=5000, *, n_between=200, n_odd=40, gaps=0.03, random_state=0):
    """Return a frame of customers, and the kind of each: the name of a segment, "between" or "odd"."""
    random = np.random.default_rng(random_state)
    names = list(_SEGMENTS)
    first = random.integers(len(names), size=n_samples)
    second = np.where(random.random(n_samples) < 0.5, (first + 1) % len(names), (first + 3) % len(names))
    kinds = np.array(names, dtype=object)[first]
    special = random.permutation(n_samples)[: n_between + n_odd]
    ambiguous, odd = special[:n_between], special[n_between:]
    kinds[ambiguous], kinds[odd] = "between", "odd"
    means = np.array([_SEGMENTS[name][0] for name in names], dtype=float)
    center = means[first]
    center[ambiguous] = np.sqrt(means[first[ambiguous]] * means[second[ambiguous]])
    numbers = center * np.exp(random.normal(size=center.shape) * _SPREAD)
    rich, busy = odd[::2], odd[1::2]
    numbers[rich, 0] = random.uniform(200_000, 600_000, size=len(rich))
    numbers[busy, 2] = random.uniform(90, 250, size=len(busy))
    groups = np.where(np.isin(np.arange(n_samples), ambiguous) & (random.random(n_samples) < 0.5), second, first)
    frame = pd.DataFrame(
        {
            "income": np.round(numbers[:, 0], -1),
            "age": np.round(numbers[:, 1]),
            "orders": np.round(numbers[:, 2]),
            "contract": _draw_categories(random, CONTRACTS, [_SEGMENTS[name][1] for name in names], groups),
            "region": _draw_categories(random, REGIONS, [_SEGMENTS[name][2] for name in names], groups),
            "newsletter": random.random(n_samples) < np.array([_SEGMENTS[name][3] for name in names])[groups],
            "joined": pd.Timestamp("2026-01-01") - pd.to_timedelta(np.round(30.4 * numbers[:, 3]), unit="D"),
        },
        index=pd.Index([f"C-{number:05d}" for number in range(n_samples)], name="customer"),
    )
    for name in ("income", "age", "contract", "region"):
        frame.loc[random.random(n_samples) < gaps, name] = np.nan if name in ("income", "age") else None
    return frame, kinds


def _draw_categories(random, words, shares, groups):
    borders = np.cumsum(shares, axis=1)[groups]
    places = np.minimum((random.random(len(groups))[:, None] > borders).sum(axis=1), len(words) - 1)
    return pd.Series(np.array(words, dtype=object)[places], dtype="str").to_numpy()
