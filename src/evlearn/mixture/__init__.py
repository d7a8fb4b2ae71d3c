"""Gaussian mixtures: clusters that are ellipsoids, with as many or as few free parameters as the data ask for."""

from evlearn.mixture.parsimonious_gaussian_mixture import ParsimoniousGaussianMixture

__all__ = ["ParsimoniousGaussianMixture"]
