"""Masses whose conflicts match the dissimilarities of pairs: EVCLUS."""
