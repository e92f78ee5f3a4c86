"""Renders messages: title, text, and an e-mail with an HTML part. E-mails to teams are in English."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlparse

import structlog
from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.urls import reverse

from common.mail import letter_text
from common.times import absolute
from contest.core.enums import MessageKind
from contest.core.models import Member
from contest.core.teams import final_team
from contest.outbox.kinds import KINDS
from contest.outbox.models import Digest, Message
from contest.outbox.text import SHAPES, Paragraph, TextPart, paragraphs
from policy.selectors import policy_in_force

LANGUAGE = "en"
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class WrittenMessage:
    """A message in words."""

    title: str
    text: str

    @property
    def paragraphs(self) -> list[Paragraph]:
        """Return the text for a page."""
        return paragraphs(self.text, settings.PUBLIC_URL)


def write_message(message: Message) -> WrittenMessage:
    """Return the title and text of a message."""
    context = {"page": settings.PUBLIC_URL + message.about, "team": message.team} | message.facts
    return WrittenMessage(*letter_text(message.kind, language=LANGUAGE, **context))


def message_text(message: Message) -> WrittenMessage:
    """Return the words of a message for a page; if its text can no longer be rendered, only those of its kind."""
    try:
        return write_message(message)
    except Exception as error:  # whatever it is, the other messages must stay readable
        log.warning("message_not_shown", message=message.pk, error=f"{type(error).__name__}: {error}")
        words = KINDS[MessageKind(message.kind)].words
        return WrittenMessage(words, f"{words}: {settings.PUBLIC_URL}{message.about}")


def look_of(message: Message) -> str:
    """Return the state whose shape and colour stand for a message."""
    if message.kind == MessageKind.STAKE_CHANGED:
        ends = {"broken": "broken", "void": "broken", "won": "valid", "": "unbroken"}
        return ends.get(message.facts.get("end", ""), "open")
    return KINDS[MessageKind(message.kind)].look


def is_for(message: Message) -> bool:
    """Say whether its reader may still read it: not if they left the team to which it was written."""
    if not message.user.is_active:
        return False
    team = message.team
    return team is None or Member.objects.filter(user=message.user, team=final_team(team)).exists()


def mail_of(message: Message) -> EmailMultiAlternatives | None:
    """Return the e-mail of a message; None if there is no longer anybody to send it to."""
    if not message.user.email or not is_for(message):
        return None
    said = write_message(message)
    state = TextPart(KINDS[MessageKind(message.kind)].words, look=look_of(message))
    name = f"message-{message.pk}"
    return _mail(name, message.user.email, said, state=state, link=settings.PUBLIC_URL + message.about)


def digest_mail_of(digest: Digest) -> EmailMultiAlternatives | None:
    """Return the e-mail of a daily digest; None if none of its messages is still to be sent."""
    rows = digest.messages.select_related("user", "team").order_by("made_at", "pk")
    told = [each for each in rows if is_for(each)]
    if not digest.user.email or not told:
        return None
    return _mail(f"digest-{digest.pk}", digest.user.email, _of_day(told, digest), link=_page("messages"))


def _of_day(told: Sequence[Message], digest: Digest) -> WrittenMessage:
    many = "message" if len(told) == 1 else "messages"
    zone = policy_in_force(digest.made_at).policy.time_zone
    parts = [f"What you were told until {absolute(digest.made_at, zone)}: {len(told)} {many}."]
    for message in told:
        said = message_text(message)
        page, text = _page("message", message.pk), _without_greeting(said.text)
        parts.append(f"{SHAPES[look_of(message)]} {said.title}\n{page}\n\n{text}")
    return WrittenMessage(f"{len(told)} {many} of your day", "\n\n".join(parts))


def _without_greeting(text: str) -> str:
    first, _, rest = text.partition("\n\n")
    return rest.strip() if first.startswith("Hello") else text.strip()


def _page(name: str, *arguments: object) -> str:
    return str(settings.PUBLIC_URL + reverse(name, args=arguments))


def _mail(
    name: str, to: str, said: WrittenMessage, *, link: str, state: TextPart | None = None
) -> EmailMultiAlternatives:
    """Return an e-mail with both parts. Its Message-ID is always the same, so that mail programs keep one copy."""
    often = _page("message-settings")
    text = f"{said.text.rstrip()}\n\nHow often you get e-mails: {often}\n"
    letter = EmailMultiAlternatives(subject=said.title, body=text, to=[to])
    letter.extra_headers = {"Message-ID": f"<{name}@{urlparse(settings.PUBLIC_URL).hostname}>"}
    context = {"title": said.title, "paragraphs": said.paragraphs, "state": state, "link": link, "often": often}
    letter.attach_alternative(render_to_string("mail/message.html", context), "text/html")
    return letter
