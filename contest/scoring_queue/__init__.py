"""What scoring does now, and answers done again as a set: the organizers' pages."""
