"""Addresses of pictures tell nothing and end by themselves; the bytes are served fenced in (R3, R8)."""

import base64
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import path
from django.utils import timezone

from labeling.enums import Origin
from labeling.images import read_attack
from labeling.intake import image_add
from labeling.models import Image, Tasker
from labeling.picture_views import picture as picture_view
from labeling.pictures import picture_url, pixels_of
from labeling.png import encode_png
from labeling.store import picture_key, picture_store
from tests.factories import image as image_row

urlpatterns = [path("pictures/<str:token>.png", picture_view, name="picture")]
pytestmark = [pytest.mark.urls(__name__), pytest.mark.django_db]
PNG = encode_png(16, 16, bytes(range(256)) * 3)


@pytest.fixture
def image(now: datetime) -> Image:
    """A picture with its file in the store."""
    row, _ = image_add(
        read_attack(PNG, size=16), origin=Origin.DATASET, source="test", licence="CC0", now=now, label_from=None
    )
    return row


def _token(url: str) -> str:
    return url.removeprefix("/pictures/").removesuffix(".png")


def test_the_picture_is_served_fenced_in(client: Client, image: Image) -> None:
    """To whoever has the address: it was given to who may see the picture, and it ends."""
    address = picture_url(image, now=timezone.now())
    response = client.get(address)
    assert response.status_code == 200
    assert response.content == PNG == picture_store().get(picture_key(image.pixels_sha256))
    expected = {
        "Content-Type": "image/png",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "private, max-age=3600, immutable",
        "Content-Disposition": 'inline; filename="picture.png"',
        "Content-Length": str(len(PNG)),
    }
    assert {name: response.headers.get(name) for name in expected} == expected
    assert "ETag" not in response.headers and "Last-Modified" not in response.headers
    head = client.head(address)
    assert (head.status_code, head.content, head["Content-Length"]) == (200, b"", str(len(PNG)))
    for method in (client.post, client.put, client.delete, client.options):
        assert method(address).status_code == 405


def test_serving_asks_the_database_nothing_and_sets_no_cookie(
    image: Image, tara: Tasker, signed_in: Callable[[Any], Client], django_assert_num_queries: Any
) -> None:
    client, url = signed_in(tara), picture_url(image, now=timezone.now())
    with django_assert_num_queries(0):
        response = client.get(url)
    assert response.status_code == 200
    assert not response.cookies and "Cookie" not in response.get("Vary", "")


AGES = [
    (timedelta(0), 200, "fresh"),
    (timedelta(minutes=59), 200, "within the hour"),
    (timedelta(minutes=61), 404, "over an hour old"),
    (timedelta(days=400), 404, "very old"),
    (timedelta(minutes=-5), 404, "from the future"),
]


@pytest.mark.parametrize(("age", "status", "reason"), AGES, ids=[reason for *_, reason in AGES])
def test_an_address_ends_after_an_hour(client: Client, image: Image, age: timedelta, status: int, reason: str) -> None:
    assert client.get(picture_url(image, now=timezone.now() - age)).status_code == status


def test_the_lifetime_is_counted_with_the_clock_it_is_given_and_a_new_key_ends_nothing(
    image: Image, settings: Any, now: datetime
) -> None:
    token = _token(picture_url(image, now=now))
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "a new key", [settings.SECRET_KEY]
    assert pixels_of(token, now=now + timedelta(minutes=60)) == image.pixels_sha256
    assert pixels_of(token, now=now + timedelta(minutes=60, seconds=1)) is None


def test_forged_addresses_show_nothing(client: Client, image: Image, settings: Any) -> None:
    good = _token(picture_url(image, now=timezone.now()))
    changed = ("B" if good[60] == "A" else "A").join((good[:60], good[61:]))
    settings.SECRET_KEY = "another server's key"
    foreign = _token(picture_url(image, now=timezone.now()))
    settings.SECRET_KEY = "this server's key"
    for forged in (changed, good[:-4], good + "AAAA", image.pixels_sha256, image.public_id, "x", "%00", "ä", foreign):
        response = client.get(f"/pictures/{forged}.png")
        assert (response.status_code, response.content) == (404, b""), forged
        assert response["Cache-Control"] == "no-store"
        assert response["Content-Security-Policy"] == "default-src 'none'; sandbox"


def test_an_address_tells_nothing(image: Image, now: datetime) -> None:
    """Two addresses of one picture differ, and are as long as any."""
    addresses = {picture_url(image, now=now) for _ in range(20)}
    other = picture_url(image_row(origin="gold"), now=now)
    assert len(addresses) == 20 and {len(address) for address in addresses} == {len(other)}
    raw = base64.urlsafe_b64decode(_token(url := addresses.pop()))
    for secret in (image.pixels_sha256, image.public_id, image.original_sha256):
        assert secret not in url and secret.encode() not in raw
    assert bytes.fromhex(image.pixels_sha256)[:8] not in raw


def test_a_file_missing_from_the_store_is_a_plain_404(client: Client) -> None:
    response = client.get(picture_url(image_row(), now=timezone.now()))
    assert (response.status_code, response.content) == (404, b"")
