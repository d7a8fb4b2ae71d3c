"""Clusterers with prototypes: evidential versions of c-means for samples with features."""
