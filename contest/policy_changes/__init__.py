"""Recording policy versions, and what a change leaves unaffected."""
