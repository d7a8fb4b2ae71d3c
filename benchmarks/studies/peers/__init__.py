"""Comparison with other packages."""
