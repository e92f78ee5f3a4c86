"""Reads and writes the cells of release tables (R39); standard library only."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from labeling.geometry import HUNDREDTHS_PER_PIXEL


def time(moment: datetime) -> str:
    """An aware moment as UTC with microseconds, always 27 characters: `2026-11-18T12:00:00.000000Z`."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def boolean(value: bool | None) -> str:
    """`true`, `false`, or nothing where it was not asked."""
    return "" if value is None else "true" if value else "false"


def boolean_from(cell: str) -> bool | None:
    """The inverse of `boolean`."""
    return None if cell == "" else cell == "true"


def pixels(hundredths: int | None) -> str:
    """A side of a box in pixels with exactly two decimals; nothing where there is no box."""
    return "" if hundredths is None else f"{hundredths // HUNDREDTHS_PER_PIXEL}.{hundredths % HUNDREDTHS_PER_PIXEL:02d}"


def seconds(milliseconds: int) -> str:
    """Milliseconds as seconds with three decimals."""
    return f"{milliseconds // 1000}.{milliseconds % 1000:03d}"


def scaled_from(cell: str) -> int | None:
    """The inverse of `pixels` and of `seconds`; None where there is nothing."""
    return int(cell.replace(".", "")) if cell else None


def number_from(cell: str) -> int | None:
    """A whole number; None where there is nothing."""
    return int(cell) if cell else None


def share(value: Fraction | None) -> str:
    """An exact share in lowest terms, for example `1/4`; nothing where there is none."""
    return "" if value is None else f"{value.numerator}/{value.denominator}"


def share_from(cell: str) -> Fraction | None:
    """The inverse of `share`."""
    return Fraction(cell) if cell else None


def listed(values: Iterable[object]) -> str:
    """Numbers or words, with semicolons between them."""
    return ";".join(map(str, values))


def listed_from(cell: str) -> list[str]:
    """The inverse of `listed` for words."""
    return [each for each in cell.split(";") if each]


def numbers_from(cell: str) -> list[int]:
    """The inverse of `listed` for numbers."""
    return [int(each) for each in listed_from(cell)]


def time_from(cell: str) -> datetime | None:
    """The inverse of `time`; None where there is nothing."""
    return datetime.fromisoformat(cell) if cell else None


def text_from(cell: str) -> str:
    """The inverse of `text`, but for the ends of lines."""
    return cell.removeprefix("'")


def json_cell(value: Any) -> str:
    """A value as JSON on one line, the same for equal values."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def json_from(cell: str) -> Any:
    """The inverse of `json_cell`; None where there is nothing."""
    return json.loads(cell) if cell else None


def text(value: str) -> str:
    """Free text for a cell: line ends are LF, and what a spreadsheet could take for a formula gets an apostrophe.

    A reader drops one leading apostrophe, which is unambiguous because a text that begins with one gets another.
    """
    value = value.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{value}" if value.startswith(("=", "+", "-", "@", "\t", "|", "'")) else value
