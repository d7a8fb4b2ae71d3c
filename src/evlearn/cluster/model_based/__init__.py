"""Clustering with mixture models, and its uncertainty from resamples."""
