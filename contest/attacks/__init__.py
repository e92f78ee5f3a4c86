"""Attacks: pictures that teams send, their receipts, and what becomes of them (R23-R26)."""
