"""Shared code of requests and responses."""
