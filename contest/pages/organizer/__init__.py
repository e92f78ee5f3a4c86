"""What organizers open."""
