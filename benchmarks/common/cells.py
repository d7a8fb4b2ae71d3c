"""Cells of published tables beside our results, in one form for all papers."""

import csv

import numpy as np

from benchmarks.common import reference


def published(name):
    """Return the rows of a table, transcribed from a paper."""
    with reference.results("seed_tables", f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


#: Messages about parts that were skipped because data are missing.
MISSING_DATA = []


def with_data(*parts):
    """Return the cells of all parts that have their data; print a message about the others."""
    cells = []
    for part in parts:
        try:
            cells += part()
        except FileNotFoundError as error:
            if str(error) not in MISSING_DATA:
                print(f"left out: {error}", flush=True)
                MISSING_DATA.append(str(error))
    return cells


def cell(table, row, column, published, values, tolerance, settings=""):
    """Return a cell: a published number beside our result, the mean of one or more runs.

    For example, `table` is "NN-EVCLUS, Table 3"; `row` and `column` locate the number in it. The numbers agree if
    they differ by at most `tolerance`. If they do not agree, `cause` describes the measured cause.
    """
    runs = np.atleast_1d(np.asarray(values, dtype=float))
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


#: Tables with a tolerance so wide that any setting agrees.
WIDE = ("NN-EVCLUS, Figure 14", "Bootclus, Table 8", "Bootclus, Table 12")


def evidence(cell):
    """Return the kind of evidence of a cell: "full", or "time", "zero", "weak" or "random data" if it is weak.

    CPU seconds agree if ours are fewer. A published 0 is easy to reproduce, and so is a number with a wide
    tolerance. Data that the authors drew at random and did not publish can only be drawn again.
    """
    if cell["tolerance"] is None:
        return "time"
    if cell["published"] == 0 == cell["ours"]:
        return "zero"
    if cell["table"] in WIDE or (cell["table"].endswith("Glass") and cell["row"] != "all"):
        return "weak"
    if any(name in cell["column"] + cell["row"] for name in ("Banana", "GvHD")):
        return "random data"
    return "full"


def agrees(cell):
    """Return True if a cell is within its tolerance or within 2 standard errors of the difference of the means."""
    return cell["within"] or bool(
        cell["spread"] and abs(cell["ours"] - cell["published"]) <= 2 * cell["spread"] * np.sqrt(2 / cell["runs"])
    )


def without_data(table, reason, n_cells):
    """Return an entry for a published table, or a part of it, that cannot be compared, with the reason."""
    return {"table": table, "reason": reason, "cells": n_cells}


def chance_tolerance(recorded, runs, rounding=1e-3):
    """Return the tolerance of a mean over `runs`: 4 standard errors of the difference, plus rounding."""
    spread = recorded["spread"] or 0.0
    return rounding + 4 * spread * (1 / recorded["runs"] + 1 / runs) ** 0.5
