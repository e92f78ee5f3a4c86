"""The way back: an empty database filled from the releases alone (R39)."""
