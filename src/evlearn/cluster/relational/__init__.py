"""Clusters of samples of which only dissimilarities are known: weighted means and medoids."""
