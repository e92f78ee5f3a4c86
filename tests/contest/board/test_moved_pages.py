"""The pages on which members of the board move something: what is open there, and for whom (R21)."""

import re
from collections.abc import Callable
from datetime import timedelta
from html import unescape

import pytest
from django.contrib.auth.models import User
from django.test import Client

from common.models import AuditEntry
from contest.models import Account, Case, Conflict, LedgerEntry, Message, Team
from tests import factories
from tests.contest.board.motions import (
    GIFT,
    NOW,
    REASON,
    Motion,
    awarding,
    ending,
    forfeiting,
    giving_an_award_back,
    giving_back,
    granting,
    keeping,
    returning,
    revoking,
    staking,
    withholding,
    withholding_a_share,
    withholding_an_award,
)
from tests.contest.money import cast
from tests.contest.money.cast import BEFORE
from tests.factories import voted

pytestmark = pytest.mark.django_db
SignIn = Callable[[User], Client]
Make = Callable[[User, User], Motion]


@pytest.fixture(autouse=True)
def it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    factories.policy_version()
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)


def address_of(motion: Motion) -> str:
    """The page on which it is moved."""
    if motion.kind in ("grant", "revoke"):
        return "/board/grants/"
    if motion.kind == "stake" or "granted" in motion.details:
        return "/board/stakes/"
    if motion.kind in ("award", "end", "forfeit") or (motion.kind == "withhold" and "award" in motion.subject):
        return f"/board/awards/{motion.team.entries.get().defense.stakes.get().pk}/"
    return "/board/withheld/"


def shown(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def tied(member: User, motion: Motion) -> None:
    Conflict.objects.create(member=member, team=motion.team, kind="other", since=BEFORE, declared_at=NOW)


@pytest.mark.parametrize("make", [staking, keeping, granting, ending, giving_an_award_back, withholding_a_share])
def test_an_open_motion_is_shown_to_who_may_judge_it(
    make: Make, rita: User, ron: User, olga: User, signed_in: SignIn
) -> None:
    """Of each page at least one."""
    motion = make(rita, olga)
    address, board, other = address_of(motion), signed_in(rita), signed_in(ron)
    assert "Before the board" not in shown(board, address)
    case = motion.move(rita)
    link = f'<a class="id" href="/board/cases/{case.public_id}/">{case.public_id}</a>'
    assert f"Moved by you, 1 of 2 votes; others vote at {link}." in shown(board, address)
    page = shown(other, address)
    assert f"A motion waits for you. Say first whether anything ties you to its teams, at {link}." in page
    assert "Moved by" not in page, "of how many votes, and what about, nothing before they said"
    voted(case, ron, NOW)
    assert f"Moved by rita, 2 of 2 votes; the count can be confirmed at {link}." in shown(other, address)
    tied(ron, motion)
    page = other.get(address).content.decode()
    assert case.public_id not in page and "Before the board" not in page


def test_what_follows_of_an_award_is_shown_on_its_own_pages_alone(
    rita: User, ron: User, olga: User, signed_in: SignIn
) -> None:
    motion = awarding(rita, olga)
    other = cast.staked(cast.defense("other", cast.team("others")), at=cast.MONDAY + timedelta(1))
    case = motion.move(rita)
    assert case.public_id not in shown(signed_in(rita), f"/board/awards/{other.pk}/")
    assert case.public_id not in shown(signed_in(olga), address_of(motion)), "nor to organizers"
    voted(case, ron, NOW)
    address = f"/board/cases/{case.public_id}/decide/"
    page = re.sub("<[^>]+>", " ", shown(signed_in(ron), address))
    assert f"net is given USD {GIFT / 200:,.2f} of the defenders&#x27; half." in page
    assert signed_in(olga).get(address).status_code == 403
    assert signed_in(factories.user("stranger")).get(address).status_code == 404


# Each with the form that moves it, the words that stand where the form did (none where the whole page is gone), and how
# the form is answered all the same.
ASIDE, NOT_YOURS = "Other members decide what is theirs", (403, "You step aside for a team that this is about")
NOTHING_THERE, NOT_LISTED = (404, "There is no stake with this number."), (400, "Choose an account of the list.")
Form = Callable[[Motion], dict[str, str]]
FORMS: list[tuple[Make, Form, str, str, tuple[int, str]]] = [
    (staking, lambda m: {"defense": net(m), "criteria": "c"}, 'name="defense"', ASIDE, NOT_YOURS),
    (returning, lambda m: {"stake": stake(m), "granted": "yes"}, "We erred.", ASIDE, NOT_YOURS),
    (granting, lambda m: {"team": m.team.public_id}, 'name="team"', ASIDE, NOT_YOURS),
    (revoking, lambda m: {"action": "revoke", "grant": grant(m)}, "Move to revoke it", ASIDE, NOT_YOURS),
    (awarding, lambda m: {"statement": "It stood."}, 'name="statement"', "", NOTHING_THERE),
    (ending, lambda m: {"end": "1"}, 'name="end"', "", NOTHING_THERE),
    (withholding_an_award, lambda m: {"withhold": "1"}, 'name="withhold"', "", NOTHING_THERE),
    (forfeiting, lambda m: {"forfeit": "1"}, 'name="forfeit"', "", NOTHING_THERE),
    (withholding, lambda m: {"account": own(m), "sum": "5"}, ">Team lab: USD", ASIDE, NOT_LISTED),
    (giving_back, lambda m: {"account": own(m), "return": "1"}, 'name="return"', ASIDE, NOT_LISTED),
]


def net(motion: Motion) -> str:
    return motion.team.entries.get().defense.public_id


def stake(motion: Motion) -> str:
    return str(motion.team.entries.get().defense.stakes.get().pk)


def grant(motion: Motion) -> str:
    return str(motion.team.entitlements.get().pk)


def own(motion: Motion) -> str:
    return str(Account.objects.get(team=motion.team).pk)


def kept(page: str) -> dict[str, list[str]]:
    """The fields that the page of a motion which is not made yet sends again."""
    found: dict[str, list[str]] = {}
    for name, value in re.findall(r'<textarea name="([^"]+)" hidden>(.*?)</textarea>', page, re.DOTALL):
        found.setdefault(name, []).append(unescape(value))
    return found


@pytest.mark.parametrize(
    ("make", "form", "offered", "instead", "answered"), FORMS, ids=[row[0].__name__ for row in FORMS]
)
def test_who_may_not_move_on_the_pages(
    make: Make,
    form: Form,
    offered: str,
    instead: str,
    answered: tuple[int, str],
    rita: User,
    ron: User,
    olga: User,
    stan: User,
    signed_in: SignIn,
    client: Client,
) -> None:
    """Who steps aside for the team is offered nothing, and does not learn that it is moved already."""
    motion = make(rita, olga)
    Team.objects.filter(pk=motion.team.pk).update(name="lab")
    address, sent, board = address_of(motion), form(motion) | {"reason": REASON, "do": "move"}, signed_in(ron)
    page = shown(board, address)
    assert offered in page and ASIDE not in page
    tied(ron, motion)
    gone = board.get(address)
    assert gone.status_code == (200 if instead else 404)
    assert offered not in gone.content.decode() and instead in gone.content.decode()
    others = (client, signed_in(stan), signed_in(olga))
    assert [each.post(address, sent).status_code for each in others] == [302, 404, 403]
    assert not Case.objects.filter(state="open").exists()
    motion.move(rita)
    refused = board.post(address, sent)
    assert refused.status_code == answered[0] and answered[1] in refused.content.decode()
    assert "open already" not in refused.content.decode()


@pytest.mark.parametrize(("make", "form"), [row[:2] for row in FORMS], ids=[row[0].__name__ for row in FORMS])
def test_what_is_looked_at_is_moved(make: Make, form: Form, rita: User, olga: User, signed_in: SignIn) -> None:
    motion, mover = make(rita, olga), signed_in(rita)
    address, sent = address_of(motion), form(motion) | {"reason": REASON}
    again = kept(mover.post(address, sent).content.decode())
    assert {name: values[0] for name, values in again.items()} == sent, "looking at it keeps what was typed"
    assert not Case.objects.filter(state="open").exists()
    assert mover.post(address, again | {"do": "move"}).status_code == 303
    case = Case.objects.get(state="open")
    assert (case.motion, case.reason, case.opened_by) == (motion.kind, REASON, rita)


@pytest.mark.parametrize(("make", "form"), [FORMS[2][:2], FORMS[8][:2]], ids=["granting", "withholding"])
def test_a_motion_is_looked_at_before_it_is_made(
    make: Make, form: Form, rita: User, ron: User, olga: User, signed_in: SignIn
) -> None:
    motion, said = make(rita, olga), f"<b>Two</b> lines:\n{REASON}"
    address, sent, board = address_of(motion), form(motion) | {"reason": said}, signed_in(rita)
    rows = [model.objects.count() for model in (AuditEntry, Message, LedgerEntry)]
    looked = board.post(address, sent)
    page = looked.content.decode()
    assert looked.status_code == 200 and "As the board will read it, and everybody once it is carried" in page
    assert "&lt;b&gt;Two&lt;/b&gt; lines:<br>" in page and f"/teams/{motion.team.public_id}/" in page
    changed = board.post(address, kept(page) | {"do": "change"})
    assert changed.status_code == 200 and "&lt;b&gt;Two&lt;/b&gt; lines:" in changed.content.decode()
    short = board.post(address, sent | {"reason": "ok"})
    assert short.status_code == 400 and "There are 2 and 1." in short.content.decode(), "said before it is shown"
    assert ">ok</textarea>" in short.content.decode(), "and what was typed is kept"
    assert all("js/posted" in answer.content.decode() for answer in (looked, changed, short))
    assert "js/posted" not in shown(board, address), "going back sends nothing again"
    assert not Case.objects.filter(state="open").exists(), "so far it was only looked at"
    assert rows == [model.objects.count() for model in (AuditEntry, Message, LedgerEntry)], "and left nothing behind"
    moved = board.post(address, kept(page) | {"do": "move"}, follow=True).content.decode()
    case = Case.objects.get(state="open")
    assert f"Moved as case {case.public_id}: 2 votes are needed, and yours is the first." in moved
    assert (case.motion, case.reason) == (motion.kind, said)
    again = signed_in(ron).post(address, sent | {"do": "move"})
    assert again.status_code == 409 and "A motion about the same is open already." in again.content.decode()
