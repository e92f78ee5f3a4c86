"""Board pages of awards: stakes that are due, and the checklist and re-run of one stake (R36-R38)."""

from collections.abc import Mapping, Set
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from common.domain_clock import domain_now
from common.queues import hint
from common.web.form_fields import redirect_with_message
from common.web.forms import Form
from common.web.page import page
from contest.board.open_motions import OpenMotion, open_motions_for
from contest.board.selectors import begun_stake_visible_to, stakes_visible_to
from contest.core.enums import DecisionKind
from contest.core.models import Award, Stake
from contest.core.roles import roles_of
from contest.defenses.selectors import owner_of, stakes_in_force, unbroken_until
from contest.ledger.withholding import award_entries, forfeited_of_award
from contest.pages.board.motion_forms import AwardForm, EndStakeForm, ForfeitForm, WithholdAwardForm
from contest.pages.board.motion_preview import preview_or_open
from contest.payments.statements import with_causes
from contest.prizes.awards import award_change, awards_in_force, race_ending, rerun_begin, shares_now
from contest.prizes.checklist import (
    award_checklist,
    conditions_of_others,
    contenders,
    is_ready_for_award,
    never_reason,
    race_place,
)
from contest.prizes.conditions import reruns_after
from contest.prizes.forfeits import forfeitable, withholdable
from contest.prizes.selectors import award_of, awards_of_stakes, stakes_awarded_by
from contest.web.page_context import money_context
from monitoring.access import reviewer_of
from scoring.models import Rerun
from scoring.tasks import prepare_reruns

KINDS = (DecisionKind.AWARD, DecisionKind.END, DecisionKind.WITHHOLD, DecisionKind.FORFEIT, DecisionKind.RETURN)
FORMS = (AwardForm, EndStakeForm, WithholdAwardForm, ForfeitForm)


@page(reviewer_of)
def awards(request: HttpRequest, reviewer: User) -> HttpResponse:
    """List the stakes whose time is over, those in force with the time left, and the awards."""
    now = domain_now()
    seen = stakes_visible_to(reviewer, now=now)
    known = set(seen.values_list("pk", flat=True))
    due = [each for each in contenders(now=now) if each.pk in known]
    others = [each for each in stakes_in_force() if each.pk in known and each not in due]
    rest = [(each, unbroken_until(each), never_reason(each, now=now)) for each in others]
    stand = {each.pk for each in awards_in_force()}
    context = {
        "due": due,
        "rest": rest,
        "given": [(each, each.pk in stand) for each in awards_of_stakes(seen)],
        "organizer": roles_of(reviewer).organizer,
    }
    return render(request, "awards/awards.html", context | money_context(now))


@page(reviewer_of, "GET POST")
def award(request: HttpRequest, reviewer: User, number: int) -> HttpResponse:
    """Show a stake's checklist; re-run all attacks on it, and open the motion to award it when every line is met.

    NotFound for a stake that does not exist, and for one of a team that the reader steps aside for (R21).
    """
    stake = begun_stake_visible_to(reviewer, number, now=domain_now())
    rerun = AwardRerunForm.of(request, action="rerun")
    motions = {form.action or "award": form.of(request, stake=stake) for form in FORMS}
    if rerun.submit(stake=stake, by=reviewer):
        return redirect_with_message(
            request, "The re-run is being prepared. An organizer applies it when it is finished.", "award", stake.pk
        )
    if answer := preview_or_open(request, *motions.values(), by=reviewer, back=reverse("award", args=[number])):
        return answer
    sent = next((form for form in (rerun, *motions.values()) if form.is_bound), rerun)
    stake = begun_stake_visible_to(reviewer, number, now=domain_now())
    return _page(request, stake, reviewer, sent, motions)


class AwardRerunForm(Form):
    """Starts a re-run of all attacks on the stake's defense."""

    def save(self, *, stake: Stake, by: User) -> Rerun:
        """Start the re-run."""
        rerun = rerun_begin(stake=stake, by=by, now=domain_now())
        hint(prepare_reruns.task)
        return rerun


def _page(request: HttpRequest, stake: Stake, reviewer: User, sent: Form, motions: Mapping[str, Form]) -> HttpResponse:
    now = domain_now()
    framed = money_context(now)
    context: dict[str, Any] = {
        "stake": stake,
        "owner": owner_of(stake.defense),
        "until": unbroken_until(stake),
        "form": sent,
        "forms": motions,
        "organizer": roles_of(reviewer).organizer,
        "quorum": framed["policy"].board_quorum,
    }
    given = award_of(stake)
    seen = set(stakes_visible_to(reviewer, now=now).values_list("pk", flat=True))
    context |= _award_content(given, seen) if given else _open(stake, framed["policy"], seen, now)
    if not context["organizer"]:
        context |= _of_the_board(reviewer, stake, given)
    return render(request, "awards/award.html", context | framed, status=sent.status)


def _open(stake: Stake, policy: Any, seen: Set[int], now: datetime) -> dict[str, Any]:
    due = contenders(now=now)
    conditions = award_checklist(stake, policy=policy, now=now, among=due)
    place = race_place(stake, due)
    group, beside = place.group, {each.pk for each in (*place.group, *place.before)}
    shares = shares_now(group)
    return {
        "ending": race_ending(stake, now=now),
        "conditions": conditions
        if beside <= seen
        else [each for each in conditions if not conditions_of_others(each.name)],
        "ready": is_ready_for_award(conditions),
        "group": [(each, shares.get(each.pk, 0)) for each in group],
        "steps_aside_of_group": not {each.pk for each in group} <= seen,
        "may_rerun": stake in due and not any(each.state in ("preparing", "running") for each in reruns_after(stake)),
    }


def _of_the_board(member: User, stake: Stake, award: Award | None) -> dict[str, Any]:
    """Return the open motions about a stake, or its award, that the member may judge."""
    moved = [each for each in open_motions_for(member, *KINDS) if _is_about(each, stake, award)]
    return {"moved": moved, "moved_kinds": {each.kind.value for each in moved}}


def _is_about(moved: OpenMotion, stake: Stake, award: Award | None) -> bool:
    if award is not None:
        return moved.names("award", award.pk)
    return moved.kind in (DecisionKind.AWARD, DecisionKind.END) and moved.names("stake", stake.pk)


def _award_content(award: Award, seen: Set[int]) -> dict[str, Any]:
    sharing = stakes_awarded_by(award.decision)
    rows = award_entries(award).select_related(
        "source__team", "source__stake__defense", "target__team", "target__stake__defense", "decision__decided_by"
    )
    entries = list(with_causes(list(rows.order_by("-pk")), told_at=None))
    return {
        "award": award,
        "met": [each for each in award.conditions if sharing <= seen or not conditions_of_others(each["name"])],
        "steps_aside_of_group": not sharing <= seen,
        "change": award_change(award.decision),
        "entries": entries,
        "withholdable": withholdable(award),
        "forfeitable": forfeitable(award),
        "forfeited": forfeited_of_award(award),
    }
