"""Attacks: submitted pictures, their receipts and their states (R23-R26)."""
