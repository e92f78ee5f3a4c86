"""How the contest runs: health, deadlines and forecasts, what waits for whom, the audit trail."""
