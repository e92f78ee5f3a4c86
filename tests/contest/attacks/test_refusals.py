"""Refused uploads: they cost no quota (R25), and a team has so many an hour; what the limits refuse is not decoded."""

import io
import zipfile
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from PIL import Image as Pillow

from common.errors import TooMany, Unavailable
from common.models import HourCount
from common.outages import store_away
from contest import upload_rates
from contest.attacks import quota, services
from contest.attacks.access import UPLOADS, UPLOADS_OF_ONE
from contest.attacks.services import SentBefore, attack_receive
from contest.enums import UploadKind
from contest.models import Attack, QuotaDay, Team
from labeling.images import DECODING, PictureRefused
from tests import factories
from tests.contest.attacks import cast
from tests.contest.attacks.cast import POLICY, picture, refusal, send, upload

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
WRONG = picture(side=17)


@pytest.fixture(autouse=True)
def _two_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload_rates, "MOST_REFUSED_AN_HOUR", dict.fromkeys(UploadKind, 2))


@pytest.fixture
def blue() -> Team:
    return cast.team("blue")


def take(team: Team, data: bytes, *, now: datetime) -> Attack:
    return attack_receive(team=team, data=data, policy=POLICY, now=now)


def refuse_twice(team: Team, *, now: datetime) -> None:
    for _ in range(2):
        refusal(PictureRefused, take, team, WRONG, now=now)


def nothing_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "read_attack", None)


def stored() -> list[Path]:
    folder = Path(settings.IMAGE_STORE_URL.removeprefix("file://"))
    return [path for path in folder.rglob("*") if path.is_file()]


def zipped(*pictures: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number, data in enumerate(pictures):
            archive.writestr(f"{number}.png", data)
    return packed.getvalue()


def test_after_so_many_refusals_the_team_waits_for_the_next_hour(
    red: Team, blue: Team, now: datetime, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_twice(red, now=now)
    assert not QuotaDay.objects.exists()
    late = now.replace(minute=59, second=30)
    clock(late)
    with monkeypatch.context() as patched, pytest.raises(TooMany, match="from Wed 18 Nov 2026 13:00:00 UTC") as found:
        nothing_is_decoded(patched)
        take(red, picture(), now=late)
    assert (found.value.code, found.value.retry_after) == ("too_many_refused", 30)
    assert take(blue, picture(), now=late), "another team has its own"
    clock(now + HOUR)
    assert take(red, picture(8), now=now + HOUR), "the next hour"
    refuse_twice(red, now=now + HOUR)
    assert HourCount.objects.get().count == 2


def test_the_very_same_file_gets_its_receipt_without_being_decoded_and_counts_nothing(
    red: Team, captain: Client, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An upload whose answer was lost is sent again, also by who has nothing left."""
    attack = send(red, now=now)
    refuse_twice(red, now=now)
    before = HourCount.objects.get().count
    with monkeypatch.context() as patched:
        nothing_is_decoded(patched)
        for _ in range(4):
            with pytest.raises(SentBefore) as found:
                take(red, picture(), now=now)
            assert found.value.attack == attack
    answer = captain.post("/api/v1/attacks/", {"image": upload(picture())})
    assert (answer.status_code, answer.json()["code"]) == (409, "sent_before")
    page = captain.post("/attacks/send/", {"image": upload(picture())})
    assert page.json()["outcomes"][0]["refused"]["code"] == "sent_before"
    assert HourCount.objects.get().count == before


def test_without_quota_nothing_is_decoded(red: Team, now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who loses the race for the last place leaves no file."""
    for shade in range(POLICY.attacks_per_day):
        send(red, shade, now=now)
    before = stored()
    with monkeypatch.context() as patched, pytest.raises(TooMany) as found:
        nothing_is_decoded(patched)
        take(red, picture(99), now=now)
    assert (found.value.code, found.value.retry_after) == ("quota_used", 12 * 3600)
    monkeypatch.setattr(quota, "check", lambda *_, **__: None)  # as another upload saw it a moment ago
    refusal(TooMany, take, red, picture(99), now=now)
    assert stored() == before and not HourCount.objects.exists()


def clear(shade: int) -> bytes:
    """A picture that is partly transparent, as its pixels alone say."""
    packed = io.BytesIO()
    Pillow.new("RGBA", (cast.SIDE, cast.SIDE), (shade, 0, 0, 9)).save(packed, "PNG")
    return packed.getvalue()


def test_of_a_zip_no_more_is_decoded_than_may_be_refused(captain: Client) -> None:
    parts = [clear(shade) for shade in range(6)]
    page = captain.post("/attacks/send/", {"image": upload(zipped(*parts, picture()), "all.zip")})
    codes = [each["refused"]["code"] for each in page.json()["outcomes"]]
    assert codes == ["transparent", "transparent", "too_many_refused"]
    assert not Attack.objects.exists()


@pytest.mark.parametrize("parts", [[WRONG] * 6, [b"no picture"] * 6, [zipped(WRONG)] * 6])
def test_what_headers_alone_refuse_counts_once_for_an_upload(captain: Client, parts: list[bytes]) -> None:
    """A folder of pictures of the wrong size is one mistake, and nothing was decoded."""
    sent = {"image": upload(zipped(*parts, picture()), "all.zip")}
    outcomes = captain.post("/attacks/send/", sent).json()["outcomes"]
    assert len(outcomes) == 7 and "receipt" in outcomes[-1]
    assert HourCount.objects.get().count == 1


def test_the_same_pixels_in_another_file_count_because_they_were_decoded_and_an_outage_does_not(
    red: Team, now: datetime
) -> None:
    send(red, now=now)
    with pytest.raises(Unavailable), upload_rates.refusals_counted(red, UploadKind.ATTACK):
        raise store_away()
    assert not HourCount.objects.exists()
    other = io.BytesIO()
    Pillow.open(io.BytesIO(picture())).save(other, "PNG", compress_level=0)
    refusal(SentBefore, take, red, other.getvalue(), now=now)
    assert HourCount.objects.get().count == 1


ADDRESSES = [("/api/v1/attacks/", "the API"), ("/attacks/send/", "the page's script"), ("/attacks/", "the plain form")]


DOORS = pytest.mark.parametrize(("address", "why"), ADDRESSES, ids=[row[1] for row in ADDRESSES])


@DOORS
def test_every_door_says_until_when_and_a_stranger_costs_no_team_anything(
    address: str, why: str, captain: Client, red: Team, now: datetime
) -> None:
    assert Client().post(address, {"image": upload(WRONG)}).status_code in (401, 302), why
    assert not HourCount.objects.exists()
    refuse_twice(red, now=now)
    team = {} if "/api/" in address else {"team": red.public_id}
    answer = captain.post(address, {"image": upload(picture())} | team)
    assert (answer.status_code, answer["Retry-After"]) == (429, "3600"), why
    assert "13:00:00" in answer.content.decode()


@DOORS
def test_while_many_upload_the_next_is_sent_away_and_pages_answer(
    address: str, why: str, captain: Client, red: Team, signed_in: Any
) -> None:
    """Who may not send is refused without a place."""
    nobody: Client = signed_in(factories.user("nobody"))
    with ExitStack() as others:
        for _ in range(UPLOADS.at_once):
            others.enter_context(UPLOADS)
        answer = captain.post(address, {"image": upload(picture())})
        assert (answer.status_code, answer["Retry-After"]) == (503, "2"), why
        assert "send this again in 2 seconds" in answer.content.decode()
        assert nobody.post(address, {"image": upload(picture())}).status_code in (403, 404), why
        assert captain.get("/attacks/").status_code == captain.get("/api/v1/attacks/").status_code == 200
    assert captain.post("/api/v1/attacks/", {"image": upload(picture())}).status_code == 201
    assert not HourCount.objects.exists()


@DOORS
def test_one_account_does_not_hold_all_places(
    address: str, why: str, captain: Client, red: Team, blue: Team, signed_in: Any
) -> None:
    holder, other = cast.captain(red).pk, signed_in(cast.captain(blue))
    with ExitStack() as own:
        for _ in range(UPLOADS_OF_ONE.at_once):
            own.enter_context(UPLOADS_OF_ONE.of(holder))
        answer = captain.post(address, {"image": upload(picture())})
        assert (answer.status_code, answer["Retry-After"]) == (503, "2"), why
        assert "Your account is sending 2 uploads already" in answer.content.decode()
        assert other.post("/api/v1/attacks/", {"image": upload(picture(8))}).status_code == 201
    assert captain.post("/api/v1/attacks/", {"image": upload(picture())}).status_code == 201


def test_there_are_places_enough() -> None:
    """Several slow senders leave room. A resend after midnight is of the next week: whoever may upload may wait for a
    decode, and is not sent away while another is decoded."""
    assert UPLOADS_OF_ONE.at_once * 3 <= UPLOADS.at_once <= DECODING.at_once + DECODING.waiting
