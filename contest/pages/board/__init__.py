"""What the review board opens."""
