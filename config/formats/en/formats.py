"""English: 21 Nov 2026, 04:17 CET."""

DATE_FORMAT = "j M Y"
DATETIME_FORMAT = "j M Y, H:i T"
