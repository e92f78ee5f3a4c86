"""Numbers as people and programs type them into forms and addresses."""

MOST_DIGITS = 18  # of a row's number: more do not fit into the database's integers


def whole_number(typed: str, *, digits: int = MOST_DIGITS) -> int | None:
    """Return a number of at most so many digits 0 to 9, without a sign; None for everything else.

    Python reads other scripts' digits too, and refuses thousands of them with an error of its own.
    """
    return int(typed) if typed.isascii() and typed.isdecimal() and len(typed) <= digits else None
