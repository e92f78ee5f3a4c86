"""Rulings: from a full panel to an appended row (R13-R16)."""

from collections.abc import Callable, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Max

from adjudication import selectors
from adjudication.enums import DecidedBy
from adjudication.models import Ruling
from adjudication.rules import Opinion, Policy, adjudicate
from labeling import services as labeling
from labeling.enums import Answer, PanelState
from labeling.geometry import Box
from labeling.models import Panel, Response
from labeling.selectors import PolicyInForce

SETTLED_AT_ONCE = 500


# Gives the policy that was in force at a moment.
PolicyAt = Callable[[datetime], PolicyInForce]


def panels_settle(*, policy_at: PolicyAt, now: datetime) -> int:
    """Rule on every full panel, one transaction each. Returns how many; running it twice adds none."""
    ids = selectors.panels_to_settle(SETTLED_AT_ONCE)
    return sum(panel_settle(panel_id=pk, policy_at=policy_at, now=now) for pk in ids)


@transaction.atomic
def panel_settle(*, panel_id: int, policy_at: PolicyAt, now: datetime) -> bool:
    """Rule on one panel if it is full and nobody else is at it. The ruling and the panel's end commit together.

    The policy is the one under which the panel was dealt, and so under which its taskers were asked (R7).
    """
    rows = Panel.objects.select_for_update(skip_locked=True, of=("self",)).select_related("image")
    panel = rows.filter(pk=panel_id, state=PanelState.FULL).first()
    if panel is None:
        return False
    labeling.panel_settle(panel=panel)
    _rule(panel, policy_at(panel.dealt_at), now)
    return True


def _rule(panel: Panel, policy: PolicyInForce, now: datetime) -> Ruling:
    counts = Response.objects.filter(panel=panel, place__isnull=False, voided__isnull=True)
    counted = list(counts.order_by("place__number"))
    image = panel.image
    decision = adjudicate(_opinions(counted), rules_policy(policy), width=image.width, height=image.height)
    share = decision.smallest_box
    latest = Ruling.objects.filter(image=image).aggregate(number=Max("number"))["number"] or 0
    return Ruling.objects.create(
        image=image,
        number=latest + 1,
        panel=panel,
        verdict=decision.verdict,
        label=decision.label or "",
        reasons=list(decision.reasons),
        smallest_box_numerator=share.numerator if share is not None else None,
        smallest_box_denominator=share.denominator if share is not None else None,
        policy_id=policy.id,
        response_ids=[response.pk for response in counted],
        decided_at=now,
        decided_by=DecidedBy.RULES,
    )


def rules_policy(policy: PolicyInForce) -> Policy:
    """Return the part of the contest's policy that a verdict depends on."""
    numbers = policy.policy
    return Policy(numbers.name, numbers.min_box_fraction, numbers.outline_gate, numbers.occlusion_allowed)


def _opinions(responses: Sequence[Response]) -> list[Opinion]:
    return [
        Opinion(
            bird=Answer(each.contains_bird),
            bicycle=Answer(each.contains_bicycle),
            box=_box(each),
            complete=each.complete,
            unoccluded=each.unoccluded,
            real=each.real,
        )
        for each in responses
    ]


def _box(response: Response) -> Box | None:
    xmin, ymin = response.box_xmin, response.box_ymin
    xmax, ymax = response.box_xmax, response.box_ymax
    if xmin is None or ymin is None or xmax is None or ymax is None:
        return None
    return Box(xmin, ymin, xmax, ymax)
