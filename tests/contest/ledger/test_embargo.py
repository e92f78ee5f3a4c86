"""Until a week is released nobody is told who broke what in it (R24, R39): by no page, call, feed or letter.

Two teams sent pictures in the same week. Whichever of them broke the defenses, and whatever followed from that (shares,
payments, debts, what the board withheld and why, corrections), everybody else reads the same to the byte.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import transaction
from django.test import Client

from contest.core.models import Attack, Stake, Team
from contest.ledger.models import LedgerEntry
from contest.outbox.models import Message
from contest.payments.statements import debts
from tests import factories
from tests.contest.attacks import cast as sending
from tests.contest.core.test_embargo import plain, reach, refusals_without_a_page
from tests.contest.ledger import cast
from tests.contest.ledger.cast import CLOSED, PRIZE, SETTLED, balance

__all__ = ["refusals_without_a_page"]
pytestmark = [pytest.mark.django_db, pytest.mark.slow("reads every page and call four times")]
TODAY = CLOSED + timedelta(1)
# Rows go on counting where a transaction was taken back.
_NUMBERS = re.compile(rb'entry[- ]\d+|Decision \d+|before=\d+|class="figure">\d+</th>')


@dataclass
class Contest:
    """Five staked defenses of one team, what each of two others sent, by its name, and a picture of a third one."""

    makers: Team
    stakes: list[Stake]
    sent: dict[str, list[Attack]]
    late: Attack
    olga: User
    olaf: User
    rita: User

    @property
    def words(self) -> list[str]:
        """What an address could be asked with."""
        first = self.sent["red"][0]
        named = (first, first.image, first.team, self.stakes[0].defense)
        return [*(each.public_id for each in named), "2026-W47"]

    def broken_by(self, name: str) -> Team:
        """Let a team break them all, and everything happen that can follow before the week is released."""
        for stake, attack in zip(self.stakes, self.sent[name], strict=True):
            cast.broken(stake.defense, attack)
        team = self.sent[name][0].team
        self._withheld_before_it_is_shared(team)
        self._paid(team)
        self._overruled(team)
        return team

    def _withheld_before_it_is_shared(self, team: Team) -> None:
        given_back, shrinking = self.stakes[:2]
        for stake in (given_back, shrinking):
            cast.withheld(stake, PRIZE, self.rita, team=team, now=SETTLED, why=f"Team {team.name} is looked into.")
        cast.broken(shrinking.defense, self.late)
        cast.all_caught_up()
        cast.swept(SETTLED)
        follows = LedgerEntry.objects.filter(rule="R38", why__contains="follows that share")
        assert follows.exists() and balance(shrinking) == 0
        cast.given_back(given_back, self.rita, team=team, why=f"{team.name} was right.")
        cast.swept(CLOSED)

    def _paid(self, team: Team) -> None:
        cast.corrected(cast.paid(team, self.olga, self.olaf).entry, 20, self.olga, self.olaf)
        why = f"Team {team.name} is looked into."
        cast.withheld(team, 15, self.rita, why=why)
        cast.given_back(team, self.rita, why=why)
        cast.withheld(team, 5, self.rita, why=why)

    def _overruled(self, team: Team) -> None:
        """Two are overruled: what was paid of them is owed, and some of that comes back."""
        for stake in self.stakes[3:]:
            cast.overruled(stake.defense.breaks.get().image, at=CLOSED)
        cast.swept(CLOSED)
        assert {each.team for each in debts()} == {team}
        cast.repaid(team, 10, self.olga, self.olaf)
        cast.swept(CLOSED)


@pytest.fixture
def contest(olga: User, rita: User) -> Contest:
    sending.policy()
    cast.deposit(40 * PRIZE, olga)
    makers = sending.team("makers", email="makers@example.org")
    stakes = [cast.staked(cast.defense(f"net {number}", makers)) for number in range(5)]
    teams = {name: sending.team(name) for name in ("red", "green")}
    sent = {name: [cast.attack(team, days=1) for _ in stakes] for name, team in teams.items()}
    late = cast.attack(sending.team("yellow"), days=1.5)
    for attack in Attack.objects.all():
        cast.ruled(attack.image)
    return Contest(makers, stakes, sent, late, olga, factories.user("olaf", "organizers"), rita)


@pytest.fixture
def people(contest: Contest, signed_in: Any) -> dict[str, Client]:
    """A client of each role, from elsewhere.

    Who broke a defense knows that, organizers pay for it, and the board decides about it.
    """
    clients = {"stranger": Client(), "makers": signed_in(sending.captain(contest.makers))}
    for client in clients.values():
        client.defaults["REMOTE_ADDR"] = "192.0.2.7"
    return clients


def read(contest: Contest, client: Client) -> dict[str, bytes]:
    cache.clear()
    return {address: _NUMBERS.sub(b"", body) for address, body in plain(reach(client, contest.words)).items()}


def told(contest: Contest, people: dict[str, Client]) -> Iterator[dict[str, dict[str, bytes]]]:
    """Yield what each role reads with red, and then with green, as those who broke the defenses; letters as well."""
    for name in contest.sent:
        before = transaction.savepoint()
        Message.objects.all().delete()
        contest.broken_by(name)
        found = {role: read(contest, client) for role, client in people.items()}
        letters = Message.objects.filter(team=contest.makers).order_by("pk").values_list("kind", "facts")
        yield found | {"letters to makers": {str(number): str(each).encode() for number, each in enumerate(letters)}}
        transaction.savepoint_rollback(before)


def test_nobody_else_can_tell_which_of_two_teams_broke_what(
    contest: Contest, people: dict[str, Client], clock: Callable[[datetime], None]
) -> None:
    clock(TODAY)
    red, green = told(contest, people)
    for role in red:
        assert red[role].keys() == green[role].keys() != set()
        apart = [address for address in red[role] if red[role][address] != green[role][address]]
        assert [_apart(red[role][each], green[role][each]) for each in apart] == [], (role, apart)


def _apart(one: bytes, other: bytes) -> tuple[str, str]:
    at = next(number for number, (a, b) in enumerate(zip(one + b"\0", other + b"\1", strict=False)) if a != b)
    return one[max(at - 80, 0) : at + 80].decode(), other[max(at - 80, 0) : at + 80].decode()
