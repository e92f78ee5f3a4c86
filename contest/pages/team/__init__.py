"""What teams open."""
