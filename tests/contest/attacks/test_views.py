"""The pages and calls of attacks: who may open what, and what each says (R23-R26)."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client

from accounts.tokens import issue_token
from adjudication.models import Ruling
from contest.attacks import near_duplicates, services
from contest.attacks.models import NearDuplicate
from contest.core.enums import EntitlementKind, EntitlementState
from contest.core.models import Attack, Stake, Team
from contest.defenses.models import DefenseEntry
from contest.outbox.sending import messages_send
from contest.teams.models import Entitlement, TeamMerge
from contest.web import attack_uploads
from labeling.dealing import panels_deal
from labeling.models import Image, Tasker
from scoring.models import Defense
from tests import factories, tables
from tests.contest.attacks import cast
from tests.contest.attacks.cast import BOUNDARY, main_of, picture, send, upload
from tests.contest.pages import lacking

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
PAGE, SCRIPT, API = SENDING = ("/attacks/", "/attacks/send/", "/api/v1/attacks/")


@pytest.fixture
def green(red: Team) -> Team:
    return cast.team("green", entitled=False)


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
    people: dict[str, Callable[[], User | Tasker]] = {
        "no role": lambda: factories.user("stan"),
        "tasker": lambda: factories.tasker("tara"),
        "board": lambda: factories.user("rita", "review board"),
        "organizer": lambda: factories.user("olga", "organizers"),
        "own team": lambda: cast.captain(red),
        "other team": lambda: cast.captain(cast.team("blue")),
    }
    return signed_in(people[role]()) if role in people else Client()


@pytest.mark.parametrize("role", ROLES)
def test_who_may_open_what_before_and_after_the_boundary(
    role: str, red: Team, now: datetime, clock: Callable[[datetime], None], signed_in: Any
) -> None:
    """R24; and nobody else sends or withdraws."""
    attack, client, place = send(red, now=now), client_of(role, red, signed_in), ROLES.index(role)
    for moment, after in ((BOUNDARY - timedelta(seconds=1), False), (BOUNDARY, True)):
        clock(moment)
        for address, (before, later) in OPEN.items():
            expected = (later or before) if after else before
            assert client.get(address.format(id=attack.public_id)).status_code == expected[place], (address, moment)
    if role != "own team":
        clock(now)
        sends = [*SENDING, f"/attacks/{attack.public_id}/withdraw/"] if role != "other team" else []
        statuses = {client.post(address, {"image": upload(picture(9))}).status_code for address in sends}
        assert statuses <= {302, 401, 403, 404}
        assert client.post(f"/attacks/{attack.public_id}/withdraw/").status_code in {302, 403, 404}
        assert Attack.objects.get().withdrawn_at is None


def test_a_request_that_is_forged_long_or_signed_out_is_refused_in_the_form_of_its_page(
    red: Team, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.captain(red), backend="accounts.session_store.UserBackend")
    forged = [client.post(address, {"image": upload(picture())}) for address in SENDING]
    assert [each.status_code for each in forged] == [403] * 3 and forged[1].json()["code"] == "forged"
    out = Client(enforce_csrf_checks=True).post(SCRIPT, {"image": upload(bytes(4 * 1024**2))})
    assert (out.status_code, out.json()["code"]) == (401, "signed_out")

    def read(*_: Any) -> None:
        raise AssertionError("the body was read")

    monkeypatch.setattr("django.http.multipartparser.MultiPartParser.parse", read)
    stated = {"CONTENT_LENGTH": str(attack_uploads.MAX_UPLOAD_BYTES + 1)}
    long = [client.post(address, {"image": upload(picture())}, **stated) for address in SENDING]
    assert [each.status_code for each in long] == [413] * 3 and long[1].json()["code"] == "too_large"
    assert all("33 MiB are the most here" in each.content.decode() for each in long)
    assert Client().post(SCRIPT, {"image": upload(picture())}, **stated).status_code == 413
    assert not Attack.objects.exists()


@pytest.mark.parametrize(
    ("who", "status", "code"),
    [
        ("stan", 404, "not_found"),
        ("olga", 403, "not_in_a_team"),
        ("nora", 403, "no_team"),
        ("green", 403, "not_entitled"),
    ],
)
def test_every_refusal_to_a_script_and_by_the_api_is_json(
    who: str, status: int, code: str, green: Team, clock: Any, signed_in: Any
) -> None:
    groups = {"olga": ["organizers"], "nora": ["teams"], "stan": []}
    client = signed_in(factories.user(who, *groups[who]) if who in groups else cast.captain(green))
    answer = client.post(SCRIPT, {"image": upload(picture())})
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.json()["detail"] and not Attack.objects.exists()
    assert client.post(API, {"image": upload(picture())}).status_code == status


# For whom a page was opened ------------------------------------------------------------------------------------------


@tables.cases(
    "named status why",
    (lambda red, blue: red.public_id, 200, "the page of the team itself"),
    (lambda red, blue: "", 200, "a page without an ID"),
    (lambda red, blue: blue.public_id, 409, "another team's"),
    (lambda red, blue: "G-NOBODY", 409, "an ID of no team"),
    (lambda red, blue: "G\x00", 409, "no ID at all"),
)
def test_the_team_that_a_page_names_decides(
    named: Callable[[Team, Team], str], status: int, why: str, captain: Client, red: Team, blue: Team
) -> None:
    for address in (PAGE, SCRIPT):
        answer = captain.post(address, {"image": upload(picture()), "team": named(red, blue)})
        assert answer.status_code == status and ("other_team" in answer.content.decode()) is (status == 409), why
    assert Attack.objects.exists() is (status == 200)


def test_a_page_of_another_team_says_so_and_one_that_became_part_of_ones_own_is_the_same(
    captain: Client, red: Team, blue: Team, now: datetime
) -> None:
    assert f'<input type="hidden" name="team" value="{red.public_id}">' in main_of(captain.get(PAGE))
    sent = {"image": upload(picture()), "team": blue.public_id}
    refused = captain.post(PAGE, sent).content.decode()
    assert lacking(refused, "opened for team team blue", "signed in as a member of team team red", "reload") == []
    Team.objects.filter(pk=blue.pk).update(merged_into=red, merged_at=now)
    TeamMerge.objects.create(team=blue, into=red, reason="one group", merged_at=now)
    assert captain.post(SCRIPT, sent | {"image": upload(picture())}).status_code == 200


def test_a_hand_in_for_another_team_is_refused_before_it_is_sent(captain: Client, red: Team, blue: Team) -> None:
    address = "/team/defenses/new/"
    assert f'action="?team={red.public_id}"' in main_of(captain.get(address))
    for named, status in ((red, 200), (blue, 409)):
        assert captain.head(f"{address}?team={named.public_id}").status_code == status
    refused = captain.post(f"{address}?team={blue.public_id}", {"name": "net"}, headers={"accept": "application/json"})
    assert (refused.status_code, refused.json()["code"]) == (409, "other_team")
    assert captain.get(f"{address}?team={blue.public_id}").status_code == 200, "reloading shows one's own form"


# Sending -------------------------------------------------------------------------------------------------------------


def test_the_page_works_without_a_script(captain: Client, red: Team, now: datetime) -> None:
    assert "Choose at least one picture first." in main_of(captain.post(PAGE, {}))
    files = [upload(picture(1), "one.png"), upload(b"no", "two.png"), upload(picture(1), "three.png")]
    page, attack = main_of(captain.post(PAGE, {"image": files})), Attack.objects.get()
    assert (attack.received_at, attack.file_name, attack.sent_by) == (now, "one.png", cast.captain(red))
    assert f"receipt {attack.public_id}</a>" in page and "refused. This is not a PNG, JPEG or WebP picture" in page
    before = f"sent exactly this picture before: receipt {attack.public_id}"
    assert before in page and "9 left for your team today" in page


def test_an_upload_against_what_is_not_staked_is_refused_as_a_whole(captain: Client, now: datetime) -> None:
    """What waits for the board is told from what is not at stake."""
    old, free = at_stake("old", days=90, now=now), cast.defense("free")
    answers = [
        captain.post(address, {"image": upload(picture()), "defenses": [old.public_id, free.public_id]})
        for address in SENDING
    ]
    assert [each.status_code for each in answers] == [400] * 3 and "<code>not_staked</code>" in main_of(answers[0])
    assert [each.json()["code"] for each in answers[1:]] == ["not_staked"] * 2
    assert answers[2].json()["fields"]["defenses"] == [
        f"Time over, and waiting for the board: {old.public_id}. What is sent now wins nothing of that stake. "
        f"Not at stake now: {free.public_id}. Choose among the defenses that are at stake, or none to mean all of them."
    ]
    assert not Attack.objects.exists()


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (None, "Your captain asks for it"),
        (EntitlementState.ASKED, "and an organizer looks at it"),
        (EntitlementState.QUESTION, "An organizer asked your team something"),
        (EntitlementState.REFUSED, "Your captain asks for it"),
    ],
)
def test_a_team_that_may_not_attack_is_led_to_its_request(
    state: EntitlementState | None, words: str, clock: Any, green: Team, signed_in: Any, now: datetime
) -> None:
    """R25."""
    if state is not None:
        paper = {"arxiv_id": "1809.08352", "email": "green@example.org"}
        Entitlement.objects.create(team=green, kind=EntitlementKind.PAPER, state=state, asked_at=now - DAY, **paper)
    page = main_of(signed_in(cast.captain(green)).get(PAGE))
    assert "Your team may not attack yet" in page and "<form" not in page
    assert words in page and 'href="/team/#entitlement"' in page


def test_a_researcher_without_a_team_is_told_to_found_or_join_one(clock: Any, red: Team, signed_in: Any) -> None:
    answer = signed_in(factories.user("nora", "teams")).get(PAGE)
    assert answer.status_code == 403 and "Found one, or join one by its invitation" in main_of(answer)
    assert '<a role="button" href="/team/">' in main_of(answer)


# The API -------------------------------------------------------------------------------------------------------------


def test_the_api_answers_with_a_receipt(red: Team, clock: Any, now: datetime) -> None:
    """To a token, too."""
    defense = cast.staked()
    client = Client(headers={"Authorization": f"Token {issue_token(cast.captain(red), now=now)}"})
    answer = client.post(API, {"image": upload(picture(), "heron.png"), "defenses": [defense.public_id]})
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
    assert client.get("/api/v1/me/").json()["quota_left"] == 9


SEVERAL = [picture(1), picture(2)]
API_REFUSALS: list[tuple[dict[str, Any], str, str, str]] = [
    ({}, "invalid", "image", "no picture"),
    ({"image": ""}, "invalid", "image", "words in the place of a file"),
    ({"image": b"x"}, "not_a_picture", "image", "no picture in the file"),
    ({"image": b""}, "empty", "image", "nothing in the file"),
    ({"image": picture(side=17)}, "wrong_size", "image", "another size"),
    ({"image": picture(), "defenses": ["D\x000"]}, "invalid", "defenses", "no text"),
    ({"image": picture(), "claimed": "bird"}, "invalid", "claimed", "a field that is not known"),
    ({"image": SEVERAL}, "several_pictures", "image", "all but the last would be dropped without a word"),
]


def test_the_api_refuses_at_the_field(captain: Client) -> None:
    for body, code, field, why in API_REFUSALS:
        sent = {name: upload(value) if isinstance(value, bytes) else value for name, value in body.items()}
        if sent.get("image") is SEVERAL:
            sent["image"] = [upload(each) for each in SEVERAL]
        answer = captain.post(API, sent)
        assert (answer.status_code, answer.json()["code"]) == (400, code), why
        assert field in answer.json()["fields"], why
    answer = captain.post(API, {"image": "x"}, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")
    assert not Attack.objects.exists()


def test_the_api_lists_ones_own_by_pages(
    captain: Client, red: Team, blue: Team, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contest.api.lists.PAGE_SIZE", 2)
    attacks = [send(red, shade, now=now + timedelta(seconds=shade)) for shade in range(3)]
    send(blue, 9, now=now)
    first = captain.get(API).json()
    assert (first["count"], first["quota_left"]) == (3, 7)
    assert [each["id"] for each in first["results"]] == [attacks[2].public_id, attacks[1].public_id]
    assert first["results"][0]["state"] == "under embargo"
    last = captain.get(first["next"]).json()
    assert ([each["id"] for each in last["results"]], last["next"]) == ([attacks[0].public_id], None)


# What can be won, and what is left ------------------------------------------------------------------------------------


def at_stake(name: str, *, days: int, now: datetime) -> Defense:
    """A defense with an open source, at stake for that many days."""
    defense = cast.staked(name, since=now - days * DAY)
    team = Team.objects.create(name=f"makers of {name}", created_at=cast.LONG_AGO)
    told = {"received_at": cast.LONG_AGO, "due_at": cast.LONG_AGO, "licence": "MIT", "opened_at": cast.LONG_AGO}
    DefenseEntry.objects.create(team=team, defense=defense, **told)
    return defense


def test_the_form_offers_what_can_still_be_won_and_names_what_waits(captain: Client, now: datetime) -> None:
    young, old = at_stake("young", days=10, now=now), at_stake("old", days=90, now=now)
    page = main_of(captain.get(PAGE))
    assert f'value="{young.public_id}"' in page and f'value="{old.public_id}"' not in page
    assert f'<a href="/defenses/{old.public_id}/">old</a>: the time of its stake is over' in page
    none = "No prize can be won by a picture sent now: nothing is at stake"
    Stake.objects.filter(defense=young).delete()
    assert f"{none} with time left." in main_of(captain.get(PAGE))
    Stake.objects.all().delete()
    assert f"{none}. " in main_of(captain.get(PAGE))


ALL, NO_PRIZE = "all defenses that were at stake then", "every published defense; no prize could be won then"


@pytest.mark.parametrize(
    ("days", "ended", "words"),
    [(10, None, ALL), (90, None, NO_PRIZE), (10, DAY, ALL), (10, -DAY, NO_PRIZE)],
    ids=["time left", "time over", "ended later", "ended before"],
)
def test_a_receipt_says_what_it_could_win_when_it_was_received(
    days: int, ended: timedelta | None, words: str, captain: Client, now: datetime, clock: Any
) -> None:
    at_stake("net", days=days, now=now)
    if ended is not None:
        Stake.objects.update(ended_at=now + ended, end="broken")
    receipt = captain.post(API, {"image": upload(picture())}).json()["id"]
    clock(now + 3 * DAY)
    assert words in main_of(captain.get(f"/attacks/{receipt}/"))


def test_a_receipt_names_the_zone_and_what_is_left_on_its_day(
    captain: Client, red: Team, now: datetime, clock: Any
) -> None:
    attack = send(red, now=now)
    address = f"/attacks/{attack.public_id}/"
    told = (
        "Wed 18 Nov 2026 12:00:00 UTC",
        "zone UTC",
        "2026-W47, to Sat 21 Nov 2026 00:00:00 UTC",
        attack.image.pixels_sha256,
        "number 1 of its day; 9 left today",
        NO_PRIZE,
        "Under embargo until the week ends",
        "Withdraw</a>",
        "shade-7.png",
    )
    assert lacking(main_of(captain.get(address)), *told) == []
    clock(now.replace(hour=23, minute=59))
    assert "9 left today" in main_of(captain.get(address))
    clock(now.replace(hour=0) + DAY)
    page = main_of(captain.get(address))
    assert "number 1 of its day" in page and "left today" not in page, "of an older one nothing is said about today"


def test_a_used_up_day_says_before_anything_is_sent_when_the_next_begins(red: Team, captain: Client) -> None:
    cast.policy(attacks_per_day=1)
    words = "The next day begins on Thu 19 Nov 2026 00:00:00 UTC."
    assert f'<span id="next-day" hidden>. {words}' in main_of(captain.get(PAGE))
    answer = captain.post(SCRIPT, {"image": upload(picture())}).json()
    assert (answer["quota_left"], answer["day_ends"]) == (0, "Thu 19 Nov 2026 00:00:00 UTC")
    receipt, number = answer["outcomes"][0]["receipt"], Attack.objects.get().public_id
    assert (receipt["id"], receipt["url"]) == (number, f"/attacks/{number}/")
    late = captain.post(API, {"image": upload(picture(8))})
    assert (late.status_code, late.json()["code"]) == (429, "quota_used")
    assert f'<span id="next-day">. {words}' in main_of(captain.get(PAGE))


# Taken back ----------------------------------------------------------------------------------------------------------


def test_withdrawing_is_asked_about_first_and_over_with_the_week(
    captain: Client, red: Team, now: datetime, clock: Any
) -> None:
    attack, stays = send(red, now=now), send(red, 8, now=now)
    address = f"/attacks/{attack.public_id}/withdraw/"
    assert "cannot be undone" in main_of(captain.get(address))
    assert not Attack.objects.exclude(withdrawn_at=None).exists()
    answer = captain.post(address)
    assert (answer.status_code, answer["Location"]) == (303, f"/attacks/{attack.public_id}/")
    attack.refresh_from_db()
    assert (attack.withdrawn_at, attack.withdrawn_by) == (now, cast.captain(red))
    page = main_of(captain.get(f"/attacks/{attack.public_id}/"))
    assert "withdrawn" in page and "Withdraw</a>" not in page and captain.post(address).status_code == 409
    clock(BOUNDARY)
    late = captain.post(f"/attacks/{stays.public_id}/withdraw/")
    assert late.status_code == 409 and "can no longer be withdrawn" in main_of(late)
    assert "Withdraw</button>" not in main_of(captain.get(f"/attacks/{stays.public_id}/withdraw/"))


@pytest.mark.parametrize(
    ("by_other", "sender_left", "readers", "why"),
    [
        (False, False, ["red"], "who sent it takes it back: one letter"),
        (True, False, ["rob", "red"], "another member does: who sent it is told too"),
        (True, True, ["rob"], "who left the team is told nothing of it"),
    ],
)
def test_who_takes_a_picture_back_and_who_sent_it_get_a_letter(
    by_other: bool, sender_left: bool, readers: list[str], why: str, red: Team, clock: Any, now: datetime,
    signed_in: Any, django_capture_on_commit_callbacks: Any,
) -> None:  # fmt: skip
    rob, sender = factories.user("rob"), cast.captain(red)
    for person in (rob, sender):
        User.objects.filter(pk=person.pk).update(email=f"{person.username}@example.org")
    red.members.create(user=rob, joined_at=now)
    attack = send(red, now=now)
    if sender_left:
        red.members.filter(user=sender).delete()
    messages_send(clock=lambda: now)  # the receipt
    mail.outbox.clear()
    with django_capture_on_commit_callbacks(execute=True):
        signed_in(rob if by_other else sender).post(f"/attacks/{attack.public_id}/withdraw/")
    messages_send(clock=lambda: now)
    assert [each.to[0].partition("@")[0] for each in mail.outbox] == readers, why
    assert {each.subject for each in mail.outbox} == {f"Receipt {attack.public_id} is withdrawn"}
    assert all("Wed 18 Nov 2026 12:00:00 UTC" in each.body for each in mail.outbox)


# Copies, weeks, and organizers ----------------------------------------------------------------------------------------


def test_a_copy_tells_nothing_of_another_teams_picture_before_the_boundary_nor_what_came_of_it_before_the_release(
    red: Team, blue: Team, now: datetime, clock: Any, signed_in: Any
) -> None:
    """R24, R26."""
    first, (reds, blues) = send(red, now=now), (signed_in(cast.captain(each)) for each in (red, blue))
    answer = blues.post(API, {"image": upload(picture())}).json()
    assert (answer["copy_of"], answer["received_at"]) == (None, "2026-11-18T12:00:00Z")
    address = f"/attacks/{answer['id']}/"
    assert first.public_id not in blues.get(address).content.decode()
    panels_deal(policy=cast.POLICY, now=BOUNDARY)
    clock(BOUNDARY + DAY)
    assert f'<a href="/attacks/{first.public_id}/">' in blues.get(address).content.decode()
    assert blues.get(API).json()["results"][0]["copy_of"] == first.public_id
    panel = factories.settle(first.image.panels.get(), now=BOUNDARY + DAY)
    ruling = {"verdict": "rejected", "label": "", "reasons": ["depiction"], "response_ids": [], "number": 1}
    ruling |= {"policy": factories.policy_version(), "decided_by": "rules", "decided_at": BOUNDARY + DAY}
    Ruling.objects.create(image=first.image, panel=panel, **ruling)
    for each in (f"/attacks/{first.public_id}/", PAGE):
        assert "it is a depiction" in main_of(reds.get(each)), each
    secrets = ["rejected", "depiction", "taskers were asked"]
    for each in (PAGE, address, f"/attacks/{first.public_id}/"):
        assert lacking(main_of(blues.get(each)), *secrets) == secrets, each
    assert blues.get(API).json()["results"][0]["state"] == "waiting for the release"
    rulings = f"/api/v1/rulings/?image={first.image.public_id}"
    assert (blues.get(rulings).json()["count"], reds.get(rulings).json()["count"]) == (0, 1)
    cast.release()
    assert "it is a depiction" in main_of(blues.get(address))


def test_a_week_is_listed_when_it_has_ended_without_what_was_withdrawn(
    red: Team, blue: Team, now: datetime, clock: Any
) -> None:
    kept, taken_back = send(red, 1, now=now), send(blue, 2, now=now)
    services.attack_withdraw(attack=taken_back, by=cast.captain(blue), now=now)
    before = main_of(Client().get("/attacks/weeks/2026-W47/"))
    assert "Until then they are under embargo" in before and kept.public_id not in before
    clock(BOUNDARY)
    told = ("1 attack, in the order of receipt", kept.public_id, taken_back.public_id)
    assert lacking(main_of(Client().get("/attacks/weeks/2026-W47/")), *told) == [taken_back.public_id]
    assert Client().get(f"/attacks/{taken_back.public_id}/").status_code == 404


@pytest.mark.parametrize("address", ["/attacks/weeks/{}/", "/weeks/{}/", "/leaderboard/?week={}"])
def test_no_week_lies_at_the_end_of_the_calendar(address: str, red: Team, clock: Any) -> None:
    names = ("9999-W52", "0001-W01", "0001-W02", "3000-W01", "1999-W52")
    assert {Client().get(address.format(name)).status_code for name in names} <= {400, 404}


def test_the_organizers_see_all_of_a_week_and_what_is_the_contests_own(
    red: Team, blue: Team, captain: Client, olga: User, now: datetime, clock: Any, signed_in: Any
) -> None:
    attacks = [send(red, now=now), send(blue, now=now + DAY), send(red, 8, now=BOUNDARY)]
    clock(BOUNDARY)
    client = signed_in(olga)
    ids = [each.public_id for each in attacks]
    found = [lacking(main_of(client.get(f"/organizer/attacks/{asked}")), *ids) for asked in ("", "?week=2026-W48")]
    assert (found, client.get("/organizer/attacks/?week=x&page=y").status_code) == ([[], ids[:2]], 200)
    Image.objects.update(origin="gold")
    address = f"/attacks/{attacks[0].public_id}/"
    assert "gold: one of the contest's own pictures" in main_of(client.get(address))
    assert "gold" not in main_of(captain.get(address)), "which its team is not told (R3, R6)"


def test_an_organizer_looks_at_a_pair_once(
    red: Team, blue: Team, olga: User, now: datetime, clock: Any, signed_in: Any
) -> None:
    """R26."""
    send(red, 1, now=now)
    send(blue, 2, now=now)
    near_duplicates.near_duplicates_find(within=6, now=now)
    client, address, pair = signed_in(olga), "/organizer/near-duplicates/", NearDuplicate.objects.get()
    page = main_of(client.get(address))
    assert "<strong>0</strong> of 64 bits differ" in page and "team red" in page and "team blue" in page
    assert client.post(address, {"pair": pair.pk}).status_code == 303
    pair.refresh_from_db()
    assert (pair.seen_by, pair.seen_at) == (olga, now) and "No pair waits" in main_of(client.get(address))
    assert "Seen by olga" in main_of(client.get(f"{address}?show=seen"))
    assert {client.post(address, {"pair": wrong}).status_code for wrong in ("0", "x", "", "9" * 30)} == {404}
