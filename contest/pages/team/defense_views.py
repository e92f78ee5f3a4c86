"""Team pages of its defenses: submit, follow, withdraw, stake, open the source (R28, R31-R33)."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse

from accounts.access import signed_in
from common.domain_clock import domain_now
from common.errors import DomainError, InvalidInput
from common.queues import hint
from common.typed import whole_number
from common.web.body_limits import limit_body
from common.web.error_status import error_json, wants_json
from common.web.form_fields import SeeOther, redirect_with_message
from common.web.page import page
from contest.appeals.grounds import MAX_LISTED, appealable
from contest.core import upload_rates
from contest.core.enums import AppealSide, UploadKind
from contest.core.models import Team
from contest.core.roles import own_team_of, refuse_other_team
from contest.core.scoring_words import why_stuck
from contest.core.teams import final_team
from contest.defenses import entries, selectors, stake_rows
from contest.defenses.eligibility import failures_of, next_step
from contest.defenses.models import DefenseEntry
from contest.ledger.amounts import money
from contest.pages.team.defense_forms import (
    CancelStakeForm,
    DefenseForm,
    HandInForm,
    OpenSourceForm,
    ReturnDefenseForm,
    StakeDefenseForm,
    WithdrawDefenseForm,
)
from contest.record.leaderboard.snapshots import PRESENT, leaderboard_tables
from contest.web.defense_holder import leads, own_entry
from contest.web.defense_uploads import stream_files
from contest.web.upload_pieces import PIECE_BYTES, bytes_kept, keep_piece
from policy.selectors import policy_in_force
from scoring.tasks import plan_trials
from scoring.trials import selectors as trials


@page(own_team_of)
def defenses(request: HttpRequest, team: Team) -> HttpResponse:
    """List the team's defenses."""
    now = domain_now()
    policy = policy_in_force(now).policy
    rows = stake_rows.entry_rows(selectors.submissions_of(team), now)
    ranked = {row.id: row for row in leaderboard_tables(PRESENT, now=now).tables.defenses}
    context = {
        "team": team,
        "rows": [(row, ranked.get(row.entry.defense.public_id)) for row in rows],
        "left": selectors.submissions_left(team, policy, now),
        "most": policy.defenses_per_week,
        "now": now,
        "zone": policy.time_zone,
    }
    return render(request, "stakes/team_defenses.html", context)


# Submission -----------------------------------------------------------------------------------------------------------


def _may_hand_in(request: HttpRequest) -> None:
    """Refuse a user who may not submit, before any byte of the files is read."""
    now, team = domain_now(), own_team_of(request.user)
    refuse_other_team(request.GET.get("team", ""), team)
    entries.refuse_beyond_quota(team, policy_in_force(now).policy, now)
    upload_rates.check_upload_rate(team, UploadKind.DEFENSE)


@page(signed_in, "GET POST")
@stream_files(_may_hand_in)
def defense_new(request: HttpRequest, user: User) -> HttpResponse:
    """Show the form and take a submission: as a page, or as JSON for the page's script, which shows the progress."""
    team = own_team_of(user)
    if request.method == "HEAD":  # the script checks first whether the submission would be refused
        refuse_other_team(request.GET.get("team", ""), team)
    now, is_sent = domain_now(), request.method == "POST"
    form = HandInForm(*((request.POST, request.FILES) if is_sent else ()))
    if done := form.submit(request=request, team=team, by=user):
        entry, new = done
        hint(plan_trials.task)
        words = "is received. Its trials begin by themselves." if new else "was handed in before: this is its page."
        return _answered(request, entry, f"{entry.defense.name} {words}", draft=f"hand-in {user.get_username()}")
    if form.refused and wants_json(request):
        return error_json(form.refused)
    policy = policy_in_force(now).policy
    context = {
        "team": team,
        "left": selectors.submissions_left(team, policy, now),
        "most": policy.defenses_per_week,
        "due": selectors.last_moment(selectors.due_date(now)),
        "form": form,
        "policy": policy,
        "zone": policy.time_zone,
    }
    return render(request, "stakes/hand_in.html", context, status=form.status)


@page(own_team_of, "GET POST")
@limit_body(PIECE_BYTES)
def defense_piece(request: HttpRequest, team: Team, field: str, file: str) -> HttpResponse:
    """Take the next piece of a large file, which begins at byte `at`; return how many bytes are stored, as JSON."""
    user: User = request.user  # type: ignore[assignment]  # a member is signed in
    try:
        if request.method == "GET":
            return JsonResponse({"bytes": bytes_kept(team, user, field, file)})
        _may_hand_in(request)
        at, size = whole_number(request.GET.get("at", "")), whole_number(request.GET.get("size", ""))
        length = whole_number(request.META.get("CONTENT_LENGTH") or "")
        if at is None or not size or not length:
            words = "Say how long the file is and at which byte the piece begins, and send it with its length."
            raise InvalidInput(words, "invalid")
        kept = keep_piece(team, user, field, file, at=at, length=length, size=size, body=request)
        return JsonResponse({"bytes": kept})
    except DomainError as error:
        return error_json(error)


def _answered(request: HttpRequest, entry: DefenseEntry, words: str, draft: str = "") -> HttpResponse:
    messages.success(request, words, extra_tags=draft)
    address = reverse("team-defense", args=[entry.defense.public_id])
    return JsonResponse({"address": address}, status=201) if wants_json(request) else SeeOther(address)


# One defense ----------------------------------------------------------------------------------------------------------


@page(signed_in)
def defense(request: HttpRequest, user: User, public_id: str) -> HttpResponse:
    """Show a team the state of its defense: trials as totals alone (R31), missing steps, its stake and clock."""
    return _page(request, own_entry(user, public_id))


def _page(request: HttpRequest, entry: DefenseEntry, sent: DefenseForm | None = None) -> HttpResponse:
    now, found = domain_now(), entry.defense
    policy = policy_in_force(now).policy
    prize = money(policy.attacker_prize_cents, policy.currency)
    eligibility = trials.eligibility_of(found, policy, now=now)
    failed = () if found.published_at or found.retired_at else failures_of(eligibility, policy)
    stake = selectors.open_stake_of(found)
    context: dict[str, Any] = {
        "entry": entry,
        "defense": found,
        "state": selectors.defense_state_of(found, now=now),
        "failed": failed,
        "next_step": next_step(failed),
        "last_moment": selectors.last_moment(entry.due_at),
        "overdue": found.published_at is None and entry.due_at <= now,
        "findings": eligibility.findings,
        "trials": list(found.trials.defer("answers", "log").order_by("created_at", "pk")),
        "smoke_log": trials.smoke_log_of(found),
        "stuck": "" if entry.withdrawn_at else why_stuck(found, now=now),
        "stake": stake_rows.newest_stake_rows([found], now).get(found.pk),
        "to_appeal": appealable(final_team(entry.team), now, sides=[AppealSide.DEFENDER], limit=MAX_LISTED + 1),
        "max_listed": MAX_LISTED,
        "asked": stake if stake is not None and stake.staked_at is None else None,
        "in_force": stake if stake is not None and stake.staked_at is not None else None,
        "may_ask": selectors.stakeable().filter(pk=found.pk).exists(),
        "waits_for": "" if entry.withdrawn_at else entries.missing_for_publication(found, now=now),
        "captain": leads(request.user, final_team(entry.team)),  # type: ignore[arg-type]  # a member is signed in
        "form": sent,
        **{f"{name}_form": sent if isinstance(sent, form) else form() for name, form in _FORMS.items()},
        "policy": policy,
        "now": now,
        "zone": policy.time_zone,
    }
    context["stake_form"].fields["sure"].label = f"We want to pay {prize} and stake it"
    context["withdraw_form"].fields["sure"].label = f"Withdraw {found.name} for good"
    return render(request, "stakes/team_defense.html", context, status=sent.status if sent else 200)


_FORMS: dict[str, type[DefenseForm]] = {
    "open": OpenSourceForm,
    "withdraw": WithdrawDefenseForm,
    "stake": StakeDefenseForm,
    "cancel": CancelStakeForm,
    "ask": ReturnDefenseForm,
}


@page(signed_in, "POST")
def defense_do(request: HttpRequest, user: User, public_id: str, name: str) -> HttpResponse:
    """Withdraw the defense, request its stake, cancel that, or ask the board to return it."""
    if name not in _FORMS or name == "open":
        raise Http404("there is nothing of this name to do")
    entry, sent = own_entry(user, public_id), _FORMS[name](request.POST)
    if done := sent.submit(entry=entry, by=user):
        return redirect_with_message(request, done, "team-defense", public_id)
    return _page(request, entry, sent)


def _belongs(request: HttpRequest) -> None:
    upload_rates.check_upload_rate(own_team_of(request.user), UploadKind.DEFENSE)


@page(signed_in, "POST")
@stream_files(_belongs)
def defense_open(request: HttpRequest, user: User, public_id: str) -> HttpResponse:
    """Publish the source of a closed defense: it is open from now on, and its stake gets a new 90 days (R33)."""
    entry, sent = own_entry(user, public_id), OpenSourceForm(request.POST, request.FILES, request=request)
    if done := sent.submit(entry=entry, by=user):
        return _answered(request, entry, done)
    return error_json(sent.refused) if sent.refused and wants_json(request) else _page(request, entry, sent)
