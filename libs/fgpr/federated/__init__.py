"""The server's side of FGPR: who takes part, what is averaged, how theta moves. May import `gp` and `secagg`."""
