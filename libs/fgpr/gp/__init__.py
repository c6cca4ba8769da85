"""Gaussian-process numerics: models, likelihoods, local training, posteriors.

Imports only `fgpr.errors` and `fgpr.canonical`.
"""
