"""Pages of the organizers."""
