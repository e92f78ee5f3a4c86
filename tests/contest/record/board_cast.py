"""Two released weeks in which the board was at work: appeals, every outcome, motions, confirmations."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from adjudication.counting import Ballot
from adjudication.models import Ruling
from contest.board.cases import image_held, picture_case, vote_cast
from contest.board.deciding import case_decide, cases_close
from contest.board.motions import motion_drop, motion_open
from contest.enums import AppealSide, DecisionKind, VoteChoice
from contest.models import Appeal, Case, CaseDecision, Examination, Statement, Team
from labeling.models import Image
from scoring.enums import Outcome
from tests.contest import release_fixtures
from tests.contest.board import cast as board
from tests.contest.record import cast
from tests.contest.record.cast import LATER
from tests.contest.test_more_taskers import say, settle

ARGUMENT = "=The wing is cut off at the border,\nas the mark shows: nobody can call it complete."
ANSWER = "-Nothing is cut off: the dark part is a branch."
DISSENT = "I do not see it: the wing ends inside the picture."
SECRET = "Somebody's words for the board alone."
MARKS = [{"x": 1, "y": 2, "width": 10, "height": 20, "words": 'the "wing", left'}]
TRUNCATED = Ballot(VoteChoice.OVERRULE, reasons=("truncated",))
UPHOLD, MORE = Ballot(VoteChoice.UPHOLD), Ballot(VoteChoice.MORE_TASKERS)
HOUR = timedelta(hours=1)
CLOSED = LATER + 9 * HOUR


def two_weeks() -> release_fixtures.Contest:
    """Fill both weeks; nothing is released yet."""
    contest = cast.two_weeks()
    members = [board.member(f"member {number}") for number in range(3)]
    red, blue = Team.objects.get(name="=red"), Team.objects.get(name="blue")
    overruled(contest, members, red, blue)
    image = contest.images["occluded"]
    # A tie leaves a rejection as it is, and two members confirm it at one moment.
    votes(opened(image), members, UPHOLD, Ballot(VoteChoice.OVERRULE, label="bird"), MORE, hours=4)
    asked(contest, members, red)
    moved(members, red, blue)
    for member in members[:2]:
        told = {"ruling": image.rulings.get(), "confirmed_by": member, "at": CLOSED}
        Examination.objects.create(image=image, defense=contest.defenses[0], **told)
    # A case on which members still vote, and a motion.
    case = opened(contest.images["depiction"])
    appeal(case, Team.objects.create(name="waits", created_at=LATER))
    board.vote(case, members[0], UPHOLD, LATER + HOUR, words=SECRET)
    grant(blue, members[1])
    return contest


def opened(image: Image, now: datetime = LATER) -> Case:
    ruling = Ruling.objects.filter(image=image).order_by("-number")[0]
    with transaction.atomic():
        return picture_case(image=image_held(image.pk), ruling=ruling, by=None, now=now)


def appeal(case: Case, by: Team, *, defense: Any = None, marks: Sequence[Any] = ()) -> Appeal:
    side = AppealSide.DEFENDER if defense else AppealSide.ATTACKER
    told = {"argument": ARGUMENT, "marks": list(marks), "sent_at": LATER + HOUR, "defense": defense, "side": side}
    return Appeal.objects.create(case=case, team=by, image=case.image, ruling=case.ruling, **told)


def votes(case: Case, members: Sequence[User], *ballots: Ballot, hours: int) -> CaseDecision:
    """Each member votes for one of these; the first confirms, after so many hours."""
    for member, ballot in zip(members, ballots, strict=False):
        board.vote(case, member, ballot, LATER + 2 * HOUR, words=SECRET)
    return board.decide(case, members[0], LATER + hours * HOUR)


def overruled(contest: release_fixtures.Contest, members: Sequence[User], red: Team, blue: Team) -> None:
    """A valid picture is rejected, against one vote whose words are public."""
    case = opened(contest.images["valid bird"])
    appeal(case, blue, defense=contest.defenses[0], marks=MARKS)
    Statement.objects.create(case=case, team=red, words=ANSWER, sent_at=LATER + HOUR)
    board.vote(case, members[2], UPHOLD, LATER + HOUR, words=DISSENT, public=True)
    votes(case, members, TRUNCATED, TRUNCATED, hours=3)


def asked(contest: release_fixtures.Contest, members: Sequence[User], red: Team) -> None:
    """More taskers join one panel, and a fresh one takes the place of another."""
    joins, fresh = opened(contest.images["valid bicycle"]), opened(contest.images["uncertain"])
    appeal(fresh, red)
    shape = release_fixtures.LARGE
    for hours, case, said in (
        (5, joins, release_fixtures.bicycle(shape)),
        (6, fresh, release_fixtures.drawn(shape)),
    ):
        made = votes(case, members, MORE, MORE, UPHOLD, hours=hours)
        assert made.panel is not None
        made.panel.refresh_from_db()
        say(made.panel, [said] * made.panel.missing, CLOSED - 2 * HOUR)
        settle(CLOSED - HOUR)
    assert cases_close(now=CLOSED) == 2
    for defense in contest.defenses:
        release_fixtures.scored(defense, contest.images["uncertain"], [Outcome.ABSTAIN] * 3)


def moved(members: Sequence[User], red: Team, blue: Team) -> None:
    """One motion is carried, one lost, one taken back."""
    ada, ben, cleo = members
    cases = [grant(red, ada), grant(blue, ada)]
    for case, choice in zip(cases, (VoteChoice.IN_FAVOUR, VoteChoice.AGAINST), strict=True):
        board.tell(case, ben)
        vote_cast(case=case, by=ben, choice=choice, now=LATER + HOUR, words=SECRET)
        if choice is VoteChoice.AGAINST:
            board.vote(case, cleo, choice, LATER + HOUR)
        case_decide(case=case, seen=board.count_of(case).mark, explanation="=As said.", by=ben, now=LATER + 2 * HOUR)
    motion_drop(case=grant(blue, ada), by=ada, now=LATER + 3 * HOUR)


def grant(team: Team, by: User, now: datetime = LATER) -> Case:
    """A motion to let a team attack without a paper."""
    return motion_open(
        DecisionKind.GRANT, subject={"team": [team.pk]}, reason="+We know them, and they asked for it.", by=by, now=now
    )


def kept_back() -> tuple[str, ...]:
    """What no release says: the names of members, what they wrote for each other, and what waits."""
    names = User.objects.filter(groups__name="review board").values_list("username", flat=True)
    waits = Case.objects.filter(state="open").values_list("public_id", flat=True)
    return (SECRET, "waits", *names, *waits)
