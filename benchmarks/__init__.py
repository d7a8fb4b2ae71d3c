"""Measurements: studies that pages of the record are made of, and a small set of cases against regressions."""
