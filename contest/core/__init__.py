"""Shared by all rooms of the contest: weeks, embargo, breaks, teams."""
