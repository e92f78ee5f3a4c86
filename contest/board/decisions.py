"""The service that decides a case: counts the votes and carries out their result in one transaction (R19-R22)."""

from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from adjudication.counting import OUTCOMES, Ballot
from adjudication.enums import Reason, Verdict
from adjudication.models import Ruling
from adjudication.services import MAX_EXPLANATION_CHARACTERS, board_ruling_check, rule_by_board, validate_explanation
from common.audit.trail import audit
from common.database.deadlocks import retry_on_deadlock
from common.errors import Conflict, InvalidInput, NotAllowed
from contest.board.case_messages import notify_case_decided, notify_panel_ruled, notify_ruling_changed
from contest.board.cases import VoteCount, count_fields, count_of, lock_case, newest_ruling_of
from contest.board.models import CaseDecision
from contest.board.motion_handlers import carry_out
from contest.core.enums import CaseKind, CaseOutcome, CaseState, VoteChoice
from contest.core.models import Case
from labeling.enums import Label, PanelState
from labeling.models import Image, Panel
from labeling.more_taskers import is_kept_out, panel_fresh, panel_join, room_in
from policy.numbers import Policy
from policy.selectors import policy_in_force


@retry_on_deadlock
@transaction.atomic
def case_decide(*, case: Case, seen: str, explanation: str, by: User, now: datetime) -> CaseDecision:
    """Close the voting on a case and carry out the majority; a tie upholds the ruling, or drops the motion (R19).

    `seen` is the mark of the count that the member confirms. Raises Http404 for recused members; NotAllowed
    (`no_vote`) for members without a vote that counts; Conflict if it was `decided`, there is `no_quorum`, the
    `votes_changed`, a `tie` may still be broken, the `ruling_changed`, or a motion cannot be carried out: then nothing
    is recorded. InvalidInput for an overrule without an explanation that says something (R20).
    """
    held = lock_case(by, case.public_id, now=now)
    count = count_of(held)
    _refuse(held, count, seen, by, now)
    decides = count.decides
    outcome = OUTCOMES[decides.choice]
    said = validate_explanation(explanation) if outcome is CaseOutcome.OVERRULE else _remarks(explanation)
    ruling, panel = _do(held, decides, said, by, now)
    decision = CaseDecision.objects.create(
        case=held,
        outcome=outcome,
        label=decides.label,
        reasons=list(decides.reasons),
        explanation=said,
        ruling=ruling if outcome is CaseOutcome.OVERRULE else None,
        panel=panel,
        **count_fields(count),
        policy_id=policy_in_force(now).id,
        confirmed_by=by,
        decided_at=now,
    )
    _close(held, ruling, panel, now)
    _record(decision, by, now)
    notify_case_decided(decision, now=now)
    return decision


def _remarks(typed: str) -> str:
    """Return the remarks published with a decision that needs no explanation; InvalidInput if they are too long."""
    said = typed.replace("\x00", "").replace("\r\n", "\n").strip()
    if len(said) > MAX_EXPLANATION_CHARACTERS:
        raise InvalidInput(f"Write at most {MAX_EXPLANATION_CHARACTERS:,} characters.", "invalid", field="explanation")
    return said


def _refuse(case: Case, count: VoteCount, seen: str, by: User, now: datetime) -> None:
    if not any(vote.member_id == by.pk for vote in count.votes):
        raise NotAllowed("Vote first: only a member who voted confirms the decision.", "no_vote")
    if not count.is_enough:
        missing = count.quorum - len(count.votes)
        waits = " Votes of members who are still to speak about a team do not count yet." if count.waiting else ""
        raise Conflict(f"A decision needs {count.quorum} votes: {missing} more. Your vote is kept.{waits}", "no_quorum")
    if count.mark != seen:
        raise Conflict(
            "The votes, the teams or what they say changed since you looked. Look again, and confirm that.",
            "votes_changed",
        )
    refuse_undecided(case, count, now=now)
    newest = newest_ruling_of(case.image) if case.image is not None else None
    if newest is not None and newest.pk != case.ruling_id:
        raise Conflict("There is a newer ruling on this picture. Nothing was decided.", "ruling_changed")


def refuse_undecided(case: Case, count: VoteCount, *, now: datetime) -> None:
    """Raise Conflict while the votes decide nothing: for a `tie` that another member may still break before the
    deadline, and for an overrule whose reasons, put together, are those of the ruling (`same`)."""
    if count.tied and not count.all_voted and now < case.due_at:
        raise Conflict(
            "It is a tie, and another member may still vote. Wait for all votes, or for the end of the clock.", "tie"
        )
    made = (count.decides.label, list(count.decides.reasons))
    overrules = case.ruling is not None and count.decides.choice is VoteChoice.OVERRULE
    if overrules and case.ruling is not None and made == (case.ruling.label, case.ruling.reasons):
        raise Conflict("Put together, the reasons are those of the ruling. Agree on others, or uphold it.", "same")


def _do(case: Case, decides: Ballot, explanation: str, by: User, now: datetime) -> tuple[Ruling | None, Panel | None]:
    """Carry out the decision; return the ruling in force afterwards, or the panel with additional taskers."""
    if case.kind == CaseKind.MOTION:
        if decides.choice is VoteChoice.IN_FAVOUR:
            carry_out(case, by=by, now=now)
        return None, None
    assert case.image is not None and case.ruling is not None, "a picture's case has both"
    if decides.choice is VoteChoice.MORE_TASKERS:
        return None, _ask_more(case, now)
    if decides.choice is VoteChoice.UPHOLD:
        return case.ruling, None
    return overrule(case.image, decides, explanation, now=now), None


def overrule_check(image: Image, decides: Ballot) -> None:
    """Raise what `overrule` would raise now with a sufficient explanation; nothing is locked or written."""
    board_ruling_check(
        image=image,
        verdict=Verdict.VALID if decides.label else Verdict.REJECTED,
        label=Label(decides.label) if decides.label else None,
        reasons=[Reason(each) for each in decides.reasons],
    )


def overrule(image: Image, decides: Ballot, explanation: str, *, now: datetime) -> Ruling:
    """Append the board's ruling to those of the picture (R20)."""
    return rule_by_board(
        image=image,
        verdict=Verdict.VALID if decides.label else Verdict.REJECTED,
        label=Label(decides.label) if decides.label else None,
        reasons=[Reason(each) for each in decides.reasons],
        explanation=explanation,
        policy=policy_in_force(now),
        now=now,
    )


def _ask_more(case: Case, now: datetime) -> Panel:
    """Let new taskers join the panel of a valid verdict, or give a rejected picture a fresh panel (R19)."""
    assert case.image is not None and case.ruling is not None
    asked = taskers_to_ask(case.ruling, policy_in_force(now).policy)
    if case.ruling.verdict == Verdict.VALID:
        return panel_join(case.ruling.panel, asked, now=now)
    return panel_fresh(case.image, asked, now=now)


def taskers_to_ask(ruling: Ruling, policy: Policy) -> int:
    """Return how many taskers to add if the board wants more: a whole fresh panel after a rejection; after a valid
    verdict the policy's `appeal_taskers`, at most as many as the panel has room for. Without room it is one, which the
    panel then refuses with the reason."""
    if ruling.verdict == Verdict.REJECTED:
        return policy.panel_size
    return max(min(policy.appeal_taskers, room_in(ruling.panel)), 1)


def _close(case: Case, ruling: Ruling | None, panel: Panel | None, now: datetime) -> None:
    case.state = CaseState.CLOSED if panel is None else CaseState.PANEL
    case.closed_at = now if panel is None else None
    case.result = ruling
    case.save(update_fields=["state", "closed_at", "result"])
    if case.ruling is not None and ruling is not None:
        notify_ruling_changed(case.ruling, ruling, now=now)


def _record(decision: CaseDecision, by: User, now: datetime) -> None:
    """Audit it. A decision about a picture is published with the picture's week, so not earlier in the audit trail."""
    subject = {"case": [decision.case.public_id]}
    told = {"outcome": str(decision.outcome), "votes": len(decision.votes), "recused": decision.recused}
    audit("case.decide", by=by, subject=subject, why=decision.explanation, now=now, private=told)


# After more taskers ---------------------------------------------------------------------------------------------------


def cases_close(*, now: datetime) -> int:
    """Close the cases whose additional taskers led to a ruling (R19); return how many. Idempotent."""
    waiting = Case.objects.filter(state=CaseState.PANEL).order_by("pk").values_list("pk", flat=True)
    return sum(_close_ruled(pk, now) for pk in list(waiting))


@transaction.atomic
def _close_ruled(case_id: int, now: datetime) -> bool:
    rows = Case.objects.select_for_update(of=("self",), skip_locked=True).filter(pk=case_id, state=CaseState.PANEL)
    case = rows.select_related("image", "ruling", "decision__panel").first()
    if case is None or case.image is None or case.ruling is None:
        return False
    later = Ruling.objects.filter(image=case.image, panel=case.decision.panel, number__gt=case.ruling.number)
    ruling = later.order_by("number").first() or _ruling_that_stays(case)
    if ruling is None:
        return False
    case.state, case.closed_at, case.result = CaseState.CLOSED, now, ruling
    case.save(update_fields=["state", "closed_at", "result"])
    notify_panel_ruled(case, ruling, now=now)
    notify_ruling_changed(case.ruling, ruling, now=now)
    return True


def _ruling_that_stays(case: Case) -> Ruling | None:
    """Return the ruling of a case if an organizer keeps its picture out and the panel lacks answers: none counts from
    then on. None otherwise; a panel that is full gets its ruling nevertheless."""
    panel = case.decision.panel
    assert panel is not None, "more taskers are places on a panel"
    return case.ruling if panel.state == PanelState.HELD and is_kept_out(panel.image_id) else None
