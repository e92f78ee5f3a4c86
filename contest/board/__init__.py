"""The review board: who steps aside, what it votes on, and what follows (R18-R21)."""
