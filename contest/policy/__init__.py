"""The policy as people record and read it: the organizers' pages, and what everybody may know of each version."""
