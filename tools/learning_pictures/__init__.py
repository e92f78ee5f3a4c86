"""Makes the pictures of the tutorial and of the qualification."""
