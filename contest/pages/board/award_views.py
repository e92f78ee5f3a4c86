"""The pages of awards: what is due, the checklist of one, and the pictures that the board looks at before (R36-R38)."""

from collections.abc import Set
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from common.domain_clock import domain_now
from common.errors import DomainError, NotFound
from common.queues import hint
from common.web.error_status import http_status
from common.web.form_fields import errors_of, go_to, text
from common.web.page import page
from contest.board.motion_factories import award_move, award_withhold_move, end_move, forfeit_move
from contest.board.open_motions import Moved, moved_for
from contest.board.selectors import begun_stake_known_to, stakes_known_to
from contest.core.decisions import MOST_REASON_CHARACTERS
from contest.core.enums import DecisionKind
from contest.core.models import Award, Case, Stake
from contest.core.roles import roles_of
from contest.defenses.selectors import owner_of, stakes_in_force, unbroken_until
from contest.ledger.services import MOST_WORDS
from contest.pages.board.motion_preview import is_changed, move_or_show
from contest.payments.statements import with_causes
from contest.prizes.awards import change_of, rerun_begin, shares_now
from contest.prizes.checklist import about_others, checklist, contenders, ready, sharing_of, stakes_beside, why_never
from contest.prizes.forfeits import forfeitable, withholdable
from contest.prizes.lost_races import awards_that_stand, ending_of
from contest.prizes.rerun_conditions import reruns_after
from contest.prizes.selectors import award_of, award_with_decider, awards_of_stakes, stakes_awarded_by
from contest.prizes.withheld_awards import entries_of, forfeited_of_award
from contest.web.page_context import frame
from monitoring.access import reviewer_of
from scoring.tasks import prepare_reruns

KINDS = (DecisionKind.AWARD, DecisionKind.END, DecisionKind.WITHHOLD, DecisionKind.FORFEIT, DecisionKind.RETURN)


@page(reviewer_of)
def awards(request: HttpRequest, reviewer: User) -> HttpResponse:
    """List the stakes whose time is over, those in force with what is left, and what was awarded."""
    now = domain_now()
    seen = stakes_known_to(reviewer, now=now)
    known = set(seen.values_list("pk", flat=True))
    due = [each for each in contenders(now=now) if each.pk in known]
    others = [each for each in stakes_in_force() if each.pk in known and each not in due]
    rest = [(each, unbroken_until(each), why_never(each, now=now)) for each in others]
    stand = {each.pk for each in awards_that_stand()}
    context = {
        "due": due,
        "rest": rest,
        "given": [(each, each.pk in stand) for each in awards_of_stakes(seen)],
        "organizer": roles_of(reviewer).organizer,
    }
    return render(request, "awards/awards.html", context | frame(now))


@page(reviewer_of, "GET POST")
def award(request: HttpRequest, reviewer: User, number: int) -> HttpResponse:
    """Show the checklist of one stake; begin to run its attacks again, and move to award it when every line is met.

    NotFound for a stake of a team that the reader steps aside for, as for one that is not there (R21).
    """
    stake = begun_stake_known_to(reviewer, number, now=domain_now())
    if request.method != "POST" or is_changed(request):
        return _page(request, stake, reviewer)
    try:
        if "rerun" in request.POST:
            return _rerun(request, stake, reviewer)
        return move_or_show(request, lambda: _move(request, stake, reviewer), back=reverse("award", args=[number]))
    except DomainError as error:
        stake = begun_stake_known_to(reviewer, number, now=domain_now())
        return _page(request, stake, reviewer, error)


def _rerun(request: HttpRequest, stake: Stake, by: User) -> HttpResponse:
    rerun_begin(stake=stake, by=by, now=domain_now())
    hint(prepare_reruns.task)
    messages.success(request, "The re-run is being prepared. An organizer applies it when it is finished.")
    return go_to("award", stake.pk)


def _move(request: HttpRequest, stake: Stake, by: User) -> Case:
    now = domain_now()
    reason = text(request, "reason", MOST_REASON_CHARACTERS + 1)
    if "end" in request.POST:
        return end_move(stake, reason=reason, by=by, now=now)
    if "withhold" in request.POST:
        return award_withhold_move(_award(stake), reason=reason, by=by, now=now)
    if "forfeit" in request.POST:
        return forfeit_move(_award(stake), reason=reason, by=by, now=now)
    statement = text(request, "statement", MOST_WORDS + 1)
    return award_move(stake, statement=statement, reason=reason, by=by, now=now)


def _award(stake: Stake) -> Award:
    given = award_of(stake)
    if given is None:
        raise NotFound("Nothing was awarded for this stake.", "not_found")
    return given


def _page(request: HttpRequest, stake: Stake, reviewer: User, error: DomainError | None = None) -> HttpResponse:
    now = domain_now()
    framed = frame(now)
    context: dict[str, Any] = {
        "stake": stake,
        "owner": owner_of(stake.defense),
        "until": unbroken_until(stake),
        "longest": MOST_WORDS,
        "longest_reason": MOST_REASON_CHARACTERS,
        "errors": errors_of(error) if error else {},
        "typed": request.POST,
        "organizer": roles_of(reviewer).organizer,
        "quorum": framed["policy"].board_quorum,
    }
    given = award_with_decider(stake)
    seen = set(stakes_known_to(reviewer, now=now).values_list("pk", flat=True))
    context |= _given(given, seen) if given else _open(stake, framed["policy"], seen, now)
    if not context["organizer"]:
        context |= _of_the_board(reviewer, stake, given)
    return render(request, "awards/award.html", context | framed, status=http_status(error) if error else 200)


def _open(stake: Stake, policy: Any, seen: Set[int], now: datetime) -> dict[str, Any]:
    due = contenders(now=now)
    conditions = checklist(stake, policy=policy, now=now, among=due)
    beside = {each.pk for each in stakes_beside(stake, due)}
    group = sharing_of(stake, due)
    shares = shares_now(group)
    return {
        "ending": ending_of(stake, now=now),
        "conditions": conditions if beside <= seen else [each for each in conditions if not about_others(each.name)],
        "ready": ready(conditions),
        "group": [(each, shares.get(each.pk, 0)) for each in group],
        "steps_aside_of_group": not {each.pk for each in group} <= seen,
        "may_rerun": stake in due and not any(each.state in ("preparing", "running") for each in reruns_after(stake)),
    }


def _of_the_board(member: User, stake: Stake, award: Award | None) -> dict[str, Any]:
    """Return the open motions about a stake, or its award, that the member may judge."""
    moved = [each for each in moved_for(member, *KINDS) if _is_about(each, stake, award)]
    return {"moved": moved, "moved_kinds": {each.kind.value for each in moved}}


def _is_about(moved: Moved, stake: Stake, award: Award | None) -> bool:
    if award is not None:
        return moved.names("award", award.pk)
    return moved.kind in (DecisionKind.AWARD, DecisionKind.END) and moved.names("stake", stake.pk)


def _given(award: Award, seen: Set[int]) -> dict[str, Any]:
    sharing = stakes_awarded_by(award.decision)
    rows = entries_of(award).select_related(
        "source__team", "source__stake__defense", "target__team", "target__stake__defense", "decision__decided_by"
    )
    entries = list(with_causes(list(rows.order_by("-pk")), told_at=None))
    return {
        "award": award,
        "met": [each for each in award.conditions if sharing <= seen or not about_others(each["name"])],
        "steps_aside_of_group": not sharing <= seen,
        "change": change_of(award.decision),
        "entries": entries,
        "withholdable": withholdable(award),
        "forfeitable": forfeitable(award),
        "forfeited": forfeited_of_award(award),
    }
