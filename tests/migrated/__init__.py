"""Migrations run once in a test run. What else needs an SQLite database starts from a copy of the first."""
