"""All pictures, and taking photographs in, for organizers."""
