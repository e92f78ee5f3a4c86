"""Database features outside Django's models: triggers, prepared queries, lock conflicts, rows in groups."""
