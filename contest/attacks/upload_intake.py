"""Processes one upload: each of its pictures gets a receipt or a refusal, in order (R26)."""

import secrets
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User

from common.errors import DomainError
from contest.attacks.letters import notify_upload_ended
from contest.attacks.services import SentBefore, attack_receive, check_entitled, targets_of
from contest.attacks.uploads import UploadedFile
from contest.core import upload_rates
from contest.core.enums import UploadKind
from contest.core.models import Attack, Team
from policy.numbers import Policy


@dataclass(frozen=True, slots=True)
class UploadResult:
    """What came of one picture: its receipt, or why it was refused. `earlier` is the receipt of the same picture."""

    name: str
    attack: Attack | None = None
    refused: DomainError | None = None

    @property
    def earlier(self) -> Attack | None:
        """Return the receipt that the team has for this picture already."""
        return self.refused.attack if isinstance(self.refused, SentBefore) else None


def pictures_send(
    *, team: Team, by: User, parts: Iterable[UploadedFile], targets: Collection[str], policy: Policy, now: datetime
) -> list[UploadResult]:
    """Take what can be taken of an upload whose last byte had arrived at `now`, and write one letter about it.

    Raises what concerns all of them: NotAllowed (`not_entitled`), TooMany (`too_many_refused`), InvalidInput
    (`not_staked`). Once too many were refused, what is left of the upload is not unpacked. What was sent before gets
    its receipt all the same: its answer may have been lost.
    """
    check_entitled(team, now=now)
    targets_of(targets, now=now)
    upload = secrets.token_hex(8)
    outcomes = list(_outcomes(team, by, parts, targets, policy, now, upload))
    if outcomes and (refused := outcomes[0].refused) and refused.code == upload_rates.TOO_MANY_REFUSED:
        raise refused
    notify_upload_ended(upload, by=by)
    return outcomes


def _outcomes(
    team: Team,
    by: User,
    parts: Iterable[UploadedFile],
    targets: Collection[str],
    policy: Policy,
    now: datetime,
    upload: str,
) -> Iterator[UploadResult]:
    counted = upload_rates.UploadCount()
    for part in parts:
        outcome = _outcome(team, by, part, targets, policy, now, upload, counted)
        yield outcome
        if outcome.refused is not None and outcome.refused.code == upload_rates.TOO_MANY_REFUSED:
            return


def _outcome(
    team: Team,
    by: User,
    part: UploadedFile,
    targets: Collection[str],
    policy: Policy,
    now: datetime,
    upload: str,
    counted: upload_rates.UploadCount,
) -> UploadResult:
    try:
        if part.refused is not None:
            with upload_rates.count_refusals(team, UploadKind.ATTACK, counted):
                raise part.refused
        attack = attack_receive(
            team=team,
            data=part.data,
            policy=policy,
            now=now,
            by=by,
            targets=targets,
            upload=upload,
            counted=counted,
            file_name=part.name,
        )
    except DomainError as error:
        return UploadResult(part.name, refused=error)
    return UploadResult(part.name, attack=attack)
