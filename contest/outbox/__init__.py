"""Messages to accounts and teams: rows, e-mails, preferences. Callers decide which messages are sent, and when."""
