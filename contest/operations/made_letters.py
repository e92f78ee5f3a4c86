"""Letters (e-mails) for organizers' pages: all where no mail server is set, else those that failed or got lost."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from email import message_from_bytes, policy
from email.message import EmailMessage as Parsed
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.db.models import CharField, F, QuerySet, Value

from common.errors import NotFound
from contest.core.enums import MessageKind, MessageRate
from contest.outbox.kinds import KINDS
from contest.outbox.letters import digest_mail_of, mail_of
from contest.outbox.models import Digest, Message, Posted
from contest.outbox.posting import MAX_TRIES, NOBODY, UNDER_WAY, failing_letters, lost_letters, post_again
from contest.releases.models import ReleaseLetter

_SMTP = "common.mail.EmailBackend"
_BETWEEN = b"-" * 79
# A letter's name: its kind and its number.
_TABLES: dict[str, QuerySet[Any]] = {
    "message": Message.objects.select_related("user", "team", "digest"),
    "digest": Digest.objects.select_related("user"),
    "release": ReleaseLetter.objects.select_related("subscriber", "announcement__release"),
}
_MADE = {"message": "made_at", "digest": "made_at", "release": "announcement__announced_at"}


def shows_all_letters() -> bool:
    """Say whether organizers are shown every letter, with its text: in the demo, and where no mail server is set."""
    return settings.DEMO or settings.EMAIL_BACKEND != _SMTP


@dataclass(frozen=True)
class LetterRow:
    """A letter as the page lists it; `look` is a state of the site, `why` what went wrong."""

    name: str
    row: Any
    made_at: datetime
    look: str
    state: str
    why: str
    again: bool

    @property
    def to(self) -> str:
        """Return the address it goes to."""
        return str(self.row.subscriber.email if isinstance(self.row, ReleaseLetter) else self.row.user.email)

    @property
    def what(self) -> str:
        """Return its kind in words."""
        if isinstance(self.row, Message):
            return KINDS[MessageKind(self.row.kind)].words
        return "The letter of a day" if isinstance(self.row, Digest) else f"Announcement of {self.release}"

    @property
    def release(self) -> str:
        """Return the release that a letter announces."""
        return str(self.row.announcement.release.name)

    def mail(self) -> EmailMultiAlternatives | None:
        """Return the letter itself; None for an announcement, and without a recipient."""
        if isinstance(self.row, ReleaseLetter):
            return None
        return mail_of(self.row) if isinstance(self.row, Message) else digest_mail_of(self.row)


def letter_rows(*, now: datetime) -> QuerySet[Any]:
    """Return name, number and time of the letters to list, newest first, as dictionaries."""
    parts = [_listed(name, rows, now) for name, rows in _TABLES.items()]
    found: QuerySet[Any] = parts[0].union(*parts[1:], all=True).order_by("-made", "-number")
    return found


def _listed(name: str, rows: QuerySet[Any], now: datetime) -> QuerySet[Any]:
    wanted = rows if shows_all_letters() else failing_letters(rows) | lost_letters(rows, now=now)
    named = wanted.annotate(name=Value(name, CharField()), number=F("pk"), made=F(_MADE[name]))
    listed: QuerySet[Any] = named.order_by().values("name", "number", "made")
    return listed


def read_letter(listed: Iterable[dict[str, Any]], *, now: datetime) -> list[LetterRow]:
    """Return the letters of a page, in its order."""
    wanted = list(listed)
    found: dict[str, dict[int, Any]] = {}
    for name, rows in _TABLES.items():
        found[name] = rows.in_bulk([each["number"] for each in wanted if each["name"] == name])
    return [_letter(each["name"], found[each["name"]][each["number"]], each["made"], now) for each in wanted]


def letter_by_name(name: str, *, now: datetime) -> LetterRow:
    """Return the letter of this name; NotFound for every other."""
    table, _, number = name.partition("-")
    if table in _TABLES and number.isascii() and number.isdecimal() and len(number) <= 18:
        made = _TABLES[table].filter(pk=int(number)).annotate(made=F(_MADE[table])).first()
        if made is not None:
            return _letter(table, made, made.made, now)
    raise NotFound("There is no such letter.", "not_found")


def _letter(table: str, row: Any, made: datetime, now: datetime) -> LetterRow:
    look, state, again = _state(row, now)
    return LetterRow(f"{table}-{row.pk}", row, made, look, state, row.error, again)


def _state(row: Posted, now: datetime) -> tuple[str, str, bool]:
    """Return the look and the words of a letter's state, and whether it may be tried again by hand."""
    if row.sent_at is not None:
        return "valid", "sent", False
    if row.taken_at is not None:
        return _state_in_words(row, now)
    if row.tries >= MAX_TRIES:
        return "rejected", "given up", True
    if row.tries:
        return "rejected", f"failed {row.tries} of {MAX_TRIES} times", True
    return "open", _waiting(row), False


def _state_in_words(row: Posted, now: datetime) -> tuple[str, str, bool]:
    assert row.taken_at is not None, "asked of what a sweep took"
    if row.error == NOBODY:
        return "open", "not sent", False
    if row.taken_at > now - UNDER_WAY:
        return "open", "under way", False
    return "rejected", "lost under way: it may have arrived", True


def _waiting(row: Posted) -> str:
    if not isinstance(row, Message) or row.rate == MessageRate.AT_ONCE:
        return "waits to be sent"
    if row.rate == MessageRate.APP:
        return "shown in the application only"
    return f"in the letter of {row.digest.day}" if row.digest else "waits for the letter of the day"


def send_again(letter: LetterRow) -> int:
    """Make an unsent letter due at once; return how many rows changed."""
    return post_again(type(letter.row).objects.filter(pk=letter.row.pk)) if letter.again else 0


def retry_given_up() -> int:
    """Make every failed letter due at once; return how many."""
    return sum(post_again(failing_letters(rows.model.objects.all())) for rows in _TABLES.values())


# In the demo --------------------------------------------------------------------------------------------------------


def filed_letters(limit: int) -> list[dict[str, str]]:
    """Return the newest letters in the demo's folder that have no row, such as invitations and links to new passwords;
    empty outside the demo."""
    folder = Path(settings.EMAIL_FILE_PATH) if settings.DEMO and settings.EMAIL_FILE_PATH else None
    if folder is None or not folder.is_dir():
        return []
    found: list[dict[str, str]] = []
    for path in sorted(folder.glob("*.log"), reverse=True):
        found += [_filed(each) for each in _parsed(path) if not _is_listed(each)]
        if len(found) >= limit:
            break
    return found[:limit]


def _parsed(path: Path) -> list[Parsed]:
    parts = path.read_bytes().split(_BETWEEN)
    return [message_from_bytes(part.lstrip(), policy=policy.default) for part in parts if part.strip()]


def _is_listed(mail: Parsed) -> bool:
    return (mail["Message-ID"] or "").strip("<> ").partition("@")[0].partition("-")[0] in _TABLES


def _filed(mail: Parsed) -> dict[str, str]:
    body = mail.get_body(("plain",))
    text = body.get_content() if body is not None else ""
    return {"subject": mail["Subject"] or "", "to": mail["To"] or "", "at": mail["Date"] or "", "text": str(text)}
