"""Pictures as files: read safely, hashed, written as PNG, kept in the store. Knows no table."""
