"""Who wins what: shares, settlement, conditions, awards and forfeits (R22, R35-R38)."""
