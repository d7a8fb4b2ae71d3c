"""Clusters of objects of which only dissimilarities are known: weighted means and medoids."""
