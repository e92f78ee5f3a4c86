"""Opens panels for pictures that are due (R7), and marks panels with a ruling as settled."""

from datetime import datetime

from django.db import transaction

from common.database.deadlocks import retry_on_deadlock
from common.errors import Conflict
from labeling import selectors
from labeling.enums import PanelState
from labeling.models import Image, Panel, PanelPlace
from policy.numbers import Policy

DEALT_AT_ONCE = 500


def panels_deal(*, policy: Policy, now: datetime) -> int:
    """Give pictures that are due a panel with its places (R7), oldest first.

    Returns how many, DEALT_AT_ONCE at most, so that a large import does not delay rulings; 0 when none is due.
    """
    due = selectors.images_waiting_for_panel(now, DEALT_AT_ONCE)
    return _deal(due, policy.panel_size, now) if due else 0


@retry_on_deadlock
@transaction.atomic
def _deal(due: list[Image], size: int, now: datetime) -> int:
    ids = [image.pk for image in due]
    # Checked again under the lock: a picture may have been withdrawn since it was found due (R24).
    still_due = Image.objects.filter(pk__in=ids, dealt_at__isnull=True, label_from__lte=now)
    fresh = still_due.select_for_update(skip_locked=True, no_key=True)
    images = sorted(fresh, key=lambda image: ids.index(image.pk))
    panels = Panel.objects.bulk_create(
        Panel(image=image, size=size, missing=size, dealt_at=now, waiting_since=now) for image in images
    )
    PanelPlace.objects.bulk_create(
        PanelPlace(panel=panel, number=number) for panel in panels for number in range(1, size + 1)
    )
    return Image.objects.filter(pk__in=[image.pk for image in images]).update(dealt_at=now)


def mark_settled(*, panel: Panel) -> None:
    """Mark a full panel as ruled upon; called by adjudication in the transaction that adds the ruling."""
    changed = Panel.objects.filter(pk=panel.pk, state=PanelState.FULL).update(state=PanelState.SETTLED)
    if changed != 1:
        raise Conflict("This panel is settled already.", "panel_settled")
