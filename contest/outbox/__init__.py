"""Messages to accounts and teams: rows, letters, preferences. What is told, and when, is decided by the callers."""
