"""The audit trail: entries, their hash chain, and its check."""
