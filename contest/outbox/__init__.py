"""Messages to accounts and teams: rows, letters, preferences. Callers decide what is sent and when."""
