"""Genuine releases of weeks in which something rare happened: the verifier finds no difference in them (R39)."""

import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from adjudication.verify import verify
from contest.board.cases import vote_cast
from contest.board.decisions import case_decide, cases_close
from contest.board.models import Appeal
from contest.board.motions import withhold_move
from contest.core.enums import AccountKind, AppealSide, VoteChoice
from contest.core.models import Attack, Break, Stake, Team
from contest.defenses.models import DefenseEntry
from contest.defenses.stake_ends import stakes_end
from contest.ledger.services import ledger_account
from contest.prizes.models import Examination
from contest.prizes.settlement import stake_settle
from contest.releases.services import release_week
from contest.teams.models import Association, AssociationMistake
from labeling.enums import PanelState, ReportDecision
from labeling.models import Panel, Report
from scoring.models import Defense
from scoring.reference import REFERENCES
from scoring.services import reference_publish
from tests import factories
from tests.contest import release_fixtures as fixtures
from tests.contest.board import cast as board
from tests.contest.record import cast

pytestmark = pytest.mark.django_db
DAY, HOUR = timedelta(days=1), timedelta(hours=1)


@pytest.fixture
def contest() -> fixtures.Contest:
    return cast.two_weeks()


@pytest.fixture
def members() -> list[User]:
    return [board.member(f"member {number}") for number in range(3)]


def team(name: str) -> Team:
    return Team.objects.get(name=name)


def released(*weeks: Any, out: Any, incomplete: bool = False) -> list[Path]:
    return [release_week(week, out=Path(out), now=cast.NOW, incomplete=incomplete).folder for week in weeks]


def upheld(case: Any, members: list[User], by: Team, at: Any) -> None:
    """Let a team appeal a rejection, and the board uphold it."""
    said = {"argument": cast.ARGUMENT, "marks": [], "sent_at": at, "defense": None, "side": AppealSide.ATTACKER}
    Appeal.objects.create(case=case, team=by, image=case.image, ruling=case.ruling, **said)
    for member in members[:2]:
        board.vote(case, member, cast.UPHOLD, at + HOUR)
    board.decide(case, members[0], at + 2 * HOUR)


def test_a_team_was_founded_after_the_week(contest: fixtures.Contest, settings: Any) -> None:
    """Errata of an old week name its team too, as its defense is published by then."""
    founded = cast.W48.end + DAY
    defense = fixtures.defense(7, created_at=founded, published_at=founded + DAY)
    later = Team.objects.create(name="later", created_at=founded)
    due = cast.W48.end + 14 * DAY
    DefenseEntry.objects.create(team=later, defense=defense, received_at=founded, due_at=due, licence="MIT")
    (folder,) = released(cast.W47, out=settings.RELEASE_DIR, incomplete=True)
    assert later.public_id in (folder / "teams.csv").read_text() and verify(folder).differences == []


def test_who_sent_a_copy_in_a_later_week_appeals(contest: fixtures.Contest, members: list[User], settings: Any) -> None:
    red, blue, image = team("=red"), team("blue"), contest.images["depiction"]
    first = Attack.objects.get(team=red, image=image)
    sent = {"received_at": cast.LATER, "week": cast.W48.name, "policy": factories.policy_version()}
    Attack.objects.create(team=blue, image=image, of_quota=5, copy_of=first, **sent)
    upheld(cast.opened(image, now=cast.W48.end + DAY), members, blue, cast.NOW)
    found = [verify(folder) for folder in released(cast.W47, cast.W48, out=settings.RELEASE_DIR)]
    assert [each.differences for each in found] == [[], []]
    assert [note for note in found[0].notes if f"team {blue.public_id} sent the picture in no release here" in note]


def test_a_team_was_merged_after_the_week_and_appeals(
    contest: fixtures.Contest, members: list[User], settings: Any
) -> None:
    big = Team.objects.create(name="big", created_at=fixtures.MONDAY)
    Team.objects.filter(name="=red").update(merged_into=big, merged_at=cast.W47.end + 20 * HOUR)
    upheld(cast.opened(contest.images["depiction"], now=cast.LATER), members, big, cast.LATER)
    assert [verify(each).differences for each in released(cast.W47, out=settings.RELEASE_DIR)] == [[]]


def test_a_copy_stands_without_the_release_of_its_original(
    contest: fixtures.Contest, settings: Any, tmp_path: Path
) -> None:
    first = Attack.objects.get(team=team("=red"), image=contest.images["valid bird"])
    third = Team.objects.create(name="third", created_at=fixtures.MONDAY)
    sent = {"week": cast.W48.name, "policy": factories.policy_version(), "copy_of": first, "image": first.image}
    Attack.objects.create(team=third, of_quota=1, received_at=cast.LATER + HOUR, **sent)
    _, second = released(cast.W47, cast.W48, out=settings.RELEASE_DIR)
    assert verify(second).differences == []
    assert verify(shutil.copytree(second, tmp_path / "alone" / second.name)).differences == []


@pytest.mark.parametrize("case", ["valid bicycle", "depiction"], ids=["who joins", "a fresh panel"])
def test_a_picture_is_kept_out_while_more_taskers_answer(
    case: str, contest: fixtures.Contest, members: list[User], settings: Any
) -> None:
    made = cast.votes(cast.opened(contest.images[case]), members, cast.MORE, cast.MORE, cast.UPHOLD, hours=5)
    assert made.panel is not None
    reporter, at = factories.tasker("reporter"), cast.CLOSED - HOUR
    assignment = factories.assignment(reporter, made.panel)
    Panel.objects.filter(pk=made.panel.pk).update(state=PanelState.HELD)
    told = {"reported_at": at, "decided_at": at, "decision": ReportDecision.KEPT_OUT, "reply": "No."}
    kind = Report._meta.get_field("kind").choices[0][0]
    Report.objects.create(assignment=assignment, image=made.panel.image, tasker=reporter, kind=kind, **told)
    assert cases_close(now=cast.CLOSED) == 1
    assert [verify(each).differences for each in released(cast.W47, out=settings.RELEASE_DIR)] == [[]]


def test_a_ruling_is_confirmed_that_is_in_no_release_yet(
    contest: fixtures.Contest, members: list[User], settings: Any
) -> None:
    first = released(cast.W47, out=settings.RELEASE_DIR)
    image = contest.images["valid bicycle"]
    cast.votes(cast.opened(image), members, cast.TRUNCATED, cast.TRUNCATED, cast.UPHOLD, hours=5)
    ruling = image.rulings.order_by("-number")[0]
    said = {"ruling": ruling, "confirmed_by": members[0], "at": cast.CLOSED}
    Examination.objects.create(image=image, defense=contest.defenses[0], **said)
    found = [verify(each) for each in [*first, *released(cast.W48, out=settings.RELEASE_DIR)]]
    assert [each.differences for each in found] == [[], []]
    assert [note for note in found[1].notes if note.startswith("examinations: 1 (") and "in no release here" in note]


def test_a_reference_comes_back(contest: fixtures.Contest, settings: Any) -> None:
    """The contest's software went back to an older one."""
    one = REFERENCES[2]
    old, _ = reference_publish(one, now=fixtures.MONDAY)
    Defense.objects.filter(pk=old.pk).update(retired_at=cast.LATER)
    first = released(cast.W47, out=settings.RELEASE_DIR, incomplete=True)
    assert reference_publish(one, now=cast.NOW)[0].retired_at is None
    both = [*first, *released(cast.W48, out=settings.RELEASE_DIR, incomplete=True)]
    assert [verify(each).differences for each in both] == [[], []]


def test_an_association_to_come_is_found_mistaken(contest: fixtures.Contest, settings: Any) -> None:
    lone = Team.objects.create(name="lone", created_at=fixtures.MONDAY)
    said = {"team": lone, "reason": "Next year.", "since": cast.W48.end + 30 * DAY, "declared_at": cast.LATER}
    wrong = Association.objects.create(**said)
    AssociationMistake.objects.create(association=wrong, reason="Another.", declared_at=cast.LATER + DAY)
    found = released(cast.W47, cast.W48, out=settings.RELEASE_DIR)
    assert [verify(each).differences for each in found] == [[], []]


def test_a_team_is_merged_between_a_motion_and_its_decision(contest: fixtures.Contest, settings: Any) -> None:
    ada, ben = board.member("ada"), board.member("ben")
    stake = Stake.objects.get(defense=contest.defenses[1])
    of = ledger_account(AccountKind.STAKE, stake=stake)
    reason = "They cheated, or so it seems to us now."
    case = withhold_move(of, 40_000, team=team("=red"), reason=reason, by=ada, now=cast.LATER)
    big = Team.objects.create(name="big", created_at=fixtures.MONDAY)
    Team.objects.filter(name="=red").update(merged_into=big, merged_at=cast.LATER + HOUR)
    for member in (ben, ada):
        board.tell(case, member, cast.LATER + 2 * HOUR)
    vote_cast(case=case, by=ben, choice=VoteChoice.IN_FAVOUR, now=cast.LATER + 2 * HOUR)
    said = {"seen": board.count_of(case).mark, "explanation": "", "by": ben, "now": cast.LATER + 3 * HOUR}
    case_decide(case=case, **said)
    # What was withheld of the stake is no part of the first shares (R38).
    assert stake_settle(stake.pk, now=cast.LATER + 4 * HOUR)
    found = released(cast.W47, cast.W48, out=settings.RELEASE_DIR)
    assert [verify(each).differences for each in found] == [[], []]


def test_a_break_is_overruled_after_its_shares_were_paid(
    contest: fixtures.Contest, members: list[User], settings: Any
) -> None:
    stake = Stake.objects.get(defense=contest.defenses[1])
    found = Break.objects.filter(defense=contest.defenses[1], image__in=contest.images.values()).order_by("found_at")
    stakes_end(now=cast.LATER + timedelta(minutes=40))
    stake_settle(stake.pk, now=cast.LATER + timedelta(minutes=50))
    case = cast.opened(found[0].image)
    cast.votes(case, members, cast.TRUNCATED, cast.TRUNCATED, cast.UPHOLD, hours=3)
    stakes_end(now=cast.LATER + 4 * HOUR)
    stake_settle(stake.pk, now=cast.LATER + 5 * HOUR)
    told = released(cast.W47, cast.W48, out=settings.RELEASE_DIR)
    assert [verify(each).differences for each in told] == [[], []]


@pytest.mark.parametrize(
    ("zone", "status", "words"),
    [("UTC", 0, "Nothing differs."), ("Europe/Berlin", 2, "python -m pip install tzdata")],
)
def test_python_has_no_database_of_zones(
    zone: str, status: int, words: str, contest: fixtures.Contest, settings: Any
) -> None:
    """As on Windows."""
    (folder,) = released(cast.W47, out=settings.RELEASE_DIR)
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"time_zone": "UTC"', f'"time_zone": "{zone}"'))
    begin = "import sys, zoneinfo; zoneinfo.reset_tzpath(to=[]); sys.path.insert(0, sys.argv.pop(1))\n"
    code = f"{begin}from adjudication.verify import main\nsys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-I", "-S", "-B", "-c", code, str(settings.BASE_DIR), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, words in done.stdout + done.stderr) == (status, True), done.stdout + done.stderr
