"""Clusters from nearest neighbours: EK-NNclus, and the peaks of belief."""
