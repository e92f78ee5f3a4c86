"""Compares times as cells write them (R39).

Pure: standard library only.
"""

from datetime import UTC, datetime, timedelta

from adjudication.schema import cells

# Of two events, the earlier may have the later time: clocks of machines differ, and a time is taken before rows are
# locked.
TOLERANCE = timedelta(minutes=1)


def time_of(cell: str) -> datetime:
    """Return the time in a well-formed cell; the earliest possible time for an empty cell."""
    moment = cells.time_from(cell)
    return moment if moment is not None else datetime.min.replace(tzinfo=UTC)


def is_before(cell: str, other: str) -> bool:
    """Say whether a time is before another by more than two machines' clocks may differ."""
    # The fixed width makes the order of the texts the order of the times.
    return cell < other and time_of(other) - time_of(cell) > TOLERANCE
