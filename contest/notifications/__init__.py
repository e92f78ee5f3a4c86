"""Which facts become which message: one sweep for each kind."""
