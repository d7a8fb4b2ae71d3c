"""Gaussian mixtures with a choice of covariance models."""

from evlearn.mixture.parsimonious_gaussian_mixture import ParsimoniousGaussianMixture

__all__ = ["ParsimoniousGaussianMixture"]
