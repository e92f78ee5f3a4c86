"""Notifies organizers of failed releases, stuck panels and undeliverable letters."""

from datetime import datetime, timedelta

from django.urls import reverse

from accounts.roles import ORGANIZERS
from common.times import to_the_second
from contest.core.enums import BuildState, MessageKind
from contest.core.stuck_panels import StuckGroup, read_stuck_groups
from contest.outbox.models import Digest, Message
from contest.outbox.posting import AGAIN_AFTER, UNDER_WAY, given_up_letters, lost_letters
from contest.outbox.writing import notify
from contest.releases.models import ReleaseBuild, ReleaseLetter
from policy.selectors import policy_at

_DAY = timedelta(days=1)
# Panels that wait for less are not reported: most often a tasker is about to come back.
_SOON_MENDED = timedelta(hours=1)


def notify_failed_releases(*, now: datetime) -> int:
    """Tell of the builds that failed, of each week once a day; return how many are told."""
    failed = ReleaseBuild.objects.filter(state=BuildState.FAILED, ended_at__gte=now - _DAY)
    return sum(_notify_failed(build, now) for build in failed.order_by("pk"))


def _notify_failed(build: ReleaseBuild, now: datetime) -> int:
    assert build.ended_at is not None, "what failed is over"
    zone = policy_at(now).time_zone
    return notify(
        ORGANIZERS,
        MessageKind.RELEASE_FAILED,
        about=reverse("organizer-releases"),
        now=now,
        key=f"{build.week} {build.ended_at:%Y-%m-%d}",
        week=build.week,
        at=to_the_second(build.ended_at, zone),
        error=build.error,
    )


def notify_stuck_panels(*, now: datetime) -> int:
    """Tell of the panels that nobody left may finish, of each panel and cause once, each cause at most once a day;
    return how many are told."""
    return sum(_notify_stuck(group, now) for group in read_stuck_groups(now=now))


def _notify_stuck(group: StuckGroup, now: datetime) -> int:
    late = [each for each in group.panels if each.panel.waiting_since <= now - _SOON_MENDED]
    told = Message.objects.filter(kind=MessageKind.PANELS_STUCK, key__startswith=f"{group.cause} ")
    covered = {panel for facts in told.values_list("facts", flat=True) for panel in facts["covered"]}
    if all(each.panel.pk in covered for each in late):
        return 0
    rows = [
        {"picture": each.panel.image.public_id, "places": each.places, "people": each.people} for each in group.named
    ]
    return notify(
        ORGANIZERS,
        MessageKind.PANELS_STUCK,
        about=f"{reverse('overview')}#stuck",
        now=now,
        key=f"{group.cause} {now:%Y-%m-%d}",
        count=group.count_words,
        why=group.why,
        advice=group.advice,
        rows=rows,
        more=group.others,
        covered=[each.panel.pk for each in group.panels],
    )


def notify_given_up(*, now: datetime) -> int:
    """Tell once a day of letters that were given up or lost under way in the last one; return how many are told.

    Its own letters are not counted: where no mail leaves at all, they are given up too.
    """
    own = Message.objects.exclude(kind=MessageKind.LETTERS_GIVEN_UP)
    kinds = (own, Digest.objects.all(), ReleaseLetter.objects.all())
    rows = [given_up_letters(of).filter(not_before__gte=now - _DAY + AGAIN_AFTER) for of in kinds]
    rows += [lost_letters(of, now=now).filter(taken_at__gte=now - _DAY - UNDER_WAY) for of in kinds]
    if not (count := sum(each.count() for each in rows)):
        return 0
    errors = [error for each in rows for error in each.order_by("-pk").values_list("error", flat=True)[:1]]
    return notify(
        ORGANIZERS,
        MessageKind.LETTERS_GIVEN_UP,
        about=reverse("message-outbox"),
        now=now,
        key=f"{now:%Y-%m-%d}",
        count=count,
        error=errors[0],
    )
