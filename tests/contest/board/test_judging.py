"""Who judges a case: who steps aside for whom, what waits where too few are left, and who is reminded of a case past
its clock (R19, R21)."""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from common.models import AuditEntry
from contest.board import case_sweep
from contest.board.case_messages import retract_messages
from contest.board.case_sweep import case_remind, sweep_cases
from contest.board.cases import count_of, parties_add
from contest.board.conflicts import conflict_declare, conflict_end
from contest.board.models import CaseParty, Disclosure, Vote
from contest.board.recusal import DISCLOSURE_VALID_FOR, cases_seen_by, judges_for, recused_from, undisclosed
from contest.board.selectors import cases_listed
from contest.core.enums import CaseState, ConflictKind, MessageKind, VoteChoice
from contest.core.models import Attack, Case, ConflictOfInterest, Team
from contest.outbox.models import Message
from contest.pages.board.case_list import case_rows
from contest.teams.services import teams_merge
from tests import factories
from tests.contest.attacks.cast import main_of
from tests.contest.board import case_cast, cast
from tests.contest.board.cast import LATER, Scene
from tests.contest.ledger import cast as money
from tests.contest.pages import codes, main, plain, shows
from tests.refusals import refused

pytestmark = pytest.mark.django_db
INSTANT, HOUR, DAY = timedelta(microseconds=1), timedelta(hours=1), timedelta(days=1)
OPENED, AFTER, CLOSED = LATER, LATER + 5 * HOUR, LATER + 3 * DAY
Change = Callable[[Scene], object]


@pytest.fixture(scope="module")
def shared_scene(module_world: Path) -> Scene:
    """Four members who can be written to."""
    made = Scene.make(members=4)
    for each in made.members:
        User.objects.filter(pk=each.pk).update(email=f"{each.username}@example.org")
    return made


# Who steps aside ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("since", "until", "closed", "aside", "why"),
    [
        (OPENED - HOUR, None, False, True, "in force when it was opened"),
        (OPENED - 2 * HOUR, OPENED - HOUR, False, False, "over before it was opened"),
        (OPENED - 2 * HOUR, OPENED, False, False, "over at the very moment it was opened"),
        (OPENED - 2 * HOUR, OPENED + HOUR, False, True, "in force when it was opened: its end does not give it back"),
        (OPENED + HOUR, None, False, True, "began while it is open"),
        (OPENED + HOUR, OPENED + 2 * HOUR, False, True, "began and ended while it is open"),
        (CLOSED + HOUR, None, True, False, "began after it was closed"),
        (CLOSED, None, True, True, "began when it was closed"),
        (OPENED - HOUR, None, True, True, "a closed case stays closed to them"),
    ],
)
def test_for_which_time_a_conflict_counts(
    since: datetime, until: datetime | None, closed: bool, aside: bool, why: str, case: Case, scene: Scene
) -> None:
    if closed:
        case.state, case.closed_at = "closed", CLOSED
        case.save()
    cast.conflict(scene.members[0], scene.blue, since, until)
    assert recused_from(case) == ({scene.members[0].pk} if aside else set()), why
    for member, judges in ((scene.members[0], not aside), (scene.members[1], True)):
        assert (member in judges_for(case), cases_seen_by(member).filter(pk=case.pk).exists()) == (judges, judges), why


def test_a_dismissed_conflict_and_one_with_another_team_count_for_nothing(case: Case, scene: Scene) -> None:
    cast.conflict(scene.members[0], scene.red, found=True, dismissed_at=LATER, dismissed_reason="Another person.")
    cast.conflict(scene.members[0], money.team("green"))
    assert recused_from(case) == set() and cases_seen_by(scene.members[0]).count() == 1


def test_a_merged_team_is_the_same_one_in_cases_of_before_and_after(case: Case, scene: Scene, olga: User) -> None:
    green, member = money.team("green"), scene.members[0]
    cast.conflict(member, green)
    assert recused_from(case) == set()
    teams_merge(team=scene.blue, into=green, reason="One group.", by=olga, now=LATER)
    assert [recused_from(each) for each in (case, scene.beside().opened())] == [{member.pk}] * 2
    assert not cases_seen_by(member).exists()


# Which teams a case is about ------------------------------------------------------------------------------------------


def parties(scene: Scene) -> dict[str, str]:
    return dict(CaseParty.objects.filter(case=scene.opened()).values_list("team__name", "role"))


def test_it_is_about_who_sent_the_picture_and_whose_defense_was_at_stake(scene: Scene) -> None:
    """A copy under embargo makes nobody a party (R24)."""
    Attack.objects.create(
        team=money.team("green"), image=scene.image, received_at=LATER, week="2026-W48", copy_of=scene.attack
    )
    assert parties(scene) == {"red": "sender", "blue": "defender"}


def test_a_picture_that_names_its_targets_is_about_their_teams_alone(scene: Scene) -> None:
    scene.attack.targets.add(money.staked(money.defense("tower", money.team("green"))).defense)
    assert parties(scene) == {"red": "sender", "green": "defender"}


def test_who_staked_later_is_a_party_in_the_week_of_the_attack_and_afterwards_if_it_breaks_them(scene: Scene) -> None:
    """R35: later in its week the attack is paid for breaking it."""
    scene.party("grey", scene.attack.received_at + DAY)
    late = money.staked(money.defense("late", money.team("green")), at=scene.attack.received_at + 7 * DAY)
    assert parties(scene) == {"red": "sender", "blue": "defender", "grey": "defender"}
    money.broken(late.defense, scene.attack)
    assert [parties_add(scene.opened(), now=LATER) for _ in range(2)] == [1, 0]
    assert parties(scene)["green"] == "defender"


def test_a_later_case_is_about_whom_the_picture_broke_and_who_appealed_it_before(scene: Scene) -> None:
    """R21: under a rejection no break is in force, and the board may rule the picture valid again."""
    green = money.team("green")
    scene.attack.targets.add(money.staked(money.defense("tower", green)).defense)
    money.broken(scene.stake.defense, scene.attack)
    first, grey = scene.opened(), scene.party("grey")
    case_cast.appealed(first, grey)
    cast.decided(first, scene.members, cast.OVERRULE_REJECTED)
    assert parties(scene) == {"red": "sender", "green": "defender", "blue": "defender", "grey": "appellant"}


# Whose word stands --------------------------------------------------------------------------------------------------


def asked(scene: Scene, team: Team, now: datetime) -> list[str]:
    """Of which teams a new motion about `team` asks the first member, who says nothing more."""
    case, member = case_cast.motion(scene, scene.members[2], team), scene.members[0]
    Case.objects.filter(pk=case.pk).update(opened_at=now)
    case.refresh_from_db()
    found = [each.name for each in undisclosed(case, member)]
    (row,) = case_rows([cases_listed(member).get(pk=case.pk)], member, now=now)
    assert row.disclosed is not bool(found), "the list says the same"
    return found


def _nothing(scene: Scene) -> None:
    pass


def _declared(scene: Scene) -> None:
    member, kind = scene.members[0], ConflictKind.OTHER
    made = conflict_declare(
        kind=kind, words="", member=member, team=scene.red, since=LATER, by=member, now=LATER + HOUR
    )
    conflict_end(conflict_id=made.pk, reason="We fell out.", by=member, now=LATER + 2 * HOUR)


def _found(scene: Scene) -> None:
    told = {"found": True, "dismissed_at": LATER + 2 * HOUR, "dismissed_reason": "A namesake."}
    cast.conflict(scene.members[0], scene.red, declared_at=LATER + HOUR, **told)


def _merged(scene: Scene) -> None:
    teams_merge(
        team=scene.red,
        into=money.team("green"),
        reason="One group.",
        by=factories.user("olga", "organizers"),
        now=LATER + HOUR,
    )


# What happens, about which team a member is asked, and how long after they spoke; of which teams they speak again.
SINCE: list[tuple[Change, str, timedelta, list[str], str]] = [
    (_nothing, "red", timedelta(0), [], "said of another case at the same time"),
    (_nothing, "red", DISCLOSURE_VALID_FOR, [], "said just within the time for which it stands"),
    (_nothing, "red", DISCLOSURE_VALID_FOR + INSTANT, ["red"], "said too long before the case was opened"),
    (_nothing, "red", -10 * DISCLOSURE_VALID_FOR, [], "said after the case was opened, of another one"),
    (_declared, "red", 3 * HOUR, ["red"], "a conflict was declared since, though it is over"),
    (_found, "red", 3 * HOUR, ["red"], "one was found since, though it was dismissed"),
    (
        lambda scene: cast.conflict(scene.members[0], scene.red, OPENED - 2 * HOUR, OPENED - HOUR),
        *("red", 3 * HOUR, [], "one that was on record before they spoke"),
    ),
    (
        lambda scene: cast.conflict(scene.members[1], scene.red, declared_at=LATER + HOUR, until=LATER + 2 * HOUR),
        *("red", 3 * HOUR, [], "one of another member"),
    ),
    (_merged, "green", 3 * HOUR, ["green"], "of the team that it was merged into they said nothing"),
    (_nothing, "green", 3 * HOUR, ["green"], "of a team that they were never asked about"),
    (_nothing, "blue", 3 * HOUR, [], "of every team of the case"),
]


@pytest.mark.parametrize(("happens", "about", "after", "teams", "why"), SINCE, ids=[row[4] for row in SINCE])
def test_what_a_member_said_of_a_team_stands_for_a_time_until_something_takes_it_back(
    happens: Change, about: str, after: timedelta, teams: list[str], why: str, case: Case, scene: Scene
) -> None:
    cast.tell(case, scene.members[0], LATER)
    happens(scene)
    team = Team.objects.filter(name=about).first() or money.team(about)
    assert asked(scene, team, LATER + after) == teams, why


def test_who_is_asked_again_speaks_again_and_their_vote_counts_then(case: Case, scene: Scene) -> None:
    member = scene.members[0]
    cast.vote(case, member, VoteChoice.UPHOLD)
    _found(scene)
    assert [team.name for team in undisclosed(case, member)] == ["red"] and count_of(case).waiting == 1
    cast.tell(case, member, LATER + 3 * HOUR)
    assert undisclosed(case, member) == [] and len(count_of(case).votes) == 1
    assert Disclosure.objects.get(case=case, member=member, team=scene.red).made_at == LATER + 3 * HOUR


# A quorum that is lost in the middle ----------------------------------------------------------------------------------


def step_aside(scene: Scene) -> None:
    for member in scene.members[1:]:
        kind = list(ConflictKind)[ConflictOfInterest.objects.filter(member=member).count()]
        cast.conflict(member, scene.blue, LATER, kind=kind, found=True)


def come_back(scene: Scene) -> None:
    ConflictOfInterest.objects.filter(dismissed_at=None).update(
        dismissed_at=AFTER, dismissed_reason="Another one of that name."
    )


def on_the_board(yes: bool) -> Change:
    return lambda scene: [
        member.groups.set(Group.objects.filter(name="review board") if yes else []) for member in scene.members[1:]
    ]


def of_active_accounts(yes: bool) -> Change:
    return lambda scene: User.objects.filter(pk__in=[each.pk for each in scene.members[1:]]).update(is_active=yes)


# How all members but one are lost, after two had voted, and how they come back.
LOST = [
    (step_aside, come_back, "they come to step aside, and the conflicts are dismissed"),
    (on_the_board(False), on_the_board(True), "they leave the board, and join it again"),
    (of_active_accounts(False), of_active_accounts(True), "their accounts are closed, and opened again"),
]


def told() -> int:
    return Message.objects.filter(kind=MessageKind.CASE_NO_QUORUM, user__username="oliver").count()


@pytest.mark.both("the sweep locks cases and skips what others hold")
@pytest.mark.parametrize(("lose", "regain", "why"), LOST, ids=[row[2] for row in LOST])
def test_the_case_waits_and_organizers_are_told_once_until_there_is_one_again(
    lose: Change, regain: Change, why: str, case: Case, scene: Scene
) -> None:
    over = case.due_at + DAY
    cast.votes(case, scene.members[:2], VoteChoice.UPHOLD)
    assert (sweep_cases(now=LATER), told(), count_of(case).is_enough) == (0, 0, True)
    lose(scene)
    count = count_of(case)
    assert (count.is_enough, count.can_be_enough, len(count.votes)) == (False, False, 1), why
    assert [(sweep_cases(now=AFTER), told()) for _ in range(2)] == [(1, 1), (0, 1)]
    refused("no_quorum", cast.decide, case, scene.members[0], over)
    assert (sweep_cases(now=over), told()) == (0, 1)
    assert Case.objects.get(pk=case.pk).state == CaseState.OPEN, "the end of the clock decides nothing"
    assert Vote.objects.filter(case=case).count() == 2, "no vote is lost"
    regain(scene)
    assert (sweep_cases(now=AFTER), told(), count_of(case).is_enough) == (1, 1, True), "and they count again"
    lose(scene)
    assert (sweep_cases(now=AFTER), told()) == (1, 2)


def test_a_case_that_cannot_be_looked_after_holds_up_no_other(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken, other = scene.opened(), scene.beside().opened()
    on_the_board(False)(scene)
    real = case_sweep.notify_no_quorum

    def notify_no_quorum(case: Case, *, now: datetime) -> None:
        real(case, now=now)
        if case == broken:
            raise RuntimeError("a row that nobody expected")

    monkeypatch.setattr(case_sweep, "notify_no_quorum", notify_no_quorum)
    with pytest.raises(ExceptionGroup, match="1 cases were not looked after") as raised:
        sweep_cases(now=AFTER)
    assert [str(error) for error in raised.value.exceptions] == ["a row that nobody expected"]
    assert [each.msg["case"] for each in caplog.records if each.msg["event"] == "case_not_tended"] == [broken.pk]
    seen = dict(Case.objects.values_list("pk", "told_at"))
    assert (seen, told()) == ({broken.pk: None, other.pk: AFTER}, 1), "it alone is undone"
    monkeypatch.undo()
    assert (sweep_cases(now=AFTER), told()) == (1, 2), "the next sweep tries it again"


# Reminding of a case past its clock -----------------------------------------------------------------------------------


@pytest.fixture
def organizer(db: None) -> User:
    """An organizer, apart from the one who paid the prizes in."""
    return factories.user("olympia", "organizers")


def reminders() -> list[tuple[str, str]]:
    return [
        (each.user.username, each.facts["reminder"])
        for each in Message.objects.filter(kind=MessageKind.CASE_DUE).order_by("made_at", "user__username")
    ]


@pytest.mark.both("the case is locked while its members are looked for")
def test_who_has_not_voted_is_reminded_and_who_steps_aside_is_not(case: Case, scene: Scene, organizer: User) -> None:
    """R21; a conflict that comes later takes it back."""
    voted, waits, also, aside = scene.members
    cast.vote(case, voted, VoteChoice.UPHOLD)
    cast.conflict(aside, scene.blue)
    assert case_remind(public_id=case.public_id, by=organizer, now=case.due_at + DAY) == [waits, also]
    assert reminders() == [(waits.username, "vote"), (also.username, "vote")]
    entry = AuditEntry.objects.get(action="case.remind")
    assert (entry.user, entry.subject, entry.public) == (organizer, {"case": [case.public_id]}, {})
    assert not entry.published
    cast.conflict(waits, scene.red)
    retract_messages(case)
    assert reminders() == [(also.username, "vote")]


def test_where_all_have_voted_they_are_reminded_to_confirm_the_count(case: Case, scene: Scene, organizer: User) -> None:
    cast.votes(case, scene.members, VoteChoice.UPHOLD)
    assert case_remind(public_id=case.public_id, by=organizer, now=case.due_at) == scene.members
    assert reminders() == [(each.username, "confirm") for each in scene.members]


def test_a_case_is_reminded_of_when_it_is_due_within_a_day_and_once_a_day(
    case: Case, scene: Scene, organizer: User
) -> None:
    names, due = (case.public_id, case_cast.another(scene).public_id), case.due_at
    # More than a day is left.
    refused("not_due", case_remind, public_id=names[0], by=organizer, now=due - DAY - INSTANT)
    for at in (due - DAY, due, due + 29 * DAY):
        sent = [len(case_remind(public_id=name, by=organizer, now=at)) for name in names]
        assert sent == [4, 4], "each case by itself"
        refused("reminded", case_remind, public_id=names[0], by=organizer, now=at + DAY - INSTANT)
    assert len(reminders()) == 24 and AuditEntry.objects.filter(action="case.remind").count() == 6


def test_nobody_is_reminded_of_what_is_decided_or_has_no_member_left(case: Case, scene: Scene, organizer: User) -> None:
    other = case_cast.another(scene).public_id
    cast.decided(case, scene.members, VoteChoice.UPHOLD)
    for each in scene.members:
        cast.conflict(each, scene.red)
    for code, name, by in (
        ("decided", case.public_id, organizer),
        ("nobody", other, organizer),
        ("not_an_organizer", other, scene.members[0]),
        ("not_found", "C-000000", organizer),
    ):
        refused(code, case_remind, public_id=name, by=by, now=case.due_at)
    assert reminders() == [] and not AuditEntry.objects.filter(action="case.remind").exists()


def test_organizers_alone_remind_from_the_overview_which_says_when_they_did(
    case: Case, scene: Scene, organizer: User, stan: User, signed_in: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("django.utils.timezone.now", lambda: case.due_at)
    client, address = signed_in(organizer), f"/organizer/cases/{case.public_id}/remind/"
    people = {
        "stranger": Client(),
        "no role": signed_in(stan),
        "tasker": signed_in(factories.tasker("tara")),
        "sender": signed_in(case_cast.joins(scene.red, "rob")),
        "member": signed_in(scene.members[0]),
    }
    expected = {"stranger": 302, "no role": 404, "tasker": 403, "sender": 403, "member": 403}
    assert codes(people, address, {}) == expected and reminders() == []
    assert client.post("/organizer/cases/C-000000/remind/").status_code == 404
    assert client.get(address).status_code == 405
    assert f'action="{address}"' in main(client, "/organizer/")
    done = client.post(address, follow=True)
    assert done.redirect_chain[-1][0] == "/organizer/#board-cases"
    shows(plain(done), f"4 members are reminded of case {case.public_id}.", "reminded 0 s ago")
    again = main_of(client.post(address, follow=True))
    shows(again, "were reminded of this case within the last day", but=[f'action="{address}"'])
    assert len(reminders()) == 4
