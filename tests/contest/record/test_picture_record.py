"""The page of a picture: what each may know of it when, and what happened as one timeline with permanent links."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from adjudication.models import Ruling
from contest.awards.settling import prizes_settle
from contest.models import Attack
from contest.stakes.ends import stakes_end
from labeling.models import Image, Response
from tests import factories
from tests.contest.board.case_cast import joins
from tests.contest.board.cast import LATER, RULED, SURE
from tests.contest.money import cast as money
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


def page(client: Client, public_id: str) -> Any:
    return client.get(f"/record/{public_id}/")


def main_of(answer: Any) -> str:
    found: str = answer.content.decode()
    return found.partition("<main")[2].partition("</main>")[0]


def anchors(answer: Any) -> list[str]:
    return re.findall(r'<li id="([^"]+)" class="of-', main_of(answer))


# Who is told what: status, whether a ruling is told, whether answers are.
NOTHING, SEEN, RULING, ALL = (404, False, False), (200, False, False), (200, True, False), (200, True, True)
TOLD = [
    *[(role, "embargo", NOTHING) for role in ("stranger", "no role", "board")],
    *[(role, "ended", SEEN) for role in ("stranger", "no role", "board")],
    ("own team", "embargo", SEEN),
    ("own team", "ended", RULING),
    ("organizer", "embargo", ALL),
    ("organizer", "ended", ALL),
    *[(role, "released", ALL) for role in ("stranger", "no role", "board", "own team", "organizer")],
    *[("tasker", moment, (403, False, False)) for moment in ("embargo", "ended", "released")],
]


def test_who_is_told_what(what: Decided, people: Any, clock: Any) -> None:
    clients = {role: people(role) for role in dict.fromkeys(row[0] for row in TOLD)}
    tasker = Response.objects.filter(image=what.scene.image)[0].tasker.public_id
    found = {}
    for moment in ("embargo", "ended", "released"):
        clock(what.scene.attack.received_at + timedelta(hours=1) if moment == "embargo" else TODAY)
        if moment == "released":
            decided.release()
        for role in [role for role, at, _ in TOLD if at == moment]:
            cache.clear()
            answer = page(clients[role], what.picture)
            shown = main_of(answer)
            found[role, moment] = (answer.status_code, 'id="ruling-1"' in shown, tasker in shown)
    assert found == {(role, moment): told for role, moment, told in TOLD}


def test_what_is_under_embargo_answers_as_what_is_not_there(what: Decided, people: Any, clock: Any) -> None:
    clients = {role: people(role) for role in ("stranger", "no role", "board")}
    clock(what.scene.attack.received_at + timedelta(hours=1))
    for role, client in clients.items():
        hidden, nothing = page(client, what.picture), page(client, "P-00000000")
        assert (hidden.status_code, nothing.status_code) == (404, 404), role
        assert _plain(hidden.content) == _plain(nothing.content), role


def test_all_that_happened_is_one_timeline_with_the_newest_last(what: Decided, client: Client) -> None:
    decided.broken(what)
    what.overruled()
    release = decided.release()
    answer = page(client, what.picture)
    appeal, case, red = what.appeal.public_id, what.case.public_id, what.scene.red.public_id
    keep = what.scene.stake.defense.public_id
    of_blue = what.appeal.defense
    assert of_blue is not None
    assert anchors(answer) == [
        f"attack-{what.scene.attack.public_id}", "week-2026-W47", "panel-1", "ruling-1", f"outputs-{keep}",
        f"outputs-{of_blue.public_id}", f"break-{keep}-1", f"appeal-{appeal}", f"case-{case}", "ruling-2",
        f"answer-{case}-{red}", f"release-{release.week}",
    ]  # fmt: skip
    page_words = main_of(answer)
    assert what.appeal.argument in page_words and what.statement.words in page_words
    assert decided.DISSENT in page_words
    assert "2 × overrule (rejected: the object is partly hidden); 1 × uphold" in page_words
    assert "Since ruling 2 it holds no more" in page_words
    assert all(member.username not in page_words for member in what.scene.members)
    assert "It counts the same answers as" in page_words


def test_answers_stand_beside_each_other_with_a_certificate_for_each_ruling(what: Decided, client: Client) -> None:
    decided.release()
    shown = main_of(page(client, what.picture))
    assert shown.count("<h3>Certificate</h3>") == 1
    taskers = Response.objects.filter(image=what.scene.image).values_list("tasker__public_id", flat=True)
    assert all(shown.count(f"<code>{each}</code>") >= 2 for each in taskers)


def test_while_more_taskers_are_asked_nothing_of_it_shows(what: Decided, client: Client) -> None:
    """Neither that they are asked nor what was argued: somebody still has to answer (R8)."""
    decided.release(at=RULED + timedelta(hours=1))
    before = page(client, what.picture).content
    what.asked()
    assert _plain(page(client, what.picture).content) == _plain(before)
    what.answered(*[SURE] * len(what.case.decision.panel.places.filter(response=None)))  # type: ignore[union-attr]
    after = anchors(page(client, what.picture))
    assert {f"case-{what.case.public_id}", "joined-1", "ruling-2", f"appeal-{what.appeal.public_id}"} <= set(after)


def _plain(page: bytes) -> bytes:
    return re.sub(rb'/pictures/[\w=-]+\.png|name="csrfmiddlewaretoken" value="\w+"|/record/[\w-]+/', b"", page)


def test_answers_that_no_release_told_wait_while_others_are_asked(what: Decided, client: Client) -> None:
    """The panel was joined before the week was released: who joined could read the others' answers."""
    what.asked()
    decided.release()
    shown = main_of(page(client, what.picture))
    assert 'id="ruling-1"' in shown and "once nobody has to answer any more" in shown
    assert Response.objects.filter(image=what.scene.image)[0].tasker.public_id not in shown


@pytest.mark.parametrize("origin", ["gold", "example"])
def test_who_sent_a_picture_does_not_read_that_it_is_one_of_the_contest_s_own(
    origin: str, clock: Any, signed_in: Any
) -> None:
    """One that is kept out because the contest has it among its own reads as one that waits (R5, R6)."""
    clock(TODAY)
    factories.policy_version()
    green = money.team("green")
    attack = money.attack(green)
    team = signed_in(joins(green, "gina"))
    waiting = _plain(page(team, attack.image.public_id).content)
    Image.objects.filter(pk=attack.image.pk).update(origin=origin)
    assert _plain(page(team, attack.image.public_id).content) == waiting
    assert page(Client(), attack.image.public_id).status_code == 404


def test_a_withdrawn_picture_says_so_to_who_sent_it(what: Decided, people: Any, clock: Any) -> None:
    moment = what.scene.attack.received_at + timedelta(hours=1)
    Attack.objects.update(withdrawn_at=moment)
    clock(moment)
    assert "It was withdrawn" in main_of(page(people("own team"), what.picture))
    assert page(Client(), what.picture).status_code == 404


def test_what_money_followed_is_told_as_the_page_of_money_tells_it(what: Decided, client: Client, clock: Any) -> None:
    decided.broken(what)
    what.upheld()
    decided.release()
    stakes_end(now=LATER)
    clock(money.CLOSED)
    prizes_settle(now=money.CLOSED)
    shown = main_of(page(client, what.picture))
    entries = re.findall(r'<li id="(entry-\d+)"', shown)
    assert entries, "a share of the stake goes to who broke it"
    ledger = client.get("/money/").content.decode()
    assert all(f'id="{each}"' in ledger for each in entries)


def test_a_picture_of_the_organizers_names_its_source(clock: Any, client: Client) -> None:
    clock(TODAY)
    factories.policy_version()
    image = factories.image(
        origin="dataset", received_at=RULED - timedelta(days=3), label_from=RULED, source="birds.example"
    )
    assert page(client, image.public_id).status_code == 404
    decided.release()
    assert "The organizers took it in from birds.example" in main_of(page(client, image.public_id))


def test_what_is_no_picture_is_not_there(what: Decided, client: Client) -> None:
    for name in ("P-00000000", "p-7q4m2k9x", "1", "A-7Q4M2K9X", "P-7Q4M2K9X%0A", "P-0000000%00"):
        assert client.get(f"/record/{name}/").status_code == 404, name


def test_the_page_asks_as_often_for_a_long_story(
    what: Decided, client: Client, django_assert_max_num_queries: Any
) -> None:
    decided.broken(what)
    decided.release()
    with django_assert_max_num_queries(50) as few:
        page(client, what.picture)
    what.overruled()
    image = what.scene.image
    for number in range(3, 9):
        money.ruled(image, "bird" if number % 2 else "", at=LATER + timedelta(hours=number))
        money.attack(money.team(f"sender {number}"), days=1 + number / 50, image=image)
    assert Ruling.objects.filter(image=image).count() == 8 and Attack.objects.filter(image=image).count() == 7
    with django_assert_max_num_queries(len(few) + 12):
        page(client, what.picture)


def test_pages_lead_to_it(what: Decided, client: Client) -> None:
    decided.broken(what)
    decided.release()
    link = f'href="/record/{what.picture}/"'
    attack, keep = what.scene.attack.public_id, what.scene.stake.defense.public_id
    for address in ("/weeks/2026-W47/", f"/attacks/{attack}/", f"/defenses/{keep}/"):
        assert link in main_of(client.get(address)), address
