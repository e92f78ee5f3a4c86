"""Teams: members, entitlements and associations (R8, R25, R27)."""
