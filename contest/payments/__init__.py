"""Payments: what is payable, payments, corrections and statements (R34)."""
