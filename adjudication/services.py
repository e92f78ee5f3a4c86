"""Services that make rulings, from the responses of a full panel or by a decision of the board (R13-R16, R20)."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Max

from adjudication import selectors
from adjudication.enums import DecidedBy, Reason, Verdict
from adjudication.models import Ruling
from adjudication.rules import REASONS, CountedOpinion, VerdictPolicy, adjudicate
from common.database.deadlocks import retry_on_deadlock
from common.errors import Conflict, InvalidInput
from common.typed import MinimumText, validate_text
from labeling.dealing import mark_settled
from labeling.enums import Answer, Label, PanelState
from labeling.geometry import Box
from labeling.models import Image, Panel, Response
from labeling.more_taskers import is_kept_out, newest_panel, newest_panel_locked
from policy.selectors import PolicyInForce

SETTLED_AT_ONCE = 500
# The least and the most text of a public explanation (R20).
MIN_TEXT, MAX_EXPLANATION_CHARACTERS = MinimumText(characters=40, words=6), 4_000


# A function that returns the policy in force at a moment.
PolicyAt = Callable[[datetime], PolicyInForce]


def panels_settle(*, policy_at: PolicyAt, now: datetime) -> int:
    """Rule on full panels, SETTLED_AT_ONCE at most, one transaction each; return how many. Safe to run twice."""
    ids = selectors.panels_to_settle(SETTLED_AT_ONCE)
    return sum(panel_settle(panel_id=pk, policy_at=policy_at, now=now) for pk in ids)


@retry_on_deadlock
@transaction.atomic
def panel_settle(*, panel_id: int, policy_at: PolicyAt, now: datetime) -> bool:
    """Rule on one panel if it is full and no other process has locked it. Ruling and panel state commit together.

    The policy is the one under which the panel was dealt, and so under which its taskers answered (R7). A panel that
    further taskers joined is ruled upon again, over all its counted responses; a fresh panel over its own alone (R19).
    """
    rows = Panel.objects.select_for_update(skip_locked=True, of=("self",), no_key=True).select_related("image")
    panel = rows.filter(pk=panel_id, state=PanelState.FULL).first()
    if panel is None:
        return False
    mark_settled(panel=panel)
    _rule(panel, policy_at(panel.dealt_at), now)
    return True


def _rule(panel: Panel, policy: PolicyInForce, now: datetime) -> Ruling:
    counts = Response.objects.filter(panel=panel, place__isnull=False, voided__isnull=True)
    counted = list(counts.order_by("place__number"))
    image = panel.image
    decision = adjudicate(opinions_of(counted), verdict_policy(policy), width=image.width, height=image.height)
    share = decision.smallest_box
    return Ruling.objects.create(
        image=image,
        number=_next_number(image),
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


def _next_number(image: Image) -> int:
    """Return the next ruling's number. The caller has locked the newest panel, the only one that is ruled upon."""
    latest = Ruling.objects.filter(image=image).aggregate(number=Max("number"))["number"]
    return (latest or 0) + 1


@retry_on_deadlock
@transaction.atomic
def rule_by_board(
    *,
    image: Image,
    verdict: Verdict,
    label: Label | None,
    reasons: Sequence[Reason],
    explanation: str,
    policy: PolicyInForce,
    now: datetime,
) -> Ruling:
    """Append the board's ruling to those of a picture (R20). It names the responses that the last ruling counted.

    A valid picture needs a class and no reasons, a rejected one reasons and no class: InvalidInput otherwise, and for a
    missing, too short or too long explanation. Reasons are put in the order of R15. Conflict (`not_settled`) while the
    newest panel waits for responses or its ruling, which would supersede this one (not where the picture is kept out),
    and (`no_panel`, `no_ruling`) before the first ruling.
    """
    said = validate_explanation(explanation)
    given = _checked_reasons(verdict, label, reasons)
    latest = _ruling_to_overrule(image, newest_panel_locked(image.pk))
    return Ruling.objects.create(
        image=image,
        number=latest.number + 1,
        panel_id=latest.panel_id,
        verdict=verdict,
        label=label or "",
        reasons=given,
        smallest_box_numerator=latest.smallest_box_numerator,
        smallest_box_denominator=latest.smallest_box_denominator,
        policy_id=policy.id,
        response_ids=latest.response_ids,
        decided_at=now,
        decided_by=DecidedBy.BOARD,
        explanation=said,
    )


def validate_explanation(typed: str) -> str:
    """Return the public explanation of a decision of the board; InvalidInput for one too short or too long (R20)."""
    ask = "Give the public explanation: what the answers show, and why the board rules differently."
    return validate_text(typed, field="explanation", ask=ask, minimum=MIN_TEXT, max_length=MAX_EXPLANATION_CHARACTERS)


def _checked_reasons(verdict: Verdict, label: Label | None, reasons: Sequence[Reason]) -> list[Reason]:
    """Return the reasons in their order (R15)."""
    if verdict is Verdict.VALID:
        if label is None:
            raise InvalidInput("Choose the class that the picture shows: a valid one has it.", "invalid", field="label")
        if reasons:
            raise InvalidInput(
                "A valid picture has no reason of rejection: leave them out.", "invalid", field="reasons"
            )
        return []
    if label is not None:
        raise InvalidInput("A rejected picture has no class: leave it out.", "invalid", field="label")
    given = [reason for reason in REASONS if reason in reasons]
    if not given or set(given) != set(reasons):
        raise InvalidInput("Choose at least one of the reasons of rejection.", "invalid", field="reasons")
    return given


def board_ruling_check(*, image: Image, verdict: Verdict, label: Label | None, reasons: Sequence[Reason]) -> None:
    """Raise what `rule_by_board` would raise now for the picture, the class and the reasons, without locks."""
    _checked_reasons(verdict, label, reasons)
    _ruling_to_overrule(image, newest_panel(image.pk))


def _ruling_to_overrule(image: Image, newest: Panel) -> Ruling:
    """Return the ruling that the board may overrule. A panel of a picture that an organizer keeps out waits for no
    responses, so the board may rule on it."""
    waits = newest.state == PanelState.HELD and not is_kept_out(image.pk)
    if waits or newest.state in (PanelState.OPEN, PanelState.FULL):
        words = "Taskers are still being asked about this picture: wait for the ruling that follows from them."
        raise Conflict(words, "not_settled")
    latest = Ruling.objects.filter(image=image).order_by("-number").first()
    if latest is None:
        raise Conflict("There is no ruling on this picture that the board could overrule.", "no_ruling")
    return latest


def verdict_policy(policy: PolicyInForce) -> VerdictPolicy:
    """Return the part of the contest's policy that a verdict depends on."""
    return VerdictPolicy.of(policy.policy)


def opinions_of(responses: Iterable[Response]) -> list[CountedOpinion]:
    """Return responses as input of the rules."""
    return [
        CountedOpinion(
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
    sides = (response.box_xmin, response.box_ymin, response.box_xmax, response.box_ymax)
    given = [side for side in sides if side is not None]
    return Box(*given) if len(given) == len(sides) else None
