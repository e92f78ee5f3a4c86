"""Services that receive attacks, bit-exact and within the quota, and withdraw them in their week (R2, R23-R26)."""

import secrets
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from hashlib import sha256

from django.contrib.auth.models import User
from django.db import transaction

from adjudication.schema import release_format as form
from common.errors import Conflict, DomainError, InvalidInput, NotAllowed
from contest.attacks import quota
from contest.attacks.letters import notify_upload_ended, write_receipt
from contest.attacks.selectors import waiting_for_board
from contest.attacks.uploads import UploadedFile
from contest.core import upload_rates
from contest.core.enums import RELEASED_ORIGINS, UploadKind
from contest.core.models import Attack, AttackTarget, Team
from contest.core.teams import final_team, teams_counted_together
from contest.core.weeks import week_at, week_called
from contest.defenses.selectors import staked
from contest.teams.selectors import is_entitled
from labeling.enums import KnownUse, Origin
from labeling.models import Image, KnownPicture
from labeling.pictures.intake import image_add
from picture_files.decoding import CanonicalPicture, read_attack
from picture_files.store_transactions import storing_files
from policy.numbers import Policy
from policy.selectors import policy_in_force
from scoring.models import Defense

MAX_NAME_CHARACTERS = 200


class SentBefore(Conflict):
    """The team has sent exactly these pixels before (R26); `attack` is that receipt."""

    def __init__(self, attack: Attack) -> None:
        words = f"Your team has sent exactly this picture before: receipt {attack.public_id}."
        if attack.withdrawn_at is not None:
            words += " It was withdrawn, and a withdrawn picture cannot be sent again."
        super().__init__(words, "sent_before", field="image")
        self.attack = attack


def attack_receive(
    *,
    team: Team,
    data: bytes,
    policy: Policy,
    now: datetime,
    by: User | None = None,
    targets: Collection[str] = (),
    upload: str = "",
    counted: upload_rates.UploadCount | None = None,
    file_name: str = "",
) -> Attack:
    """Record a picture whose last byte had arrived at `now`; its panel is dealt when that week has ended (R23, R24).

    `targets` are public IDs of defenses that are staked now; none means all of them. A refused picture costs no quota;
    it counts among the refusals of the hour, unless the same file was sent before; `counted` is shared by the pictures
    of one upload. Nothing is decoded for a team without quota or with too many refusals, and nothing is stored before
    the quota is taken. The receipt to `by` is stored in the same transaction: so every attack has one (R26).

    Raises NotAllowed (`not_entitled`), TooMany (`quota_used`, `too_many_refused`), ServerBusy, PictureRefused with what
    to change, SentBefore (R26), InvalidInput (`not_staked`, `an_example`).
    """
    team = final_team(team)
    check_entitled(team, now=now)
    aimed = targets_of(targets, now=now)
    # A team without quota also gets the receipt of a picture sent before: its first response may have been lost.
    _refuse_sent_before(team, original_sha256=sha256(data).hexdigest())
    quota.check_quota(team, policy=policy, now=now)
    with upload_rates.count_refusals(team, UploadKind.ATTACK, counted):
        picture = read_attack(data, size=policy.image_size)
    with upload_rates.count_refusals(team, UploadKind.ATTACK):
        _refuse_sent_before(team, image__pixels_sha256=picture.pixels_sha256)
        _refuse_example(picture)
    with storing_files():  # before the rows are locked, as in all code that stores files
        whole = quota.lock_team_quota(team)
        _refuse_sent_before(team, image__pixels_sha256=picture.pixels_sha256)
        of_quota = quota.take_quota(whole, policy=policy, now=now)
        image = _image_held(picture, team, now)
        _refuse_example(picture)
        attack = Attack.objects.create(
            team=team,
            image=image,
            received_at=now,
            week=week_at(now).name,
            policy_id=policy_in_force(now).id,
            of_quota=of_quota,
            upload=upload,
            file_name=one_line(file_name),
            original_sha256=picture.original_sha256,
            original_format=picture.original_format,
            warnings=list(picture.warnings),
            sent_by=by,
        )
        AttackTarget.objects.bulk_create(AttackTarget(attack=attack, defense=each) for each in aimed)
        _assign_credit(image)
        attack.refresh_from_db()
        if by is not None:
            write_receipt(attack, by=by, policy=policy, now=now)
    return attack


@transaction.atomic
def attack_withdraw(*, attack: Attack, by: User, now: datetime) -> Attack:
    """Withdraw an attack while its week lasts: it is never labeled nor published, and still counts for the quota.

    Raises Conflict (`withdrawn`, `week_over`).
    """
    image = Image.objects.select_for_update(no_key=True).get(pk=attack.image_id)
    held = Attack.objects.select_for_update(no_key=True).get(pk=attack.pk)
    if held.withdrawn_at is not None:
        raise Conflict("This picture was withdrawn before.", "withdrawn")
    # If its panel was dealt, the week is over by the clock of another machine.
    dealt = image.dealt_at is not None and image.received_at == held.received_at
    if now >= week_called(held.week).end or dealt:
        raise Conflict("The week of this picture is over: it is public, and can no longer be withdrawn.", "week_over")
    held.withdrawn_at, held.withdrawn_by = now, by
    held.save(update_fields=["withdrawn_at", "withdrawn_by"])
    _assign_credit(image)
    return held


def check_entitled(team: Team, *, now: datetime) -> None:
    """Raise NotAllowed (`not_entitled`) for a team that may not attack (R25)."""
    if not is_entitled(team, now):
        raise NotAllowed(
            "Your team may not attack yet. It needs a published arXiv paper of a member, checked by an organizer, or "
            "a grant of the review board: the page of your team says how to ask.",
            "not_entitled",
        )


def targets_of(public_ids: Collection[str], *, now: datetime) -> list[Defense]:
    """Return the defenses with these IDs; InvalidInput (`not_staked`) names those against which a picture sent at `now`
    can win nothing."""
    wanted = {each for each in public_ids if each}
    written = [each for each in wanted if each.isprintable()]
    found = list(staked(now).filter(public_id__in=written).order_by("public_id")) if written else []
    if missing := wanted - {each.public_id for each in found}:
        raise InvalidInput(_not_staked(missing, now), "not_staked", field="defenses")
    return found


def _not_staked(missing: set[str], now: datetime) -> str:
    """Return the error text that names defenses without a prize to win: those that wait for the board, and others."""
    waiting = {each.public_id for each in waiting_for_board(now)}
    words = ""
    if over := sorted(missing & waiting):
        words = f"Time over, and waiting for the board: {_listed(over)}. What is sent now wins nothing of that stake. "
    if others := sorted(missing - waiting):
        words += f"Not at stake now: {_listed(others)}. "
    return words + "Choose among the defenses that are at stake, or none to mean all of them."


def _listed(public_ids: list[str]) -> str:
    return one_line(", ".join(public_ids[:5]))


def one_line(text: str) -> str:
    """Return text that a page and a database can hold: printable, in one line, not too long."""
    return "".join(each for each in text if each.isprintable())[:MAX_NAME_CHARACTERS]


def _image_held(picture: CanonicalPicture, team: Team, now: datetime) -> Image:
    """Return the locked row of the picture, new or known: from here on its attacks are changed one at a time."""
    image, _ = image_add(
        picture,
        origin=Origin.ATTACK,
        source=form.ATTACK_SOURCE,
        source_id=team.public_id,
        licence=form.ATTACK_LICENCE,
        now=now,
        label_from=None,
    )
    return Image.objects.select_for_update(no_key=True).get(pk=image.pk)


def _refuse_sent_before(team: Team, **same: str) -> None:
    before = Attack.objects.filter(team__in=teams_counted_together(team), **same).first()
    if before is not None:
        raise SentBefore(before)


def _refuse_example(picture: CanonicalPicture) -> None:
    """Raise InvalidInput (`an_example`) for a worked example of the tutorial, which everybody can see (R5).

    A picture whose answer is secret is not refused, which would reveal it (R6): it gets a receipt like any other.
    """
    if KnownPicture.objects.filter(image__pixels_sha256=picture.pixels_sha256, use=KnownUse.TUTORIAL).exists():
        words = "This picture is a worked example of the tutorial: its answers are public. Send another one."
        raise InvalidInput(words, "an_example", field="image")


def _assign_credit(image: Image) -> None:
    """Give the credit to the first attack that was not withdrawn, and set when labeling may begin (R24, R26).

    A picture that organizers imported for labeling keeps its own time; one that was not meant to be labeled, or that
    came as an attack, is due when the week of that first attack ends, and never if no attack is left. A picture that is
    never published stays as the organizers left it: it can have no case (contest.core.embargo).
    """
    kept = image.attacks.filter(withdrawn_at__isnull=True).select_related("team")
    standing = list(kept.order_by("received_at", "pk"))
    first = standing[0] if standing else None
    for attack in standing:
        copied = first if attack != first else None
        if attack.copy_of != copied:
            attack.copy_of = copied
            attack.save(update_fields=["copy_of"])
    if image.origin not in RELEASED_ORIGINS:
        return
    if image.label_from is not None and not image.attacks.filter(received_at=image.received_at).exists():
        return
    if first is not None:
        image.received_at = first.received_at
        _name_source(image, first)
    image.label_from = week_called(first.week).end if first else None
    image.save(update_fields=["received_at", "label_from", "source_id", "original_sha256", "original_format"])


def _name_source(image: Image, first: Attack) -> None:
    """Set the source of a picture to the attack with the credit: it must not name a team that withdrew it (R24)."""
    if image.origin != Origin.ATTACK:
        return
    image.source_id = first.team.public_id
    # A database rebuilt from releases has only the file of the picture.
    if first.original_sha256:
        image.original_sha256, image.original_format = first.original_sha256, first.original_format


# An upload of several pictures ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UploadResult:
    """The result for one picture: its receipt, or why it was refused. `earlier`: a former receipt of it."""

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
    """Receive the acceptable pictures of an upload whose last byte arrived at `now`, and write one message about it.

    Raises what concerns all of them: NotAllowed (`not_entitled`), TooMany (`too_many_refused`), InvalidInput
    (`not_staked`). Once too many were refused, the rest of the upload is not unpacked. A picture sent before gets its
    receipt nevertheless: the first response may have been lost.
    """
    check_entitled(team, now=now)
    targets_of(targets, now=now)
    upload = secrets.token_hex(8)
    counted = upload_rates.UploadCount()
    receive = partial(
        attack_receive, team=team, policy=policy, now=now, by=by, targets=targets, upload=upload, counted=counted
    )
    outcomes = list(_outcomes(parts, receive, team, counted))
    if outcomes and (refused := outcomes[0].refused) and refused.code == upload_rates.TOO_MANY_REFUSED:
        raise refused
    notify_upload_ended(upload, by=by)
    return outcomes


def _outcomes(
    parts: Iterable[UploadedFile], receive: Callable[..., Attack], team: Team, counted: upload_rates.UploadCount
) -> Iterator[UploadResult]:
    for part in parts:
        outcome = _outcome(part, receive, team, counted)
        yield outcome
        if outcome.refused is not None and outcome.refused.code == upload_rates.TOO_MANY_REFUSED:
            return


def _outcome(
    part: UploadedFile, receive: Callable[..., Attack], team: Team, counted: upload_rates.UploadCount
) -> UploadResult:
    try:
        if part.refused is not None:
            with upload_rates.count_refusals(team, UploadKind.ATTACK, counted):
                raise part.refused
        return UploadResult(part.name, attack=receive(data=part.data, file_name=part.name))
    except DomainError as error:
        return UploadResult(part.name, refused=error)
