"""How much of an update can be told from what is stored of its contribution, by linear regression."""

import numpy as np


def standardised(raw: bytes) -> np.ndarray:
    """Bytes as numbers of mean 0 and variance 1, were they drawn evenly."""
    return (np.frombuffer(raw, dtype=np.uint8) - 127.5) / np.sqrt((256**2 - 1) / 12)


def held_out_r2(X: np.ndarray, Y: np.ndarray) -> float:
    """R^2 of a least squares fit on one half, judged on the other, both ways, for the best told column of Y.

    1 where a column can be told; about 0, or below, where nothing can: the fit then does no better than the mean.

    Args:
        X: what is seen, shape [n, p], with n above 2 p.
        Y: what is asked for, shape [n, L].
    """
    half = len(X) // 2
    found = []
    for train, test in ((slice(None, half), slice(half, None)), (slice(half, None), slice(None, half))):
        design = np.column_stack([X, np.ones(len(X))])
        fit, *_ = np.linalg.lstsq(design[train], Y[train], rcond=None)
        residual = Y[test] - design[test] @ fit
        total = Y[test] - Y[train].mean(axis=0)
        found.append(1 - (residual**2).sum(axis=0) / (total**2).sum(axis=0))
    return float(np.mean(found, axis=0).max())
