"""Pages of the review board."""
