"""Condition of an award: the weeks of the stake are final (R36)."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.urls import reverse

from common.times import absolute
from contest.core.calendar import Week
from contest.core.models import Stake
from contest.core.settled_weeks import Weeks, weeks_between
from contest.core.week_pictures import WAITING_WORDS
from contest.defenses.selectors import unbroken_until
from contest.prizes.condition import MOST_NAMED, TEAM, AwardCondition, ConditionOwner, in_order
from policy.numbers import Policy


def week_conditions(stake: Stake, policy: Policy, now: datetime, known: Weeks) -> list[AwardCondition]:
    """The weeks from that of the stake to the one its time ends in: an attack that came before its end may break it."""
    titles, zone = ("Every week in that time settled", "Their appeals closed"), policy.time_zone
    until = unbroken_until(stake)
    if until is None or stake.staked_at is None:
        words = "Its time does not run."
        return [AwardCondition(name, title, False, words, who=TEAM) for name, title in zip(_NAMES, titles, strict=True)]
    weeks = list(weeks_between(stake.staked_at, until))
    over = [week for week in weeks if week.end <= now]
    known.look_over(over)
    settled = [week for week in over if known.settled(week, of=stake.defense, before=until)]
    closes = {week.name: known.appeals_close_at(week, of=stake.defense, before=until) for week in settled}
    closing = {name: at for name, at in closes.items() if at is not None}
    closed = [name for name, at in closing.items() if at <= now]
    waits = {week.name: known.waiting(week, of=stake.defense, before=until) for week in over if week not in settled}
    still_open = [(week, _waits_of(waits.get(week.name))) for week in weeks if week not in settled]
    counts = f"{len(settled)} of {len(weeks)}. {_open_weeks(still_open, zone)}"
    last = max((at for at in closing.values() if at > now), default=None)
    unknown = "" if len(settled) == len(weeks) else " When the others close is known once they are settled."
    more = f" Of those that are settled, the last closes on {absolute(last, zone)}." if last else ""
    not_closed = [week for week in settled if week.name not in closing]
    more += _not_closed(not_closed)
    settling = {_WHO_SETTLES[name] for _, open_for in still_open for name in open_for}
    # A week with a case, or with a copy whose sender does not know the verdict: not which of the two (R21).
    deciding = {ConditionOwner.ORGANIZERS, ConditionOwner.BOARD} if not_closed else set()
    closing_by = settling | deciding | ({ConditionOwner.TIME} if last else set())
    closed_words = f"{len(closed)} of {len(weeks)}.{more}{unknown}"
    return [
        AwardCondition(
            _NAMES[0],
            titles[0],
            len(settled) == len(weeks),
            counts.strip(),
            reverse("releases"),
            who=in_order(settling),
        ),
        AwardCondition(_NAMES[1], titles[1], len(closed) == len(weeks), closed_words, who=in_order(closing_by)),
    ]


_NAMES = ("weeks", "appeals")


def _not_closed(weeks: list[Week]) -> str:
    """Name the settled weeks with a case that is not closed (R22): not that there is one, which some members of the
    board may not know (R21)."""
    names = ", ".join(week.name for week in weeks[:MOST_NAMED])
    more = " and more" if len(weeks) > MOST_NAMED else ""
    return f" Not closed yet: {names}{more}." if weeks else ""


def _open_weeks(weeks: Sequence[tuple[Week, Mapping[str, int]]], zone: str) -> str:
    words = [f"{week.name} {_why_open(week, waits, zone)}" for week, waits in weeks]
    shown = "; ".join(words[:MOST_NAMED])
    return f"Open: {shown}{' and more' if len(words) > MOST_NAMED else ''}." if words else ""


def _waits_of(waiting: Mapping[str, int] | None) -> Mapping[str, int]:
    """Return what an open week waits for, by the keys of `_WHO_SETTLES`, with how many pictures wait; None is what is
    given of a week that is not over."""
    if waiting is None:
        return {"end": 0}
    return {name: count for name, count in waiting.items() if count} or {"other": 0}


def _why_open(week: Week, waits: Mapping[str, int], zone: str) -> str:
    if "end" in waits:
        return f"ends on {absolute(week.end, zone)}"
    words = [f"{count} {WAITING_WORDS[name]}" for name, count in waits.items() if name in WAITING_WORDS]
    return f"waits: {', '.join(words)}" if words else "waits for rulings"


# Taskers answer when organizers find them and give them work; full panels are ruled upon by the next sweep.
_WHO_SETTLES: Mapping[str, ConditionOwner] = {
    "end": ConditionOwner.TIME,
    "panel": ConditionOwner.ORGANIZERS,
    "answers": ConditionOwner.ORGANIZERS,
    "report": ConditionOwner.ORGANIZERS,
    "ruling": ConditionOwner.TIME,
    "runs": ConditionOwner.SCORER,
    "other": ConditionOwner.ORGANIZERS,
}
