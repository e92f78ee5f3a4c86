"""Reminds teams of appeals that close within a day, and of organizers' unanswered questions (R18, R25)."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.urls import reverse

from adjudication.enums import Verdict
from adjudication.models import Ruling
from contest.appeals.grounds import AppealGround, appealable
from contest.core.enums import AppealSide, EntitlementState, EntitlementStepKind, MessageKind
from contest.core.models import Attack, Team
from contest.core.teams import final_team
from contest.notifications.verdicts import defending_teams, grounds_not_notified, in_contest_time
from contest.outbox.grouped_facts import MAX_FACT_AGE, MAX_NAMED, notify_facts, receipts_of, senders_may_know
from contest.outbox.writing import notify
from contest.teams.letters import link_to
from contest.teams.models import Entitlement

# Teams that can appeal get the reminder this long before the end, with what closes a little later.
BEFORE, ALONG = timedelta(hours=24), timedelta(hours=30)
# Teams are reminded of an unanswered question once, after this long.
UNANSWERED = timedelta(days=3)

# Appeals -------------------------------------------------------------------------------------------------------------


def notify_appeals_closing(*, now: datetime) -> int:
    """Tell teams a day before the end of their time to appeal rulings; return how many messages."""
    teams = {each.pk: each for each in [*defending_teams(), *_senders(now)]}
    return sum(_notify_closing(team, now) for team in teams.values())


def _senders(now: datetime) -> Iterator[Team]:
    """Yield the teams with a picture that was rejected lately."""
    rejected = Ruling.objects.filter(verdict=Verdict.REJECTED, decided_at__gte=now - MAX_FACT_AGE)
    sent = Attack.objects.filter(senders_may_know(now=now), image__in=rejected.values("image"))
    for team in Team.objects.filter(attacks__in=sent).distinct().order_by("pk"):
        yield final_team(team)


def _notify_closing(team: Team, now: datetime) -> int:
    soon = [each for each in appealable(team, now) if each.until <= now + ALONG]
    fresh = grounds_not_notified(MessageKind.APPEALS_CLOSING, team, soon)
    if not fresh or fresh[0].until > now + BEFORE:
        return 0
    receipts = receipts_of((each.ruling.image_id for each in fresh[:MAX_NAMED]), now=now)
    return notify_facts(
        team,
        MessageKind.APPEALS_CLOSING,
        [(team.pk, each.ruling.pk) for each in fresh],
        about=reverse("appeals"),
        now=now,
        rows=[_row(each, receipts.get(each.ruling.image_id)) for each in fresh[:MAX_NAMED]],
        more=max(len(fresh) - MAX_NAMED, 0),
        first=in_contest_time(fresh[0].until),
    )


def _row(ground: AppealGround, attack: Attack | None) -> dict[str, object]:
    sent, image = ground.side is AppealSide.ATTACKER, ground.ruling.image.public_id
    return {
        "sent": sent,
        "picture": image,
        "receipt": attack.public_id if sent and attack else "",
        "label": ground.ruling.label,
        "until": in_contest_time(ground.until),
        "link": link_to("appeal-new", image),
    }


# Questions -----------------------------------------------------------------------------------------------------------


def notify_questions(*, now: datetime) -> int:
    """Remind teams of organizers' questions unanswered for UNANSWERED; return how many people get a message."""
    waiting = Entitlement.objects.filter(state=EntitlementState.QUESTION).select_related("team")
    return sum(_notify_question(each, now) for each in waiting.order_by("pk"))


def _notify_question(asked: Entitlement, now: datetime) -> int:
    step = asked.steps.filter(kind=EntitlementStepKind.QUESTION).order_by("-pk").first()
    if step is None or step.made_at > now - UNANSWERED:
        return 0
    return notify(
        asked.team,
        MessageKind.QUESTION_WAITING,
        about=reverse("team"),
        now=now,
        key=f"step {step.pk}",
        paper=asked.arxiv_id,
        asked_at=in_contest_time(step.made_at),
        question=step.words,
    )
