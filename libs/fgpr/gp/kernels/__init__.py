"""One small file a kernel, and sums of products of them. Imports only `fgpr.errors` and `fgpr.gp.arrays`."""
