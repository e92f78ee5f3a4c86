"""A team's own page: who is in it, who is invited, why it may attack."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from accounts.access import signed_in
from common.domain_clock import domain_now
from common.errors import Conflict, DomainError, InvalidInput, NotAllowed, NotFound, TooMany
from common.typed import whole_number
from common.web.form_fields import errors_of, go_to, text
from common.web.page import page
from contest.core.enums import EntitlementState, EntitlementStepKind
from contest.core.models import Member, Team
from contest.core.roles import researcher_of
from contest.teams import entitlements, invitations, names, selectors, services
from contest.teams.models import Entitlement, EntitlementStep
from contest.teams.selectors import association_marks
from policy.selectors import policy_in_force

Action = Callable[[HttpRequest, User], str]


@page(signed_in, "GET POST")
def team_page(request: HttpRequest, user: User) -> HttpResponse:
    """Show the signed-in researcher's team, or let them make one; do what its forms ask for."""
    user = researcher_of(request.user)
    if request.method != "POST":
        return _page(request, user)
    wanted = text(request, "action", 40)
    try:
        _confirmed(user)
        messages.success(request, _action(wanted)(request, user))
    except DomainError as error:
        return _page(request, user, wanted, error)
    return go_to("team")


def _action(wanted: str) -> Action:
    if wanted not in _ACTIONS:
        raise InvalidInput("Use one of the forms of this page.", "invalid")
    return _ACTIONS[wanted]


def _confirmed(user: User) -> None:
    if not user.email:
        words = "Your account has no confirmed e-mail address: enter one on your account page, then open the link."
        raise Conflict(words, "no_address")


def _page(request: HttpRequest, user: User, wanted: str = "", error: DomainError | None = None) -> HttpResponse:
    member = selectors.membership_of(user)
    context: dict[str, Any] = {
        "member": member,
        "wanted": wanted,
        "errors": errors_of(error) if error else {},
        "typed": request.POST if error else {},
        "now": domain_now(),
        "zone": policy_in_force(domain_now()).policy.time_zone,
    }
    status = _STATUS.get(type(error), 400) if error else 200
    if member is None:
        context |= {"longest": names.LONGEST}
        return render(request, "teams/no_team.html", context, status=status)
    return render(request, "teams/team.html", context | _of_team(member), status=status)


_STATUS = {Conflict: 409, NotFound: 404, NotAllowed: 403, TooMany: 429}


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
    """Return what the organizers asked last of a request that waits."""
    steps = [] if waiting is None else waiting.steps.all()
    asked = [step for step in steps if step.kind == EntitlementStepKind.QUESTION]
    return max(asked, key=lambda step: step.pk, default=None)


def _open_invitations(team: Team) -> list[tuple[Any, str]]:
    now = timezone.now()
    rows = team.invitations.filter(accepted_at__isnull=True, withdrawn_at__isnull=True).order_by("-invited_at")
    return [(each, invitations.state_of(each, now=now).value) for each in rows]


def _number(request: HttpRequest, name: str) -> int:
    return whole_number(text(request, name)) or 0


def _make(request: HttpRequest, user: User) -> str:
    team = services.team_create(name=text(request, "name"), captain=user, now=domain_now())
    return f"Team {team.name} is made, and you lead it."


def _invite(request: HttpRequest, user: User) -> str:
    invited = invitations.team_invite(by=user, email=text(request, "email"), now=timezone.now())
    return f"The invitation is on its way to {invited.invitation.email}. Its link works once."


def _withdraw_invitation(request: HttpRequest, user: User) -> str:
    number = _number(request, "invitation")
    found = invitations.team_invitation_withdraw(by=user, invitation_id=number, now=timezone.now())
    return f"The invitation of {found.email} is withdrawn; its link opens nothing any more."


def _remove(request: HttpRequest, user: User) -> str:
    removed = services.member_remove(by=user, member_id=_number(request, "member"), now=domain_now())
    return f"{removed.user.username} is not in the team any more."


def _hand_over(request: HttpRequest, user: User) -> str:
    leads = services.captain_hand_over(by=user, member_id=_number(request, "member"), now=domain_now())
    return f"{leads.user.username} is the captain now."


def _leave(request: HttpRequest, user: User) -> str:
    return f"You have left team {services.member_leave(user=user, now=domain_now()).name}."


def _ask(request: HttpRequest, user: User) -> str:
    entitlements.entitlement_ask(
        by=user, arxiv_id=text(request, "arxiv_id"), paper_email=text(request, "paper_email"), now=domain_now()
    )
    return "Your request is on the organizers' list. You get a letter when it is answered."


def _answer(request: HttpRequest, user: User) -> str:
    words = text(request, "words", entitlements.MOST_CHARACTERS + 1)
    entitlements.entitlement_answer(by=user, words=words, now=domain_now())
    return "Your answer is with the organizers."


def _withdraw(request: HttpRequest, user: User) -> str:
    entitlements.entitlement_withdraw(by=user, now=domain_now())
    return "Your request is withdrawn."


_ACTIONS: dict[str, Action] = {
    "make": _make,
    "invite": _invite,
    "withdraw-invitation": _withdraw_invitation,
    "remove": _remove,
    "hand-over": _hand_over,
    "leave": _leave,
    "ask": _ask,
    "answer": _answer,
    "withdraw": _withdraw,
}
