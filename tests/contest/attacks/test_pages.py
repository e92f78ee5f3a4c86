"""What the pages of attacks say to a team: for whom they were opened, what can be won, what is left, what was taken
back."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client

from contest.enums import EntitlementKind, EntitlementState
from contest.messages.sending import messages_send
from contest.models import Attack, Entitlement, Entry, Stake, Team, TeamMerge
from scoring.models import Defense
from tests import factories
from tests.contest.attacks import cast
from tests.contest.attacks.cast import main_of, picture, send, upload

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
SENDING = ["/attacks/", "/attacks/send/"]


# For whom a page was opened ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", SENDING)
def test_a_page_that_was_opened_for_another_team_sends_nothing(address: str, captain: Client, red: Team) -> None:
    blue = cast.team("blue")
    answer = captain.post(address, {"image": upload(picture()), "team": blue.public_id})
    assert answer.status_code == 409
    for words in ("other_team", "opened for team team blue", "signed in as a member of team team red", "reload"):
        assert words in answer.content.decode()
    assert not Attack.objects.exists()


SAME = [
    (lambda red, blue: red.public_id, 1, "the page of the team itself"),
    (lambda red, blue: "", 1, "a page without an ID"),
    (lambda red, blue: blue.public_id, 0, "another team's"),
    (lambda red, blue: "G-NOBODY", 0, "an ID of no team"),
    (lambda red, blue: "G\x00", 0, "no ID at all"),
]


@pytest.mark.parametrize(("named", "sent", "why"), SAME, ids=[row[2] for row in SAME])
def test_the_team_that_a_page_names_decides(
    named: Callable[[Team, Team], str], sent: int, why: str, captain: Client, red: Team
) -> None:
    blue = cast.team("blue")
    captain.post("/attacks/send/", {"image": upload(picture()), "team": named(red, blue)})
    assert Attack.objects.count() == sent


def test_a_team_that_became_part_of_ones_own_is_the_same(captain: Client, red: Team, now: datetime) -> None:
    blue = cast.team("blue")
    Team.objects.filter(pk=blue.pk).update(merged_into=red, merged_at=now)
    TeamMerge.objects.create(team=blue, into=red, reason="one group", merged_at=now)
    assert captain.post("/attacks/send/", {"image": upload(picture()), "team": blue.public_id}).status_code == 200


def test_the_form_says_for_whom_it_is(captain: Client, red: Team) -> None:
    field = f'<input type="hidden" name="team" value="{red.public_id}">'
    assert field in main_of(captain.get("/attacks/"))


def test_a_hand_in_for_another_team_is_refused_before_it_is_sent(captain: Client, red: Team) -> None:
    blue, address = cast.team("blue"), "/team/defenses/new/"
    assert f'action="?team={red.public_id}"' in main_of(captain.get(address))
    for named, status in ((red, 200), (blue, 409)):
        assert captain.head(f"{address}?team={named.public_id}").status_code == status
    refused = captain.post(f"{address}?team={blue.public_id}", {"name": "net"}, headers={"accept": "application/json"})
    assert (refused.status_code, refused.json()["code"]) == (409, "other_team")
    assert captain.get(f"{address}?team={blue.public_id}").status_code == 200, "reloading shows one's own form"


# What can be won -----------------------------------------------------------------------------------------------------


def at_stake(name: str, *, days: int, now: datetime) -> Defense:
    """A defense with an open source, at stake for that many days."""
    defense = cast.staked(name, since=now - days * DAY)
    team = Team.objects.create(name=f"makers of {name}", created_at=cast.LONG_AGO)
    Entry.objects.create(
        team=team, defense=defense, received_at=cast.LONG_AGO, due_at=cast.LONG_AGO, licence="MIT",
        opened_at=cast.LONG_AGO,
    )  # fmt: skip
    return defense


def test_the_form_offers_what_can_still_be_won_and_names_what_waits(captain: Client, now: datetime) -> None:
    young, old = at_stake("young", days=10, now=now), at_stake("old", days=90, now=now)
    page = main_of(captain.get("/attacks/"))
    assert f'value="{young.public_id}"' in page and f'value="{old.public_id}"' not in page
    assert f'<a href="/defenses/{old.public_id}/">old</a>: the time of its stake is over' in page
    Stake.objects.filter(defense=young).delete()
    page = main_of(captain.get("/attacks/"))
    assert "No prize can be won by a picture sent now: nothing is at stake with time left." in page
    Stake.objects.all().delete()
    assert "No prize can be won by a picture sent now: nothing is at stake. " in main_of(captain.get("/attacks/"))


def test_a_refusal_tells_what_waits_from_what_is_not_at_stake(captain: Client, now: datetime) -> None:
    old, free = at_stake("old", days=90, now=now), cast.defense("free")
    body = {"image": upload(picture()), "defenses": [old.public_id, free.public_id]}
    answer = captain.post("/api/v1/attacks/", body).json()
    assert answer["code"] == "not_staked"
    assert answer["fields"]["defenses"] == [
        f"Time over, and waiting for the board: {old.public_id}. What is sent now wins nothing of that stake. "
        f"Not at stake now: {free.public_id}. Choose among the defenses that are at stake, or none to mean all of them."
    ]


@pytest.mark.parametrize(
    ("days", "ended", "words"),
    [
        (10, None, "all defenses that were at stake then"),
        (90, None, "every published defense; no prize could be won then"),
        (10, DAY, "all defenses that were at stake then"),
        (10, -DAY, "every published defense; no prize could be won then"),
    ],
    ids=["time left", "time over", "ended later", "ended before"],
)
def test_a_receipt_says_what_it_could_win_when_it_was_received(
    days: int, ended: timedelta | None, words: str, captain: Client, red: Team, now: datetime, clock: Any
) -> None:
    at_stake("net", days=days, now=now)
    person = cast.captain(red)
    person.email = "red@example.org"
    person.save()
    if ended is not None:
        Stake.objects.update(ended_at=now + ended, end="broken")
    receipt = captain.post("/api/v1/attacks/", {"image": upload(picture())}).json()["id"]
    clock(now + 3 * DAY)
    assert words in main_of(captain.get(f"/attacks/{receipt}/"))


# What is left --------------------------------------------------------------------------------------------------------


def test_of_an_older_receipt_nothing_is_said_about_today(captain: Client, red: Team, now: datetime, clock: Any) -> None:
    address = f"/attacks/{send(red, now=now).public_id}/"
    assert "number 1 of its day; 9 left today" in main_of(captain.get(address))
    clock(now.replace(hour=23, minute=59))
    assert "9 left today" in main_of(captain.get(address))
    clock(now.replace(hour=0) + DAY)
    page = main_of(captain.get(address))
    assert "number 1 of its day" in page and "left today" not in page


def test_a_used_up_day_says_before_anything_is_sent_when_the_next_begins(
    red: Team, captain: Client, now: datetime
) -> None:
    cast.policy(attacks_per_day=1)
    words = "The next day begins on Thu 19 Nov 2026 00:00:00 UTC."
    assert f'<span id="next-day" hidden>. {words}' in main_of(captain.get("/attacks/"))
    answer = captain.post("/attacks/send/", {"image": upload(picture())}).json()
    assert (answer["quota_left"], answer["day_ends"]) == (0, "Thu 19 Nov 2026 00:00:00 UTC")
    assert f'<span id="next-day">. {words}' in main_of(captain.get("/attacks/"))


# Who may not send ----------------------------------------------------------------------------------------------------


def test_a_researcher_without_a_team_is_told_to_found_or_join_one(clock: Any, red: Team, signed_in: Any) -> None:
    client = signed_in(factories.user("nora", "teams"))
    answer = client.get("/attacks/")
    assert answer.status_code == 403
    assert "Found one, or join one by its invitation" in main_of(answer)
    assert '<a role="button" href="/team/">' in main_of(answer)
    for address in ("/attacks/send/", "/api/v1/attacks/"):
        refused = client.post(address, {"image": upload(picture())})
        assert (refused.status_code, refused.json()["code"]) == (403, "no_team"), address


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
    state: EntitlementState | None, words: str, clock: Any, red: Team, signed_in: Any, now: datetime
) -> None:
    green = cast.team("green", entitled=False)
    if state is not None:
        paper = {"arxiv_id": "1809.08352", "email": "green@example.org"}
        Entitlement.objects.create(team=green, kind=EntitlementKind.PAPER, state=state, asked_at=now - DAY, **paper)
    page = main_of(signed_in(cast.captain(green)).get("/attacks/"))
    assert words in page and 'href="/team/#entitlement"' in page


# Taken back ----------------------------------------------------------------------------------------------------------


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
        person.email = f"{person.username}@example.org"
        person.save()
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
