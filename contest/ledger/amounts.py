"""Formats and parses amounts of money; stored as integer cents. Pure."""

import re

_TYPED = re.compile(r"(\d{1,3}(?:,\d{3})+|\d{1,12})(?:\.(\d{1,2}))?", re.ASCII)


def money(cents: int, currency: str) -> str:
    """Return cents with their currency, for example `USD 1,234.50`; negative ones with a minus."""
    whole, part = divmod(abs(cents), 100)
    return f"{'−' if cents < 0 else ''}{currency} {whole:,}.{part:02d}"


def cents_of(text: str) -> int | None:
    """Return what somebody typed (`1234.5`, `1,234.50`) in cents; None for anything else."""
    found = _TYPED.fullmatch(text.strip())
    if found is None:
        return None
    return int(found[1].replace(",", "")) * 100 + int((found[2] or "0").ljust(2, "0"))


def plain_amount(cents: int) -> str:
    """Return cents as a number for other programs, for example `1234.50`."""
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02d}"
