"""Django's database engine for PostgreSQL, with a cheaper check of kept connections."""
