"""Defenses of teams: handing in, staking, and how stakes end (R28, R31-R33)."""
