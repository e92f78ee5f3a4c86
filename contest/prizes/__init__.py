"""Prizes: shares of stakes and their settlement, conditions of awards, awards and forfeits (R22, R35-R38)."""
