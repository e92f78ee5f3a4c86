"""Defenses as entries of teams: handing in, publication, stakes and their clock (R28, R31-R33, R36)."""
