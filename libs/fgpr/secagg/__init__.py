"""Secure aggregation of bounded vectors, opened by a committee; both roles, no I/O.

May import `checkpoint` and `cosignature` of `fgpr.auditlog`, and the modules at the top of `fgpr`.
"""
