"""Weekly releases: their content, order and hash chain (R39)."""
