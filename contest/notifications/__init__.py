"""Sweeps that notify people of facts, one per kind of message."""
