"""A defense that failed a condition of publication says so everywhere, why, and what to do (R31)."""

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from contest.defenses.eligibility import failures, next_step
from contest.enums import DefenseStanding, MessageKind
from contest.messages.letters import written
from contest.models import Entry, Message, Team
from contest.stakes.letters import not_eligible_tell
from contest.stakes.selectors import standing_of
from scoring.enums import Fault, RunState, TrialKind
from scoring.models import Defense
from scoring.trials.enums import Condition
from scoring.trials.services import framework_check, trials_plan
from tests import factories, tables
from tests.contest.pages import answers, main, shows, words
from tests.contest.stakes import cast
from tests.scoring.trials import cast as trials

pytestmark = pytest.mark.django_db
SMOKE, PRIVATE, EARLIER, PROBE = TrialKind
MENDED_BY_A_NEW_SET = {Condition.PRIVATE, Condition.SPEED}
WEAK = {"pictures": 10, "right": 5, "wrong": 5, "rows": 16, "milliseconds": 900}


@pytest.fixture
def blue() -> Team:
    return cast.team("blue")


@pytest.fixture
def made(blue: Team) -> Entry:
    """A defense that passed everything but what a test changes."""
    found = cast.entry(blue, "the net")
    cast.eligible(found.defense)
    return found


def private(**totals: int) -> Callable[[Defense], None]:
    return lambda defense: trials.passed(defense, PRIVATE, totals={"rows": 16, "milliseconds": 900} | totals)


def crashed(kind: TrialKind, totals: dict[str, Any]) -> Callable[[Defense], None]:
    return lambda defense: trials.passed(defense, kind, totals=totals, fault=Fault.CRASHED)


# what failed, the conditions, words of what was missed
@tables.cases(
    "change conditions words why",
    (private(pictures=10, right=7, abstained=3), [Condition.PRIVATE],
     "7 of 10 right. At least 80 % is needed: 8.", "too few right"),
    (private(pictures=11, right=8, abstained=3), [Condition.PRIVATE],
     "8 of 11 right. At least 80 % is needed: 9.", "what is needed is rounded up"),
    (private(pictures=10, right=9, wrong=1), [Condition.PRIVATE],
     "1 counted as wrong. None may be: abstaining is not wrong.", "enough right, and one wrong in the strict reading"),
    (private(pictures=10, right=9, faults=1), [Condition.PRIVATE],
     "1 of them had no answer because of a fault; before publication that is a wrong answer.",
     "a fault is a wrong answer"),
    (lambda defense: trials.passed(defense, PRIVATE, totals=trials.GOOD[PRIVATE] | {"milliseconds": 10_000_000}),
     [Condition.SPEED], "A picture may take at most 60 s.", "too slow"),
    (crashed(SMOKE, {"accepted": False, "rounds": 0}), [Condition.CONTAINER],
     "The smoke test ended in the fault crashed: The program ended", "it crashed"),
    (lambda defense: trials.passed(defense, SMOKE, totals={"accepted": False, "pictures_per_minute": 0}),
     [Condition.CONTAINER], "The smoke test was not accepted. It answered 0 pictures a minute.", "slow in smoke"),
    (lambda defense: trials.passed(defense, EARLIER, totals={"pictures": 4, "right": 3, "wrong": 1}),
     [Condition.EARLIER],
     "1 of 4 answers to earlier valid attacks counted as wrong. None may be.", "a confident mistake"),
    (lambda defense: framework_check(defense, passed=False, reason="compiled", by=cast.board(), now=factories.NOW)
     and None, [Condition.FRAMEWORK], "The review board's check: compiled", "the board said no"),
)  # fmt: skip
def test_what_was_missed_is_named_and_a_new_private_set_promised_where_it_helps(
    change: Callable[[Defense], None], conditions: list[Condition], words: str, why: str, made: Entry, now: datetime
) -> None:
    assert standing_of(made.defense, now=now) is DefenseStanding.ELIGIBLE
    change(made.defense)
    found = failures([made.defense], now=now)[made.defense_id]
    assert [each.condition for each in found] == conditions and words in found[0].words
    assert found[0].advice and found[0].at is not None and "Hand in a new version" in next_step(found)
    assert standing_of(made.defense, now=now) is DefenseStanding.NOT_ELIGIBLE
    trials.private(4, seed=300)
    trials_plan(policy=cast.policy(), now=now, rng=random.Random(1))
    helps = standing_of(made.defense, now=now) is DefenseStanding.RECEIVED
    assert ("begins again by itself" in next_step(found)) == helps == (conditions[0] in MENDED_BY_A_NEW_SET), why


def test_two_failures_are_mended_by_a_new_set_where_it_mends_both(made: Entry, now: datetime) -> None:
    trials.passed(made.defense, PRIVATE, totals=WEAK)
    trials.passed(made.defense, SMOKE, totals={"accepted": False})
    assert "begins again" not in next_step(failures([made.defense], now=now)[made.defense_id])


# What takes it back to waiting
@tables.cases(
    "change why",
    (lambda made: trials.private(4, seed=300), "a new private set asks it again"),
    (lambda made: trials.ask(made.defense, PRIVATE, factories.NOW), "an organizer asked for another trial"),
    (
        lambda made: trials.passed(made.defense, PRIVATE, state=RunState.DEAD, totals={}),
        "the platform's fault is no failure",
    ),
)
def test_it_waits_again(change: Callable[[Entry], Any], why: str, made: Entry, now: datetime) -> None:
    trials.passed(made.defense, PRIVATE, totals=WEAK)
    assert standing_of(made.defense, now=now) is DefenseStanding.NOT_ELIGIBLE
    change(made)
    assert standing_of(made.defense, now=now) is DefenseStanding.RECEIVED and failures([made.defense], now=now) == {}


def test_after_its_publication_or_withdrawal_it_is_no_failure(made: Entry, now: datetime) -> None:
    trials.passed(made.defense, PRIVATE, totals=WEAK)
    for changed in ({"published_at": now}, {"published_at": None, "retired_at": now}):
        Defense.objects.filter(pk=made.defense_id).update(**changed)
        defense = Defense.objects.get(pk=made.defense_id)
        assert standing_of(defense, now=now) is not DefenseStanding.NOT_ELIGIBLE and not failures([defense], now=now)
    Entry.objects.filter(pk=made.pk).update(withdrawn_at=now)
    assert not_eligible_tell(now=now) == 0, "and nobody is told"


# Where it is shown ----------------------------------------------------------------------------------------------------


def test_every_page_and_call_says_so(made: Entry, signed_in: Any, monkeypatch: Any, now: datetime) -> None:
    monkeypatch.setattr("django.utils.timezone.now", lambda: now)
    waiting = cast.entry(made.team, "another net")
    trials.passed(made.defense, PRIVATE, totals=WEAK)
    missed, by_then = "5 of 10 right. At least 80 % is needed: 8.", "if eligible"
    team, board = signed_in(cast.captain(made.team)), signed_in(cast.board())
    organizer, own, public = signed_in(cast.organizer()), "/team/defenses/", "/defenses/"
    of_it, of_the_other = (f"{each.defense.public_id}/" for each in (made, waiting))
    listed, page = words(team, own), words(team, own + of_it)
    shows(listed, "not eligible", "not published: why, and what to do")
    shows(page, missed, "Hand in a new version", but=[by_then])
    again = "begins again by itself when organizers import a new private set"
    assert (listed.count(by_then), page.count(again)) == (1, 1)
    shows(words(team, own + of_the_other), by_then)
    told = {each["id"]: each for each in team.get("/api/v1/defenses/").json()}
    mine, other = told[made.defense.public_id], told[waiting.defense.public_id]
    (failed,) = mine["failed"]
    assert (mine["state"], mine["due_at"], failed["condition"]) == ("not eligible", None, "private")
    assert missed in failed["words"]
    assert (other["state"], other["failed"], bool(other["due_at"])) == ("received", [], True)
    shows(
        words(board, "/board/frameworks/"), "another net", "Left out: 1 defense that failed a trial.", but=["the net"]
    )
    shows(words(board, reverse("framework", args=[made.defense.public_id])), missed)
    overdue, _, stakes = words(organizer, "/organizer/stakes/").partition("Not eligible")
    shows(stakes.partition("At stake")[0], "the net", missed, but=["another net"])
    shows(overdue.partition("Publication overdue")[2], but=["the net"])
    shows(words(organizer, public), "not eligible")
    shows(words(organizer, public + of_it), missed, but=[by_then])
    trials.passed(made.defense, SMOKE, totals={"accepted": False})
    for client, address in ((team, own), (organizer, public)):
        shows(words(client, address + of_it), but=["import a new private set"])


def test_what_the_board_refused_stays_on_its_list_and_code_is_shown_as_code(
    made: Entry, signed_in: Any, now: datetime
) -> None:
    framework_check(made.defense, passed=False, reason="compiled", by=cast.board(), now=now)
    page = words(signed_in(cast.board()), "/board/frameworks/")
    shows(page, "the net", "not passed", but=["Left out"])
    crashed(SMOKE, {"accepted": False, "rounds": 0})(made.defense)
    page = main(signed_in(cast.captain(made.team)), f"/team/defenses/{made.defense.public_id}/")
    shows(
        page.partition('aria-labelledby="failed"')[2].partition("</section>")[0],
        "call <code>serve</code> and run",
        but=["`"],
    )


# The message ----------------------------------------------------------------------------------------------------------


def test_a_team_is_told_once_of_each_failure(made: Entry, now: datetime) -> None:
    assert not_eligible_tell(now=now) == 0
    trials.passed(made.defense, PRIVATE, totals=WEAK)
    assert [not_eligible_tell(now=now) for _ in range(2)] == [2, 0]
    letters = Message.objects.filter(kind=MessageKind.NOT_ELIGIBLE).order_by("pk")
    assert [each.user.username for each in letters if each.user] == ["cap-blue", "mem-blue"]
    letter = written(letters[0])
    assert letter.title == "the net is not eligible" and "At least 80 % is needed: 8." in letter.text
    made.team.members.create(user=factories.user("late"))
    assert not_eligible_tell(now=now) == 0, "who joins later reads it on the page"
    trials.private(4, seed=300)
    assert not_eligible_tell(now=now) == 0, "it waits again"
    trials.passed(made.defense, PRIVATE, totals=WEAK, finished_at=now + timedelta(hours=1))
    assert not_eligible_tell(now=now + timedelta(hours=1)) == 3, "it failed the new set as well"


def test_a_list_asks_as_many_questions_as_one(
    blue: Team, made: Entry, now: datetime, django_assert_max_num_queries: Any
) -> None:
    for number in range(5):
        trials.passed(cast.entry(blue, f"net of five {number}").defense, PRIVATE, totals=WEAK)
    with django_assert_max_num_queries(6):
        assert len(failures(Defense.objects.all(), now=now)) == 5


@pytest.mark.parametrize("address", ["/api/v1/defenses/", "/team/defenses/"])
def test_a_list_reads_the_conditions_once(address: str, blue: Team, made: Entry, signed_in: Any) -> None:
    trials.passed(made.defense, PRIVATE, totals=WEAK)
    client = signed_in(cast.captain(blue))
    client.get(address)
    with CaptureQueriesContext(connection) as queries:
        answers(client.get(address), 200, "the net")
    assert sum('FROM "scoring_frameworkcheck"' in each["sql"] for each in queries.captured_queries) == 1
