"""Mutants that no test notices, each with the reason why that is right."""

SURVIVORS: dict[str, str] = {}
