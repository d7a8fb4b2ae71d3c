"""Clusters with a centre: evidential relatives of c-means, for rows of features."""
