"""Compares times as cells write them (R39).

Pure: standard library only.
"""

from datetime import UTC, datetime, timedelta

from adjudication.schema import cells

# What one machine notes before another may bear the later time: clocks differ, and a time is taken before rows are
# locked.
TOLERANCE = timedelta(minutes=1)


def time_of(cell: str) -> datetime:
    """Return the time in a cell that has the form of one; the beginning of all time for an empty one."""
    moment = cells.time_from(cell)
    return moment if moment is not None else datetime.min.replace(tzinfo=UTC)


def is_before(cell: str, other: str) -> bool:
    """Say whether a time is before another one, by more than the clocks of two machines may differ."""
    # The fixed width makes the order of the texts the order of the times.
    return cell < other and time_of(other) - time_of(cell) > TOLERANCE
