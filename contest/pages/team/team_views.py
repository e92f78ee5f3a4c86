"""A team's own page: members, invitations, and its entitlement to attack."""

from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from accounts.access import signed_in
from common.domain_clock import domain_now
from common.errors import Conflict
from common.web.form_fields import redirect_with_message
from common.web.forms import sent_form
from common.web.page import page
from contest.core.enums import EntitlementState, EntitlementStepKind
from contest.core.models import Member, Team
from contest.core.roles import researcher_of
from contest.pages.team.team_forms import (
    CreateForm,
    EntitlementRequestForm,
    InviteMemberForm,
    LeaveForm,
    QuestionAnswerForm,
    RemoveMemberForm,
    TeamForm,
    WithdrawInvitationForm,
    WithdrawRequestForm,
)
from contest.teams import invitations, selectors
from contest.teams.models import Entitlement, EntitlementStep
from contest.teams.selectors import association_marks
from policy.selectors import policy_in_force


@page(signed_in, "GET POST")
def team_page(request: HttpRequest, user: User) -> HttpResponse:
    """Show the signed-in researcher's team, or let them create one; handle the page's forms."""
    user = researcher_of(request.user)
    forms: dict[str, TeamForm] = {name: form.of(request, action=actions) for name, (form, actions) in _FORMS.items()}
    sent = sent_form(request, *forms.values())
    if sent and not user.email:
        words = "Your account has no confirmed e-mail address: enter one on your account page, then open the link."
        sent.refuse(Conflict(words, "no_address"))
    elif sent and (done := sent.submit(by=user)):
        return redirect_with_message(request, done, "team")
    member, now = selectors.membership_of(user), domain_now()
    context = {**forms, "form": sent, "member": member, "now": now, "zone": policy_in_force(now).policy.time_zone}
    status = sent.status if sent else 200
    if member is None:
        return render(request, "teams/no_team.html", context, status=status)
    return render(request, "teams/team.html", context | _of_team(member), status=status)


# The name in the template, the form, and the values of its buttons.
_FORMS: dict[str, tuple[type[TeamForm], str | tuple[str, ...]]] = {
    "create": (CreateForm, "make"),
    "invite": (InviteMemberForm, "invite"),
    "withdraw_invitation": (WithdrawInvitationForm, "withdraw-invitation"),
    "change_member": (RemoveMemberForm, ("remove", "hand-over")),
    "leave": (LeaveForm, "leave"),
    "request_form": (EntitlementRequestForm, "ask"),
    "answer": (QuestionAnswerForm, "answer"),
    "withdraw": (WithdrawRequestForm, "withdraw"),
}


def _of_team(member: Member) -> dict[str, Any]:
    team, now = member.team, domain_now()
    requests = list(selectors.entitlements_of(team).prefetch_related("steps__made_by"))
    waiting = next((each for each in requests if each.state in selectors.WAITING), None)
    return {
        "team": team,
        "members": list(selectors.members_of(team)),
        "invitations": _open_invitations(team) if member.captain else [],
        "entitled": selectors.entitlement_in_force(team, now),
        "requests": requests,
        "waiting": waiting,
        "asked": _newest_question(waiting),
        "question": EntitlementState.QUESTION.value,
        **association_marks(team),
        "paid": selectors.is_paid(team, now),
        "merged": list(team.merges.select_related("team")),
        "days": invitations.VALID_FOR.days,
    }


def _newest_question(waiting: Entitlement | None) -> EntitlementStep | None:
    """Return the organizers' latest question about a pending request."""
    steps = [] if waiting is None else waiting.steps.all()
    asked = [step for step in steps if step.kind == EntitlementStepKind.QUESTION]
    return max(asked, key=lambda step: step.pk, default=None)


def _open_invitations(team: Team) -> list[tuple[Any, str]]:
    now = timezone.now()
    rows = team.invitations.filter(accepted_at__isnull=True, withdrawn_at__isnull=True).order_by("-invited_at")
    return [(each, invitations.team_invitation_state(each, now=now).value) for each in rows]
