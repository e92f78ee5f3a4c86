"""Access rules for pictures and their rulings (R24): the sending team and organizers at once, others once public."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from adjudication.models import Ruling
from adjudication.selectors import rulings_with_panels
from common.errors import NotFound
from common.ids import ALPHABET
from contest.core.embargo import public_attack_condition, public_image_condition
from contest.core.enums import RELEASED_ORIGINS
from contest.core.models import Attack
from contest.core.publication import is_released, released_weeks
from contest.core.roles import roles_of
from contest.core.weeks import week_at
from labeling.enums import Origin
from labeling.models import Image

_ID = re.compile(rf"P-[{ALPHABET}]{{8}}")


@dataclass(frozen=True, slots=True)
class Reader:
    """The person who reads: the teams whose attacks are their own, and whether they are an organizer."""

    teams: tuple[int, ...] = ()
    organizer: bool = False

    @classmethod
    def of(cls, user: Any) -> "Reader":
        """Return the reader that `user` is."""
        roles = roles_of(user)
        return cls(tuple(each.pk for each in roles.family), roles.organizer)


@dataclass(frozen=True, slots=True)
class KnownImage:
    """A picture as far as a reader may know it. `received_at` is when it first came, as far as the reader may know.

    For its sender it is `public` once the week of the attack has ended, and `released` with the release of that week,
    even if it is also a picture of the contest that is never published: only organizers may know that (R5, R6).
    """

    image: Image
    origin: str
    received_at: datetime
    public: bool
    in_record: bool
    released: bool
    attacks: tuple[Attack, ...]
    rulings: tuple[Ruling, ...]

    @property
    def ruling(self) -> Ruling | None:
        """Return the newest ruling that the reader may know, which is in force for them (R16); None without one."""
        return self.rulings[-1] if self.rulings else None

    @property
    def week(self) -> str:
        """Return the name of the week the picture was received in."""
        return week_at(self.received_at).name


def is_picture_id(text: str) -> bool:
    """Say whether `text` could be the ID of a picture."""
    return _ID.fullmatch(text) is not None


def seen_by(reader: Reader, *, now: datetime) -> Q:
    """Condition for pictures whose page the reader may open: public ones and their team's; for organizers all."""
    own = Attack.objects.filter(team__in=reader.teams).values("image")
    return Q() if reader.organizer else public_image_condition(now=now) | Q(pk__in=own)


def is_seen_by(image: Image, reader: Reader, *, now: datetime) -> bool:
    """Say whether the reader may open the page of a picture (R24)."""
    return Image.objects.filter(seen_by(reader, now=now), pk=image.pk).exists()


def picture_seen_by(public_id: str, reader: Reader, *, now: datetime) -> Image:
    """Return the picture; NotFound with the same message for one under embargo and for one that does not exist."""
    image, _ = _seen_with_attacks(public_id, reader, now)
    return image


def _seen_with_attacks(public_id: str, reader: Reader, now: datetime) -> tuple[Image, tuple[Attack, ...]]:
    """Return the picture, and the attacks by it that the reader may know of, in the order of receipt."""
    # No picture has an ID of another form, and it may hold characters that the database refuses in a query.
    attacks = tuple(_attacks(public_id, reader, now)) if is_picture_id(public_id) else ()
    if attacks:
        return attacks[0].image, attacks
    # Without an attack that the reader may know of, it is public only once it is in the record.
    image = Image.objects.filter(public_id=public_id).first() if is_picture_id(public_id) else None
    if image is None or not (reader.organizer or is_released(image)):
        raise NotFound("There is no public picture with this ID.", "not_found")
    return image, ()


def picture_known_to(reader: Reader, public_id: str, *, now: datetime) -> KnownImage:
    """Return what the reader may know of the picture with this ID; NotFound as `picture_seen_by`.

    Where it came from, and when it first did, is told with the release of its week: until then it is what was sent.
    """
    image, attacks = _seen_with_attacks(public_id, reader, now)
    in_record = is_released(image)
    unrestricted = in_record or reader.organizer or not attacks
    ended = tuple(_of_ended_weeks(attacks, now))
    sent = () if reader.organizer else ended[:1]
    all_rulings = _knows_all_rulings(image, reader)
    known_rulings = rulings_with_panels(image) if all_rulings else rulings_seen_by(image, reader, now=now)
    return KnownImage(
        image=image,
        origin=image.origin if unrestricted else Origin.ATTACK.value,
        received_at=image.received_at if unrestricted else attacks[0].received_at,
        public=in_record or bool(sent) or bool(ended) and image.origin in RELEASED_ORIGINS,
        in_record=in_record,
        released=in_record or any(each.week in released_weeks().releases for each in sent),
        attacks=attacks,
        rulings=tuple(known_rulings),
    )


def _of_ended_weeks(attacks: Iterable[Attack], now: datetime) -> Iterator[Attack]:
    """Yield the attacks whose week has ended and that were not withdrawn."""
    began = week_at(now).start
    return (each for each in attacks if each.withdrawn_at is None and each.received_at < began)


def _attacks(public_id: str, reader: Reader, now: datetime) -> QuerySet[Attack]:
    seen = Q() if reader.organizer else public_attack_condition(now=now) | Q(team__in=reader.teams)
    rows = Attack.objects.filter(seen, image__public_id=public_id)
    return rows.select_related("image", "team").order_by("received_at", "pk")


def _knows_all_rulings(image: Image, reader: Reader) -> bool:
    return reader.organizer or is_released(image)


def rulings_seen_by(image: Image, reader: Reader, *, now: datetime) -> QuerySet[Ruling]:
    """Return the rulings on a picture that the reader may know of, in their order; the last one holds (R16).

    They are public with the release of the picture's week; its sender knows each when it is made, after that week.
    """
    rows = Ruling.objects.filter(image=image).select_related("panel", "policy").order_by("number")
    if _knows_all_rulings(image, reader):
        return rows
    # Teams that sent a copy know them no earlier than everybody else.
    own = Attack.objects.filter(public_attack_condition(now=now), team__in=reader.teams, copy_of=None)
    return rows.filter(image__in=own.values("image"))
