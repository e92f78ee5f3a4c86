"""Pages of teams."""
