"""Rows for tests, with few arguments; everything not named is ordinary."""

import hashlib
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from django.contrib.auth.models import Group, User

from contest.board.cases import count_of, disclose, vote_cast
from contest.board.decisions import case_decide
from contest.board.models import CaseDecision
from contest.board.recusal import undisclosed
from contest.core.decisions import MotionMandate
from contest.core.enums import CaseKind, CaseOutcome, CaseState, VoteChoice
from contest.core.models import Attack, Case, Team
from contest.core.weeks import week_at
from labeling.enums import Answer, AssignmentState, PanelState
from labeling.models import Assignment, Image, InstructionVersion, KnownPicture, Panel, PanelPlace, Response, Tasker
from policy.models import PolicyVersion

NOW = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
PASSWORD = "demo-only"
_numbers = count(1)


def user(name: str, *groups: str) -> User:
    person = User.objects.create_user(name, password=PASSWORD)
    person.groups.set([Group.objects.get_or_create(name=group)[0] for group in groups])
    return person


def tasker(name: str, *, state: str = "qualified") -> Tasker:
    return Tasker.objects.create(user=user(name), state=state, shuffle_seed=next(_numbers), created_at=NOW)


def image(**values: Any) -> Image:
    """An image row; its pixels are not in the store."""
    sha = hashlib.sha256(str(next(_numbers)).encode()).hexdigest()
    defaults = {
        "pixels_sha256": sha,
        "original_sha256": sha,
        "original_format": "PNG",
        "width": 299,
        "height": 299,
        "origin": "dataset",
        "source": "test",
        "licence": "CC BY 2.0",
        "received_at": NOW,
        "label_from": NOW,
    }
    return Image.objects.create(**(defaults | values))


def attack_row(of: Image, *, received_at: datetime = NOW - timedelta(days=8), **values: Any) -> Attack:
    """An attack on a picture, by a team of its own, of a week that is over at NOW."""
    week = week_at(received_at).name
    team = Team.objects.create(name=f"team {next(_numbers)}", created_at=received_at)
    return Attack.objects.create(team=team, image=of, received_at=received_at, week=week, **values)


def panel(of: Image | None = None, *, size: int = 3, dealt_at: datetime = NOW) -> Panel:
    """A dealt, empty panel with its places."""
    of = of or image()
    row = Panel.objects.create(image=of, size=size, missing=size, dealt_at=dealt_at, waiting_since=dealt_at)
    PanelPlace.objects.bulk_create(PanelPlace(panel=row, number=number) for number in range(1, size + 1))
    of.dealt_at = dealt_at
    of.save(update_fields=["dealt_at"])
    return row


def assignment(
    to: Tasker,
    on: Panel,
    *,
    now: datetime = NOW,
    state: str = AssignmentState.ANSWERED,
    known: KnownPicture | None = None,
) -> Assignment:
    """An assignment row by itself; the panel's counters are not touched."""
    return Assignment.objects.create(
        panel=on,
        image=on.image,
        tasker=to,
        person=to.person or to.pk,
        known=known,
        stands_for=on if known else None,
        lease_token=uuid.uuid4().hex,
        state=state,
        slot=1,
        tie_break="leftmost",
        leased_at=now,
        expires_at=now,
        ended_at=now,
    )


def response(
    by: Tasker,
    on: Panel,
    *,
    bird: str = Answer.DEFINITELY_YES,
    bicycle: str = Answer.DEFINITELY_NO,
    outline: str = "[[[10,10],[200,10],[200,200],[10,200]]]",
    box: Sequence[int] | None = (1000, 1000, 20000, 20000),
    complete: bool | None = True,
    unoccluded: bool | None = True,
    real: bool | None = True,
    now: datetime = NOW,
    counted: bool = True,
    known: KnownPicture | None = None,
) -> Response:
    """A response that counts in the next free place, or a surplus one; the panel's counters follow."""
    row = Response.objects.create(
        assignment=assignment(by, on, now=now, known=known),
        image=on.image,
        panel=on,
        tasker=by,
        place=on.places.filter(response=None).order_by("number")[0] if counted else None,
        contains_bird=bird,
        contains_bicycle=bicycle,
        outline=outline if box else "",
        **dict(zip(("box_xmin", "box_ymin", "box_xmax", "box_ymax"), box or (None,) * 4, strict=True)),
        complete=complete,
        unoccluded=unoccluded,
        real=real,
        milliseconds=4200,
        submitted_at=now,
        answers_sha256=uuid.uuid4().hex * 2,
        receipt=uuid.uuid4().hex[:16],
    )
    if counted:
        on.answered += 1
        on.missing -= 1
        if on.missing == 0:
            on.state, on.full_at = PanelState.FULL, now
        on.save()
    return row


def policy_version() -> PolicyVersion:
    """The first policy and instructions, as recorded by the migrations; made again where a test emptied the tables."""
    from policy.numbers import Policy

    row, _ = PolicyVersion.objects.get_or_create(
        version=1,
        defaults={"numbers": Policy().to_json(), "in_force_from": datetime(2026, 1, 1, tzinfo=UTC), "reason": "tests"},
    )
    InstructionVersion.objects.get_or_create(
        version=1, defaults={"summary": "tests", "in_force_from": datetime(2026, 1, 1, tzinfo=UTC)}
    )
    return row


def settle(panel: Panel, *, now: datetime = NOW) -> Panel:
    """Mark a panel as ruled upon, whatever was answered; no ruling is written."""
    panel.answered, panel.missing, panel.leased = panel.size, 0, 0
    panel.state, panel.full_at = PanelState.SETTLED, now
    panel.save()
    return panel


def gold(on: Panel | None = None, **values: Any) -> KnownPicture:
    """A gold picture on a settled panel: a clear bird, complete, unoccluded and real, in a box of 190 pixels."""
    on = settle(on or panel())
    defaults: dict[str, Any] = {
        "use": "gold",
        "topic": "clear",
        "accepts_bird": [Answer.DEFINITELY_YES],
        "accepts_bicycle": [Answer.DEFINITELY_NO],
        "outline": "[[[10,10],[200,10],[200,200],[10,200]]]",
        "min_iou_percent": 70,
        "complete": True,
        "unoccluded": True,
        "real": True,
        "created_at": NOW,
    }
    values = defaults | values
    return KnownPicture.objects.create(image=on.image, panel=on if values["use"] == "gold" else None, **values)


# What the board decides -----------------------------------------------------------------------------------------------


def mandate(kind: str, member: User, now: datetime) -> MotionMandate:
    """What a member who acts for the board has; nobody's votes are on record.

    The motion is open for who holds the mandate. On record it is closed, as it is when the transaction is over.
    """
    policy = policy_version()
    told = {"kind": CaseKind.MOTION, "motion": kind, "reason": "Moved in a test.", "policy": policy}
    dates = {"opened_at": now, "due_at": now + timedelta(days=14), "closed_at": now, "state": CaseState.CLOSED}
    case = Case.objects.create(**told, **dates, opened_by=member)
    decided = {"confirmed_by": member, "decided_at": now, "policy": policy}
    CaseDecision.objects.create(case=case, outcome=CaseOutcome.CARRIED, votes=[], quorum=0, recused=0, **decided)
    case.state, case.closed_at = CaseState.OPEN, None
    return MotionMandate(case, member)


def voted(case: Case, member: User, now: datetime, choice: VoteChoice = VoteChoice.IN_FAVOUR) -> Case:
    """A case with the vote of a member who said that nothing ties them to its teams."""
    disclose(case=case, teams=[team.public_id for team in undisclosed(case, member)], by=member, now=now)
    vote_cast(case=case, by=member, choice=choice, now=now)
    return case


def confirmed(case: Case, member: User, now: datetime) -> CaseDecision:
    return case_decide(case=case, seen=count_of(case).mark, explanation="", by=member, now=now)


def carried(case: Case, member: User, now: datetime) -> CaseDecision:
    """What one member moved, carried with the vote of `member`, who confirms it: the way it goes."""
    return confirmed(voted(case, member, now), member, now)


def sent_by_somebody() -> None:
    """Let every picture that no attack sent have come as one: only those break a defense (R29)."""
    for each in Image.objects.filter(attacks=None):
        team, _ = Team.objects.get_or_create(name="somebody", defaults={"created_at": each.received_at})
        week = week_at(each.received_at).name
        Attack.objects.create(team=team, image=each, received_at=each.received_at, week=week)
        Image.objects.filter(pk=each.pk).update(origin="attack")
