"""Acts as the demo's people while its clock moves: does work that nobody did for three days.

So a newcomer may play any role, and the contest continues without the others. Everything goes through the services
that people's clicks use.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import cache, partial
from random import Random

import structlog
from django.contrib.auth.models import User

from common.domain_clock import domain_now
from common.errors import DomainError
from contest.board.models import Vote
from contest.board.motions import award_move
from contest.core.enums import CaseKind, CaseState, DecisionKind, VoteChoice
from contest.core.models import Case, Stake
from contest.demo.answers import answer
from contest.demo.pictures import Photo, mirrored_photos, photos
from contest.demo.seed import ORGANIZING
from contest.demo.voting import award_prepare, vote_through
from contest.prizes.checklist import award_checklist, contenders, is_ready_for_award
from labeling import leases
from labeling.enums import AssignmentState, Origin
from labeling.models import Assignment, Panel, Tasker
from labeling.selectors import panels_open_to
from picture_files.decoding import read_dataset
from policy.numbers import Policy
from policy.selectors import policy_in_force

OVERDUE_AFTER = timedelta(days=3)
# The motion for an award comes within a week after its appeals, which a newcomer may pass in one move of the clock.
PATIENCE_WITH_AWARDS = timedelta(weeks=2)
# The first three answer soon; the newcomer may sign in as one of the others, who answer only what is overdue.
LABELING = ("tasker4", "tasker5", "tasker6")
LEFT_TO_THE_NEWCOMER = ("tasker1", "tasker2", "tasker3")

Refused = Callable[[str], object]
log = structlog.get_logger(__name__)


def act_as_people(now: datetime, *, refused: Refused) -> int:
    """Do all acts that are left to the demo's people; returns how many. A second call at once changes nothing.

    A refused act does not stop the others: `refused` gets its sentence.
    """
    if not User.objects.filter(username=ORGANIZING[0]).exists():
        return 0  # a demo that was not seeded has other people
    return sum(_unless_refused(each, refused) for each in _all_acts(now))


def _all_acts(now: datetime) -> Iterator[Callable[[], int]]:
    """Yield the possible acts of each person. Later acts are looked up after earlier ones are done."""
    for name in (*LABELING, *LEFT_TO_THE_NEWCOMER):
        yield partial(_label_as, name, now)
    for case in _left_alone(now):
        yield partial(_uphold, case, now)
    for stake in contenders(now=now):
        yield partial(_prepare, stake, now)
    yield partial(_award, now)


def _unless_refused(act: Callable[[], int], refused: Refused) -> int:
    try:
        return act()
    except DomainError as error:
        log.warning("demo_person_refused", code=error.code, words=error.message)
        refused(error.message)
        return 0


# Taskers -------------------------------------------------------------------------------------------------------------


def _label_as(name: str, now: datetime) -> int:
    """Answer the demo's open pictures as one tasker, unless somebody works on one under this name; leave the last
    answer on an attack to the newcomer. Returns how many answers."""
    tasker, policy = Tasker.objects.get(user__username=name), policy_in_force(now).policy
    if Assignment.objects.filter(tasker=tasker, state=AssignmentState.LEASED).exists():
        return 0
    panels = panels_open_to(tasker).filter(image__pixels_sha256__in=_by_pixels())
    return sum(_answer(tasker, panel, policy, now) for panel in panels if _is_theirs(name, panel, now))


def _is_theirs(name: str, panel: Panel, now: datetime) -> bool:
    """Say whether the tasker answers the picture now. They never claim another one: a picture is seen once (R8)."""
    overdue = now - panel.waiting_since >= OVERDUE_AFTER
    last_on_attack = panel.image.origin == Origin.ATTACK and panel.missing == 1
    return overdue or not (last_on_attack or name in LEFT_TO_THE_NEWCOMER)


def _answer(tasker: Tasker, panel: Panel, policy: Policy, now: datetime) -> int:
    """Claim a picture and answer it; 0 when somebody else took its last place."""
    rng = Random(f"{tasker.public_id} {now}")
    found = leases.assignment_lease(tasker=tasker, panel=panel, policy=policy, now=now, rng=rng)
    if found is None:
        return 0
    opinions = _by_pixels()[panel.image.pixels_sha256].every_opinion
    answer(tasker, found, opinions[panel.answered % len(opinions)], now)
    return 1


@cache
def _by_pixels() -> Mapping[str, Photo]:
    """Return the demo's photographs by the SHA-256 of their pixels (R2)."""
    size = policy_in_force(domain_now()).policy.image_size
    every = [*photos(), *mirrored_photos(size=size)]
    return {read_dataset(photo.data, size=size).pixels_sha256: photo for photo in every}


# Board and organizer -------------------------------------------------------------------------------------------------


def _left_alone(now: datetime) -> list[Case]:
    """Return the cases of rulings that nobody voted on."""
    waiting = Case.objects.filter(kind=CaseKind.PICTURE, state=CaseState.OPEN, opened_at__lte=now - OVERDUE_AFTER)
    return list(waiting.exclude(pk__in=Vote.objects.values("case")))


def _uphold(case: Case, now: datetime) -> int:
    """Let the board uphold a ruling."""
    vote_through(case, choice=VoteChoice.UPHOLD, now=now)
    return 1


def _prepare(stake: Stake, now: datetime) -> int:
    """Prepare the award of a stake whose time is over (R37)."""
    organizer, member = User.objects.get(username=ORGANIZING[0]), User.objects.get(username="board3")
    return award_prepare(stake, policy=policy_in_force(now).policy, organizer=organizer, members=[member], now=now)


def _award(now: datetime) -> int:
    """Open the motion to award the first stake that meets every condition; carry it if nobody did for two weeks."""
    moved = Case.objects.filter(motion=DecisionKind.AWARD, state=CaseState.OPEN)
    if moved.exists():
        return len([vote_through(case, now=now) for case in moved.filter(opened_at__lte=now - PATIENCE_WITH_AWARDS)])
    policy, due = policy_in_force(now).policy, contenders(now=now)
    first = next((each for each in due if is_ready_for_award(award_checklist(each, policy=policy, now=now))), None)
    if first is None:
        return 0
    name, mover = first.defense.name, User.objects.get(username="board3")
    statement = f"{name} stood unbroken to the end of its time, and through every attack run again."
    award_move(first, statement=statement, reason="Every condition is met.", by=mover, now=now)
    return 1
