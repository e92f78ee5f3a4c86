"""Pictures: import, storage and addresses (R2, R3)."""
