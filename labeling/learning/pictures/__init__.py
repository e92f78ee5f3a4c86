"""The pictures to learn from, and what makes them."""
