"""Running the contest: health, deadlines, forecasts, waiting work, the audit trail."""
