"""Subscriptions to releases, and the e-mails about a release to confirmed subscribers (R39).

The letters of a release are stored together with its announcement, before any is sent.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from django.conf import settings
from django.core import signing
from django.core.mail import EmailMessage
from django.db import transaction
from django.urls import reverse

from accounts.addresses import clean_address
from common.errors import NotFound
from common.mail import render_letter, send_in_background
from contest.core.models import Release
from contest.outbox.posting import post_due
from contest.releases.models import Announcement, ReleaseLetter, Subscriber

CONFIRM_WITHIN = timedelta(days=3)
_SALT = "releases by e-mail"
_LANGUAGE = "en"  # the record's own


def subscription_request(*, email: str) -> None:
    """Write to the address with the link that confirms it. Raises InvalidInput (`email`) when it is no address.

    Whoever asks learns nothing about the address: one that is confirmed already gets no further letter.
    """
    address = clean_address(email)
    if Subscriber.objects.filter(email=address).exists():
        return
    link = settings.PUBLIC_URL + reverse("release-mail-confirm", args=[signing.dumps(address, salt=_SALT)])
    send_in_background(render_letter("confirm_releases", to=address, language=_LANGUAGE, link=link))


def address_from_link(token: str) -> str:
    """Return the address that a link confirms; NotFound (`link_over`) for one that is too old or not ours."""
    try:
        return str(signing.loads(token, salt=_SALT, max_age=CONFIRM_WITHIN))
    except signing.BadSignature:
        raise NotFound("This link is over. Ask for a new one on the page of releases.", "link_over") from None


def subscription_confirm(*, token: str, now: datetime) -> Subscriber:
    """Tell this address of releases from now on; the same again changes nothing. Raises NotFound (`link_over`)."""
    row, _ = Subscriber.objects.get_or_create(email=address_from_link(token), defaults={"confirmed_at": now})
    return row


def subscriber_of(key: str) -> Subscriber | None:
    """Return the subscriber of this link; None if there is none."""
    return Subscriber.objects.filter(key=key).first()


@transaction.atomic
def subscription_end(*, key: str) -> None:
    """Forget the address; twice is the same as once."""
    Subscriber.objects.filter(key=key).delete()


# Sending -------------------------------------------------------------------------------------------------------------


def letters_send(*, clock: Callable[[], datetime]) -> int:
    """Announce new releases, and send the letters that are due; returns how many were sent."""
    for release in Release.objects.filter(announcement__isnull=True).order_by("pk"):
        _announce(release, clock())
    return post_due(ReleaseLetter.objects.select_related("announcement__release", "subscriber"), _letter, clock=clock)


@transaction.atomic
def _announce(release: Release, now: datetime) -> None:
    """Store a letter for everybody who had confirmed when the release was published."""
    row, new = Announcement.objects.get_or_create(release=release, defaults={"announced_at": now})
    if new:
        told = Subscriber.objects.filter(confirmed_at__lte=release.released_at)
        ReleaseLetter.objects.bulk_create(ReleaseLetter(announcement=row, subscriber=each) for each in told)


def _letter(row: ReleaseLetter) -> EmailMessage:
    site, release, subscriber = settings.PUBLIC_URL, row.announcement.release, row.subscriber
    leave = site + reverse("release-mail-end", args=[subscriber.key])
    page = site + reverse("release", args=[release.name])
    message = render_letter("release", to=subscriber.email, language=_LANGUAGE, release=release, page=page, leave=leave)
    # RFC 8058: the mail program offers one button, which posts to the link.
    message.extra_headers = {"List-Unsubscribe": f"<{leave}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
    return message
