"""The calls of the API, and their description."""
