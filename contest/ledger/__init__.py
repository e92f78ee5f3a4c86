"""The ledger of prize money: accounts, entries, deposits, withheld money, and its public view (R24, R34, R39)."""
