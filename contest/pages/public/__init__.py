"""Pages that everybody may open, without an account."""
