"""Relational methods (RECM, ECMdd): clusters of dissimilarities, with weighted means or medoids."""
