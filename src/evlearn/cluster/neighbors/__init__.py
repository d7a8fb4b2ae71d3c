"""Clustering by nearest neighbors: EK-NNclus and belief peaks."""
