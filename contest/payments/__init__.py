"""Money that leaves the contest: what is payable, payments, corrections, and statements of it (R34)."""
