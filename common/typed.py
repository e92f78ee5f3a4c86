"""Parses and validates numbers and texts that people and programs type."""

import re
from dataclasses import dataclass

from common.errors import InvalidInput

MAX_DIGITS = 18  # of a row's number: more do not fit into the database's integers
# A word, or one character of scripts without blanks between words: Thai to Khmer, kana, and Han characters.
_WORD = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]|[^\W_]+")


def whole_number(typed: str, *, digits: int = MAX_DIGITS) -> int | None:
    """Return a number of at most so many digits 0 to 9, without a sign; None for everything else.

    Python reads other scripts' digits too, and refuses thousands of them with an error of its own.
    """
    return int(typed) if typed.isascii() and typed.isdecimal() and len(typed) <= digits else None


def clean_words(typed: str, *, field: str, ask: str, max_length: int) -> str:
    """Return a required text without surrounding white space.

    Raises InvalidInput at `field` without any, in the words `ask`, and for more than `max_length` characters.
    """
    said = typed.replace("\x00", "").replace("\r\n", "\n").strip()
    if not said:
        raise InvalidInput(ask, "invalid", field=field)
    if len(said) > max_length:
        raise InvalidInput(f"Write at most {max_length:,} characters.", "invalid", field=field)
    return said


@dataclass(frozen=True, slots=True)
class MinimumText:
    """How long a text is at least: in characters, and in different words."""

    characters: int
    words: int

    def __str__(self) -> str:
        return f"at least {self.characters} characters and {self.words} different words"


def validate_text(typed: str, *, field: str, ask: str, minimum: MinimumText, max_length: int) -> str:
    """Return a text of at least `minimum` without surrounding white space.

    Raises InvalidInput as `clean_words` does, and with `says_too_little` for a text that is too short.
    """
    text = clean_words(typed, field=field, ask=ask, max_length=max_length)
    words = {word.casefold() for word in _WORD.findall(text)}
    if len(text) < minimum.characters or len(words) < minimum.words:
        message = f"{ask} Say more: {minimum}. There are {len(text)} and {len(words)}."
        raise InvalidInput(message, "says_too_little", field=field)
    return text
