"""Queries for versions of the policy: which is in force at a moment (R7)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from common.versions import Versions
from policy.enums import OutlineGate
from policy.models import PolicyVersion
from policy.numbers import Policy


@dataclass(frozen=True, slots=True)
class PolicyInForce:
    """A recorded policy version with its numbers."""

    id: int
    version: int
    policy: Policy


def policy_at(moment: datetime) -> Policy:
    """Return the numbers that were in force at `moment`."""
    return policy_in_force(moment).policy


def only_outline_gate() -> OutlineGate | None:
    """Return the gate that all versions of the policy share (R10); None where they differ."""
    gates = {version.policy.outline_gate for _, version in policy_versions.all()}
    return gates.pop() if len(gates) == 1 else None


def policies_between(first: datetime, last: datetime) -> list[tuple[datetime, Policy]]:
    """Return the numbers that were in force at any moment from `first` to `last`, newest first, and since when."""
    return [(since, version.policy) for since, version in policy_versions.between(first, last)]


def never_in_force(rows: Iterable[PolicyVersion]) -> dict[int, int]:
    """Return the versions that are never in force, each with the newer version that begins no later.

    `rows` are in the order of their versions. This is how a future version is cancelled.
    """
    held: list[PolicyVersion] = []
    found: dict[int, int] = {}
    for row in rows:
        while held and held[-1].in_force_from >= row.in_force_from:
            found[held.pop().version] = row.version
        held.append(row)
    return found


def _read_policies() -> list[tuple[datetime, PolicyInForce]]:
    rows = list(PolicyVersion.objects.order_by("version"))
    never = never_in_force(rows)
    return [
        (row.in_force_from, PolicyInForce(row.pk, row.version, Policy.from_json(row.numbers)))
        for row in reversed(rows)
        if row.version not in never
    ]


policy_versions = Versions(_read_policies)


def policy_in_force(now: datetime) -> PolicyInForce:
    """Return the newest policy in force at `now`."""
    return policy_versions.at(now)


def largest_panel_dealt() -> int:
    """Return the most places that a panel is dealt with under any version of the policy (R7)."""
    return max(version.policy.panel_size for _, version in policy_versions.all())


def time_zones() -> list[tuple[datetime, str]]:
    """Return since when each time zone is in force, oldest first (R23); versions that keep the zone are left out."""
    found: list[tuple[datetime, str]] = []
    for since, version in reversed(policy_versions.all()):
        if not found or found[-1][1] != version.policy.time_zone:
            found.append((since, version.policy.time_zone))
    return found
