"""Secure aggregation of bounded vectors, opened by a committee; both roles, no I/O.

May import `fgpr.auditlog.checkpoint` and the modules at the top of `fgpr`.
"""
