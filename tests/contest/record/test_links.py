"""The ID of a picture leads to its page in the record, for whom that opens, and nowhere for others (R24)."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.template import RequestContext, Template
from django.test import Client, RequestFactory
from django.utils import timezone

from contest.models import Attack, Release
from contest.weeks import week_at
from labeling.models import Image
from tests import factories
from tests.contest.board import case_cast
from tests.contest.board import cast as board
from tests.contest.board.cast import LATER, Scene

pytestmark = pytest.mark.django_db
SignIn = Callable[[Any], Any]


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setattr("django.utils.timezone.now", lambda: LATER + timedelta(days=1))
    made = Scene.make()
    case_cast.on_pixels(made)
    return made


def test_pages_about_a_case_lead_to_the_picture_for_all_who_read_them(scene: Scene, signed_in: SignIn) -> None:
    case, appeal = case_cast.picture(scene)
    board.tell(case, scene.members[0])
    readers = {
        f"/board/cases/{case.public_id}/": scene.members[0],
        f"/appeals/{appeal.public_id}/": case_cast.joins(scene.blue, "bea"),
        f"/appeals/case/{case.public_id}/": case_cast.joins(scene.red, "rob"),
    }
    for address, who in readers.items():
        client = signed_in(who)
        page = client.get(address)
        assert page.status_code == 200, address
        assert linked(page) == {scene.image.public_id}, address
        assert client.get(f"/record/{scene.image.public_id}/").status_code == 200, address


def test_the_sweep_leads_to_the_picture(monkeypatch: pytest.MonkeyPatch, signed_in: SignIn) -> None:
    monkeypatch.setattr("django.utils.timezone.now", lambda: LATER + timedelta(days=1))
    made = Scene.make(valid=False)
    case_cast.on_pixels(made)
    client = signed_in(made.members[0])
    page = client.get(f"/board/examinations/{made.stake.defense.public_id}/")
    assert linked(page) == {made.image.public_id}
    assert client.get(f"/record/{made.image.public_id}/").status_code == 200


def linked(page: Any) -> set[str]:
    return set(re.findall(r'href="/record/(P-[^"]+)/"', page.content.decode()))


# Of a picture under embargo, and of one of the organizers' before its release; after it everybody may read of it.
READERS: dict[str, tuple[bool, bool]] = {
    "stranger": (False, False),
    "member": (False, False),
    "other team": (False, False),
    "own team": (True, False),
    "organizer": (True, True),
}


def test_who_may_open_which_page_finds_a_link_to_it(scene: Scene, signed_in: SignIn) -> None:
    now = LATER + timedelta(days=1)
    people: dict[str, User | AnonymousUser] = {
        "stranger": AnonymousUser(),
        "member": scene.members[0],
        "other team": case_cast.joins(scene.blue, "bea"),
        "own team": case_cast.joins(scene.red, "rob"),
        "organizer": factories.user("olympia", "organizers"),
    }
    sent = factories.image(origin="attack", received_at=now)
    Attack.objects.create(team=scene.red, image=sent, received_at=now, week=week_at(now).name)
    own = factories.image(origin="dataset", received_at=board.RULED - timedelta(days=5), label_from=board.RULED)

    def check(reader: str, image: Image, expected: bool) -> None:
        who = people[reader]
        client = signed_in(who) if isinstance(who, User) else Client()
        assert bool(address_of(image, who)) is expected, reader
        assert client.get(f"/record/{image.public_id}/").status_code == (200 if expected else 404), reader

    for reader, (embargo, dataset) in READERS.items():
        check(reader, sent, embargo)
        check(reader, own, dataset)
    Release.objects.create(week=week_at(own.received_at).name, manifest_sha256="a", counts={}, bytes=1, released_at=now)
    check("stranger", own, True)


def address_of(image: Image, who: User | AnonymousUser) -> str:
    """What the tag writes for a reader."""
    request = RequestFactory().get("/")
    request.user = who
    context = RequestContext(request, {"image": image, "now": timezone.now()})
    return Template("{% load pictures %}{% record_page image now %}").render(context)
