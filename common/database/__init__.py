"""What Django's models do not say to the database: triggers, prepared lookups, lock conflicts."""
