"""Makes the pictures to learn from."""
