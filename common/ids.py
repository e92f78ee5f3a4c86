"""Public IDs: short, readable aloud, unrelated to the row's number (R4)."""

from django.utils.crypto import get_random_string

# No I, L, O, U: nobody mistakes one character for another, and no words appear.
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def random_id(prefix: str, length: int) -> str:
    """Return for example `T-7Q4M2` for ("T", 5)."""
    return f"{prefix}-{get_random_string(length, ALPHABET)}"
