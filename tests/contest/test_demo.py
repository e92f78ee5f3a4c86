"""The demo contest: a first look shows valid, rejected for every reason, and open pictures, breaks and a release."""

import io
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from adjudication import verify
from adjudication.enums import Reason, Verdict
from adjudication.models import Ruling
from contest.demo import seed as demo
from contest.models import Break, Release
from contest.rules import week_of
from labeling.enums import PanelState
from labeling.models import Image, Panel, Response, Tasker
from labeling.people import tasker_register

DATASET_ONLY = {Reason.KNOWN_BAD, Reason.AMBIGUOUS}


@pytest.mark.once
@pytest.mark.django_db
def test_a_first_look_shows_everything(settings: object) -> None:
    call_command("publish_reference_defenses", stdout=io.StringIO())
    said: list[str] = []
    assert demo.seed(said.append) is True
    assert demo.seed(said.append) is False, "seeding twice changes nothing"

    rulings = Ruling.objects.all()
    assert {reason for ruling in rulings for reason in ruling.reasons} == set(Reason) - DATASET_ONLY
    assert {ruling.label for ruling in rulings.filter(verdict=Verdict.VALID)} == {"bird", "bicycle"}
    open_panels = Panel.objects.filter(state=PanelState.OPEN)
    assert {panel.answered for panel in open_panels} == {0, 1, 2}
    assert Break.objects.exists()

    release = Release.objects.get()
    folder = Path(settings.RELEASE_DIR) / release.name  # type: ignore[attr-defined]
    assert verify.main([str(folder)]) == 0


MOMENTS = [
    (datetime(2026, 11, 21, 0, 0, 8, tzinfo=UTC), "eight seconds into a week"),
    (datetime(2026, 11, 25, 15, 30, tzinfo=UTC), "the middle of a week"),
    (datetime(2026, 11, 27, 23, 59, 59, tzinfo=UTC), "the last second of a week"),
]


@pytest.mark.once
@pytest.mark.django_db
@pytest.mark.parametrize(("now", "why"), MOMENTS, ids=[row[1] for row in MOMENTS])
def test_last_week_is_settled_whenever_the_demo_is_seeded(now: datetime, why: str) -> None:
    demo.Demo(now, demo._people(now), demo.photos()).play()
    this_week = week_of(now, "UTC")
    of_last_week = Image.objects.filter(received_at__lt=this_week.start)
    assert of_last_week.count() > 10
    assert not Panel.objects.filter(image__in=of_last_week).exclude(state=PanelState.SETTLED).exists(), why
    assert not Response.objects.filter(submitted_at__gt=now).exists(), "nobody answers in the future"
    assert Panel.objects.filter(state=PanelState.OPEN).count() >= 8


@pytest.mark.django_db
def test_every_demo_sign_in_works_and_has_one_role(client: Client) -> None:
    from django.utils import timezone

    demo._people(timezone.now())
    assert set(User.objects.values_list("username", flat=True)) == set(demo.SIGN_INS)
    for name in demo.SIGN_INS:
        page = client.post("/sign-in/", {"username": name, "password": demo.PASSWORD})
        assert page.status_code == 302, name
    for tasker in Tasker.objects.all():
        assert not tasker.user.groups.exists() and not hasattr(tasker.user, "membership")


@pytest.mark.django_db
def test_an_organizer_cannot_become_a_tasker(olga: User) -> None:
    from random import Random

    from django.utils import timezone

    from common.errors import Conflict
    from labeling.enums import TaskerState

    with pytest.raises(Conflict, match="another role"):
        tasker_register(user=olga, state=TaskerState.QUALIFIED, now=timezone.now(), rng=Random(1))
