"""Data and jobs to run the contest: health, deadlines, forecasts, waiting work, the audit trail."""
