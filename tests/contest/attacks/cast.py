"""Teams that may attack, their pictures, and the policy that goes with them."""

import io
import zipfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile

from contest.attacks.services import attack_receive
from contest.core.enums import EntitlementKind, EntitlementState, StakeKind
from contest.core.models import Attack, BoardDecision, Release, Stake, StakeBatch, Team
from contest.teams.models import Entitlement
from contest.teams.services import team_create
from labeling.selectors import forget_versions
from picture_files.png import encode_png
from policy.models import PolicyVersion
from policy.numbers import Policy
from scoring.models import Defense
from tests import factories
from tests.contest.pages import one_line

SIDE = 32
POLICY = Policy(image_size=SIDE)
LONG_AGO = datetime(2026, 1, 2, tzinfo=UTC)
# The last moment of week 2026-W47 and the first of the next one, in UTC.
BOUNDARY = datetime(2026, 11, 21, tzinfo=UTC)


def policy(**numbers: Any) -> Policy:
    """Record the one policy in force: small pictures, and what is given."""
    found = Policy(image_size=SIDE, **numbers)
    factories.policy_version()
    PolicyVersion.objects.update(numbers=found.to_json())
    forget_versions()
    return found


def next_policy(since: datetime, **numbers: Any) -> Policy:
    """Record another policy that is in force from `since` on."""
    found, version = Policy(image_size=SIDE, **numbers), PolicyVersion.objects.count() + 1
    PolicyVersion.objects.create(version=version, numbers=found.to_json(), in_force_from=since, reason="tests")
    forget_versions()
    return found


def picture(shade: int = 7, side: int = SIDE) -> bytes:
    """A picture of one colour, as a file."""
    return encode_png(side, side, bytes([shade]) * (side * side * 3))


def team(name: str, *, entitled: bool = True, email: str = "") -> Team:
    """A team with a captain of its name, whom the board lets attack."""
    captain = factories.user(name)
    User.objects.filter(pk=captain.pk).update(email=email)
    made = team_create(name=f"team {name}", captain=captain, now=LONG_AGO)
    if entitled:
        entitle(made)
    return made


def captain(of: Team) -> User:
    return User.objects.get(membership__team=of, membership__captain=True)


def entitle(of: Team) -> Entitlement:
    """Let a team attack, by a grant."""
    decision = BoardDecision.objects.create(
        kind="grant", subject={}, details={}, reason="tests", policy=factories.policy_version(), decided_at=LONG_AGO
    )
    return Entitlement.objects.create(
        team=of,
        kind=EntitlementKind.GRANT,
        state=EntitlementState.ACCEPTED,
        asked_at=LONG_AGO,
        decided_at=LONG_AGO,
        decision=decision,
    )


def send(of: Team, shade: int = 7, *, now: datetime, targets: Sequence[str] = (), numbers: Policy = POLICY) -> Attack:
    """A picture of one colour, sent by a team's captain."""
    return attack_receive(
        team=of,
        data=picture(shade),
        policy=numbers,
        now=now,
        by=captain(of),
        targets=targets,
        file_name=f"shade-{shade}.png",
    )


def send_many(of: Team, many: int, *, now: datetime, numbers: Policy = POLICY) -> None:
    """So many pictures of a team, from the darkest on."""
    for shade in range(many):
        send(of, shade, now=now, numbers=numbers)


def defense(name: str = "A net") -> Defense:
    return Defense.objects.create(name=name, digest=name, created_at=LONG_AGO, published_at=LONG_AGO)


def staked(name: str = "A net", *, since: datetime = LONG_AGO + timedelta(days=270)) -> Defense:
    """A published defense that is at stake by the board."""
    made = defense(name)
    decision = BoardDecision.objects.create(
        kind="stake", subject={}, details={}, reason="tests", policy=factories.policy_version(), decided_at=since
    )
    batch = StakeBatch.objects.create(criteria="tests", decision=decision, staked_at=since)
    Stake.objects.create(
        defense=made,
        kind=StakeKind.BOARD,
        batch=batch,
        cents=100_000,
        asked_at=since,
        staked_at=since,
        clock_from=since,
    )
    return made


def release(week: str = "2026-W47") -> Release:
    released_at = BOUNDARY + timedelta(days=2)
    return Release.objects.create(week=week, manifest_sha256="a", counts={}, bytes=1, released_at=released_at)


def upload(data: bytes, name: str = "a.png") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, data, content_type="image/png")


def zipped(*entries: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of these files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return packed.getvalue()


def stored(within: str = "") -> list[Path]:
    folder = Path(settings.IMAGE_STORE_URL.removeprefix("file://"))
    return [path for path in (folder / within).rglob("*") if path.is_file()]


def main_of(answer: Any) -> str:
    """What stands between the header and the footer of a page."""
    page = one_line(answer.content.decode())
    return page.partition("<main")[2].partition("</main>")[0]
