"""Queries and services for notices to taskers, which are displayed until read."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from common.errors import NotFound
from labeling.models import Notice, Tasker


def unseen_notices(tasker: Tasker) -> list[Notice]:
    """Return what the tasker has not seen yet, oldest first."""
    return list(Notice.objects.filter(tasker=tasker, seen_at__isnull=True).order_by("told_at", "id"))


def notices_json(tasker: Tasker) -> list[dict[str, Any]]:
    """Return the tasker's unseen notices for the page and the API."""
    return [
        {"id": str(notice.public_id), "text": notice.text, "told_at": iso(notice.told_at)}
        for notice in unseen_notices(tasker)
    ]


def iso(moment: datetime) -> str:
    """Return a moment as the API writes it."""
    return moment.isoformat().replace("+00:00", "Z")


def notice_mark_seen(*, tasker: Tasker, notice_id: UUID, now: datetime) -> None:
    """Mark the tasker's own notice as seen; the first time counts. NotFound for anybody else's."""
    mine = Notice.objects.filter(public_id=notice_id, tasker=tasker)
    if mine.filter(seen_at__isnull=True).update(seen_at=now) == 0 and not mine.exists():
        raise NotFound(_("There is no such notice of yours."), "not_found")
