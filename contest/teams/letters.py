"""What is written to researchers by e-mail. Team pages and letters are in English."""

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.mail import EmailMessage
from django.urls import reverse

from common.mail import letter, send_behind
from contest.models import Association, AssociationMistake, EntitlementStep, Team, TeamInvitation
from contest.teams.selectors import final_team, is_entitled
from labeling.people import ORGANIZERS

LANGUAGE = "en"


def link_to(name: str, *arguments: Any) -> str:
    """Return the whole address of the page of this name."""
    return settings.PUBLIC_URL + reverse(name, args=arguments)


def register_letter(address: str, token: str, days: int) -> EmailMessage:
    """Return the letter with the link that makes a researcher's account."""
    link = link_to("register-confirm", token)
    return letter("researcher_register", to=address, language=LANGUAGE, link=link, days=days)


def known_letter(user: User) -> EmailMessage:
    """Return the letter to an address that has an account already."""
    context = {"username": user.get_username(), "sign_in": link_to("sign-in"), "reset": link_to("password-reset")}
    return letter("researcher_known", to=user.email, language=LANGUAGE, **context)


def team_invitation_letter(invitation: TeamInvitation, secret: str) -> EmailMessage:
    """Return the letter with the link that accepts `invitation`."""
    context = {"team": invitation.team, "link": link_to("team-join", secret), "until": invitation.ends_at}
    return letter("team_invitation", to=invitation.email, language=LANGUAGE, **context)


def team_tell(team: Team, what: str, **context: Any) -> None:
    """Tell every member that something about the team changed.

    `what`: `joined`, `left`, `removed`, `captain` (with `who`), `merged` (with `into` and `reason`). Who leaves
    may take the entitlement along: `not_entitled`.
    """
    _to_members(team, "team_news", what=what, **context)


def association_tell(association: Association, zone: str, mistake: AssociationMistake | None = None) -> None:
    """Tell every member that the team is associated with the contest, or until when (R27), or that it was an error."""
    _to_members(association.team, "team_association", association=association, mistake=mistake, zone=zone)


def step_tell(step: EntitlementStep) -> None:
    """Tell the team of a step of its request; organizers of one that waits for them."""
    team = final_team(step.entitlement.team)
    context = {"step": step, "entitlement": step.entitlement, "by_team": step.by_team}
    told = {"still_entitled": is_entitled(team, step.made_at), "attacks": link_to("attacks")}
    _to_members(team, "team_entitlement", **told, **context)
    if step.by_team:
        organizers = User.objects.filter(groups__name=ORGANIZERS, is_active=True).exclude(email="")
        page = link_to("organizer-entitlement", step.entitlement_id)
        for each in organizers:
            send_behind(letter("organizer_entitlement", to=each.email, language=LANGUAGE, page=page, **context))


def _to_members(team: Team, template: str, **context: Any) -> None:
    page = link_to("team")
    for each in User.objects.filter(membership__team=team).exclude(email=""):
        send_behind(letter(template, to=each.email, language=LANGUAGE, team=team, page=page, **context))
