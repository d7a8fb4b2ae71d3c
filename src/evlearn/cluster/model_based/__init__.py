"""Clusters from Gaussian mixtures, and what resamples say about them."""
