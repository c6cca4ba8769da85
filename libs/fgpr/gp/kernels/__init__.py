"""One small file a kernel: its correlations and their gradients. Imports only `fgpr.errors` and `fgpr.gp.arrays`."""
