"""The page of a picture: what each may know of it when, what happened as one timeline with permanent links, and that
its ID leads to it where it opens (R24)."""

import re
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.core.cache import cache
from django.template import RequestContext, Template
from django.test import Client, RequestFactory

from adjudication.models import Ruling
from contest.board.models import AppealStatement
from contest.core.models import Attack
from contest.core.weeks import week_at
from contest.defenses.stake_ends import stakes_end
from contest.prizes.sweeps import prizes_settle
from labeling.models import Image, Response
from tests import factories
from tests.contest.board import cast as board
from tests.contest.board.case_cast import joins
from tests.contest.board.cast import LATER, RULED, SURE
from tests.contest.ledger import cast as money
from tests.contest.pages import lacking, main, queries
from tests.contest.record import decided
from tests.contest.record.decided import TODAY, Decided

pytestmark = pytest.mark.django_db


@pytest.fixture
def people(what: Decided, signed_in: Any) -> Callable[[str], Client]:
    makers: dict[str, Callable[[], Any]] = {
        "no role": lambda: factories.user("stan"),
        "tasker": lambda: factories.tasker("tara"),
        "own team": lambda: joins(what.scene.red, "colleague"),
        "board": lambda: what.scene.members[0],
        "organizer": lambda: factories.user("olga", "organizers"),
    }
    return lambda role: Client() if role == "stranger" else signed_in(makers[role]())


@pytest.fixture
def sent_at(what: Decided, clock: Any) -> Any:
    return lambda: clock(what.scene.attack.received_at + timedelta(hours=1))


def page(client: Client, public_id: str) -> Any:
    return client.get(f"/record/{public_id}/")


def shown(client: Client, public_id: str) -> str:
    return main(client, f"/record/{public_id}/")


def _plain(answer: Any) -> bytes:
    changes = rb'/pictures/[\w=-]+\.png|name="csrfmiddlewaretoken" value="\w+"|/record/[\w-]+/'
    return re.sub(changes, b"", answer.content)


# Who is told what: status, whether a ruling is told, whether answers are.
NOTHING, SEEN, RULING, ALL = (404, False, False), (200, False, False), (200, True, False), (200, True, True)
OTHERS = ("stranger", "no role", "board")
TOLD = [
    *[(role, "embargo", NOTHING) for role in OTHERS],
    *[(role, "ended", SEEN) for role in OTHERS],
    ("own team", "embargo", SEEN),
    ("own team", "ended", RULING),
    ("organizer", "embargo", ALL),
    ("organizer", "ended", ALL),
    *[(role, "released", ALL) for role in (*OTHERS, "own team", "organizer")],
    *[("tasker", moment, (403, False, False)) for moment in ("embargo", "ended", "released")],
]


def test_who_is_told_what(what: Decided, people: Any, clock: Any, sent_at: Any) -> None:
    clients = {role: people(role) for role in dict.fromkeys(row[0] for row in TOLD)}
    tasker = Response.objects.filter(image=what.scene.image)[0].tasker.public_id
    moments: dict[str, Callable[[], object]] = {
        "embargo": sent_at,
        "ended": lambda: clock(TODAY),
        "released": decided.release,
    }
    found = {}
    for moment, begin in moments.items():
        begin()
        for role in [role for role, at, _ in TOLD if at == moment]:
            cache.clear()
            answer = page(clients[role], what.picture)
            body = answer.content.decode().partition("<main")[2]
            found[role, moment] = (answer.status_code, 'id="ruling-1"' in body, tasker in body)
    assert found == {(role, moment): told for role, moment, told in TOLD}


def test_what_is_under_embargo_answers_as_what_is_not_there(what: Decided, people: Any, sent_at: Any) -> None:
    clients = {role: people(role) for role in OTHERS}
    sent_at()
    for role, client in clients.items():
        hidden, nothing = page(client, what.picture), page(client, "P-00000000")
        assert (hidden.status_code, _plain(hidden)) == (404, _plain(nothing)) and nothing.status_code == 404, role


def test_all_that_happened_is_one_timeline_with_the_newest_last(what: Decided, client: Client) -> None:
    decided.broken(what)
    what.overruled()
    week, words = decided.release().week, shown(client, what.picture)
    appeal, case, keep = what.appeal.public_id, what.case.public_id, what.scene.stake.defense.public_id
    of_blue = what.appeal.defense
    assert of_blue is not None
    assert re.findall(r'<li id="([^"]+)" class="of-', words) == [
        f"attack-{what.scene.attack.public_id}", f"week-{week}", "panel-1", "ruling-1", f"outputs-{keep}",
        f"outputs-{of_blue.public_id}", f"break-{keep}-1", f"appeal-{appeal}", f"case-{case}", "ruling-2",
        f"answer-{case}-{what.scene.red.public_id}", f"release-{week}",
    ]  # fmt: skip
    assert not lacking(
        words, what.appeal.argument, AppealStatement.objects.get(case=what.case).words, decided.DISSENT,
        "2 × overrule (rejected: the object is partly hidden); 1 × uphold", "It counts the same answers as",
        "Since ruling 2 it holds no more",
    )  # fmt: skip
    assert all(member.username not in words for member in what.scene.members)


def test_answers_stand_beside_each_other_with_a_certificate_for_each_ruling(what: Decided, client: Client) -> None:
    decided.release()
    words = shown(client, what.picture)
    assert words.count("<h3>Certificate</h3>") == 1
    taskers = Response.objects.filter(image=what.scene.image).values_list("tasker__public_id", flat=True)
    assert all(words.count(f"<code>{each}</code>") >= 2 for each in taskers)


def test_while_more_taskers_are_asked_nothing_of_it_shows(what: Decided, client: Client) -> None:
    """Neither that they are asked nor what was argued: somebody still has to answer (R8)."""
    decided.release(at=RULED + timedelta(hours=1))
    before = _plain(page(client, what.picture))
    what.asked()
    assert _plain(page(client, what.picture)) == before
    what.answered(*[SURE] * len(what.case.decision.panel.places.filter(response=None)))  # type: ignore[union-attr]
    told = ("joined-1", "ruling-2", f"case-{what.case.public_id}", f"appeal-{what.appeal.public_id}")
    assert not lacking(shown(client, what.picture), *(f'<li id="{each}" class="of-' for each in told))


def test_answers_that_no_release_told_wait_while_others_are_asked(what: Decided, client: Client) -> None:
    """The panel was joined before the week was released: who joined could read the others' answers."""
    what.asked().released()
    words = shown(client, what.picture)
    assert not lacking(words, 'id="ruling-1"', "once nobody has to answer any more")
    assert Response.objects.filter(image=what.scene.image)[0].tasker.public_id not in words


@pytest.mark.parametrize("origin", ["gold", "example"])
def test_who_sent_a_picture_does_not_read_that_it_is_one_of_the_contest_s_own(
    origin: str, clock: Any, signed_in: Any
) -> None:
    """One that is kept out because the contest has it among its own reads as one that waits (R5, R6)."""
    clock(TODAY)
    factories.policy_version()
    green = money.team("green")
    attack, team = money.attack(green), signed_in(joins(green, "gina"))
    waiting = _plain(page(team, attack.image.public_id))
    Image.objects.filter(pk=attack.image.pk).update(origin=origin)
    assert _plain(page(team, attack.image.public_id)) == waiting
    assert page(Client(), attack.image.public_id).status_code == 404


def test_a_withdrawn_picture_says_so_to_who_sent_it(what: Decided, people: Any, sent_at: Any) -> None:
    Attack.objects.update(withdrawn_at=what.scene.attack.received_at + timedelta(hours=1))
    sent_at()
    assert "It was withdrawn" in shown(people("own team"), what.picture)
    assert page(Client(), what.picture).status_code == 404


def test_what_money_followed_is_told_as_the_page_of_money_tells_it(what: Decided, client: Client, clock: Any) -> None:
    decided.broken(what)
    what.upheld().released()
    stakes_end(now=LATER)
    clock(money.CLOSED)
    prizes_settle(now=money.CLOSED)
    entries = re.findall(r'<li (id="entry-\d+")', shown(client, what.picture))
    assert entries, "a share of the stake goes to who broke it"
    assert not lacking(client.get("/money/").content.decode(), *entries)


def test_a_picture_of_the_organizers_names_its_source(clock: Any, client: Client) -> None:
    clock(TODAY)
    factories.policy_version()
    came = {"received_at": RULED - timedelta(days=3), "label_from": RULED, "source": "birds.example"}
    image = factories.image(origin="dataset", **came)
    assert page(client, image.public_id).status_code == 404
    decided.release()
    assert "The organizers imported it from birds.example" in shown(client, image.public_id)


def test_what_is_no_picture_is_not_there(what: Decided, client: Client) -> None:
    for name in ("P-00000000", "p-7q4m2k9x", "1", "A-7Q4M2K9X", "P-7Q4M2K9X%0A", "P-0000000%00"):
        assert page(client, name).status_code == 404, name


# Role -> queries of a picture's page, where defenses answered and broke it; what was argued and decided costs two more.
QUERIES = {"stranger": 8, "no role": 11, "own team": 11, "board": 11, "organizer": 11}


@pytest.mark.both("prepared lookups with joined rows and annotations")
def test_how_many_queries_the_page_costs(what: Decided, people: Any) -> None:
    clients = {role: people(role) for role in QUERIES}
    decided.broken(what)
    decided.release()
    assert _queries(clients, what) == QUERIES
    what.overruled()
    image = what.scene.image
    for number in range(3, 9):
        money.ruled(image, "bird" if number % 2 else "", at=LATER + timedelta(hours=number))
        money.attack(money.team(f"sender {number}"), days=1 + number / 50, image=image)
    assert (Ruling.objects.filter(image=image).count(), Attack.objects.filter(image=image).count()) == (8, 7)
    assert _queries(clients, what) == {role: number + 2 for role, number in QUERIES.items()}


def _queries(clients: dict[str, Client], what: Decided) -> dict[str, int]:
    found = {}
    for role, client in clients.items():
        page(client, what.picture)  # the policy is remembered
        found[role] = queries(partial(page, client, what.picture))
    return found


# Links to it ---------------------------------------------------------------------------------------------------------


def test_public_pages_lead_to_it(what: Decided, client: Client) -> None:
    decided.broken(what)
    decided.release()
    attack, keep = what.scene.attack.public_id, what.scene.stake.defense.public_id
    for address in ("/weeks/2026-W47/", f"/attacks/{attack}/", f"/defenses/{keep}/"):
        assert f'href="/record/{what.picture}/"' in main(client, address), address


def test_pages_about_a_case_lead_to_it_for_all_who_read_them(what: Decided, signed_in: Any) -> None:
    member, case = what.scene.members[0], what.case.public_id
    board.tell(what.case, member)
    readers = {
        f"/board/cases/{case}/": member,
        f"/appeals/{what.appeal.public_id}/": joins(what.scene.blue, "bea"),
        f"/appeals/case/{case}/": joins(what.scene.red, "rob"),
    }
    for address, who in readers.items():
        _leads(signed_in(who), address, what.picture)


def test_the_sweep_leads_to_it(what: Decided, signed_in: Any) -> None:
    decided.broken(what)
    what.overruled()
    _leads(signed_in(what.scene.members[0]), f"/board/examinations/{what.scene.stake.defense.public_id}/", what.picture)


def _leads(client: Client, address: str, picture: str) -> None:
    """Say whether a page leads to this picture alone, and its reader there."""
    page = client.get(address)
    assert page.status_code == 200, address
    assert set(re.findall(r'href="/record/(P-[^"]+)/"', page.content.decode())) == {picture}, address
    assert client.get(f"/record/{picture}/").status_code == 200, address


# Of a picture under embargo, and of one of the organizers' before its release; after it everybody may read of it.
READERS = {
    "stranger": (False, False),
    "member": (False, False),
    "other team": (False, False),
    "own team": (True, False),
    "organizer": (True, True),
}


def test_who_may_open_the_page_finds_a_link_to_it(what: Decided, signed_in: Any) -> None:
    people: dict[str, User | AnonymousUser] = {
        "stranger": AnonymousUser(),
        "member": what.scene.members[0],
        "other team": joins(what.scene.blue, "bea"),
        "own team": joins(what.scene.red, "rob"),
        "organizer": factories.user("olympia", "organizers"),
    }
    sent = factories.image(origin="attack", received_at=TODAY)
    Attack.objects.create(team=what.scene.red, image=sent, received_at=TODAY, week=week_at(TODAY).name)
    own = factories.image(origin="dataset", received_at=RULED - timedelta(days=5), label_from=RULED)

    def found(reader: str, image: Image) -> tuple[bool, int]:
        """Whether the tag writes a link for a reader, and what they get at the page."""
        request = RequestFactory().get("/")
        request.user = who = people[reader]
        context = RequestContext(request, {"image": image, "now": TODAY})
        client = signed_in(who) if isinstance(who, User) else Client()
        link = Template("{% load pictures %}{% record_page image now %}").render(context)
        return bool(link), page(client, image.public_id).status_code

    opens = {True: (True, 200), False: (False, 404)}
    for reader, (embargo, dataset) in READERS.items():
        assert (found(reader, sent), found(reader, own)) == (opens[embargo], opens[dataset]), reader
    decided.release(week_at(own.received_at).name)
    assert found("stranger", own) == opens[True]
