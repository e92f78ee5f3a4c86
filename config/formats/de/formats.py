"""German: 21. November 2026, 04:17 CET."""

DATE_FORMAT = "j. F Y"
DATETIME_FORMAT = "j. F Y, H:i T"
