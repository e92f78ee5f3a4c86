"""Queries for the history of policy versions and their changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from contest.policy_changes.numbers import NUMBERS, NumberChange, PolicyNumber, Value, changed_numbers
from policy.models import PolicyVersion
from policy.numbers import Policy
from policy.selectors import never_in_force


class PolicyState(StrEnum):
    """The state of a version. NEVER: a newer version replaced it before it was in force."""

    TO_COME = "to come"
    IN_FORCE = "in force"
    PAST = "past"
    NEVER = "never in force"


@dataclass(frozen=True, slots=True)
class PolicyVersionRow:
    """One version with its state. `before` is the version that it changes, which is in force until it is."""

    row: PolicyVersion
    policy: Policy
    state: PolicyState
    before: "PolicyVersionRow | None"
    until: datetime | None = None
    replaced_by: int | None = None

    @property
    def version(self) -> int:
        """Return its number."""
        return self.row.version

    @property
    def since(self) -> datetime:
        """Return from when on it is in force, or would have been."""
        return self.row.in_force_from

    @property
    def changes(self) -> tuple[NumberChange, ...]:
        """Return the numbers that differ from the version before; none for the first."""
        return changed_numbers(self.before.policy, self.policy) if self.before else ()


@dataclass(frozen=True, slots=True)
class NumberInForce:
    """A number in force: its value in words, and the version that set it. `coming` are its future values."""

    number: PolicyNumber
    value: Value
    words: str
    version: int
    since: datetime
    coming: tuple[tuple[str, PolicyVersionRow], ...]


def policy_history(*, now: datetime) -> list[PolicyVersionRow]:
    """Return every version, newest first."""
    rows = list(PolicyVersion.objects.select_related("recorded_by").order_by("version"))
    never = never_in_force(rows)
    found: list[PolicyVersionRow] = []
    for row in rows:
        before = next(
            (each for each in reversed(found) if each.since < row.in_force_from and _was_pending(each, row)), None
        )
        found.append(_recorded(row, before, rows, never, now))
    return found[::-1]


def _was_pending(each: PolicyVersionRow, row: PolicyVersion) -> bool:
    """Say whether `each` was not in force when `row` was recorded, but due later."""
    return each.replaced_by is None or each.replaced_by > row.version


def _recorded(
    row: PolicyVersion,
    before: PolicyVersionRow | None,
    rows: Sequence[PolicyVersion],
    never: Mapping[int, int],
    now: datetime,
) -> PolicyVersionRow:
    policy = Policy.from_json(row.numbers)
    if row.version in never:
        return PolicyVersionRow(row, policy, PolicyState.NEVER, before, replaced_by=never[row.version])
    later = (each.in_force_from for each in rows if each.version > row.version and each.version not in never)
    until = min(later, default=None)
    if row.in_force_from > now:
        return PolicyVersionRow(row, policy, PolicyState.TO_COME, before, until)
    return PolicyVersionRow(
        row, policy, PolicyState.PAST if until and until <= now else PolicyState.IN_FORCE, before, until
    )


def numbers_in_force(found: Sequence[PolicyVersionRow]) -> list[NumberInForce]:
    """Return all numbers as they are in force, in the order of the groups; `found` is the history."""
    coming = [each for each in reversed(found) if each.state is PolicyState.TO_COME]
    held = [each for each in found if each.state in (PolicyState.IN_FORCE, PolicyState.PAST)]
    return [_holding(number, held, coming) for number in NUMBERS.values()]


def _holding(
    number: PolicyNumber, held: Sequence[PolicyVersionRow], coming: Sequence[PolicyVersionRow]
) -> NumberInForce:
    value = number.of(held[0].policy)
    brought = held[0]
    for each in held:
        if number.of(each.policy) != value:
            break
        brought = each
    next_ones = tuple(
        (change.new, each) for each in coming for change in each.changes if change.number.name == number.name
    )
    words = number.words(value, held[0].policy.currency)
    return NumberInForce(number, value, words, brought.version, brought.since, next_ones)
