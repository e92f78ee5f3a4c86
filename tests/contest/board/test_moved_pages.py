"""The pages on which members of the board move something: what is open there, and for whom (R21)."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from contest.models import Account, Case, Conflict, Team
from tests import factories
from tests.contest.board.motions import (
    MOTIONS,
    NOW,
    Motion,
    awarding,
    ending,
    forfeiting,
    giving_back,
    granting,
    returning,
    revoking,
    staking,
    withholding,
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


@pytest.fixture
def ron(rita: User) -> User:
    return factories.user("ron", "review board")


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


@pytest.mark.parametrize("make", MOTIONS, ids=[each.__name__ for each in MOTIONS])
def test_an_open_motion_is_shown_to_who_may_judge_it(
    make: Make, rita: User, ron: User, olga: User, signed_in: SignIn
) -> None:
    motion = make(rita, olga)
    address, board, other = address_of(motion), signed_in(rita), signed_in(ron)
    assert "Before the board" not in shown(board, address)
    case = motion.move(rita)
    link = f'<a class="id" href="/board/cases/{case.public_id}/">{case.public_id}</a>'
    page = shown(board, address)
    assert f"Moved by you, 1 of 2 votes; others vote at {link}." in page
    page = shown(other, address)
    assert f"A motion waits for you. Say first whether anything ties you to its teams, at {link}." in page
    assert "Moved by" not in page, "of how many votes, and what about, nothing before they said"
    voted(case, ron, NOW)
    assert f"Moved by rita, 2 of 2 votes; the count can be confirmed at {link}." in shown(other, address)
    Conflict.objects.create(member=ron, team=motion.team, kind="other", since=BEFORE, declared_at=NOW)
    page = shown(other, address)
    assert case.public_id not in page and "Before the board" not in page


def test_a_motion_is_shown_on_the_page_of_its_own_award_alone(rita: User, olga: User, signed_in: SignIn) -> None:
    motion = awarding(rita, olga)
    other = cast.staked(cast.defense("other", cast.team("others")))
    case = motion.move(rita)
    assert case.public_id not in shown(signed_in(rita), f"/board/awards/{other.pk}/")
    assert case.public_id not in shown(signed_in(olga), address_of(motion)), "nor to organizers"


# Each with the form that moves it, and the words that stand where the form did.
FORMS: list[tuple[Make, Callable[[Motion], dict[str, str]], str, str]] = [
    (staking, lambda m: {"defense": net(m), "criteria": "c"}, 'name="defense"', "Other members decide what is theirs"),
    (returning, lambda m: {"stake": stake(m), "granted": "yes"}, "We erred.", "Other members decide what is theirs"),
    (granting, lambda m: {"team": m.team.public_id}, 'name="team"', "Other members decide what is theirs"),
    (
        revoking,
        lambda m: {"action": "revoke", "grant": str(m.team.entitlements.get().pk)},
        "Move to revoke it",
        "Other members decide what is theirs",
    ),
    (awarding, lambda m: {"statement": "It stood."}, 'name="statement"', "a team that would share the award"),
    (ending, lambda m: {"end": "1"}, 'name="end"', "the team that this is about"),
    (withholding_an_award, lambda m: {"withhold": "1"}, 'name="withhold"', "the team that this is about"),
    (forfeiting, lambda m: {"forfeit": "1"}, 'name="forfeit"', "the team that this is about"),
    (withholding, lambda m: {"account": own(m), "sum": "5"}, ">Team lab: USD", "Other members decide what is theirs"),
    (giving_back, lambda m: {"account": own(m), "return": "1"}, 'name="return"', "You step aside for this team"),
]


def net(motion: Motion) -> str:
    return motion.team.entries.get().defense.public_id


def stake(motion: Motion) -> str:
    return str(motion.team.entries.get().defense.stakes.get().pk)


def own(motion: Motion) -> str:
    return str(Account.objects.get(team=motion.team).pk)


@pytest.mark.parametrize(("make", "form", "offered", "instead"), FORMS, ids=[row[0].__name__ for row in FORMS])
def test_who_steps_aside_is_offered_nothing_and_refused(
    make: Make,
    form: Callable[[Motion], dict[str, str]],
    offered: str,
    instead: str,
    rita: User,
    ron: User,
    olga: User,
    stan: User,
    signed_in: SignIn,
    client: Client,
) -> None:
    motion = make(rita, olga)
    Team.objects.filter(pk=motion.team.pk).update(name="lab")
    address, sent, board = address_of(motion), form(motion) | {"reason": "Why not."}, signed_in(ron)
    page = shown(board, address)
    assert offered in page and instead not in page
    Conflict.objects.create(member=ron, team=motion.team, kind="other", since=BEFORE, declared_at=NOW)
    page = shown(board, address)
    assert offered not in page and instead in page
    refused = board.post(address, sent)
    assert refused.status_code == 403 and "You step aside for a team that this is about" in refused.content.decode()
    assert [client.post(address, sent).status_code, signed_in(stan).post(address, sent).status_code] == [302, 404]
    assert signed_in(olga).post(address, sent).status_code == 403
    assert not Case.objects.filter(state="open").exists()
    moved = signed_in(rita).post(address, sent, follow=True).content.decode()
    case = Case.objects.get(state="open")
    assert f"Moved as case {case.public_id}: 2 votes are needed, and yours is the first." in moved
    assert (case.motion, case.reason, case.opened_by) == (motion.kind, "Why not.", rita)
    assert "2 votes are needed" in moved
    again = board.post(address, sent)
    assert again.status_code == 403 and "open already" not in again.content.decode(), "nor do they learn that it is"


def test_a_motion_that_waits_is_not_moved_once_more_by_its_page(
    rita: User, ron: User, olga: User, signed_in: SignIn
) -> None:
    motion = granting(rita, olga)
    motion.move(rita)
    page = shown(signed_in(rita), "/board/grants/")
    assert f'value="{motion.team.public_id}"' not in page and "No team can be chosen now" in page
    form = {"team": motion.team.public_id, "reason": "A lab."}
    answer = signed_in(ron).post("/board/grants/", form)
    assert answer.status_code == 409 and "A motion about the same is open already." in answer.content.decode()
