"""The audit trail: its rows, their chain and its check."""
