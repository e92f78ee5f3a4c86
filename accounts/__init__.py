"""Accounts: roles, invitations, signing in, passwords, leaving (R4, R8)."""
