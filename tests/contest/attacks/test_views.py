"""The pages and calls of attacks: who may open what, and what each says (R23-R26)."""

import io
import zipfile
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from adjudication.models import Ruling
from common.authentication import issue_token
from contest.attacks import access
from contest.attacks.near import near_duplicates_find
from contest.attacks.services import attack_withdraw
from contest.models import Attack, NearDuplicate, Team
from labeling.models import Image, Tasker
from labeling.services import panels_deal
from tests import factories
from tests.contest.attacks import cast
from tests.contest.attacks.cast import BOUNDARY, main_of, picture, send, upload

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture
def blue(red: Team) -> Team:
    return cast.team("blue")


# Who may open what ---------------------------------------------------------------------------------------------------

ROLES = ["stranger", "no role", "tasker", "board", "other team", "organizer", "own team"]
# What each role is answered, in the order of ROLES, while the attack is under embargo and after its week.
OPEN = {
    "/attacks/": ([302, 404, 403, 403, 200, 403, 200], None),
    "/attacks/{id}/": ([404, 404, 403, 404, 404, 200, 200], [200, 200, 403, 200, 200, 200, 200]),
    "/attacks/{id}/withdraw/": ([302, 404, 403, 403, 404, 403, 200], [302, 404, 403, 403, 403, 403, 200]),
    "/attacks/A-00000000/": ([404, 404, 403, 404, 404, 404, 404], None),
    "/attacks/weeks/2026-W47/": ([200, 200, 403, 200, 200, 200, 200], None),
    "/attacks/weeks/2026-W99/": ([404, 404, 403, 404, 404, 404, 404], None),
    "/organizer/attacks/": ([302, 404, 403, 403, 403, 200, 403], None),
    "/organizer/near-duplicates/": ([302, 404, 403, 403, 403, 200, 403], None),
    "/api/v1/attacks/": ([401, 404, 403, 403, 200, 403, 200], None),
}


def client_of(role: str, red: Team, signed_in: Any) -> Client:
    if role == "stranger":
        return Client()
    people: dict[str, Callable[[], User | Tasker]] = {
        "no role": lambda: factories.user("stan"),
        "tasker": lambda: factories.tasker("tara"),
        "board": lambda: factories.user("rita", "review board"),
        "organizer": lambda: factories.user("olga", "organizers"),
        "own team": lambda: cast.captain(red),
        "other team": lambda: cast.captain(cast.team("blue")),
    }
    client: Client = signed_in(people[role]())
    return client


@pytest.mark.parametrize("role", ROLES)
def test_who_may_open_what_before_and_after_the_boundary(
    role: str, red: Team, now: datetime, clock: Callable[[datetime], None], signed_in: Any
) -> None:
    attack, client = send(red, now=now), client_of(role, red, signed_in)
    place = ROLES.index(role)
    for moment, after in ((BOUNDARY - timedelta(seconds=1), False), (BOUNDARY, True)):
        clock(moment)
        for address, (before, later) in OPEN.items():
            expected = (later or before) if after else before
            answer = client.get(address.format(id=attack.public_id))
            assert answer.status_code == expected[place], (address, moment)


@pytest.mark.parametrize("role", ROLES[:-1])
def test_nobody_else_sends_or_withdraws(role: str, red: Team, now: datetime, clock: Any, signed_in: Any) -> None:
    attack, client = send(red, now=now), client_of(role, red, signed_in)
    if role != "other team":
        for address in ("/attacks/", "/attacks/send/", "/api/v1/attacks/"):
            answer = client.post(address, {"image": upload(picture(9))})
            assert answer.status_code in {302, 401, 403, 404}, address
    assert client.post(f"/attacks/{attack.public_id}/withdraw/").status_code in {302, 403, 404}
    attack.refresh_from_db()
    assert (Attack.objects.count(), attack.withdrawn_at) == (1, None)


def test_a_forged_request_sends_nothing(red: Team, clock: Any) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.captain(red), backend="common.sessions.UserBackend")
    for address in ("/attacks/", "/attacks/send/", "/api/v1/attacks/"):
        assert client.post(address, {"image": upload(picture())}).status_code == 403, address
    assert not Attack.objects.exists()


@pytest.mark.parametrize("address", ["/attacks/", "/attacks/send/", "/api/v1/attacks/"])
def test_what_is_too_long_is_refused_before_it_is_read(
    address: str, captain: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*_: Any) -> None:
        raise AssertionError("the body was read")

    monkeypatch.setattr("django.http.multipartparser.MultiPartParser.parse", read)
    stated = {"CONTENT_LENGTH": str(access.MOST_UPLOAD_BYTES + 1)}
    answer = captain.post(address, {"image": upload(picture())}, **stated)
    assert answer.status_code == 413
    assert "33 MiB are the most here" in answer.content.decode()


# Sending -------------------------------------------------------------------------------------------------------------


def test_the_page_works_without_a_script(captain: Client, red: Team, now: datetime) -> None:
    files = [upload(picture(1), "one.png"), upload(b"no", "two.png"), upload(picture(1), "three.png")]
    page = main_of(captain.post("/attacks/", {"image": files}))
    attack = Attack.objects.get()
    assert (attack.received_at, attack.file_name, attack.sent_by) == (now, "one.png", cast.captain(red))
    assert f"receipt {attack.public_id}</a>" in page
    assert "refused. This is not a PNG, JPEG or WebP picture" in page
    assert f"sent exactly this picture before: receipt {attack.public_id}" in page
    assert "9 left for your team today" in page


def test_a_form_without_a_picture_says_so(captain: Client) -> None:
    assert "Choose at least one picture first." in main_of(captain.post("/attacks/", {}))


def test_an_upload_against_what_is_not_staked_is_refused_as_a_whole(captain: Client) -> None:
    answer = captain.post("/attacks/", {"image": upload(picture()), "defenses": ["D-00000000"]})
    assert answer.status_code == 400
    assert "<code>not_staked</code>" in main_of(answer)
    again = captain.post("/attacks/send/", {"image": upload(picture()), "defenses": ["D-00000000"]})
    assert (again.status_code, again.json()["code"]) == (400, "not_staked")
    assert not Attack.objects.exists()


def test_the_script_gets_a_receipt_or_a_refusal_for_each(captain: Client) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in (("a.png", picture(1)), ("b.png", b"x"), ("c.png", picture(1))):
            archive.writestr(name, data)
    answer = captain.post("/attacks/send/", {"image": upload(packed.getvalue(), "many.zip")}).json()
    attack = Attack.objects.get()
    first, second, third = answer["outcomes"]
    assert (first["name"], first["receipt"]["id"], answer["quota_left"]) == ("a.png", attack.public_id, 9)
    assert first["receipt"]["url"] == f"/attacks/{attack.public_id}/"
    assert second["refused"]["code"] == "not_a_picture"
    assert (third["refused"]["code"], third["refused"]["receipt"]) == ("sent_before", attack.public_id)


def test_a_team_that_may_not_attack_is_told_how_it_may(clock: Any, signed_in: Any, red: Team) -> None:
    client = signed_in(cast.captain(cast.team("green", entitled=False)))
    page = main_of(client.get("/attacks/"))
    assert "Your team may not attack yet" in page and "<form" not in page
    assert client.post("/attacks/send/", {"image": upload(picture())}).json()["code"] == "not_entitled"


# The API -------------------------------------------------------------------------------------------------------------


def test_the_api_answers_with_a_receipt(captain: Client, red: Team) -> None:
    defense = cast.staked()
    body = {"image": upload(picture(), "heron.png"), "defenses": [defense.public_id]}
    answer = captain.post("/api/v1/attacks/", body)
    attack = Attack.objects.get()
    assert (answer.status_code, answer.json()) == (
        201,
        {
            "id": attack.public_id,
            "received_at": "2026-11-18T12:00:00Z",
            "week": "2026-W47",
            "week_ends_at": "2026-11-21T00:00:00Z",
            "time_zone": "UTC",
            "image": attack.image.public_id,
            "sha256_pixels": attack.image.pixels_sha256,
            "file_name": "heron.png",
            "of_quota": 1,
            "defenses": [defense.public_id],
            "warnings": [],
            "copy_of": None,
            "withdrawn_at": None,
            "quota_left": 9,
        },
    )


def test_the_api_takes_a_token(red: Team, clock: Any, now: datetime) -> None:
    token = issue_token(cast.captain(red), now=now)
    headers = {"Authorization": f"Token {token}"}
    assert Client(headers=headers).post("/api/v1/attacks/", {"image": upload(picture())}).status_code == 201


API_REFUSALS: list[tuple[dict[str, Any], int, str, str, str]] = [
    ({}, 400, "invalid", "image", "no picture"),
    ({"image": ""}, 400, "invalid", "image", "words in the place of a file"),
    ({"image": b"x"}, 400, "not_a_picture", "image", "no picture in the file"),
    ({"image": b""}, 400, "empty", "image", "nothing in the file"),
    ({"image": picture(side=17)}, 400, "wrong_size", "image", "another size"),
    ({"image": picture(), "defenses": ["D-0"]}, 400, "not_staked", "defenses", "not staked"),
    ({"image": picture(), "defenses": ["D\x000"]}, 400, "invalid", "defenses", "no text"),
    ({"image": picture(), "claimed": "bird"}, 400, "invalid", "claimed", "a field that is not known"),
]


@pytest.mark.parametrize(("body", "status", "code", "field", "why"), API_REFUSALS, ids=[row[4] for row in API_REFUSALS])
def test_the_api_refuses(body: dict[str, Any], status: int, code: str, field: str, why: str, captain: Client) -> None:
    sent = {name: upload(value) if isinstance(value, bytes) else value for name, value in body.items()}
    answer = captain.post("/api/v1/attacks/", sent)
    assert (answer.status_code, answer.json()["code"]) == (status, code), why
    assert field in answer.json()["fields"]
    assert not Attack.objects.exists()


def test_the_api_says_what_is_used_up_and_what_was_sent_before(captain: Client, red: Team, now: datetime) -> None:
    cast.policy(attacks_per_day=1)
    attack = send(red, now=now)
    again = captain.post("/api/v1/attacks/", {"image": upload(picture())})
    assert (again.status_code, again.json()["code"], again.json()["receipt"]) == (409, "sent_before", attack.public_id)
    other = captain.post("/api/v1/attacks/", {"image": upload(picture(8))})
    assert (other.status_code, other.json()["code"]) == (429, "quota_used")


def test_the_api_refuses_who_is_not_entitled(clock: Any, signed_in: Any, red: Team) -> None:
    client = signed_in(cast.captain(cast.team("green", entitled=False)))
    answer = client.post("/api/v1/attacks/", {"image": upload(picture())})
    assert (answer.status_code, answer.json()["code"]) == (403, "not_entitled")


def test_the_api_takes_no_json(captain: Client) -> None:
    answer = captain.post("/api/v1/attacks/", {"image": "x"}, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")


def test_the_api_lists_ones_own_by_pages(
    captain: Client, red: Team, blue: Team, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contest.attacks.api.ON_A_PAGE", 2)
    attacks = [send(red, shade, now=now + timedelta(seconds=shade)) for shade in range(3)]
    send(blue, 9, now=now)
    first = captain.get("/api/v1/attacks/").json()
    assert (first["count"], first["quota_left"]) == (3, 7)
    assert [each["id"] for each in first["results"]] == [attacks[2].public_id, attacks[1].public_id]
    assert first["results"][0]["state"] == "under embargo"
    last = captain.get(first["next"]).json()
    assert ([each["id"] for each in last["results"]], last["next"]) == ([attacks[0].public_id], None)


def test_who_am_i_tells_what_is_left(captain: Client, red: Team, now: datetime) -> None:
    send(red, now=now)
    assert captain.get("/api/v1/me/").json()["quota_left"] == 9


# Pages ---------------------------------------------------------------------------------------------------------------


def test_a_receipt_names_the_zone_and_what_is_left(captain: Client, red: Team, now: datetime) -> None:
    attack = send(red, now=now)
    page = main_of(captain.get(f"/attacks/{attack.public_id}/"))
    for words in (
        "Wed 18 Nov 2026 12:00:00 UTC",
        "zone UTC",
        "2026-W47, to Sat 21 Nov 2026 00:00:00 UTC",
        attack.image.pixels_sha256,
        "number 1 of its day; 9 left today",
        "every published defense; no prize could be won then",
        "Under embargo until the week ends",
        "Withdraw</a>",
        "shade-7.png",
    ):
        assert words in page


def test_withdrawing_is_asked_about_first(captain: Client, red: Team, now: datetime) -> None:
    attack = send(red, now=now)
    address = f"/attacks/{attack.public_id}/withdraw/"
    assert "cannot be undone" in main_of(captain.get(address))
    assert Attack.objects.get().withdrawn_at is None
    answer = captain.post(address)
    assert (answer.status_code, answer["Location"]) == (303, f"/attacks/{attack.public_id}/")
    assert (Attack.objects.get().withdrawn_at, Attack.objects.get().withdrawn_by) == (now, cast.captain(red))
    page = main_of(captain.get(f"/attacks/{attack.public_id}/"))
    assert "withdrawn" in page and "Withdraw</a>" not in page
    assert captain.post(address).status_code == 409


def test_after_its_week_a_picture_stays(captain: Client, red: Team, now: datetime, clock: Any) -> None:
    attack = send(red, now=now)
    clock(BOUNDARY)
    answer = captain.post(f"/attacks/{attack.public_id}/withdraw/")
    assert answer.status_code == 409
    assert "can no longer be withdrawn" in main_of(answer)
    assert "Withdraw</button>" not in main_of(captain.get(f"/attacks/{attack.public_id}/withdraw/"))


def test_a_team_does_not_learn_before_the_boundary_that_another_sent_the_same(
    red: Team, blue: Team, now: datetime, clock: Any, signed_in: Any
) -> None:
    first = send(red, now=now)
    client = signed_in(cast.captain(blue))
    answer = client.post("/api/v1/attacks/", {"image": upload(picture())}).json()
    assert (answer["copy_of"], answer["received_at"]) == (None, "2026-11-18T12:00:00Z")
    address = f"/attacks/{answer['id']}/"
    assert first.public_id not in client.get(address).content.decode()
    clock(BOUNDARY)
    assert f'<a href="/attacks/{first.public_id}/">' in client.get(address).content.decode()
    assert client.get("/api/v1/attacks/").json()["results"][0]["copy_of"] == first.public_id


def test_a_week_is_listed_when_it_has_ended_without_what_was_withdrawn(
    red: Team, blue: Team, now: datetime, clock: Any
) -> None:
    kept, taken_back = send(red, 1, now=now), send(blue, 2, now=now)
    attack_withdraw(attack=taken_back, by=cast.captain(blue), now=now)
    before = main_of(Client().get("/attacks/weeks/2026-W47/"))
    assert "Until then they are under embargo" in before and kept.public_id not in before
    clock(BOUNDARY)
    after = main_of(Client().get("/attacks/weeks/2026-W47/"))
    assert "1 attack, in the order of receipt" in after
    assert (kept.public_id in after, taken_back.public_id in after) == (True, False)
    assert Client().get(f"/attacks/{taken_back.public_id}/").status_code == 404


def test_the_organizers_see_all_of_a_week(
    red: Team, blue: Team, olga: User, now: datetime, clock: Any, signed_in: Any
) -> None:
    attacks = [send(red, now=now), send(blue, now=now + DAY), send(red, 8, now=BOUNDARY)]
    clock(BOUNDARY)
    client = signed_in(olga)
    assert all(each.public_id in main_of(client.get("/organizer/attacks/")) for each in attacks)
    of_week = main_of(client.get("/organizer/attacks/?week=2026-W48"))
    assert [each.public_id in of_week for each in attacks] == [False, False, True]
    assert client.get("/organizer/attacks/?week=x&page=y").status_code == 200


def test_an_organizer_looks_at_a_pair_once(
    red: Team, blue: Team, olga: User, now: datetime, clock: Any, signed_in: Any
) -> None:
    send(red, 1, now=now)
    send(blue, 2, now=now)
    near_duplicates_find(within=6, now=now)
    client = signed_in(olga)
    pair = NearDuplicate.objects.get()
    page = main_of(client.get("/organizer/near-duplicates/"))
    assert "<strong>0</strong> of 64 bits differ" in page and "team red" in page and "team blue" in page
    assert client.post("/organizer/near-duplicates/", {"pair": pair.pk}).status_code == 303
    pair.refresh_from_db()
    assert (pair.seen_by, pair.seen_at) == (olga, now)
    assert "No pair waits" in main_of(client.get("/organizer/near-duplicates/"))
    assert "Seen by olga" in main_of(client.get("/organizer/near-duplicates/?show=seen"))
    for wrong in ("0", "x", "", "9" * 30):
        assert client.post("/organizer/near-duplicates/", {"pair": wrong}).status_code == 404, wrong


# A sign-in that is over, and what else a script is told --------------------------------------------------------------


def test_a_script_whose_sign_in_is_over_is_told_so(red: Team, clock: Any) -> None:
    answer = Client(enforce_csrf_checks=True).post("/attacks/send/", {"image": upload(bytes(4 * 1024**2))})
    assert (answer.status_code, answer.json()["code"]) == (401, "signed_out")
    assert not Attack.objects.exists()


SCRIPT = [
    ("stan", 404, "not_found", "an account without a role"),
    ("olga", 403, "not_in_a_team", "an organizer"),
    ("green", 403, "not_entitled", "a team that may not attack"),
]


@pytest.mark.parametrize(("who", "status", "code", "why"), SCRIPT, ids=[row[3] for row in SCRIPT])
def test_every_refusal_to_a_script_is_json(
    who: str, status: int, code: str, why: str, red: Team, clock: Any, signed_in: Any
) -> None:
    makers: dict[str, Callable[[], User]] = {
        "stan": lambda: factories.user("stan"),
        "olga": lambda: factories.user("olga", "organizers"),
        "green": lambda: cast.captain(cast.team("green", entitled=False)),
    }
    answer = signed_in(makers[who]()).post("/attacks/send/", {"image": upload(picture())})
    assert (answer.status_code, answer.json()["code"]) == (status, code), why
    assert answer.json()["detail"]


def test_a_forged_request_and_a_long_one_are_refused_in_json_too(
    red: Team, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.captain(red), backend="common.sessions.UserBackend")
    forged = client.post("/attacks/send/", {"image": upload(picture())})
    assert (forged.status_code, forged.json()["code"]) == (403, "forged")
    stated = {"CONTENT_LENGTH": str(access.MOST_UPLOAD_BYTES + 1)}
    for sender in (client, Client()):
        long = sender.post("/attacks/send/", {"image": upload(picture())}, **stated)
        assert (long.status_code, long.json()["code"]) == (413, "too_large")
    assert not Attack.objects.exists()


def test_the_api_takes_one_picture_per_call(captain: Client) -> None:
    """Of several parts with one name all but the last would be dropped without a word."""
    answer = captain.post("/api/v1/attacks/", {"image": [upload(picture(1), "a.png"), upload(picture(2), "b.png")]})
    assert (answer.status_code, answer.json()["code"]) == (400, "several_pictures")
    assert "one picture per call" in answer.json()["detail"] and answer.json()["fields"]["image"]
    assert not Attack.objects.exists()


WEEKS = ["9999-W52", "0001-W01", "0001-W02", "3000-W01", "1999-W52"]


@pytest.mark.parametrize("name", WEEKS)
@pytest.mark.parametrize("address", ["/attacks/weeks/{}/", "/weeks/{}/", "/leaderboard/?week={}"])
def test_no_week_lies_at_the_end_of_the_calendar(address: str, name: str, red: Team, clock: Any) -> None:
    assert Client().get(address.format(name)).status_code in (400, 404)


def test_a_copy_does_not_tell_what_came_of_another_teams_picture(
    red: Team, blue: Team, now: datetime, clock: Any, signed_in: Any
) -> None:
    first, copy = send(red, now=now), send(blue, now=now + timedelta(seconds=1))
    panels_deal(policy=cast.POLICY, now=BOUNDARY)
    clock(BOUNDARY + DAY)
    panel = factories.settle(first.image.panels.get(), now=BOUNDARY + DAY)
    ruling = {"verdict": "rejected", "label": "", "reasons": ["depiction"], "response_ids": [], "number": 1}
    Ruling.objects.create(
        image=first.image, panel=panel, policy=factories.policy_version(), decided_by="rules",
        decided_at=BOUNDARY + DAY, **ruling,
    )  # fmt: skip
    reds, blues = (signed_in(cast.captain(each)) for each in (red, blue))
    assert "it is a depiction" in main_of(reds.get(f"/attacks/{first.public_id}/"))
    for address in ("/attacks/", f"/attacks/{copy.public_id}/", f"/attacks/{first.public_id}/"):
        page = main_of(blues.get(address))
        assert ("rejected" in page, "depiction" in page, "Given to a panel" in page) == (False, False, False), address
    assert blues.get("/api/v1/attacks/").json()["results"][0]["state"] == "waiting for the release"
    rulings = f"/api/v1/rulings/?image={first.image.public_id}"
    assert (blues.get(rulings).json()["count"], reds.get(rulings).json()["count"]) == (0, 1)
    cast.release()
    assert "it is a depiction" in main_of(blues.get(f"/attacks/{copy.public_id}/"))


def test_an_organizer_sees_that_a_picture_is_the_contests_own(
    captain: Client, red: Team, now: datetime, signed_in: Any
) -> None:
    attack = send(red, now=now)
    Image.objects.update(origin="gold")
    address = f"/attacks/{attack.public_id}/"
    organizer = signed_in(factories.user("olga", "organizers"))
    assert "gold: one of the contest's own pictures" in main_of(organizer.get(address))
    assert "gold" not in main_of(captain.get(address))
