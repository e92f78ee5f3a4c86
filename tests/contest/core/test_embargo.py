"""The embargo (R24): all that each role can reach, one second before the boundary and at it.

Every address the site has is asked for as everybody, with every ID that somebody could have put into it, and what
comes back is searched for whatever could give an attack away.
"""

import logging
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.test import Client

from contest.attacks.near_duplicates import near_duplicates_find
from contest.attacks.services import attack_withdraw
from contest.core.embargo import public_attacks, public_image_condition, public_pictures
from contest.core.models import Attack, Break, Release, Team
from contest.core.weeks import week_called
from contest.releases.services import release_week
from contest.teams.services import member_add
from labeling.dealing import panels_deal
from labeling.models import Image
from labeling.pictures.addresses import pixels_hash_of
from tests import factories
from tests.addresses import patterns
from tests.contest.attacks import cast
from tests.contest.attacks.cast import BOUNDARY, POLICY, send
from tests.contest.ledger import cast as money

pytestmark = [pytest.mark.django_db, pytest.mark.slow("asks for every address of the site, as everybody")]
SECOND = timedelta(seconds=1)
_PARAMETER = re.compile(r"<(\w+):(\w+)>")
_PICTURE = re.compile(r"/pictures/([\w=-]+)\.png")
# What changes from answer to answer whatever is in the database; a feed without entries is as new as its reading.
_CHANGES = re.compile(rb'name="csrfmiddlewaretoken" value="\w+"|/pictures/[\w=-]+\.png|<updated>[^<]+</updated>')
# A secret made anew each time it is looked at.
_OWN_SECRET = "/account/second-factor/"
# Calls that are asked by a parameter of their address.
_ASKED_BY = {"/api/v1/rulings/": "image", "/search/": "q"}
_NO_NUMBER = {"int": ["1"], "uuid": ["3f1c9a52-7d0e-4f5b-9a37-0c6f3f1d2b84"]}
# What is drawn from the code alone, and takes long.
_FROM_THE_CODE = {"/api/schema/", "/api/docs/"}
_AN_ID = re.compile(r"[A-Z]-\w+")

# What gives an attack away, and who may find which of it where. A picture itself counts as reached where a page has
# an address of it that opens.
RECEIPT = {"receipt", "pixels", "picture", "time", "file name"}
PUBLIC = {"receipt", "pixels", "picture", "time", "image"}
ALL = RECEIPT | PUBLIC
EXPECTED: dict[str, tuple[set[str], set[str]]] = {
    # role: (one second before the boundary, at the boundary)
    "stranger": (set(), PUBLIC),
    "no role": (set(), PUBLIC),
    "other team": (set(), PUBLIC),
    "board": (set(), PUBLIC),
    "tasker": (set(), {"picture"}),  # which is what they are asked about, and nothing else (R8)
    "own team": (ALL, ALL),
    "colleague": (ALL, ALL),
    "organizer": (ALL, ALL),
}
OTHERS = [role for role, (before, _) in EXPECTED.items() if not before]


@pytest.fixture(autouse=True)
def refusals_without_a_page(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Half of all that is asked for here is refused, and what is refused is not looked at: neither drawn nor logged."""

    def bare(request: HttpRequest, template: str, context: object = None, *, status: int) -> HttpResponse:
        return HttpResponse(status=status)

    monkeypatch.setattr("config.pages.render", bare)
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="module")
def everybody(module_world: Path) -> dict[str, User]:
    """Somebody of each role but a stranger."""
    cast.policy()
    red, colleague = cast.team("red"), factories.user("colleague")
    member_add(team=red, user=colleague, now=cast.LONG_AGO)
    return {
        "no role": factories.user("stan"),
        "other team": cast.captain(cast.team("blue")),
        "board": factories.user("rita", "review board"),
        "tasker": factories.tasker("tara").user,  # who may label
        "own team": cast.captain(red),
        "colleague": colleague,
        "organizer": factories.user("olga", "organizers"),
    }


@pytest.fixture
def red(everybody: dict[str, User]) -> Team:
    return Team.objects.get(name="team red")


@pytest.fixture
def people(everybody: dict[str, User], signed_in: Any) -> dict[str, Client]:
    """A client of each role, from elsewhere: what this machine alone may ask is for its operators."""
    clients = {role: signed_in(user) for role, user in everybody.items()} | {"stranger": Client()}
    for client in clients.values():
        client.defaults["REMOTE_ADDR"] = "192.0.2.7"
    return clients


def addresses(words: list[str]) -> Iterator[str]:
    """Every address of the site, each parameter filled with everything in `words` that somebody could put into it."""
    for path, _ in patterns():
        if path not in _FROM_THE_CODE:
            yield from _filled(path, words)
            yield from (f"{path}?{_ASKED_BY[path]}={word}" for word in words if path in _ASKED_BY)


def _filled(path: str, words: list[str]) -> Iterator[str]:
    """The address with each of its words; the second parameter of an address is filled with the word after that."""
    places = [_words_for(kind, name, words) for kind, name in _PARAMETER.findall(path)]
    for number in range(max(map(len, places), default=1)):
        filled = iter([place[(number + at) % len(place)] for at, place in enumerate(places)])
        yield _PARAMETER.sub(lambda _, filled=filled: next(filled), path)


def _words_for(kind: str, name: str, words: list[str]) -> list[str]:
    """A place for a public ID takes IDs; one for the secret of a link, which is none of the words, takes any one."""
    if kind in _NO_NUMBER:
        return _NO_NUMBER[kind]
    if name in ("token", "key", "uid"):
        return words[:1]
    return [word for word in words if _AN_ID.fullmatch(word)] if name == "public_id" else words


def answers_of(client: Client, words: list[str]) -> Iterator[tuple[str, bytes]]:
    """Each address that answers at all, with what is answered."""
    for address in addresses(words):
        answer = client.get(address)
        body = b"".join(answer.streaming_content) if answer.streaming else answer.content  # type: ignore[union-attr]
        if answer.status_code < 400:
            # A page may say what it was asked for: that gives nothing away.
            asked = f'value="{address.partition("=")[2]}"'.encode()
            said = body.replace(address.encode(), b"").replace(asked, b"")
            yield address, str(answer.status_code).encode() + b"\n" + said


def reach(client: Client, words: list[str]) -> dict[str, bytes]:
    return dict(answers_of(client, words))


def given_away(answers: dict[str, bytes], attack: Attack, now: datetime) -> set[str]:
    """Return which of an attack's secrets are in the answers."""
    text = b"\n".join(answers.values()).decode(errors="replace")
    secrets = {
        "receipt": attack.public_id,
        "image": attack.image.public_id,
        "pixels": attack.image.pixels_sha256,
        "file name": attack.file_name,
        "time": attack.received_at.isoformat(),
    }
    found = {name for name, secret in secrets.items() if secret in text}
    shown = {pixels_hash_of(token, now=now) for token in set(_PICTURE.findall(text))}
    return found | ({"picture"} if attack.image.pixels_sha256 in shown else set())


def words_of(*attacks: Attack) -> list[str]:
    """Everything an address could be asked with by somebody who knows or guesses it."""
    first = attacks[0]
    words = [first.week, first.team.public_id, f"release-{first.week}", first.image.pixels_sha256]
    return words + [word for each in attacks for word in (each.public_id, each.image.public_id)]


@pytest.mark.parametrize("role", [role for role in EXPECTED if role not in OTHERS])
def test_who_sent_it_and_who_organizes_reaches_all_at_any_time(
    role: str, red: Team, people: dict[str, Client], now: datetime, clock: Any
) -> None:
    attack = send(red, now=now + timedelta(microseconds=123457))
    for moment, expected in zip((BOUNDARY - SECOND, BOUNDARY), EXPECTED[role], strict=True):
        clock(moment)
        panels_deal(policy=POLICY, now=moment)
        found: set[str] = set()
        answers = answers_of(people[role], words_of(attack))
        while found != ALL and (answer := next(answers, None)):
            found |= given_away(dict([answer]), attack, moment)
        assert found == expected == ALL


def plain(answers: dict[str, bytes]) -> dict[str, bytes]:
    return {address: _CHANGES.sub(b"", body) for address, body in answers.items() if address != _OWN_SECRET}


def differing(one: dict[str, bytes], other: dict[str, bytes], among: set[str]) -> list[str]:
    return [address for address in among if one.get(address) != other.get(address)]


def three(red: Team, green: Team, now: datetime) -> tuple[Attack, Attack, Attack]:
    """An attack, a near duplicate of another team, and one that was withdrawn; each at a moment of its own."""
    first, beside = send(red, now=now + timedelta(microseconds=123457)), send(green, 8, now=now)
    gone = send(red, 9, now=now + timedelta(microseconds=765432))
    attack_withdraw(attack=gone, by=cast.captain(red), now=now + SECOND)
    near_duplicates_find(within=64, now=now)
    return first, beside, gone


@pytest.mark.parametrize("role", OTHERS)
def test_an_attack_under_embargo_changes_nothing_that_others_see(
    role: str, red: Team, people: dict[str, Client], now: datetime, clock: Any
) -> None:
    """No page, feed, count or call differs by a byte, and those asked with all its IDs give away nothing.

    With attacks under embargo it is as if there were none, whether they were withdrawn or not.
    """
    clock(BOUNDARY - SECOND)
    client, green, words = people[role], cast.team("green"), ["2026-W47", red.public_id, "release-2026-W47"]
    without = plain(reach(client, words))
    attack, beside, gone = three(red, green, now)
    panels_deal(policy=POLICY, now=BOUNDARY - SECOND)
    cache.clear()
    more = words_of(attack, gone)
    answers, both = reach(client, more), set(addresses(words)) & set(addresses(more))
    assert len(both) > 150 and differing(plain(answers), without, among=both) == []
    for each in (attack, beside, gone):
        assert given_away(answers, each, BOUNDARY - SECOND) == EXPECTED[role][0]


@pytest.mark.parametrize("role", OTHERS)
def test_from_the_boundary_on_others_see_the_pictures_and_nothing_that_is_said_of_them(
    role: str, red: Team, people: dict[str, Client], now: datetime, clock: Any
) -> None:
    """Its week is over, so that it is public: verdict, break and reasons come with the release, on no page before.

    What was withdrawn is found by nobody else ever.
    """
    client, defense = people[role], cast.defense()
    valid, rejected, gone = three(red, cast.team("green"), now)
    clock(BOUNDARY)
    panels_deal(policy=POLICY, now=BOUNDARY)
    words = [*words_of(valid, gone), rejected.public_id, defense.public_id]
    answers = reach(client, words)
    # Which of the two a tasker is asked about first is in an order of their own (R8).
    found = given_away(answers, valid, BOUNDARY) | given_away(answers, rejected, BOUNDARY)
    assert (found, given_away(answers, gone, BOUNDARY)) == (EXPECTED[role][1], set())
    if role in ("stranger", "other team"):  # the board votes, taskers are asked, and who has no role is as a stranger
        money.ruled(rejected.image, "", at=BOUNDARY)
        money.broken(defense, valid, found=BOUNDARY)
        cache.clear()
        later = reach(client, words)
        assert differing(plain(later), plain(answers), among={*later, *answers}) == []


# The condition itself ------------------------------------------------------------------------------------------------


def test_every_attack_of_a_week_is_public_at_the_same_moment(red: Team, now: datetime) -> None:
    blue = Team.objects.get(name="team blue")
    week = [send(red, 1, now=week_called("2026-W47").start), send(blue, 2, now=BOUNDARY - timedelta(microseconds=1))]
    send(red, 3, now=BOUNDARY)
    assert not public_attacks(now=BOUNDARY - timedelta(microseconds=1)).exists()
    found = (set(public_attacks(now=BOUNDARY)), set(public_pictures(now=BOUNDARY)))
    assert found == (set(week), {each.image for each in week})


def test_a_change_of_the_zone_publishes_nothing_early(red: Team) -> None:
    """In Tokyo the week would have been over for nine hours; it keeps the zone it began in."""
    cast.next_policy(datetime.fromisoformat("2026-11-19T00:00:00+00:00"), time_zone="Asia/Tokyo")
    attack = send(red, now=BOUNDARY - 10 * 3600 * SECOND)
    assert (attack.week, attack.image.label_from) == ("2026-W47", BOUNDARY)
    assert not public_attacks(now=BOUNDARY - SECOND).exists() and set(public_attacks(now=BOUNDARY)) == {attack}


def test_a_copy_is_a_secret_of_its_own_week(red: Team, now: datetime) -> None:
    first, copy = send(red, now=now), send(Team.objects.get(name="team blue"), now=BOUNDARY + SECOND)
    assert set(public_attacks(now=BOUNDARY + SECOND)) == {first}
    assert set(public_attacks(now=BOUNDARY + timedelta(days=7))) == {first, copy}


def test_a_picture_of_the_organizers_is_public_as_an_attack_or_with_its_release(red: Team, now: datetime) -> None:
    image = send(red, now=now).image
    Attack.objects.all().delete()
    Image.objects.update(origin="dataset", label_from=now)
    assert not Image.objects.filter(public_image_condition(now=BOUNDARY)).exists()
    Release.objects.create(week="2026-W47", manifest_sha256="a", counts={}, bytes=1, released_at=BOUNDARY)
    assert set(Image.objects.filter(public_image_condition(now=BOUNDARY))) == {image}


def test_gold_and_examples_stay_secret_also_as_somebodys_attack(red: Team, now: datetime) -> None:
    send(red, now=now)
    for origin in ("gold", "example"):
        Image.objects.update(origin=origin)
        assert not public_attacks(now=BOUNDARY).exists() and not public_pictures(now=BOUNDARY).exists()


def test_the_condition_leads_from_other_rows_too(red: Team, now: datetime) -> None:
    attack, sent_before = send(red, now=now), Attack.objects.filter(public_image_condition("image__", now=BOUNDARY))
    assert (set(sent_before), Break.objects.filter(public_image_condition("image__", now=BOUNDARY)).count()) == (
        {attack},
        0,
    )


def test_a_release_names_the_team_whose_attack_was_not_withdrawn(red: Team, now: datetime, tmp_path: Any) -> None:
    blue = Team.objects.get(name="team blue")
    first, copy = send(red, now=now), send(blue, now=now + SECOND)
    gone = attack_withdraw(attack=send(red, 8, now=now), by=cast.captain(red), now=now)
    attack_withdraw(attack=first, by=cast.captain(red), now=now + 2 * SECOND)
    released = release_week(week_called("2026-W47"), out=tmp_path / "out", now=BOUNDARY, incomplete=True)
    listed = (released.folder / "images.csv").read_text()
    assert (blue.public_id in listed, red.public_id in listed) == (True, False)
    assert (copy.image.pixels_sha256 in listed, gone.image.pixels_sha256 in listed) == (True, False)
