"""The review board: conflicts, cases, votes, motions and decisions (R18-R21)."""
