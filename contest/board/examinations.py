"""Services for the examination before an award: board members confirm that each rejected picture is invalid (R37).

A member confirms a picture under the rejection in force: after another ruling it is examined again, and while a case
about it is open its confirmations do not count. The policy says how many members confirm each picture. A member who
is recused for a team confirms nothing for the award of that team, and no picture that it sent (R21).
"""

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from accounts.roles import is_on_board
from adjudication.selectors import newest_rulings
from common.audit.trail import audit
from common.errors import Conflict, NotAllowed
from contest.board.recusal import cases_seen_by, teams_stepped_aside_for
from contest.core.embargo import public_attack_condition
from contest.core.enums import CaseState
from contest.core.models import Attack, Case
from contest.core.settled_weeks import open_cases
from contest.defenses.selectors import owner_of
from contest.prizes.examined_pictures import confirmations_in_force, fully_examined, rejected_pictures
from contest.prizes.models import Examination
from labeling.models import Image
from scoring.models import Defense

# What is left for a member --------------------------------------------------------------------------------------------


def may_examine(member: User, defense: Defense, *, now: datetime) -> bool:
    """Say whether a member may examine pictures for the award of a defense: not if recused for its team (R21)."""
    owner = owner_of(defense)
    return owner is None or owner.pk not in teams_stepped_aside_for(member, now=now)


@dataclass(frozen=True, slots=True)
class ExaminationQueue:
    """The pictures still to examine: `number` for this member, `in_cases` those with an open case that the member may
    know of, `by_others` the rest: this member confirmed them, or is recused from what they wait for."""

    mine: QuerySet[Image]
    number: int
    by_others: int
    in_cases: int


def queue_of(defense: Defense, member: User, *, now: datetime) -> ExaminationQueue:
    """Return the pictures still to examine for an award, in the order of receipt."""
    left = rejected_pictures(defense).exclude(fully_examined(now, defense))
    free = left.exclude(pk__in=open_cases().values("image"))
    in_cases = left.filter(pk__in=cases_seen_by(member).exclude(state=CaseState.CLOSED).values("image")).count()
    theirs = Attack.objects.filter(public_attack_condition(now=now), team__in=teams_stepped_aside_for(member, now=now))
    confirmed = confirmations_in_force(defense).filter(confirmed_by=member).values("image")
    mine = free.exclude(pk__in=theirs.values("image")).exclude(pk__in=confirmed).order_by("received_at", "pk")
    number = mine.count()
    return ExaminationQueue(mine, number, left.count() - number - in_cases, in_cases)


def members_for(image: Image, defense: Defense) -> int:
    """Return how many members confirmed a picture for an award, under the rejection in force."""
    return confirmations_in_force(defense).filter(image=image).count()


@transaction.atomic
def picture_confirm(*, image: Image, defense: Defense, ruling: int, by: User, now: datetime) -> Examination:
    """Record that a board member examined a rejected picture and confirms `ruling`. Idempotent.

    Raises NotAllowed for accounts not on the board and members recused for the award's team or the picture's sender,
    Conflict (`not_rejected`) for a picture that this award does not wait for, (`ruling_changed`) if another ruling is
    in force, and (`in_case`) while a case about it is open.
    """
    if not is_on_board(by):
        raise NotAllowed("Only members of the review board confirm this.", "not_on_board")
    Image.objects.select_for_update(no_key=True, of=("self",)).get(pk=image.pk)  # no case or ruling is made meanwhile
    if not rejected_pictures(defense).filter(pk=image.pk).exists():
        raise Conflict("This picture is not one of the rejected ones any more. Go on to the next.", "not_rejected")
    if newest_rulings([image.pk])[image.pk].pk != ruling:
        raise Conflict("There is another ruling on this picture by now. Look at it again.", "ruling_changed")
    _refuse(image, defense, by, now)
    told = {"image": image, "defense": defense, "ruling_id": ruling, "confirmed_by": by}
    made, new = Examination.objects.get_or_create(**told, defaults={"at": now})
    if new:
        subject = {"picture": [image.public_id], "defense": [defense.public_id]}
        audit("examination.confirm", by=by, subject=subject, now=now)
    return made


def _refuse(image: Image, defense: Defense, by: User, now: datetime) -> None:
    sent = Attack.objects.filter(public_attack_condition(now=now), image=image).values_list("team", flat=True)
    cases = Case.objects.filter(image=image).exclude(state=CaseState.CLOSED)
    known = cases.filter(pk__in=cases_seen_by(by).values("pk"))
    aside = not may_examine(by, defense, now=now) or not teams_stepped_aside_for(by, now=now).isdisjoint(sent)
    if aside or cases.exists() and not known.exists():
        raise NotAllowed("You step aside for a team that this is about: others look at it.", "recused")
    if known.exists():
        raise Conflict("The board has a case of this picture: the sweep waits for it.", "in_case")
