"""Coverage-guided fuzzing of what reads a stranger's release: `python -m tests.fuzz` (docs/testing.md)."""
