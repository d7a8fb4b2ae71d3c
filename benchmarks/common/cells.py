"""Cells of published tables beside ours: one form for all papers."""

import csv

import numpy as np

from benchmarks.common import reference


def published(name):
    """The rows of a table as transcribed from a paper."""
    with reference.results("seed_tables", f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


#: What was not run, because its data are not there.
LEFT_OUT = []


def with_data(*parts):
    """The cells of the parts whose data are there; of the others it is said what is missing."""
    cells = []
    for part in parts:
        try:
            cells += part()
        except FileNotFoundError as error:
            if str(error) not in LEFT_OUT:
                print(f"left out: {error}", flush=True)
                LEFT_OUT.append(str(error))
    return cells


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


#: Tables whose tolerance is so wide that any setting would do.
WIDE = ("NN-EVCLUS, Figure 14", "Bootclus, Table 8", "Bootclus, Table 12")


def worth(one):
    """What a cell can show: "full", or why it shows little: "time", "zero", "weak" or "drawn anew".

    CPU seconds agree if ours are fewer. A published zero that is zero here as well is easily met, and so is a
    number with a wide tolerance. Data that the authors drew at random and did not publish can only be drawn anew.
    """
    if one["tolerance"] is None:
        return "time"
    if one["published"] == 0 == one["ours"]:
        return "zero"
    if one["table"] in WIDE or (one["table"].endswith("Glass") and one["row"] != "all"):
        return "weak"
    if any(name in one["column"] + one["row"] for name in ("Banana", "GvHD")):
        return "drawn anew"
    return "full"


def agrees(one):
    """Whether a cell is within its tolerance, or differs by no more than two standard errors of two such means."""
    return one["within"] or bool(
        one["spread"] and abs(one["ours"] - one["published"]) <= 2 * one["spread"] * np.sqrt(2 / one["runs"])
    )


def without_data(table, reason, n_cells):
    """A published table, or a part of it, that cannot be compared, and why."""
    return {"table": table, "reason": reason, "cells": n_cells}


def room_for_chance(before, runs, rounding=1e-3):
    """How far a mean over `runs` may be from the one on record: four standard errors, and rounding."""
    spread = before["spread"] or 0.0
    return rounding + 4 * spread * (1 / before["runs"] + 1 / runs) ** 0.5
