"""Declares how far each entry of a release's manifest can be verified (R39), as `columns` does for tables.

Standard library only.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from adjudication.schema.columns import Standing

_DERIVED, _BOUND, _FREE = Standing.DERIVED, Standing.BOUND, Standing.FREE


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry: how far it can be verified and why, and the rule it is about; `since` is the revision that added it."""

    standing: Standing
    rule: str
    words: str
    since: int = 1


ENTRIES: Mapping[str, Entry] = {
    "format": Entry(_DERIVED, "R39", "the one format that there is"),
    "revision": Entry(_BOUND, "R39", "one that there is, not before that of the release before", since=2),
    "name": Entry(_DERIVED, "R39", "`week` and `part`"),
    "week": Entry(_BOUND, "R23", "its bounds hold the times in every table; weeks come in their order"),
    "part": Entry(_DERIVED, "R39", "the parts of the week before it in the chain"),
    "previous_name": Entry(_BOUND, "R39", "the release with that hash; empty for the first alone"),
    "previous_sha256": Entry(_DERIVED, "R39", "the manifest of the release before"),
    "week_start": Entry(_DERIVED, "R23", "`week` and the zone"),
    "week_end": Entry(_DERIVED, "R23", "`week` and the zone"),
    "time_zone": Entry(_DERIVED, "R23", "the policies by their times"),
    "rule_book": Entry(_DERIVED, "R39", "`revision`"),
    "policy": Entry(
        _BOUND, "R7", "numbers that can be followed, never changed, of the versions in force or used alone"
    ),
    "waiting": Entry(_DERIVED, "R24", "panels and answers; `report` and `kept_out` together are the held panels"),
    "kept_out": Entry(_BOUND, "R24", "together with `report` of `waiting` as many as panels are held", since=2),
    "policy_from": Entry(
        _BOUND, "R7", "one time for each policy, a later one for a newer version, never changed", since=2
    ),
    "policy_reason": Entry(_FREE, "R7", "the organizers' words; never changed", since=2),
    "counts": Entry(_DERIVED, "R39", "the rows of the tables"),
    "files": Entry(_DERIVED, "R39", "the files"),
}
