"""Rebuilds an empty database from the releases (R39)."""
