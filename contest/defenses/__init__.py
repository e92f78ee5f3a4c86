"""Defenses of teams: submission, stakes and their ends (R28, R31-R33)."""
