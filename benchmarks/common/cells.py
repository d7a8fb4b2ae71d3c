"""Cells of published tables beside ours: one form for all papers."""

import csv

import numpy as np

from benchmarks.common import reference


def published(name):
    """The rows of a table as transcribed from a paper."""
    with (reference.folder() / "reference" / "seed_tables" / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def cell(table, row, column, published, ours, tolerance, settings=""):
    """A published number beside ours, the mean of one or more runs.

    `table` is, for example, "NN-EVCLUS, Table 3"; `row` and `column` say which number of it. Two numbers agree if
    they differ by no more than `tolerance`; for one that does not agree, `cause` says what was measured about it.
    """
    runs = np.atleast_1d(np.asarray(ours, dtype=float))
    mean = float(runs.mean())
    return {
        "table": table,
        "row": row,
        "column": column,
        "published": published,
        "ours": round(mean, 6),
        "spread": round(float(runs.std(ddof=1)), 6) if len(runs) > 1 else None,
        "runs": len(runs),
        "tolerance": tolerance,
        "within": bool(abs(mean - published) <= tolerance + 1e-9),
        "settings": settings,
        "cause": None,
    }


def without_data(table, reason, n_cells):
    """A published table, or a part of it, that cannot be compared, and why."""
    return {"table": table, "reason": reason, "cells": n_cells}


def room_for_chance(before, runs, rounding=1e-3):
    """How far a mean over `runs` may be from the one on record: four standard errors, and rounding."""
    spread = before["spread"] or 0.0
    return rounding + 4 * spread * (1 / before["runs"] + 1 / runs) ** 0.5
