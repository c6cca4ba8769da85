"""Federated Gaussian process regression: numerics, secure aggregation and the audit log.

Pure: no clock, network, SQL, files, environment or global randomness; time and randomness come in as arguments.
Imports nothing of the services.
"""
