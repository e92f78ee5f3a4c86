"""Letters (e-mails) and messages to researchers about accounts and teams, in English."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.mail import EmailMessage
from django.urls import reverse

from accounts.roles import ORGANIZERS
from common.mail import render_letter
from common.times import to_the_second
from contest.core.enums import MessageKind
from contest.core.models import Team
from contest.core.teams import final_team
from contest.outbox.writing import notify
from contest.teams.models import Association, AssociationMistake, EntitlementStep, TeamInvitation
from contest.teams.selectors import is_entitled
from policy.selectors import policy_in_force

LANGUAGE = "en"


def link_to(name: str, *arguments: Any) -> str:
    """Return the whole address of the page of this name."""
    return settings.PUBLIC_URL + reverse(name, args=arguments)


def register_letter(address: str, token: str, days: int) -> EmailMessage:
    """Return the letter with the link that makes a researcher's account."""
    return render_letter(
        "researcher_register", to=address, language=LANGUAGE, link=link_to("register-confirm", token), days=days
    )


def known_letter(user: User) -> EmailMessage:
    """Return the letter to an address that has an account already."""
    return render_letter(
        "researcher_known",
        to=user.email,
        language=LANGUAGE,
        username=user.get_username(),
        sign_in=link_to("sign-in"),
        reset=link_to("password-reset"),
    )


def team_invitation_letter(invitation: TeamInvitation, secret: str) -> EmailMessage:
    """Return the letter with the link that accepts `invitation`."""
    return render_letter(
        "team_invitation",
        to=invitation.email,
        language=LANGUAGE,
        team=invitation.team,
        link=link_to("team-join", secret),
        until=invitation.ends_at,
    )


def notify_team(team: Team, what: str, *, now: datetime, **context: Any) -> None:
    """Tell everybody who is a member at this moment that something about the team changed.

    `what`: `joined`, `left`, `removed`, `captain` (with `who`), `merged` (with `into` and `reason`). If the
    team loses its entitlement with a member who leaves: `not_entitled`. Recipients are the members of this moment, so
    somebody who is about to leave gets the message too.
    """
    members = User.objects.filter(membership__team=team)
    notify(
        members, MessageKind.TEAM_NEWS, about=reverse("team"), now=now, team=_team_context(team), what=what, **context
    )


def notify_merged(gone: Team, stays: Team, *, reason: str, now: datetime) -> None:
    """Tell both teams that one of them is part of the other from now on."""
    notify_team(gone, "merged", now=now, into=_team_context(stays), reason=reason)
    notify_team(stays, "merged", now=now, into=_team_context(stays), gone=_team_context(gone), reason=reason)


def notify_association(association: Association, *, now: datetime, mistake: AssociationMistake | None = None) -> None:
    """Tell every member that the team is associated with the contest, or until when (R27), or that it was an error."""
    zone = policy_in_force(now).policy.time_zone
    notify(
        association.team,
        MessageKind.ASSOCIATION,
        about=reverse("team"),
        now=now,
        since=to_the_second(association.since, zone),
        until=to_the_second(association.until, zone) if association.until else "",
        reason=mistake.reason if mistake else association.reason,
        mistake=mistake is not None,
    )


def notify_step(step: EntitlementStep) -> None:
    """Tell the team of a step of its request; organizers of one that waits for them."""
    team, now, entitlement = final_team(step.entitlement.team), step.made_at, step.entitlement
    facts: dict[str, Any] = {
        "step": {"kind": step.kind, "words": step.words},
        "entitlement": {
            "kind": entitlement.kind,
            "arxiv_id": entitlement.arxiv_id,
            "team": _team_context(entitlement.team),
        },
    }
    notify(
        team,
        MessageKind.ENTITLEMENT,
        about=reverse("team"),
        now=now,
        still_entitled=is_entitled(team, now),
        attacks=link_to("attacks"),
        **facts,
    )
    if step.by_team:
        about = reverse("organizer-entitlement", args=[entitlement.pk])
        notify(ORGANIZERS, MessageKind.REQUEST, about=about, now=now, **facts)


def _team_context(team: Team) -> dict[str, str]:
    return {"name": team.name}
