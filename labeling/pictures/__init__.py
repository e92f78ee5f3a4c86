"""Pictures: taking them in, decoding, the store, and their addresses (R2, R3)."""
