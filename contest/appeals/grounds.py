"""Decides which rulings a team may appeal now, as sender or defender, and until when, or why it may not (R18)."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain

from django.db import models
from django.db.models import Exists, OuterRef, Q, QuerySet

from adjudication.enums import Verdict
from adjudication.models import Ruling
from adjudication.selectors import rulings_in_force
from common.errors import Conflict, DomainError, NotAllowed
from common.times import to_the_second
from contest.board.cases import newest_ruling_of, open_case_of
from contest.board.models import Appeal
from contest.core.appeal_window import (
    first_receipts_of_teams,
    longest_window,
    window_closes_at,
    window_closes_for_senders,
    with_open_window,
)
from contest.core.embargo import public_attacks, public_image_condition
from contest.core.enums import AppealSide, CaseState
from contest.core.models import Attack, Case, Stake, Team
from contest.core.picture_access import Reader, picture_seen_by, rulings_seen_by
from contest.core.publication import released
from contest.core.teams import teams_counted_together
from contest.defenses.selectors import first_sent_at, pictures_count_until
from labeling.models import Image
from policy.selectors import policy_at
from scoring.models import Defense

# The most rulings that pages list and count of those that a defender may appeal.
MAX_LISTED = 500


@dataclass(frozen=True, slots=True)
class AppealGround:
    """A ruling that a team may appeal before `until`; for a defender with the defense that was put at stake first."""

    side: AppealSide
    ruling: Ruling
    defense: Defense | None
    until: datetime


class AlreadyAppealed(Conflict):
    """The team has appealed this picture before (R18); `appeal` is that one."""

    def __init__(self, appeal: Appeal) -> None:
        super().__init__(
            f"Your team has appealed this picture: receipt {appeal.public_id}. Each team has one appeal per picture.",
            "appealed",
        )
        self.appeal = appeal


def reader_for(team: Team) -> Reader:
    """Return the reader whose own attacks are those of the team and of all teams merged with it."""
    return Reader(tuple(each.pk for each in teams_counted_together(team)))


def appeal_of(team: Team, image: Image) -> Appeal | None:
    """Return the one appeal that a team, or one merged into it, has on a picture."""
    return Appeal.objects.filter(team__in=teams_counted_together(team), image=image).order_by("pk").first()


def appeal_ground(image: Image, team: Team, now: datetime) -> AppealGround:
    """Return what a team may appeal of a picture.

    Raises NotFound (`not_found`) for a picture that it may not see, with the message for a missing one; Conflict if
    there is no ruling that it may know (`not_ruled`), it has `appealed` (AlreadyAppealed), additional taskers answer
    (`being_decided`) or it is too late (`window_over`); NotAllowed (`wrong_side`) for a team on neither side.
    """
    reader = reader_for(team)
    picture_seen_by(image.public_id, reader, now=now)
    if (earlier := appeal_of(team, image)) is not None:
        raise AlreadyAppealed(earlier)
    rulings = rulings_in_force().filter(image=image)
    ground = next(chain(_of_senders(rulings, reader, now), _of_defenders(rulings, reader, now)), None)
    if ground is None:
        raise _no_side(image, reader, now)
    case = open_case_of(image)
    if case is not None and case.state == CaseState.PANEL:
        raise Conflict(
            "The board asked more taskers about this picture. A ruling follows, and that one can be appealed.",
            "being_decided",
        )
    if now >= ground.until:
        until = to_the_second(ground.until, policy_at(now).time_zone)
        raise Conflict(f"It is too late: this ruling could be appealed before {until}.", "window_over")
    return ground


def ground_of(image: Image, team: Team, now: datetime) -> AppealGround | None:
    """Return what a team may appeal of a picture; None if it may not."""
    try:
        return appeal_ground(image, team, now)
    except DomainError:
        return None


def _no_side(image: Image, reader: Reader, now: datetime) -> Conflict | NotAllowed:
    """Return the error for a team on neither side, without revealing a ruling that it may not know of (R24)."""
    known = rulings_seen_by(image, reader, now=now).last()
    if known is None or known != newest_ruling_of(image):
        return Conflict("There is no ruling on this picture yet that your team could appeal.", "not_ruled")
    if known.verdict == Verdict.REJECTED:
        words = "A rejection is appealed by a team that sent the picture; yours did not."
        return NotAllowed(words, "wrong_side")
    words = (
        "A valid verdict is appealed by a team whose defense was put at stake before the ruling, unless its time was "
        "over or its stake returned when the picture was sent, and that did not send it. No defense of yours is such "
        "a one."
    )
    return NotAllowed(words, "wrong_side")


def appealable(
    team: Team, now: datetime, *, sides: Collection[AppealSide] = tuple(AppealSide), limit: int | None = None
) -> list[AppealGround]:
    """Return what a team may appeal now on these sides, the nearest deadline first: all, or the first `limit`."""
    reader = reader_for(team)
    appealed = Appeal.objects.filter(team__in=reader.teams).values("image")
    asked = Case.objects.filter(state=CaseState.PANEL).values("image")
    free = rulings_in_force().exclude(image__in=appealed).exclude(image__in=asked)
    found: list[AppealGround] = []
    if AppealSide.ATTACKER in sides:
        found += (each for each in _of_senders(_ruled_lately(free, reader, now), reader, now) if now < each.until)
    if AppealSide.DEFENDER in sides:
        for rulings in with_open_window(free, now):
            found += _of_defenders(rulings, reader, now, limit)
    return sorted(found, key=lambda ground: (ground.until, ground.ruling.pk))[:limit]


def _ruled_lately(rulings: QuerySet[Ruling], reader: Reader, now: datetime) -> QuerySet[Ruling]:
    """Leave out rulings from too long ago, unless the teams sent copies that were released since."""
    since = now - longest_window(now)
    copies = Attack.objects.filter(team__in=reader.teams, copy_of__isnull=False).values("image")
    return rulings.filter(Q(decided_at__gt=since) | (Q(image__in=copies) & ~released("image__", by=since)))


# The two sides --------------------------------------------------------------------------------------------------------


def _in_order(rulings: QuerySet[Ruling]) -> QuerySet[Ruling]:
    return rulings.select_related("image", "panel", "policy").order_by("decided_at", "pk")


def _of_senders(rulings: QuerySet[Ruling], reader: Reader, now: datetime) -> Iterator[AppealGround]:
    """Yield rejections that senders may appeal, once its week is over; for senders of copies, from its release on."""
    sent = public_attacks(now=now).filter(team__in=reader.teams, image=OuterRef("image"))
    first = first_receipts_of_teams(reader.teams).filter(image=OuterRef("image"))
    rejected = _in_order(rulings).filter(Exists(sent), verdict=Verdict.REJECTED).annotate(first=Exists(first))
    for ruling in rejected.filter(Q(first=True) | released("image__")):
        until = window_closes_for_senders(ruling, sent_first=ruling.first)
        assert until is not None, "who sent a copy has a ground once it is released"
        yield AppealGround(AppealSide.ATTACKER, ruling, None, until)


def _of_defenders(
    rulings: QuerySet[Ruling], reader: Reader, now: datetime, limit: int | None = None
) -> Iterator[AppealGround]:
    """Yield valid verdicts on pictures that count for a stake of the teams, except on their own pictures."""
    begun = Stake.objects.filter(staked_at__isnull=False, defense__entry__team__in=reader.teams)
    stakes = list(begun.select_related("defense__entry").order_by("staked_at", "pk"))
    if not stakes:
        return
    own = Attack.objects.filter(team__in=reader.teams, withdrawn_at=None).values("image")
    valid = _in_order(rulings).filter(
        public_image_condition("image__", now=now), verdict=Verdict.VALID, decided_at__gte=stakes[0].staked_at
    )
    longest = models.Case(*(models.When(_at_stake(stake), then=number) for number, stake in enumerate(stakes)))
    rows = valid.exclude(image__in=own).annotate(sent_at=first_sent_at()).annotate(stake=longest)
    for ruling in rows.filter(stake__isnull=False)[:limit]:
        yield AppealGround(AppealSide.DEFENDER, ruling, stakes[ruling.stake].defense, window_closes_at(ruling))


def _at_stake(stake: Stake) -> Q:
    """Return the condition for rulings on pictures that may decide what becomes of a stake, by when they were sent.

    How the stake ended does not matter: the break that ended it may be overruled, and what was paid is taken back for
    a break found later. Nor do breaks: which pictures break a defense is public with their release only (R24).
    """
    begun, ends = Q(decided_at__gte=stake.staked_at), [pictures_count_until(stake), stake.defense.retired_at]
    until = min((each for each in ends if each is not None), default=None)
    return begun if until is None else begun & Q(sent_at__lt=until)
