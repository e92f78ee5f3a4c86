"""The registry of conflicts: declared, found, ended, dismissed; the pages of a member and of the organizers (R21)."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from common.models import AuditEntry
from contest.board.case_sweep import sweep_cases
from contest.board.conflicts import (
    ConflictEnd,
    conflict_declare,
    conflict_dismiss,
    conflict_end,
    conflict_ends,
    conflicts_find,
    declare_ties,
)
from contest.board.models import Affiliations
from contest.board.recusal import EVER, cases_seen_by
from contest.core.enums import ConflictKind
from contest.core.models import ConflictOfInterest, Team
from contest.teams.inboxes import institution
from contest.teams.models import Entitlement, PastMember
from tests.contest.attacks.cast import main_of
from tests.contest.board import case_cast, cast
from tests.contest.board.cast import LATER, Scene
from tests.contest.ledger import cast as money
from tests.contest.pages import main, plain, posted, shows, words
from tests.refusals import refused

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("it_is_later")]
DAY = timedelta(days=1)


def declare(member: User, team: Team, by: User | None = None, **more: Any) -> ConflictOfInterest:
    told: dict[str, Any] = {"kind": ConflictKind.COAUTHOR, "since": LATER - DAY, "words": "A paper of 2025."}
    return conflict_declare(member=member, team=team, by=by or member, now=LATER, **(told | more))


def end(made: ConflictOfInterest, by: User, reason: str = "The paper is withdrawn.") -> ConflictOfInterest:
    return conflict_end(conflict_id=made.pk, reason=reason, by=by, now=LATER + DAY)


def dismiss(made: ConflictOfInterest, by: User, reason: str) -> ConflictOfInterest:
    return conflict_dismiss(conflict_id=made.pk, reason=reason, by=by, now=LATER)


def test_a_member_declares_their_own_and_an_organizer_anybodys(olga: User, rita: User, stan: User) -> None:
    """R21; nobody else declares one, and an end is for who may declare it."""
    ben, green = cast.member("ben"), money.team("green")
    for code, member, by in (("not_yours", rita, ben), ("not_yours", rita, stan), ("invalid", stan, olga)):
        refused(code, declare, member, green, by)
    mine, hers = declare(rita, green), declare(rita, money.team("grey"), olga)
    assert (mine.declared_by, hers.declared_by, mine.found) == (rita, olga, False)
    refused("not_yours", end, mine, ben)
    refused("not_yours", end, hers, rita)
    assert end(mine, rita).until == end(hers, olga).until == LATER + DAY


@pytest.mark.both("the member and their cases are locked while a conflict is declared")
def test_what_is_refused_of_a_conflict(rita: User) -> None:
    green = money.team("green")
    refused("invalid", declare, rita, green, since=LATER + DAY)
    refused("invalid", declare, rita, green, words="x" * 1_001)
    declare(rita, green)
    refused("declared", declare, rita, green)
    assert declare(rita, green, kind=ConflictKind.INSTITUTION)


def test_it_ends_once_and_with_a_reason(rita: User, olga: User) -> None:
    made = declare(rita, money.team("green"))
    for reason in ("", " \n\x00", "x" * 1_001):
        assert refused("invalid", end, made, rita, reason).field == "reason"
    assert not AuditEntry.objects.filter(action="conflict.end").exists()
    end(made, rita)
    refused("over", end, made, rita)
    refused("declared", dismiss, made, olga, "No.")
    refused("not_found", end, ConflictOfInterest(pk=0), rita)


def test_how_it_ended_stays_in_the_audit_trail(rita: User, olga: User) -> None:
    mine, hers, _ = (declare(rita, money.team(name)) for name in ("green", "grey", "gold"))
    end(mine, rita, " We erred. ")
    end(hers, olga)
    entry = AuditEntry.objects.get(action="conflict.end", subject={"conflict": [mine.pk]})
    assert (entry.user, entry.private["words"], entry.why, entry.published) == (rita, "We erred.", "", False)
    told = {mine.pk: ConflictEnd("rita", "We erred."), hers.pk: ConflictEnd("olga", "The paper is withdrawn.")}
    assert conflict_ends(ConflictOfInterest.objects.all()) == told
    AuditEntry.objects.filter(pk=entry.pk).update(user=None)
    assert conflict_ends(ConflictOfInterest.objects.all())[mine.pk].by == "", "the account is gone"


# What the contest finds -----------------------------------------------------------------------------------------------


def found(member: User) -> list[tuple[str, str]]:
    conflicts_find(now=LATER)
    return list(
        ConflictOfInterest.objects.filter(member=member, found=True)
        .order_by("team__name", "kind")
        .values_list("team__name", "kind")
    )


@pytest.mark.parametrize(
    ("board", "team", "kinds", "why"),
    [
        ("rita@cs.ox.ac.uk", "ann@physics.ox.ac.uk", ["institution"], "two departments are one university"),
        ("rita@ox.ac.uk", "ann@cam.ac.uk", [], "two universities below one ac.uk"),
        ("rita@gmail.com", "ann@gmail.com", [], "anybody has an address there"),
        ("rita@mit.edu", "ann@MIT.EDU", ["institution"], "however it is written"),
        ("", "ann@mit.edu", [], "without an address nothing is found"),
        ("rita@mit.edu", "", [], "nor on the other side"),
    ],
)
def test_one_institution(board: str, team: str, kinds: list[str], why: str, rita: User) -> None:
    User.objects.filter(pk=rita.pk).update(email=board)
    User.objects.filter(pk=case_cast.joins(money.team("green"), "ann").pk).update(email=team)
    assert found(rita) == [("green", kind) for kind in kinds], why


def test_named_people_papers_and_times_in_a_team(rita: User) -> None:
    green, grey, blue = money.team("green"), money.team("grey"), money.team("azure")
    User.objects.filter(pk=case_cast.joins(green, "ann").pk).update(email="ann.lee@gmail.com")
    Entitlement.objects.create(team=grey, kind="paper", arxiv_id="1809.08352", email="x@example.org", asked_at=LATER)
    PastMember.objects.create(team=blue, user=rita, left_at=LATER)
    declare_ties(member=rita, domains=[], people=["annlee@googlemail.com"], papers=["arXiv:1809.08352v2"], now=LATER)
    assert found(rita) == [("azure", "member"), ("green", "coauthor"), ("grey", "coauthor")]
    assert conflicts_find(now=LATER) == 0, "each is found once"
    assert set(ConflictOfInterest.objects.values_list("since", flat=True)) == {EVER}


@pytest.mark.both("a conflict is locked while it ends, and members while some are looked for")
def test_an_organizer_dismisses_what_is_none_and_it_is_not_found_again(rita: User, olga: User) -> None:
    User.objects.filter(pk=rita.pk).update(email="rita@mit.edu")
    User.objects.filter(pk=case_cast.joins(money.team("green"), "ann").pk).update(email="ann@mit.edu")
    assert found(rita) == [("green", "institution")]
    row = ConflictOfInterest.objects.get()
    refused("found", end, row, rita)
    refused("not_an_organizer", dismiss, row, rita, "No.")
    refused("invalid", dismiss, row, olga, " ")
    made = dismiss(row, olga, "Other campus.")
    assert (made.dismissed_by, made.dismissed_reason) == (olga, "Other campus.")
    assert conflicts_find(now=LATER + DAY) == 0
    refused("over", dismiss, row, olga, "Again.")


def test_what_a_member_names_is_read_or_refused_with_the_field(rita: User) -> None:
    told = {"domains": ["gmail.com"], "people": ["ann"], "papers": ["12.3"]}
    assert refused("invalid", declare_ties, member=rita, now=LATER, **told).fields.keys() == told.keys()
    made = declare_ties(
        member=rita,
        papers=["https://arxiv.org/abs/1809.08352"],
        now=LATER,
        domains=["www.cs.ox.ac.uk"],
        people=["Ann@Example.org "],
    )
    assert (made.domains, made.people, made.papers) == (["ox.ac.uk"], ["ann@example.org"], ["1809.08352"])


@pytest.mark.parametrize(
    ("address", "domain"),
    [
        ("a@b.example.org", "example.org"),
        ("example.co.uk", "example.co.uk"),
        ("dept.example.edu.au", "example.edu.au"),
        ("a@tum.de", "tum.de"),
        ("a@yahoo.co.uk", ""),
        ("a@mail.gmx.de", ""),
        ("localhost", ""),
        ("", ""),
    ],
)
def test_the_institution_of_an_address(address: str, domain: str) -> None:
    assert institution(address) == domain


# A member's own page --------------------------------------------------------------------------------------------------

MINE, ALL = "/board/conflicts/", "/organizer/conflicts/"


@pytest.fixture
def client(mia: User, signed_in: Any) -> Any:
    return signed_in(mia)


@pytest.fixture
def organizer(scene: Scene, olga: User, signed_in: Any) -> Any:
    return signed_in(olga)


def declared(**more: str) -> dict[str, str]:
    return {"action": "declare", "team": "red", "kind": "coauthor", "since": "", "words": "A paper of 2025."} | more


@pytest.mark.parametrize("name", ["red", "RED", "id"])
def test_a_member_declares_one_and_is_told_what_changes(name: str, scene: Scene, client: Client, mia: User) -> None:
    case_cast.picture(scene)
    case_cast.motion(scene, scene.members[1], scene.blue)
    assert "1 open case is closed to you now, and future ones will be." in plain(
        client.post(MINE, declared(team=scene.red.public_id if name == "id" else name), follow=True)
    )
    made = ConflictOfInterest.objects.get()
    assert (made.member, made.team, made.kind) == (mia, scene.red, ConflictKind.COAUTHOR)
    assert (made.since, made.words, cases_seen_by(mia).count()) == (LATER, "A paper of 2025.", 1)
    assert "is on record already" in posted(client, MINE, declared(), 409)


def test_where_no_open_case_is_about_the_team_nothing_is_told_of_others(scene: Scene, client: Client) -> None:
    """Of what another conflict closes already, a second one closes nothing that the member could know of."""
    case_cast.picture(scene)
    money.team("green")
    forms = [declared(team=name, since="2026-11-20") for name in ("green", "red", "blue")]
    answers = [plain(client.post(MINE, form, follow=True)) for form in forms]
    told = ["No case that is open to you is about this team" in answer for answer in answers]
    assert told == [True, False, True]
    assert set(ConflictOfInterest.objects.values_list("since", flat=True)) == {datetime(2026, 11, 20, tzinfo=UTC)}


@pytest.mark.parametrize(
    ("form", "why"),
    [
        (declared(team="nobody"), "There is no team of this name or ID."),
        (declared(kind=""), "Choose the kind of conflict."),
        (declared(kind="member"), "Choose the kind of conflict."),
        (declared(since="yesterday"), "Give a day as in 2026-11-20"),
        (declared(since="2026-12-24"), "Give a day that has begun"),
        (declared(words="x" * 1_001), "Write at most 1,000 characters."),
        ({"action": "tell", "domains": "gmail", "people": "", "papers": ""}, "the domain of one institution"),
        ({"action": "tell", "domains": "", "people": "nobody", "papers": ""}, "an e-mail address: nobody"),
        ({"action": "tell", "domains": "", "people": "", "papers": "12"}, "the ID of a paper on arXiv"),
    ],
)
def test_what_is_wrong_is_said_at_its_field_and_what_was_typed_is_kept(
    form: dict[str, str], why: str, client: Client
) -> None:
    answer = client.post(MINE, form)
    assert (answer.status_code, why in plain(answer)) == (400, True)
    shows(main_of(answer), form.get("words", ""), form.get("people", ""))
    assert not ConflictOfInterest.objects.exists() and not Affiliations.objects.exists()


def test_a_member_ends_what_was_declared_and_not_what_was_found(scene: Scene, client: Client, mia: User) -> None:
    mine, hers = (cast.conflict(member, scene.red) for member in scene.members[:2])
    by_us = cast.conflict(mia, scene.blue, found=True)
    shows(words(client, MINE), "found by the contest", "they dismiss it with a reason")
    told = {"action": "end", "reason": "The paper is withdrawn."}
    unsaid = told | {"conflict": str(mine.pk), "reason": " "}
    assert "Give the reason: it stays on record" in posted(client, MINE, unsaid, 400)
    answers = [client.post(MINE, told | {"conflict": str(each)}) for each in (mine.pk, by_us.pk, hers.pk, "x")]
    assert [each.status_code for each in answers] == [303, 403, 404, 404]
    assert [ConflictOfInterest.objects.get(pk=each.pk).until for each in (mine, by_us, hers)] == [LATER, None, None]
    assert "The paper is withdrawn." in words(client, MINE)


def test_a_member_reads_not_what_an_organizer_wrote(scene: Scene, client: Client, mia: User, olga: User) -> None:
    cast.conflict(mia, scene.red, declared_by=olga, words="We were told in trust.")
    shows(main(client, MINE), "an organizer", "they end it with a reason", but=["in trust", 'value="end"'])


def test_what_a_member_tells_is_compared_at_once(scene: Scene, client: Client, organizer: Client, mia: User) -> None:
    """What ties others of the board is not told to them, and to organizers how much they told alone."""
    case_cast.picture(scene)
    for user in (case_cast.joins(scene.red, "rob"), scene.members[1]):
        User.objects.filter(pk=user.pk).update(email=f"{user.username}@lab.example.edu")
    assert "It is a conflict with no present team" in plain(
        client.post(MINE, {"action": "tell", "domains": "", "people": "", "papers": ""}, follow=True)
    )
    assert ConflictOfInterest.objects.get().member == scene.members[1]
    told = {
        "action": "tell",
        "domains": "lab.example.edu",
        "people": "a@b.example, c@d.example",
        "papers": "1809.08352",
    }
    assert "It is a conflict with red. 1 open case is closed to you now" in plain(client.post(MINE, told, follow=True))
    ties = Affiliations.objects.get(member=mia)
    assert (ties.people, ties.papers) == (["a@b.example", "c@d.example"], ["1809.08352"])
    assert "a@b.example c@d.example</textarea>" in main(client, MINE)
    assert "It is a conflict with no present team" in plain(client.post(MINE, told, follow=True))
    told_of = ("member0: 1 domain, 2 people, 1 paper", "member2: nothing yet")
    shows(words(organizer, ALL), *told_of, but=["a@b.example"])


# Organizers -----------------------------------------------------------------------------------------------------------


def test_organizers_declare_and_dismiss_and_end(scene: Scene, organizer: Client, mia: User, olga: User) -> None:
    organizer.post(ALL, declared(member=mia.username))
    made, by_us = ConflictOfInterest.objects.get(), cast.conflict(mia, scene.blue, found=True)
    assert (made.member, made.declared_by) == (mia, olga)
    dismissed, ended = {"action": "dismiss", "conflict": str(by_us.pk)}, {"action": "end", "conflict": str(made.pk)}
    assert [organizer.post(ALL, form).status_code for form in (dismissed | {"reason": " "}, ended)] == [400, 400]
    assert "is dismissed" in plain(organizer.post(ALL, dismissed | {"reason": "A namesake."}, follow=True))
    organizer.post(ALL, ended | {"reason": "It was another Mia."})
    by_us.refresh_from_db()
    assert (by_us.dismissed_by, by_us.dismissed_reason) == (olga, "A namesake.")
    assert timedelta(0) <= ConflictOfInterest.objects.get(pk=made.pk).until - LATER < timedelta(seconds=1)
    assert "No conflict is on record here" in words(organizer, ALL)
    # By whom, and why.
    shows(
        words(organizer, f"{ALL}?show=over").replace("olga :", "olga:"),
        "A namesake.",
        "member0",
        "ended by olga: It was another Mia.",
    )


def test_organizers_read_how_each_conflict_came_to_its_end(
    scene: Scene, organizer: Client, client: Client, signed_in: Any
) -> None:
    client.post(MINE, declared(since="2026-11-01"))
    row = ConflictOfInterest.objects.get()
    client.post(MINE, {"action": "end", "conflict": str(row.pk), "reason": "The paper <was> withdrawn."})
    cast.conflict(scene.members[1], scene.blue, until=LATER)  # of a time in which no reason was asked for
    page = main(organizer, f"{ALL}?show=over")
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
    ({"action": "dismiss", "conflict": "0", "reason": "No."}, 404),
    ({"action": "dismiss", "reason": "No."}, 404),
    ({"action": "end", "conflict": "9" * 30, "reason": "No."}, 404),
]


def test_what_is_refused_of_organizers(organizer: Client) -> None:
    assert [organizer.post(ALL, told).status_code for told, _ in REFUSED] == [status for _, status in REFUSED]
    assert not ConflictOfInterest.objects.exists()


def test_the_registry_is_found_and_paged(scene: Scene, organizer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past members stay in it."""
    monkeypatch.setattr("contest.pages.board.conflict_views.PAGE_SIZE", 2)
    for member in (*scene.members, cast.member("past")):
        cast.conflict(member, scene.red)
    User.objects.get(username="past").groups.clear()
    assert [len(organizer.get(ALL, {"page": page}).context["rows"]) for page in (1, 2)] == [2, 2]
    cast.conflict(scene.members[0], scene.blue)
    (row,) = organizer.get(ALL, {"find": scene.blue.public_id}).context["rows"]
    assert row["conflict"].team == scene.blue
    assert len(organizer.get(ALL, {"find": "member1", "show": "all"}).context["rows"]) == 1
    assert "past" in words(organizer, f"{ALL}?find=past")
    assert "No conflict matches" in words(organizer, f"{ALL}?find=zebra")


def test_organizers_see_which_cases_wait_for_members_and_nothing_of_them(scene: Scene, organizer: Client) -> None:
    case, _ = case_cast.picture(scene)
    assert case.public_id not in words(organizer, ALL)
    for member in scene.members[:2]:
        cast.conflict(member, scene.red)
    sweep_cases(now=LATER)
    told = f"Case {case.public_id} : 1 of the 2 members that it needs may judge it."
    shows(words(organizer, ALL), told, but=[case_cast.ARGUMENT, scene.image.public_id])
    for member in scene.members:
        member.groups.clear()
    assert "Nobody is on the review board yet." in words(organizer, ALL)
