"""Two commands as tests have them: migrations run once in a test run, and only what was written to is emptied."""
