"""What pages say without their markup, and who is let in."""

import re
from collections.abc import Callable, Sequence
from html import unescape
from typing import Any

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import strip_tags

from contest.core.models import Member, Team
from tests import factories


def plain(answer: Any) -> str:
    """The words of an answer, with one space between any two."""
    return unescape(re.sub(r"\s+", " ", strip_tags(answer.content.decode().replace("<", " <"))))


def words(client: Client, address: str, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status, address
    return plain(answer)


def main(client: Client, address: str) -> str:
    """The markup of the main part of a page."""
    answer = client.get(address)
    assert answer.status_code == 200, address
    _, begins, rest = one_line(answer.content.decode()).partition("<main")
    assert begins, address
    return str(rest.partition("</main>")[0])


def one_line(text: str) -> str:
    """Return text with one space for any white space, as a browser shows it: where a template breaks a line is free."""
    return re.sub(r"[ \t\r\n]+", " ", text)


def lacking(page: str, *texts: str) -> list[str]:
    """Return which of these texts a page lacks."""
    page = one_line(page)
    return [each for each in texts if one_line(each) not in page]


def shows(page: str, *texts: str, but: Sequence[str] = ()) -> None:
    """See that a page has all of these texts, and none of `but`."""
    assert (lacking(page, *texts), [each for each in but if each not in lacking(page, each)]) == ([], []), page


def answers(answer: Any, status: int, *said: str, but: Sequence[str] = ()) -> None:
    """See that an answer has this status, and says this."""
    assert answer.status_code == status, plain(answer)
    shows(answer.content.decode(), *said, but=but)


def queries(act: Callable[[], object]) -> int:
    with CaptureQueriesContext(connection) as sent:
        act()
    return len(sent)


def outsiders(signed_in: Any) -> dict[str, Client]:
    """A stranger, and by their roles those with an account who are no organizers."""
    carl = factories.user("carl", "teams")
    Member.objects.create(team=Team.objects.create(name="carl's", created_at=factories.NOW), user=carl)
    return {
        "stranger": Client(),
        "no role": signed_in(factories.user("stan")),
        "tasker": signed_in(factories.tasker("tara")),
        "board": signed_in(factories.user("rita", "review board")),
        "team": signed_in(carl),
    }


# What they get at a page for organizers alone.
ORGANIZERS_ALONE = {"stranger": 302, "no role": 404, "tasker": 403, "board": 403, "team": 403}


def codes(people: dict[str, Client], address: str, form: dict[str, str] | None = None) -> dict[str, int]:
    """What each of these people gets who opens a page, or who posts a form."""
    if form is None:
        return {who: client.get(address).status_code for who, client in people.items()}
    return {who: client.post(address, form).status_code for who, client in people.items()}


def posted(client: Client, address: str, form: dict[str, Any] | None = None, status: int = 303) -> str:
    """Where a form leads to; the words of the answer where it does not lead on."""
    answer = client.post(address, form or {})
    assert answer.status_code == status, address
    return answer.get("Location") or plain(answer)
