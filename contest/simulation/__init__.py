"""Simulations of labeling and of a whole contest, through the real services (R6)."""
