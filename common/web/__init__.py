"""What every request and answer has in common."""
