"""The ledger: accounts, entries, deposits, money withheld, and what of it is public (R24, R34, R39)."""
