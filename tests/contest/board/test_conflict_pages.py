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


@pytest.fixture(autouse=True)
def it_is_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.utils.timezone.now", lambda: LATER)


@pytest.fixture
def mia(scene: Scene) -> User:
    return scene.members[0]


@pytest.fixture
def client(mia: User, signed_in: Any) -> Client:
    return signed_in(mia)


@pytest.fixture
def organizer(scene: Scene, olga: User, signed_in: Any) -> Client:
    return signed_in(olga)


def words_of(answer: Any) -> str:
    shown: str = answer.content.decode().partition("<main")[2].partition("</main>")[0]
    return " ".join(re.sub(r"<[^>]+>", " ", shown).split())


def declared(**more: str) -> dict[str, str]:
    return {"declare": "1", "team": "red", "kind": "coauthor", "since": "", "words": "A paper of 2025."} | more


def found_one(member: User, team: Team) -> Conflict:
    told = {"kind": ConflictKind.INSTITUTION, "since": money.BEFORE, "found": True, "declared_at": LATER}
    return Conflict.objects.create(member=member, team=team, **told)


def of_the_lab(*users: User) -> None:
    """Give people an address of one institution."""
    for user in users:
        User.objects.filter(pk=user.pk).update(email=f"{user.username}@lab.example.edu")


@pytest.mark.parametrize("name", ["red", "RED", "id"])
def test_a_member_declares_one_and_is_told_what_changes(name: str, scene: Scene, client: Client, mia: User) -> None:
    case_cast.picture(scene)
    case_cast.motion(scene, scene.members[1], scene.blue)
    answer = client.post(MINE, declared(team=scene.red.public_id if name == "id" else name), follow=True)
    assert "1 open case is closed to you now, and what comes too." in words_of(answer)
    made = Conflict.objects.get()
    assert (made.member, made.team, made.kind) == (mia, scene.red, ConflictKind.COAUTHOR)
    assert (made.since, made.words, cases_seen_by(mia).count()) == (LATER, "A paper of 2025.", 1)
    again = client.post(MINE, declared())
    assert again.status_code == 409 and "is on record already" in words_of(again)


def test_where_no_open_case_is_about_the_team_nothing_is_told_of_others(scene: Scene, client: Client) -> None:
    """Of what another conflict closes already, a second one closes nothing that the member could know of."""
    case_cast.picture(scene)
    money.team("green")
    answers = [
        client.post(MINE, declared(team=name, since="2026-11-20"), follow=True) for name in ("green", "red", "blue")
    ]
    told = ["No case that is open to you is about this team" in words_of(answer) for answer in answers]
    assert told == [True, False, True]
    assert set(Conflict.objects.values_list("since", flat=True)) == {datetime(2026, 11, 20, tzinfo=UTC)}


@pytest.mark.parametrize(
    ("form", "words"),
    [
        (declared(team="nobody"), "There is no team of this name or ID."),
        (declared(kind=""), "Choose what ties you to the team."),
        (declared(kind="member"), "Choose what ties you to the team."),
        (declared(since="yesterday"), "Give a day as in 2026-11-20"),
        (declared(since="2026-12-24"), "Give a day that has begun"),
        (declared(words="x" * 1_001), "Write at most 1,000 characters."),
        ({"tell": "1", "domains": "gmail", "people": "", "papers": ""}, "the domain of one institution"),
        ({"tell": "1", "domains": "", "people": "nobody", "papers": ""}, "an e-mail address: nobody"),
        ({"tell": "1", "domains": "", "people": "", "papers": "12"}, "the ID of a paper on arXiv"),
    ],
)
def test_what_is_wrong_is_said_at_its_field_and_what_was_typed_is_kept(
    form: dict[str, str], words: str, client: Client
) -> None:
    answer = client.post(MINE, form)
    assert (answer.status_code, words in words_of(answer)) == (400, True)
    assert all(typed in answer.content.decode() for name, typed in form.items() if name in ("words", "people"))
    assert not Conflict.objects.exists() and not Ties.objects.exists()


def test_a_member_ends_what_was_declared_and_not_what_was_found(scene: Scene, client: Client, mia: User) -> None:
    mine, found = cast.conflict(mia, scene.red), found_one(mia, scene.blue)
    hers = cast.conflict(scene.members[1], scene.red)
    page = words_of(client.get(MINE))
    assert "found by the contest" in page and "they dismiss it with a reason" in page
    told = {"end": "1", "reason": "The paper is withdrawn."}
    unsaid = client.post(MINE, told | {"conflict": str(mine.pk), "reason": " "})
    assert unsaid.status_code == 400 and "Give the reason: it stays on record" in words_of(unsaid)
    answers = [client.post(MINE, told | {"conflict": str(each)}) for each in (mine.pk, found.pk, hers.pk, "x")]
    assert [each.status_code for each in answers] == [303, 403, 404, 404]
    assert [Conflict.objects.get(pk=each.pk).until for each in (mine, found, hers)] == [LATER, None, None]
    assert "The paper is withdrawn." in words_of(client.get(MINE))


def test_a_member_reads_not_what_an_organizer_wrote(scene: Scene, client: Client, mia: User, olga: User) -> None:
    told = {"kind": ConflictKind.OTHER, "since": money.BEFORE, "declared_at": LATER, "words": "We were told in trust."}
    Conflict.objects.create(member=mia, team=scene.red, declared_by=olga, **told)
    page = words_of(client.get(MINE))
    assert "an organizer" in page and "in trust" not in page
    assert "they end it with a reason" in page and 'name="end"' not in page


def test_what_a_member_tells_is_compared_at_once(scene: Scene, client: Client, organizer: Client, mia: User) -> None:
    """What ties others of the board is not told to them, and to organizers how much they told alone."""
    case_cast.picture(scene)
    of_the_lab(case_cast.joins(scene.red, "rob"), scene.members[1])
    nothing = client.post(MINE, {"tell": "1", "domains": "", "people": "", "papers": ""}, follow=True)
    assert "It ties you to no team that is here now" in words_of(nothing)
    assert Conflict.objects.get().member == scene.members[1]
    told = {"tell": "1", "domains": "lab.example.edu", "people": "a@b.example, c@d.example", "papers": "1809.08352"}
    answer = client.post(MINE, told, follow=True)
    assert "It ties you to red. 1 open case is closed to you now" in words_of(answer)
    ties = Ties.objects.get(member=mia)
    assert (ties.people, ties.papers) == (["a@b.example", "c@d.example"], ["1809.08352"])
    assert "a@b.example\nc@d.example</textarea>" in client.get(MINE).content.decode()
    assert "It ties you to no team" in words_of(client.post(MINE, told, follow=True))
    page = words_of(organizer.get(ALL))
    assert "member0: 1 domain, 2 persons, 1 paper" in page.replace("people", "persons")
    assert "member2: nothing yet" in page and "a@b.example" not in page


# Organizers -----------------------------------------------------------------------------------------------------------


def test_organizers_declare_and_dismiss_and_end(scene: Scene, organizer: Client, mia: User, olga: User) -> None:
    organizer.post(ALL, declared(member=mia.username))
    made = Conflict.objects.get()
    assert (made.member, made.declared_by) == (mia, olga)
    found = found_one(mia, scene.blue)
    dismiss, end = {"dismiss": "1", "conflict": str(found.pk)}, {"end": "1", "conflict": str(made.pk)}
    assert [organizer.post(ALL, form).status_code for form in (dismiss | {"reason": " "}, end)] == [400, 400]
    assert "is dismissed" in words_of(organizer.post(ALL, dismiss | {"reason": "A namesake."}, follow=True))
    organizer.post(ALL, end | {"reason": "It was another Mia."})
    found.refresh_from_db()
    made.refresh_from_db()
    assert (found.dismissed_by, found.dismissed_reason) == (olga, "A namesake.")
    assert made.until is not None and made.until - LATER < timedelta(seconds=1)
    assert "No conflict is on record here" in words_of(organizer.get(ALL))
    over = words_of(organizer.get(ALL, {"show": "over"}))
    assert "A namesake." in over and "member0" in over
    assert "ended by olga : It was another Mia." in over.replace("olga:", "olga :"), "by whom, and why"


def test_organizers_read_how_each_conflict_came_to_its_end(
    scene: Scene, organizer: Client, client: Client, signed_in: Any
) -> None:
    client.post(MINE, declared(since="2026-11-01"))
    row = Conflict.objects.get()
    client.post(MINE, {"end": "1", "conflict": str(row.pk), "reason": "The paper <was> withdrawn."})
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
    other = signed_in(scene.members[1])
    assert not any("was&gt; withdrawn" in other.get(address).content.decode() for address in (MINE, ALL))


REFUSED = [
    (declared(), 400),
    (declared(member="red"), 400),
    ({"dismiss": "1", "conflict": "0", "reason": "No."}, 404),
    ({"dismiss": "1", "reason": "No."}, 404),
    ({"end": "1", "conflict": "9" * 30, "reason": "No."}, 404),
]


def test_what_is_refused_of_organizers(organizer: Client) -> None:
    assert [organizer.post(ALL, told).status_code for told, _ in REFUSED] == [status for _, status in REFUSED]
    assert not Conflict.objects.exists()


def test_the_registry_is_found_and_paged(scene: Scene, organizer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past members stay in it."""
    monkeypatch.setattr("contest.board.conflict_views.ON_A_PAGE", 2)
    for member in (*scene.members, cast.member("past")):
        cast.conflict(member, scene.red)
    User.objects.get(username="past").groups.clear()
    assert [len(organizer.get(ALL, {"page": page}).context["rows"]) for page in (1, 2)] == [2, 2]
    cast.conflict(scene.members[0], scene.blue)
    rows = organizer.get(ALL, {"find": scene.blue.public_id}).context["rows"]
    assert [each["conflict"].team for each in rows] == [scene.blue]
    assert len(organizer.get(ALL, {"find": "member1", "show": "all"}).context["rows"]) == 1
    assert "past" in words_of(organizer.get(ALL, {"find": "past"}))
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
    for member in scene.members:
        member.groups.clear()
    assert "Nobody is on the review board yet." in words_of(organizer.get(ALL))
