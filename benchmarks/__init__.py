"""Benchmarks: the studies behind the pages of the record, and a small set of regression benchmarks."""
