"""The board at work: three members, a team that attacks, one that defends, and a picture with its ruling."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import count
from typing import Any, Self

from django.contrib.auth.models import User
from django.db import transaction

from adjudication.counting import Ballot
from adjudication.models import Ruling
from adjudication.services import panel_settle
from contest.board.cases import count_of, disclose, lock_image, picture_case, vote_cast
from contest.board.decisions import case_decide
from contest.board.models import CaseDecision, Vote
from contest.board.recusal import undisclosed
from contest.core.enums import ConflictKind, VoteChoice
from contest.core.models import Attack, Case, ConflictOfInterest, Stake, Team
from labeling.enums import Answer
from labeling.models import Image, Panel
from policy.selectors import policy_in_force
from tests import factories
from tests.contest.ledger import cast

# The picture came on the Tuesday of this week, was published on the Saturday after, and ruled upon the day after.
SENT_DAYS = 1
RULED = cast.MONDAY + timedelta(days=6, hours=15)  # the Sunday after its week

LATER = RULED + timedelta(days=1)
WHY = "Two of the three outlines show the whole bird, and the wing that is hidden is its own."
_numbers = count(1)
SURE = {"bird": Answer.DEFINITELY_YES}
UNSURE = {"bird": Answer.UNSURE_YES}


def member(name: str) -> User:
    """A member of the review board."""
    return factories.user(name, "review board")


def answers(panel: Panel, *said: dict[str, Any], now: datetime = RULED) -> None:
    """New taskers answer on a panel, each as told."""
    for each in said:
        factories.response(factories.tasker(f"teller{next(_numbers)}"), panel, now=now, **each)


def rule(panel: Panel, *said: dict[str, Any], now: datetime = RULED) -> Ruling:
    """Let new taskers fill a panel, where they say something, and the sweep rule on it."""
    answers(panel, *said, now=now)
    assert panel_settle(panel_id=panel.pk, policy_at=policy_in_force, now=now)
    return Ruling.objects.filter(image=panel.image_id).order_by("-number")[0]


@dataclass
class Scene:
    """What a case needs. `blue` has a defense at stake, at which `red` sent the picture."""

    red: Team
    blue: Team
    stake: Stake
    attack: Attack
    image: Image
    panel: Panel
    ruling: Ruling
    members: list[User]

    @classmethod
    def make(cls, *, valid: bool = True, members: int = 3) -> Self:
        factories.policy_version()
        cast.deposit(4 * cast.PRIZE, factories.user("oliver", "organizers"))
        red, blue = cast.team("red"), cast.team("blue")
        stake = cast.staked(cast.defense("keep", blue))
        sent = cast.MONDAY + timedelta(days=SENT_DAYS)
        image = factories.image(origin="attack", received_at=sent, label_from=RULED - timedelta(days=2))
        attack = cast.attack(red, days=SENT_DAYS, image=image)
        panel = factories.panel(attack.image, dealt_at=RULED - timedelta(days=1))
        ruling = rule(panel, *([SURE] * 3 if valid else [SURE, SURE, UNSURE]))
        board = [member(f"member{number}") for number in range(members)]
        return cls(red, blue, stake, attack, attack.image, panel, ruling, board)

    def opened(self, *, by: User | None = None, now: datetime = LATER) -> Case:
        """The case of the picture."""
        with transaction.atomic():
            return picture_case(image=lock_image(self.image.pk), ruling=self.newest(), by=by, now=now)

    def newest(self) -> Ruling:
        """The ruling that holds."""
        return Ruling.objects.filter(image=self.image).order_by("-number")[0]

    def beside(self, *said: dict[str, Any], sender: Team | None = None, valid: bool = True) -> "Scene":
        """Another picture of the same teams, sent the day after, and ruled upon by these answers."""
        sent = cast.MONDAY + timedelta(days=SENT_DAYS + 1)
        image = factories.image(origin="attack", received_at=sent, label_from=RULED)
        attack = cast.attack(sender or self.red, days=SENT_DAYS + 1, image=image)
        panel = factories.panel(image, dealt_at=RULED - timedelta(days=1))
        ruling = rule(panel, *(said or ([SURE] * 3 if valid else [SURE, SURE, UNSURE])))
        return replace(self, attack=attack, image=image, panel=panel, ruling=ruling)

    def party(self, name: str = "green", at: datetime | None = None) -> Team:
        """One more team, whose defense was at stake when the picture was sent, or since `at`."""
        team = cast.team(name)
        cast.deposit(4 * cast.PRIZE, factories.user(f"sponsor of {name}", "organizers"))
        cast.staked(cast.defense(f"of {name}", team), at=at or cast.MONDAY)
        return team


def tell(case: Case, who: User, now: datetime = LATER) -> None:
    """Let a member say that nothing ties them to the teams."""
    disclose(case=case, teams=[team.public_id for team in undisclosed(case, who)], by=who, now=now)


def vote(case: Case, who: User, ballot: Ballot | VoteChoice, now: datetime = LATER, **more: Any) -> Vote:
    """Let a member disclose and vote."""
    tell(case, who, now)
    said = ballot if isinstance(ballot, Ballot) else Ballot(ballot)
    return vote_cast(case=case, by=who, now=now, choice=said.choice, label=said.label, reasons=said.reasons, **more)


def votes(case: Case, members: Sequence[User], ballot: Ballot | VoteChoice, now: datetime = LATER) -> None:
    """Let several members vote for the same."""
    for who in members:
        vote(case, who, ballot, now)


def decide(case: Case, who: User, now: datetime = LATER, explanation: str = WHY) -> CaseDecision:
    """Let a member confirm what the votes decide now."""
    case.refresh_from_db()
    return case_decide(case=case, seen=count_of(case).mark, explanation=explanation, by=who, now=now)


def decided(
    case: Case, members: Sequence[User], ballot: Ballot | VoteChoice, now: datetime = LATER, explanation: str = WHY
) -> CaseDecision:
    """Let the first two members vote for the same, and the first of them confirm it."""
    votes(case, members[:2], ballot, now)
    return decide(case, members[0], now, explanation)


def conflict(
    who: User, team: Team, since: datetime = cast.BEFORE, until: datetime | None = None, **more: Any
) -> ConflictOfInterest:
    """A conflict as on record, without what declaring one does beside it."""
    told = {"kind": ConflictKind.COAUTHOR, "declared_by": who, "declared_at": since} | more
    return ConflictOfInterest.objects.create(member=who, team=team, since=since, until=until, **told)


OVERRULE_REJECTED = Ballot(VoteChoice.OVERRULE, reasons=("occluded",))
OVERRULE_BIRD = Ballot(VoteChoice.OVERRULE, label="bird")
OVERRULE_BICYCLE = Ballot(VoteChoice.OVERRULE, label="bicycle")
