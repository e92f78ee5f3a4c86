"""Organizers' list of all pictures, and the import of photographs."""
