"""Team pages of attacks: sending pictures, their receipts, withdrawing one (R25, R26)."""

from datetime import datetime
from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from accounts.access import signed_in
from common.domain_clock import domain_now
from common.errors import Conflict, DomainError, NotAllowed
from common.web.error_status import http_status, retry_headers
from common.web.form_fields import redirect_with_message
from common.web.forms import Form, PicturesField
from common.web.lists import page_of
from common.web.page import page
from contest.appeals.grounds import appealable
from contest.attacks import quota
from contest.attacks.attack_states import own_attack_rows
from contest.attacks.letters import notify_withdrawn
from contest.attacks.receipts import attack_receipt, outcomes_json, upload_page_config
from contest.attacks.selectors import (
    attack_seen_by,
    attacks_by_team,
    is_own,
    waiting_for_board,
)
from contest.attacks.services import UploadResult, attack_withdraw, pictures_send
from contest.attacks.uploads import read_uploaded_files
from contest.core.countdown import countdown
from contest.core.enums import AppealSide
from contest.core.models import Team
from contest.core.roles import NoTeam, own_team_of, refuse_other_team
from contest.core.weeks import week_called
from contest.defenses.selectors import staked
from contest.teams.selectors import WAITING, entitlements_of, is_entitled
from contest.web.attack_uploads import bounded_upload, for_script
from contest.web.page_context import PAGE_SIZE
from labeling.pictures.addresses import picture_url
from policy.selectors import policy_in_force
from scoring.models import Defense


class AttackForm(Form):
    """Pictures to send, and the defenses they attack. The services validate both."""

    image = PicturesField(
        accept="image/png,image/jpeg,image/webp,application/zip,.zip",
        help_text="PNG is best: with other kinds, what counts is how they decode here.",
    )
    defenses = forms.MultipleChoiceField(
        label="Sent against",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Leave empty to target all. A valid picture is given to every published defense either way.",
    )

    def __init__(self, *arguments: Any, staked: QuerySet[Defense], **named: Any) -> None:
        super().__init__(*arguments, **named)
        choices = [(each.public_id, f"{each.name} ({each.public_id})") for each in staked]
        self.fields["defenses"].choices = choices  # type: ignore[attr-defined]


@page(signed_in, "GET POST")
@bounded_upload()
def attacks(request: HttpRequest, user: User) -> HttpResponse:
    """Show a team its attacks and take new ones; a plain form works without the page's script."""
    try:
        team = own_team_of(user)
    except NoTeam as error:
        return render(request, "attacks/no_team.html", {"refused": error}, status=http_status(error))
    if request.method != "POST":
        return _attacks_page(request, team)
    try:
        outcomes, _ = _receive_uploads(request, team)
    except DomainError as error:
        return _attacks_page(request, team, refused=error)
    return _attacks_page(request, team, outcomes=outcomes)


@for_script
@bounded_upload()
@page(methods="POST")
def send(request: HttpRequest) -> HttpResponse:
    """Take pictures from the page's script: JSON with a receipt or a refusal for each, in order."""
    team = own_team_of(request.user)
    outcomes, now = _receive_uploads(request, team)
    return JsonResponse(outcomes_json(outcomes, team=team, policy=policy_in_force(now).policy, now=now))


def _receive_uploads(request: HttpRequest, team: Team) -> tuple[list[UploadResult], datetime]:
    refuse_other_team(request.POST.get("team", ""), team)
    files = request.FILES.getlist("image")
    # The last byte has arrived: this is the time of receipt (R23).
    now = domain_now()
    outcomes = pictures_send(
        team=team,
        by=request.user,  # type: ignore[arg-type]  # a member is signed in
        parts=read_uploaded_files(files),
        targets=request.POST.getlist("defenses"),
        policy=policy_in_force(now).policy,
        now=now,
    )
    return outcomes, now


def _attacks_page(
    request: HttpRequest, team: Team, *, outcomes: list[UploadResult] | None = None, refused: DomainError | None = None
) -> HttpResponse:
    now = domain_now()
    policy = policy_in_force(now).policy
    page = page_of(request, attacks_by_team(team), PAGE_SIZE)
    form = AttackForm.of(request, staked=staked(now).order_by("name", "pk"))
    if refused:
        form.refuse(refused)
    context = {
        "team": team,
        "entitled": is_entitled(team, now),
        "asked": entitlements_of(team).filter(state__in=WAITING).first(),
        "size": policy.image_size,
        "left": quota.quota_left(team, policy=policy, now=now),
        "a_day": policy.attacks_per_day,
        "form": form,
        "waiting": waiting_for_board(now),
        "day_ends": quota.day_ends(policy, now),
        "page": page,
        "rows": own_attack_rows(list(page.object_list), now),
        "countdown": countdown(now=now),
        "zone": policy.time_zone,
        "now": now,
        "to_appeal": appealable(team, now, sides=[AppealSide.ATTACKER]),
        "outcomes": outcomes,
        "nothing_chosen": outcomes == [],
        "refused": refused,
        "script": upload_page_config(team, policy=policy, now=now),
    }
    answer = render(request, "attacks/attacks.html", context, status=http_status(refused) if refused else 200)
    for name, value in retry_headers(refused).items() if refused else ():
        answer[name] = value
    return answer


@page(own_team_of, "GET POST")
def withdraw(request: HttpRequest, team: Team, public_id: str) -> HttpResponse:
    """Withdraw an attack after a confirmation, while its week lasts."""
    now = domain_now()
    found = attack_seen_by(public_id, team=team, organizer=False, now=now)
    if not is_own(found, team):
        raise NotAllowed("Only the team that sent a picture withdraws it.", "not_yours")
    refused = ""
    if request.method == "POST":
        try:
            with transaction.atomic():
                attack_withdraw(attack=found, by=request.user, now=now)  # type: ignore[arg-type]  # a member is signed in
                notify_withdrawn(found, by=request.user, now=now)  # type: ignore[arg-type]  # as above
        except Conflict as error:
            refused = error.message
        else:
            return redirect_with_message(request, f"Receipt {found.public_id} is withdrawn.", "attack", found.public_id)
    over = found.withdrawn_at is not None or now >= week_called(found.week).end
    context = {
        "attack": found,
        "receipt": attack_receipt(found, unrestricted=False, now=now),
        "over": over,
        "refused": refused,
        "url": picture_url(found.image, now=now),
        "now": now,
    }
    return render(request, "attacks/withdraw.html", context, status=HTTPStatus.CONFLICT if refused else HTTPStatus.OK)
