"""Comparison of published numbers with ours."""
