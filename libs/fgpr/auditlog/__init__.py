"""The audit log: signed checkpoints and the leaves of a Merkle tree. `checkpoint` knows nothing of rounds."""
