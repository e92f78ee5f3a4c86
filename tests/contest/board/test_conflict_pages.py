"""The pages of conflicts: a member's own, and the organizers' registry (R21)."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from contest.board.recusal import cases_seen_by
from contest.board.tending import cases_tend
from contest.enums import ConflictKind
from contest.models import Conflict, Team, Ties
from tests.contest.board import case_cast, cast
from tests.contest.board.cast import LATER, Scene
from tests.contest.money import cast as money

pytestmark = pytest.mark.django_db
MINE, ALL = "/board/conflicts/", "/organizer/conflicts/"


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setattr("django.utils.timezone.now", lambda: LATER)
    return Scene.make()


@pytest.fixture
def mia(scene: Scene) -> User:
    return scene.members[0]


@pytest.fixture
def client(mia: User, signed_in: Any) -> Client:
    found: Client = signed_in(mia)
    return found


def words_of(answer: Any) -> str:
    shown: str = answer.content.decode().partition("<main")[2].partition("</main>")[0]
    return " ".join(re.sub(r"<[^>]+>", " ", shown).split())


def declared(**more: str) -> dict[str, str]:
    return {"declare": "1", "team": "red", "kind": "coauthor", "since": "", "words": "A paper of 2025."} | more


def found_one(member: User, team: Team) -> Conflict:
    told = {"kind": ConflictKind.INSTITUTION, "since": money.BEFORE, "found": True, "declared_at": LATER}
    return Conflict.objects.create(member=member, team=team, **told)


@pytest.mark.parametrize("name", ["red", "RED", "id"])
def test_a_member_declares_one_and_is_told_what_changes(name: str, scene: Scene, client: Client, mia: User) -> None:
    case_cast.picture(scene)
    case_cast.motion(scene, scene.members[1], scene.blue)
    answer = client.post(MINE, declared(team=scene.red.public_id if name == "id" else name), follow=True)
    assert "1 open case is closed to you now, and what comes too." in words_of(answer)
    made = Conflict.objects.get()
    assert (made.member, made.team, made.kind, made.since, made.words) == (
        mia,
        scene.red,
        ConflictKind.COAUTHOR,
        LATER,
        "A paper of 2025.",
    )
    assert cases_seen_by(mia).count() == 1
    again = client.post(MINE, declared())
    assert again.status_code == 409 and "is on record already" in words_of(again)


def test_where_no_open_case_is_about_the_team_nothing_is_told_of_others(scene: Scene, client: Client) -> None:
    case_cast.picture(scene)
    money.team("green")
    answer = client.post(MINE, declared(team="green"), follow=True)
    assert "No case that is open to you is about this team" in words_of(answer)
    # Of what another conflict closes already, a second one closes nothing that the member could know of.
    client.post(MINE, declared(team="red"))
    second = client.post(MINE, declared(team="blue"), follow=True)
    assert "No case that is open to you is about this team" in words_of(second)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"team": "nobody"}, "There is no team of this name or ID."),
        ({"kind": ""}, "Choose what ties you to the team."),
        ({"kind": "member"}, "Choose what ties you to the team."),
        ({"since": "yesterday"}, "Give a day as in 2026-11-20"),
        ({"since": "2026-12-24"}, "Give a day that has begun"),
        ({"words": "x" * 1_001}, "Write at most 1,000 characters."),
    ],
)
def test_what_is_wrong_is_said_at_its_field_and_what_was_typed_is_kept(
    more: dict[str, str], words: str, scene: Scene, client: Client
) -> None:
    answer = client.post(MINE, declared(**more))
    assert (answer.status_code, words in words_of(answer)) == (400, True)
    assert more.get("words", "A paper of 2025.") in answer.content.decode()
    assert not Conflict.objects.exists()


def test_a_day_is_one_of_the_contests_zone(scene: Scene, client: Client) -> None:
    client.post(MINE, declared(since="2026-11-20"))
    assert Conflict.objects.get().since == datetime(2026, 11, 20, tzinfo=UTC)


def test_a_member_ends_what_was_declared_and_not_what_was_found(scene: Scene, client: Client, mia: User) -> None:
    mine, found = cast.conflict(mia, scene.red), found_one(mia, scene.blue)
    hers = cast.conflict(scene.members[1], scene.red)
    page = words_of(client.get(MINE))
    assert "found by the contest" in page and "they dismiss it with a reason" in page
    told = {"end": "1", "reason": "The paper is withdrawn."}
    unsaid = client.post(MINE, told | {"conflict": str(mine.pk), "reason": " "})
    assert unsaid.status_code == 400 and "Give the reason: it stays on record" in words_of(unsaid)
    answers = [client.post(MINE, told | {"conflict": str(each.pk)}) for each in (mine, found, hers)]
    assert [each.status_code for each in answers] == [303, 403, 404]
    assert [Conflict.objects.get(pk=each.pk).until for each in (mine, found, hers)] == [LATER, None, None]
    assert client.post(MINE, told | {"conflict": "x"}).status_code == 404
    assert "The paper is withdrawn." in words_of(client.get(MINE))


def test_a_member_reads_not_what_an_organizer_wrote(scene: Scene, client: Client, mia: User, olga: User) -> None:
    told = {"kind": ConflictKind.OTHER, "since": money.BEFORE, "declared_at": LATER, "words": "We were told in trust."}
    Conflict.objects.create(member=mia, team=scene.red, declared_by=olga, **told)
    page = words_of(client.get(MINE))
    assert "an organizer" in page and "in trust" not in page
    assert "they end it with a reason" in page and 'name="end"' not in page


def test_what_a_member_tells_is_compared_at_once(scene: Scene, client: Client, mia: User) -> None:
    case_cast.picture(scene)
    rob = case_cast.joins(scene.red, "rob")
    rob.email = "rob@lab.example.edu"
    rob.save()
    told = {"tell": "1", "domains": "lab.example.edu", "people": "a@b.example, c@d.example", "papers": "1809.08352"}
    answer = client.post(MINE, told, follow=True)
    assert "It ties you to red. 1 open case is closed to you now" in words_of(answer)
    ties = Ties.objects.get(member=mia)
    assert (ties.people, ties.papers) == (["a@b.example", "c@d.example"], ["1809.08352"])
    assert Conflict.objects.get().found
    assert "a@b.example\nc@d.example</textarea>" in client.get(MINE).content.decode()
    assert "It ties you to no team" in words_of(client.post(MINE, told, follow=True))


def test_what_ties_nobody_to_the_others_of_the_board_is_not_told(scene: Scene, client: Client) -> None:
    other = scene.members[1]
    rob = case_cast.joins(scene.red, "rob")
    for user, address in ((rob, "rob@uni.example.edu"), (other, "o@uni.example.edu")):
        user.email = address
        user.save()
    answer = client.post(MINE, {"tell": "1", "domains": "", "people": "", "papers": ""}, follow=True)
    assert "It ties you to no team that is here now" in words_of(answer)
    assert Conflict.objects.get().member == other


def test_what_is_no_tie_is_said_and_kept(scene: Scene, client: Client) -> None:
    answer = client.post(MINE, {"tell": "1", "domains": "gmail", "people": "nobody", "papers": "12"})
    assert answer.status_code == 400
    words = words_of(answer)
    for told in ("the domain of one institution", "an e-mail address: nobody", "the ID of a paper on arXiv"):
        assert told in words
    assert ">nobody</textarea>" in answer.content.decode() and not Ties.objects.exists()


# Organizers -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def organizer(scene: Scene, olga: User, signed_in: Any) -> Client:
    found: Client = signed_in(olga)
    return found


def test_organizers_declare_and_dismiss_and_end(scene: Scene, organizer: Client, mia: User, olga: User) -> None:
    organizer.post(ALL, declared(member=mia.username))
    made = Conflict.objects.get()
    assert (made.member, made.declared_by) == (mia, olga)
    found = found_one(mia, scene.blue)
    refused = organizer.post(ALL, {"dismiss": "1", "conflict": str(found.pk), "reason": " "})
    assert refused.status_code == 400
    answer = organizer.post(ALL, {"dismiss": "1", "conflict": str(found.pk), "reason": "A namesake."}, follow=True)
    assert "is dismissed" in words_of(answer)
    assert organizer.post(ALL, {"end": "1", "conflict": str(made.pk)}).status_code == 400
    organizer.post(ALL, {"end": "1", "conflict": str(made.pk), "reason": "It was another Mia."})
    found.refresh_from_db()
    made.refresh_from_db()
    assert (found.dismissed_by, found.dismissed_reason) == (olga, "A namesake.")
    assert made.until is not None and made.until - LATER < timedelta(seconds=1)
    assert "No conflict is on record here" in words_of(organizer.get(ALL))
    over = words_of(organizer.get(ALL, {"show": "over"}))
    assert "A namesake." in over and "member0" in over
    assert "ended by olga : It was another Mia." in over.replace("olga:", "olga :"), "by whom, and why"


def test_organizers_read_how_each_conflict_came_to_its_end(
    scene: Scene, organizer: Client, mia: User, signed_in: Any
) -> None:
    member = signed_in(mia)
    member.post(MINE, declared(since="2026-11-01"))
    row = Conflict.objects.get()
    member.post(MINE, {"end": "1", "conflict": str(row.pk), "reason": "The paper <was> withdrawn."})
    cast.conflict(scene.members[1], scene.blue, until=LATER)  # of a time in which no reason was asked for
    page = organizer.get(ALL, {"show": "over"}).content.decode()
    for label, told in (
        ("Kind", "co-author"),
        ("Since", "1 Nov 2026"),
        ("Declared by", "member0"),
        ("Until", "ended by member0: The paper &lt;was&gt; withdrawn."),
    ):
        cells = re.findall(rf'data-label="{label}"[^>]*>(.*?)</td>', page, re.DOTALL)
        assert any(told in re.sub(r"<[^>]+>", "", cell) for cell in cells), (label, told, cells)
    assert "ended by an account that is gone" in page
    for address in (MINE, ALL):
        assert "was&gt; withdrawn" not in signed_in(scene.members[1]).get(address).content.decode()


@pytest.mark.parametrize(
    ("told", "status"),
    [
        (declared(), 400),
        (declared(member="red"), 400),
        ({"dismiss": "1", "conflict": "0", "reason": "No."}, 404),
        ({"dismiss": "1", "reason": "No."}, 404),
        ({"end": "1", "conflict": "9" * 30, "reason": "No."}, 404),
    ],
)
def test_what_is_refused_of_organizers(told: dict[str, str], status: int, organizer: Client) -> None:
    assert organizer.post(ALL, told).status_code == status
    assert not Conflict.objects.exists()


def test_the_registry_is_found_and_paged(scene: Scene, organizer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contest.board.conflict_views.ON_A_PAGE", 2)
    for member in scene.members:
        cast.conflict(member, scene.red)
    cast.conflict(scene.members[0], scene.blue)
    assert [len(organizer.get(ALL, {"page": page}).context["rows"]) for page in (1, 2)] == [2, 2]
    rows = organizer.get(ALL, {"find": scene.blue.public_id}).context["rows"]
    assert [each["conflict"].team for each in rows] == [scene.blue]
    assert len(organizer.get(ALL, {"find": "member1", "show": "all"}).context["rows"]) == 1
    assert "No conflict fits" in words_of(organizer.get(ALL, {"find": "zebra"}))


def test_organizers_see_which_cases_wait_for_members_and_nothing_of_them(scene: Scene, organizer: Client) -> None:
    case, _ = case_cast.picture(scene)
    assert case.public_id not in words_of(organizer.get(ALL))
    for member in scene.members[:2]:
        cast.conflict(member, scene.red)
    cases_tend(now=LATER)
    page = words_of(organizer.get(ALL))
    assert f"Case {case.public_id} : 1 of the 2 members that it needs may judge it." in page
    assert case_cast.ARGUMENT not in page and scene.image.public_id not in page


def test_how_much_members_told_is_seen_and_not_what(scene: Scene, organizer: Client, mia: User) -> None:
    Ties.objects.create(member=mia, domains=["a.example"], people=["x@y.example"], papers=[], told_at=LATER)
    page = words_of(organizer.get(ALL))
    assert "member0: 1 domain, 1 person, 0 papers" in page and "member1: nothing yet" in page
    assert "x@y.example" not in page


def test_the_page_without_a_board(organizer: Client, scene: Scene) -> None:
    for member in scene.members:
        member.groups.clear()
    assert "Nobody is on the review board yet." in words_of(organizer.get(ALL))


def test_past_members_stay_in_the_registry(scene: Scene, organizer: Client, mia: User) -> None:
    cast.conflict(mia, scene.red)
    mia.groups.clear()
    assert "member0" in words_of(organizer.get(ALL))
