"""Services that record a policy version and cancel a future one. Versions are append-only."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from common.audit.trail import audit
from common.errors import Conflict, InvalidInput
from common.times import absolute
from common.typed import clean_words
from contest.ledger.currency_lock import currency_keep
from contest.policy_changes.numbers import changed_numbers
from contest.policy_changes.selectors import PolicyState, PolicyVersionRow, policy_history
from labeling.selectors import forget_versions
from policy.models import PolicyVersion
from policy.numbers import Policy

MAX_REASON_CHARACTERS = 4_000
# Every process reads a version before it is in force: none caches the policy for as long as this.
MIN_NOTICE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class PolicyDraft:
    """A version that somebody means to record, on top of version `base`, which was the newest when they began."""

    policy: Policy
    base: int
    since: datetime
    reason: str


def policy_draft(draft: PolicyDraft, *, by: User, zone: str, now: datetime) -> PolicyVersion:
    """Return the row that would be recorded, not saved.

    Conflict `policy_changed` where another version was recorded meanwhile, `currency_fixed` (R34); InvalidInput at the
    field that is wrong. `zone` is the one that moments are told in.
    """
    newest = policy_history(now=now)[0]
    if newest.version != draft.base:
        raise Conflict(_other(newest.version), "policy_changed")
    reason = clean_words(
        draft.reason, field="reason", ask="Give the reason: it is public.", max_length=MAX_REASON_CHARACTERS
    )
    if not changed_numbers(newest.policy, draft.policy):
        raise InvalidInput(f"Nothing differs from version {newest.version}. Change a number.", "unchanged")
    _check_moment(draft.since, newest, zone, now)
    row = _row(newest.version + 1, draft.policy, draft.since, reason, by, now)
    currency_keep(row)
    return row


def policy_record(draft: PolicyDraft, *, by: User, zone: str, now: datetime) -> PolicyVersion:
    """Record a version; raises what `policy_draft` raises. Of two simultaneous ones the second is refused."""
    row = policy_draft(draft, by=by, zone=zone, now=now)
    return _add(row, "policy.record", row.version, by=by, now=now)


def policy_call_back(version: int, *, reason: str, by: User, now: datetime) -> PolicyVersion:
    """Cancel the newest version before it is in force: record a version with the numbers of the one before it.

    That is in force from now on, or from the beginning of the one before it, so the cancelled version never is.
    Conflict if the version to cancel is in force or will be within MIN_NOTICE, or is not the newest; InvalidInput
    without a reason: it is public.
    """
    said = clean_words(reason, field="reason", ask="Give the reason: it is public.", max_length=MAX_REASON_CHARACTERS)
    newest = policy_history(now=now)[0]
    if newest.version != version:
        raise Conflict(_other(newest.version), "policy_changed")
    if newest.state is not PolicyState.TO_COME or newest.since < now + MIN_NOTICE or newest.before is None:
        raise Conflict(
            f"Version {version} is in force, or will be within a minute. Record another one to change it.",
            "policy_in_force",
        )
    since = max(now, newest.before.since)
    return _add(
        _row(version + 1, newest.before.policy, since, said, by, now), "policy.call_back", version, by=by, now=now
    )


def _check_moment(since: datetime, newest: PolicyVersionRow, zone: str, now: datetime) -> None:
    if since < now + MIN_NOTICE:
        words = f"Choose a moment at least one minute from now: it is {absolute(now, zone)}. No policy holds backwards."
        raise InvalidInput(words, "too_early", field="since")
    if since <= newest.since:
        words = f"Version {newest.version} holds from {absolute(newest.since, zone)} on."
        words += " Choose a later moment, or call that version back first."
        raise InvalidInput(words, "too_early", field="since")


def _row(number: int, policy: Policy, since: datetime, reason: str, by: User, now: datetime) -> PolicyVersion:
    return PolicyVersion(
        version=number,
        numbers=policy.to_json(),
        in_force_from=since,
        reason=reason,
        recorded_by=by,
        recorded_at=now,
    )


def _add(row: PolicyVersion, action: str, subject: int, *, by: User, now: datetime) -> PolicyVersion:
    """Save a row, and audit that `by` did `action` to version `subject`; refused if its number was taken meanwhile."""
    told = {"version": row.version, "in_force_from": row.in_force_from.isoformat(), "numbers": row.numbers}
    try:
        with transaction.atomic():
            row.save(force_insert=True)
            audit(action, by=by, subject={"policy": [subject]}, now=now, why=row.reason, public=told, published=True)
    except IntegrityError:
        raise Conflict(_other(row.version), "policy_changed") from None
    forget_versions()
    return row


def _other(version: int) -> str:
    return f"Nothing was recorded: version {version} was recorded meanwhile. Look at what it changed first."
