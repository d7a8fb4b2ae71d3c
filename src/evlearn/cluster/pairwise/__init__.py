"""Pairwise methods (EVCLUS): masses whose conflicts match the dissimilarities of pairs."""
