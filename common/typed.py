"""Numbers and words as people and programs type them into forms and addresses."""

from common.errors import InvalidInput

MOST_DIGITS = 18  # of a row's number: more do not fit into the database's integers


def whole_number(typed: str, *, digits: int = MOST_DIGITS) -> int | None:
    """Return a number of at most so many digits 0 to 9, without a sign; None for everything else.

    Python reads other scripts' digits too, and refuses thousands of them with an error of its own.
    """
    return int(typed) if typed.isascii() and typed.isdecimal() and len(typed) <= digits else None


def words_said(typed: str, *, field: str, ask: str, most: int) -> str:
    """Return words that somebody has to give, without what is around them.

    Raises InvalidInput at `field` without any, in the words `ask`, and for more than `most` characters.
    """
    said = typed.replace("\x00", "").replace("\r\n", "\n").strip()
    if not said:
        raise InvalidInput(ask, "invalid", field=field)
    if len(said) > most:
        raise InvalidInput(f"Write at most {most:,} characters.", "invalid", field=field)
    return said
