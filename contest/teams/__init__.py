"""Teams: who is in them, why they may attack, and whether they are paid (R8, R25, R27)."""
