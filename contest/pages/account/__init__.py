"""Pages of an account's messages."""
