"""The calls about a picture and its rulings: who is told what before the boundary, after it, and with the release."""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from adjudication.models import Ruling
from contest.attacks.services import attack_withdraw
from contest.core.models import Attack, Team
from contest.teams.services import member_add
from labeling.models import Image, Panel
from tests import factories
from tests.contest.attacks import cast
from tests.contest.attacks.cast import BOUNDARY, send
from tests.contest.pages import queries
from tests.contest.record import decided

pytestmark = pytest.mark.django_db
BEFORE, AFTER = BOUNDARY - timedelta(seconds=1), BOUNDARY + timedelta(days=3)
SOMEWHERE = "P-00000000"
NOT_THERE = {"code": "not_found", "detail": "There is no public picture with this ID."}


@pytest.fixture(scope="module")
def everybody(module_world: Path) -> dict[str, User]:
    """Somebody in each role; team red has sent a picture."""
    cast.policy()
    red, colleague = cast.team("red"), factories.user("colleague")
    member_add(team=red, user=colleague, now=cast.LONG_AGO)
    send(red, now=factories.NOW)
    return {
        "no role": factories.user("stan"),
        "other team": cast.captain(cast.team("blue")),
        "board": factories.user("rita", "review board"),
        "tasker": factories.tasker("tara").user,
        "newcomer": factories.tasker("nell", state="learning").user,
        "own team": cast.captain(red),
        "colleague": colleague,
        "organizer": factories.user("olga", "organizers"),
    }


@pytest.fixture
def red(everybody: dict[str, User]) -> Team:
    return Team.objects.get(name="team red")


@pytest.fixture
def attack(everybody: dict[str, User]) -> Attack:
    return Attack.objects.get()


@pytest.fixture
def people(everybody: dict[str, User], signed_in: Any) -> Callable[[str], Client]:
    return lambda role: Client() if role == "stranger" else signed_in(everybody[role])


def after(clock: Any, *, released: bool = True) -> None:
    """Some days after the boundary, when the week is released, or not."""
    clock(AFTER)
    if released:
        decided.release(at=AFTER)


def ruled(image: Image, number: int = 1, **values: Any) -> Ruling:
    panel = image.panels.first() or factories.panel(image)
    told: dict[str, Any] = {
        "verdict": "valid", "label": "bird", "decided_by": "rules", "decided_at": BOUNDARY + timedelta(days=1),
        "smallest_box_numerator": 2, "smallest_box_denominator": 8,
    }  # fmt: skip
    return Ruling.objects.create(
        image=image, number=number, panel=panel, policy=factories.policy_version(), response_ids=[], **told | values
    )


def image_of(client: Client, public_id: str) -> Any:
    return client.get(f"/api/v1/images/{public_id}/")


def rulings_of(client: Client, public_id: str) -> Any:
    return client.get("/api/v1/rulings/", {"image": public_id})


# Who is told what: the status, whether the image's call tells its ruling, and how many rulings are listed.
NOTHING, SEEN, ALL = (404, None, None), (200, False, 0), (200, True, 1)
REFUSED = (403, None, None)
OTHERS = ["stranger", "no role", "other team", "board"]
TOLD = [
    *[(role, "before", NOTHING) for role in OTHERS],
    *[(role, "after", SEEN) for role in OTHERS],
    *[(role, "released", ALL) for role in OTHERS],
    # Who sent it knows the picture at once, and its ruling when its week is over.
    *[(role, moment, told) for role in ("own team", "colleague")
      for moment, told in (("before", SEEN), ("after", ALL), ("released", ALL))],
    *[("organizer", moment, ALL) for moment in ("before", "after", "released")],
    *[(role, moment, REFUSED) for role in ("tasker", "newcomer") for moment in ("before", "after", "released")],
]  # fmt: skip


@pytest.mark.parametrize("moment", ["before", "after", "released"])
def test_who_is_told_what(moment: str, attack: Attack, people: Any, clock: Any) -> None:
    """At each moment of the embargo (R24); who labels looks nothing up (R8)."""
    clients = {role: (people(role), told) for role, at, told in TOLD if at == moment}
    ruled(attack.image)
    if moment == "before":
        clock(BEFORE)
    else:
        after(clock, released=moment == "released")
    for role, (client, told) in clients.items():
        picture, rulings = image_of(client, attack.image.public_id), rulings_of(client, attack.image.public_id)
        assert picture.status_code == rulings.status_code == told[0], role
        if told[0] == 200:
            said = picture.json()
            assert (said["ruling"] is not None, rulings.json()["count"]) == told[1:], role
            assert (said["public"], said["released"]) == (moment != "before", moment == "released")
            assert client.get(said["picture"]["url"]).status_code == 200
        elif told[0] == 403:
            assert picture.json()["code"] == rulings.json()["code"] == "not_for_taskers"


def test_what_is_under_embargo_answers_as_what_is_not_there(attack: Attack, people: Any, clock: Any) -> None:
    clients = [people(role) for role in OTHERS]
    clock(BEFORE)
    for client in clients:
        for ask in (image_of, rulings_of):
            hidden, nothing = ask(client, attack.image.public_id), ask(client, SOMEWHERE)
            assert (hidden.status_code, hidden.json()) == (nothing.status_code, nothing.json()) == (404, NOT_THERE)
            assert hidden.headers.keys() == nothing.headers.keys()


@pytest.mark.parametrize("role", ["own team", "organizer"])
def test_nobody_finds_what_is_not_there(role: str, people: Any) -> None:
    client = people(role)
    for name in (SOMEWHERE, "A-7Q4M2K9X", "1", "P-0000000%00", "p-7q4m2k9x", "P-7Q4M2K9X%0A"):
        answer = client.get(f"/api/v1/images/{name}/")
        assert (answer.status_code, answer.json()) == (404, NOT_THERE), name


def test_a_picture_in_full(attack: Attack, red: Team, clock: Any, now: datetime) -> None:
    nobody_outlined_it = {"smallest_box_numerator": None, "smallest_box_denominator": None}
    ruled(attack.image, verdict="rejected", label="", reasons=["uncertain", "too_small"], **nobody_outlined_it)
    ruled(attack.image, 2)
    ruled(attack.image, 3, decided_by="board", explanation="A heron.", smallest_box_numerator=8)
    after(clock)
    said = image_of(Client(), attack.image.public_id).json()
    assert said["picture"].pop("url").startswith("/pictures/")
    newest = said.pop("ruling")
    assert said == {
        "id": attack.image.public_id,
        "sha256_pixels": attack.image.pixels_sha256,
        "origin": "attack",
        "received_at": now.isoformat().replace("+00:00", "Z"),
        "week": "2026-W47",
        "public": True,
        "released": True,
        "picture": {"width": cast.SIDE, "height": cast.SIDE},
        "attacks": [
            {
                "id": attack.public_id,
                "team": {"id": red.public_id, "name": "team red"},
                "received_at": now.isoformat().replace("+00:00", "Z"),
                "week": "2026-W47",
                "withdrawn_at": None,
            }
        ],
        "appeals": [],
    }
    listed = rulings_of(Client(), attack.image.public_id).json()
    assert (listed["count"], listed["next"]) == (3, None)
    first, second, third = listed["results"]
    assert (
        newest
        == third
        == {
            "image": attack.image.public_id,
            "number": 3,
            "decided_at": "2026-11-22T00:00:00Z",
            "decided_by": "board",
            "panel": 1,
            "verdict": "valid",
            "label": "bird",
            "reasons": [],
            "smallest_box_fraction": "1/1",
            "policy_version": 1,
            "explanation": "A heron.",
        }
    )
    assert (first["label"], first["reasons"], first["smallest_box_fraction"]) == (
        None, ["uncertain", "too_small"], None,
    )  # fmt: skip
    assert second["smallest_box_fraction"] == "1/4", "in lowest terms, as the release has it"


# Withdrawn ones, copies, gold ----------------------------------------------------------------------------------------


def test_a_withdrawn_one_is_its_team_s_alone(attack: Attack, red: Team, people: Any, clock: Any, now: datetime) -> None:
    attack_withdraw(attack=attack, by=cast.captain(red), now=now)
    clients = {people(role): 404 for role in OTHERS} | {people(role): 200 for role in ("own team", "organizer")}
    after(clock)
    for client, status in clients.items():
        picture, rulings = image_of(client, attack.image.public_id), rulings_of(client, attack.image.public_id)
        assert picture.status_code == rulings.status_code == status
        assert status == 404 or picture.json()["attacks"][0]["withdrawn_at"] is not None


def test_a_copy_under_embargo_is_not_told_with_the_first_one(attack: Attack, people: Any, clock: Any) -> None:
    blue, team = people("other team"), Team.objects.get(name="team blue")
    copy = send(team, now=BOUNDARY + timedelta(days=1))
    ruled(attack.image)
    clock(AFTER)
    to_all, to_blue = (image_of(each, attack.image.public_id).json()["attacks"] for each in (Client(), blue))
    assert [each["id"] for each in to_all] == [attack.public_id]
    assert [each["id"] for each in to_blue] == [attack.public_id, copy.public_id]
    assert rulings_of(blue, attack.image.public_id).json()["count"] == 0, "its own week has not ended"


def test_who_sends_a_copy_learns_of_no_earlier_one(attack: Attack, people: Any, clock: Any, now: datetime) -> None:
    blue, copy = people("other team"), send(Team.objects.get(name="team blue"), now=now + timedelta(hours=1))
    clock(BEFORE)
    said = image_of(blue, attack.image.public_id).json()
    assert [each["id"] for each in said["attacks"]] == [copy.public_id]
    assert said["received_at"] == copy.received_at.isoformat().replace("+00:00", "Z")


@pytest.mark.parametrize("is_released", [False, True])
@pytest.mark.parametrize("origin", ["gold", "example"])
def test_no_field_tells_who_sent_it_that_it_is_one_of_the_contests_own(
    origin: str, is_released: bool, attack: Attack, people: Any, clock: Any
) -> None:
    factories.panel(attack.image)
    Panel.objects.update(state="held")
    own, other, tasker = (people(role) for role in ("own team", "other team", "tasker"))
    after(clock, released=is_released)
    held = image_of(own, attack.image.public_id).json()
    Image.objects.update(origin=origin)
    ruled(attack.image)
    kept = image_of(own, attack.image.public_id).json()
    del held["picture"]["url"], kept["picture"]["url"]  # each time another one
    assert kept == held and (kept["public"], kept["released"]) == (True, is_released)
    assert rulings_of(own, attack.image.public_id).json()["count"] == 0
    hidden = image_of(other, attack.image.public_id)
    assert (hidden.status_code, hidden.json()) == (404, NOT_THERE), "as for one that is not there"
    assert image_of(tasker, attack.image.public_id).status_code == 403
    said = image_of(people("organizer"), attack.image.public_id).json()
    assert (said["public"], said["origin"]) == (False, origin)


# What is asked wrongly -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "field", "words"),
    [
        ("", "image", "Name one picture by its ID"),
        ("?image=", "image", "Name one picture by its ID"),
        ("?image=P-7Q4M2K9X&image=P-00000000", "image", "Name one picture by its ID"),
        ("?image=A-7Q4M2K9X", "image", "This is not the ID of a picture"),
        ("?image=p-7q4m2k9x", "image", "This is not the ID of a picture"),
        ("?image=P-0000000%00", "image", "This is not the ID of a picture"),
        ("?image=P-00000000&verdict=valid", "verdict", "The parameter 'verdict' is not known"),
    ],
    ids=["missing", "empty", "twice", "a receipt", "in small letters", "a zero byte", "unknown parameter"],
)
def test_an_address_that_is_wrong_is_told_what_to_change(query: str, field: str, words: str, red: Team) -> None:
    answer = Client().get(f"/api/v1/rulings/{query}")
    ((name, (said,)),) = answer.json()["fields"].items()
    assert (answer.status_code, name) == (400, field) and words in said


def test_both_calls_are_only_read(people: Any) -> None:
    client = people("no role")
    for address in (f"/api/v1/images/{SOMEWHERE}/", f"/api/v1/rulings/?image={SOMEWHERE}"):
        for method in ("post", "put", "patch", "delete"):
            answer = getattr(client, method)(address, "{}", content_type="application/json")
            assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")


def test_head_answers_as_get_without_a_body(attack: Attack, clock: Any) -> None:
    clock(AFTER)
    for address in (f"/api/v1/images/{attack.image.public_id}/", f"/api/v1/rulings/?image={attack.image.public_id}"):
        found, hidden = Client().head(address), Client().head(address.replace(attack.image.public_id, SOMEWHERE))
        assert (found.status_code, found.content, hidden.status_code) == (200, b"", 404)
        assert "no-store" in found["Cache-Control"], "what may be told changes with the weeks"


def test_many_rulings_come_in_pages(attack: Attack, clock: Any) -> None:
    for number in range(1, 53):
        ruled(attack.image, number)
    after(clock)
    first = rulings_of(Client(), attack.image.public_id).json()
    second = Client().get(first["next"]).json()
    assert (first["count"], len(first["results"]), len(second["results"]), second["next"]) == (52, 50, 2, None)
    assert [each["number"] for each in second["results"]] == [51, 52]


def test_the_number_of_questions_does_not_grow(
    attack: Attack, people: Any, clock: Any, now: datetime, django_assert_max_num_queries: Any
) -> None:
    clients = [people(role) for role in ("stranger", "own team", "organizer")]
    for number in range(1, 20):
        ruled(attack.image, number)
    for name in ("green", "black"):
        send(cast.team(name), now=now + timedelta(hours=1))
    after(clock)
    for client in clients:
        for ask in (image_of, rulings_of):
            with django_assert_max_num_queries(16):
                assert ask(client, attack.image.public_id).status_code == 200


# The pictures of a week ----------------------------------------------------------------------------------------------

WEEK = "/api/v1/images/?week=2026-W47"


def test_a_week_is_listed_with_its_release_and_what_holds(attack: Attack, people: Any, clock: Any) -> None:
    ruled(attack.image)
    ruled(attack.image, 2, verdict="rejected", label="", reasons=["depiction"])
    after(clock, released=False)
    assert people("organizer").get(WEEK).json() == {"count": 0, "next": None, "results": []}
    decided.release(at=AFTER)
    (told,) = people("stranger").get(WEEK).json()["results"]
    assert (told["id"], told["week"], told["origin"]) == (attack.image.public_id, "2026-W47", "attack")
    assert (told["ruling"]["number"], told["ruling"]["reasons"]) == (2, ["depiction"])
    assert image_of(people("stranger"), told["id"]).json()["ruling"] == told["ruling"]
    assert people("tasker").get(WEEK).status_code == 403


@pytest.mark.parametrize(
    ("asked", "count", "why"),
    [
        ("", 2, "all of the week"),
        ("&origin=dataset", 1, "those of the contest's own"),
        ("&verdict=valid", 1, "those with this verdict in force"),
        ("&verdict=rejected", 0, "none was rejected"),
        ("&origin=dataset&verdict=valid", 0, "both at once"),
    ],
)
def test_the_pictures_of_a_week_are_filtered(asked: str, count: int, why: str, attack: Attack, clock: Any) -> None:
    ruled(attack.image)
    factories.image(received_at=factories.NOW)
    factories.image(received_at=factories.NOW, label_from=None)
    factories.image(received_at=factories.NOW, origin="gold")
    after(clock)
    assert Client().get(f"{WEEK}{asked}").json()["count"] == count, why


def test_the_pages_of_a_week_lead_on_and_ask_no_more_for_more(attack: Attack, clock: Any) -> None:
    for _ in range(59):
        ruled(factories.image(received_at=factories.NOW))
    after(clock)
    first = Client().get(f"{WEEK}&origin=dataset").json()
    assert (first["count"], len(first["results"])) == (59, 50)
    last = Client().get(first["next"]).json()
    assert (last["next"], len(last["results"])) == (None, 9)
    assert queries(lambda: Client().get(WEEK)) <= 8


@pytest.mark.parametrize(
    ("asked", "field"),
    [("", "week"), ("week=2026", "week"), ("week=2026-W47&origin=gold", "origin"), ("week=2026-W47&weeks=1", "weeks"),
     ("week=2026-W47&verdict=good", "verdict")],
)  # fmt: skip
def test_what_is_wrong_with_the_filters_is_named(asked: str, field: str) -> None:
    answer = Client().get(f"/api/v1/images/?{asked}")
    assert (answer.status_code, list(answer.json()["fields"])) == (400, [field])
