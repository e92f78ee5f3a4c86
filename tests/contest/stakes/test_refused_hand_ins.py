"""Refused hand-ins of defenses: a team has so many an hour, and the next one is refused before its body is read."""

from datetime import datetime
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from common.models import HourCount
from contest import upload_rates
from contest.enums import UploadKind
from contest.models import Entry
from contest.stakes import uploads
from tests.contest.stakes import cast

pytestmark = pytest.mark.django_db


def fields(**changed: Any) -> dict[str, Any]:
    return {"name": "steadfast", "licence": "Apache-2.0", "image": cast.IN_REGISTRY, **changed}


def zip_of_nothing() -> SimpleUploadedFile:
    return SimpleUploadedFile("source.zip", b"no zip")


@pytest.fixture
def captain(monkeypatch: pytest.MonkeyPatch, now: datetime, signed_in: Any) -> Client:
    cast.policy()
    monkeypatch.setattr("django.utils.timezone.now", lambda: now)
    monkeypatch.setattr(upload_rates, "MOST_REFUSED_AN_HOUR", dict.fromkeys(UploadKind, 2))
    client: Client = signed_in(cast.captain(cast.team()))
    return client


WRONG = [
    (lambda: fields(source=zip_of_nothing()), "a source that is no zip"),
    (lambda: fields(image="", archive=SimpleUploadedFile("a.tar", b"no tar")), "an archive that is none"),
    (lambda: fields(name=""), "no name"),
    (lambda: fields(other=zip_of_nothing()), "a file that is not known"),
]


@pytest.mark.parametrize("address", ["/team/defenses/new/", "/api/v1/defenses/"])
@pytest.mark.parametrize(("wrong", "why"), WRONG, ids=[row[1] for row in WRONG])
def test_after_so_many_refusals_nothing_is_read(
    address: str, wrong: Any, why: str, captain: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"headers": {"Accept": "application/json"}}
    assert [captain.post(address, wrong(), **asked).status_code for _ in range(2)] == [400, 400], why
    with monkeypatch.context() as patched:
        patched.setattr(uploads.Streamed, "new_file", None)  # no file is begun
        answer = captain.post(address, fields(source=zip_of_nothing()), **asked)
    assert (answer.status_code, answer.json()["code"], answer["Retry-After"]) == (429, "too_many_refused", "3600")
    assert not Entry.objects.exists()
    assert HourCount.objects.get().count == 2


def test_opening_the_source_is_counted_too(captain: Client) -> None:
    assert captain.post("/team/defenses/new/", fields()).status_code == 303
    address = f"/team/defenses/{Entry.objects.get().defense.public_id}/source/"
    asked = {"headers": {"Accept": "application/json"}}
    answers = [captain.post(address, {"source": zip_of_nothing()}, **asked).status_code for _ in range(3)]
    assert answers == [400, 400, 429]


def test_a_stranger_costs_no_team_anything(captain: Client) -> None:
    assert Client().post("/api/v1/defenses/", fields(name="")).status_code == 401
    assert Client().post("/team/defenses/new/", fields(name="")).status_code == 302
    assert not HourCount.objects.exists()
