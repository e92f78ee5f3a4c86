"""Payments to teams: payable sums, payments, corrections, and the data of the money pages (R34)."""
