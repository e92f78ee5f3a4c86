"""What a team may appeal now, on which side and until when, or why it may not (R18)."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

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
)
from contest.core.embargo import public_attacks, public_image_condition
from contest.core.enums import AppealSide, CaseState, StakeEnd
from contest.core.models import Attack, Case, Stake, Team
from contest.core.picture_access import Reader, picture_seen_by, rulings_seen_by
from contest.core.publication import released
from contest.core.teams import teams_counted_together
from contest.defenses.selectors import breaks_of_stake, first_sent_at, unbroken_until
from labeling.models import Image
from policy.selectors import policy_at
from scoring.models import Defense

_BY_BREAKS = (StakeEnd.BROKEN, StakeEnd.VOID)


@dataclass(frozen=True, slots=True)
class AppealGround:
    """That a team may appeal `ruling` before `until`. A defender's names the defense that is at stake longest."""

    side: AppealSide
    ruling: Ruling
    defense: Defense | None
    until: datetime


class AlreadyAppealed(Conflict):
    """The team has appealed this picture before (R18); `appeal` is that one."""

    def __init__(self, appeal: Appeal) -> None:
        words = (
            f"Your team has appealed this picture: receipt {appeal.public_id}. Each team has one appeal per picture."
        )
        super().__init__(words, "appealed")
        self.appeal = appeal


def reader_for(team: Team) -> Reader:
    """Return what a team may know of pictures, as it is one with those merged into it."""
    return Reader(tuple(each.pk for each in teams_counted_together(team)))


def appeal_of(team: Team, image: Image) -> Appeal | None:
    """Return the one appeal that a team, or one merged into it, has on a picture."""
    return Appeal.objects.filter(team__in=teams_counted_together(team), image=image).order_by("pk").first()


def appeal_ground(image: Image, team: Team, now: datetime) -> AppealGround:
    """Return what a team may appeal of a picture.

    Raises NotFound (`not_found`) for a picture that it may not see, in the words for a missing one; Conflict where
    there is no ruling yet that it may know (`not_ruled`), it has `appealed` (AlreadyAppealed), more taskers are at it
    (`being_decided`) or it is too late (`window_over`); NotAllowed (`wrong_side`) for a team on neither side.
    """
    reader = reader_for(team)
    picture_seen_by(image.public_id, reader, now=now)
    if (earlier := appeal_of(team, image)) is not None:
        raise AlreadyAppealed(earlier)
    ground = next(_grounds(rulings_in_force().filter(image=image), reader, now), None)
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
    """Return what a team may appeal of a picture; None where anything stands against it."""
    try:
        return appeal_ground(image, team, now)
    except DomainError:
        return None


def _no_side(image: Image, reader: Reader, now: datetime) -> Conflict | NotAllowed:
    """Return what is said to who has no side. That there is a ruling is told to nobody who may not know it (R24)."""
    known = rulings_seen_by(image, reader, now=now).last()
    if known is None or known != newest_ruling_of(image):
        return Conflict("There is no ruling on this picture yet that your team could appeal.", "not_ruled")
    if known.verdict == Verdict.REJECTED:
        words = "A rejection is appealed by a team that sent the picture; yours did not."
        return NotAllowed(words, "wrong_side")
    words = (
        "A valid verdict is appealed by a team whose defense was at stake when the ruling was made, unless its time "
        "was over when the picture was sent, and that did not send it. No defense of yours is such a one."
    )
    return NotAllowed(words, "wrong_side")


def appealable(team: Team, now: datetime, *, sides: Collection[AppealSide] = tuple(AppealSide)) -> list[AppealGround]:
    """Return what a team may appeal now, on these sides, the nearest end first."""
    reader, since = reader_for(team), now - longest_window(now)
    copies = Attack.objects.filter(team__in=reader.teams, copy_of__isnull=False).values("image")
    lately = Q(decided_at__gt=since) | (Q(image__in=copies) & ~released("image__", by=since))
    recent = rulings_in_force().filter(lately)
    appealed = Appeal.objects.filter(team__in=reader.teams).values("image")
    asked = Case.objects.filter(state=CaseState.PANEL).values("image")
    free = recent.exclude(image__in=appealed).exclude(image__in=asked)
    found = [ground for ground in _grounds(free, reader, now, sides) if now < ground.until]
    return sorted(found, key=lambda ground: (ground.until, ground.ruling.pk))


# The two sides --------------------------------------------------------------------------------------------------------


def _grounds(
    rulings: QuerySet[Ruling], reader: Reader, now: datetime, sides: Collection[AppealSide] = tuple(AppealSide)
) -> Iterator[AppealGround]:
    """Yield the rulings, which hold, that the teams have one of these sides in; whatever time it is."""
    rows = rulings.select_related("image", "panel", "policy").order_by("decided_at", "pk")
    if AppealSide.ATTACKER in sides:
        yield from _of_senders(rows, reader, now)
    if AppealSide.DEFENDER in sides:
        yield from _of_defenders(rows, reader, now)


def _of_senders(rows: QuerySet[Ruling], reader: Reader, now: datetime) -> Iterator[AppealGround]:
    """Who sent a picture appeals its rejection, once its week is over; who sent a copy, from its release on."""
    sent = public_attacks(now=now).filter(team__in=reader.teams, image=OuterRef("image"))
    first = first_receipts_of_teams(reader.teams).filter(image=OuterRef("image"))
    rejected = rows.filter(Exists(sent), verdict=Verdict.REJECTED).annotate(first=Exists(first))
    for ruling in rejected.filter(Q(first=True) | released("image__")):
        until = window_closes_for_senders(ruling, sent_first=ruling.first)
        assert until is not None, "who sent a copy has a ground once it is released"
        yield AppealGround(AppealSide.ATTACKER, ruling, None, until)


def _of_defenders(rows: QuerySet[Ruling], reader: Reader, now: datetime) -> Iterator[AppealGround]:
    """Whose defense was at stake appeals a valid verdict, but not on a picture of their own."""
    begun = Stake.objects.filter(staked_at__isnull=False, defense__entry__team__in=reader.teams)
    stakes = list(begun.select_related("defense__entry").order_by("staked_at", "pk"))
    if not stakes:
        return
    own = Attack.objects.filter(team__in=reader.teams, withdrawn_at=None).values("image")
    valid = rows.filter(public_image_condition("image__", now=now), verdict=Verdict.VALID).exclude(image__in=own)
    for ruling in valid.annotate(sent_at=first_sent_at()):
        stake = next((each for each in stakes if _at_stake(each, ruling, ruling.sent_at)), None)
        if stake is not None:
            yield AppealGround(AppealSide.DEFENDER, ruling, stake.defense, window_closes_at(ruling))


def _at_stake(stake: Stake, ruling: Ruling, sent_at: datetime) -> bool:
    """Say whether a picture sent at `sent_at` could end a stake when it was ruled upon."""
    assert stake.staked_at is not None, "only stakes that began are asked"
    until = unbroken_until(stake)
    if stake.staked_at > ruling.decided_at or (until is not None and until <= sent_at):
        return False
    return stake.ended_at is None or stake.ended_at >= ruling.decided_at or _ended_by(stake, ruling)


def _ended_by(stake: Stake, ruling: Ruling) -> bool:
    """Say whether it is this very picture that ended a stake before this ruling, which came after another one on it."""
    if stake.end not in _BY_BREAKS:
        return False
    earlier = [each.fact for each in breaks_of_stake(stake) if each.fact.found_at < ruling.decided_at]
    return {each.image_id for each in earlier} == {ruling.image_id}
