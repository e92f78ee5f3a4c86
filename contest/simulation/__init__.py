"""A month of labeling with made-up people, through the real services (R6)."""
