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

from contest.awards.settling import prizes_settle
from contest.models import Account, Attack, LedgerEntry, Message, Stake, Team
from contest.money.correcting import correction_ask, correction_confirm, repayment_ask
from contest.money.figures import debts
from contest.money.payments import payment_ask, payment_pay
from contest.money.withholding import money_return, money_withhold
from contest.stakes.ends import stakes_end
from tests import factories
from tests.contest.attacks import cast as sending
from tests.contest.money import cast
from tests.contest.money.cast import CLOSED, PRIZE, SETTLED, balance
from tests.contest.test_embargo import clock, plain, reach, refusals_without_a_page
from tests.factories import mandate

__all__ = ["clock", "refusals_without_a_page"]
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
        ids = (first.public_id, first.image.public_id, first.team.public_id)
        return [*ids, self.stakes[0].defense.public_id, "2026-W47"]

    def swept(self, now: datetime) -> None:
        stakes_end(now=now)
        prizes_settle(now=now)

    def broken_by(self, name: str) -> Team:
        """Let a team break them all, and everything happen that can follow before the week is released."""
        for stake, attack in zip(self.stakes, self.sent[name], strict=True):
            cast.broken(stake.defense, attack)
        for stake in self.stakes:
            cast.caught_up(stake.defense)
        team = self.sent[name][0].team
        self._withheld_before_it_is_shared(team)
        self._paid(team)
        self._overruled(team)
        return team

    def _withheld_before_it_is_shared(self, team: Team) -> None:
        given_back, shrinking = self.stakes[:2]
        self._withhold(given_back, team)
        self._withhold(shrinking, team)
        cast.broken(shrinking.defense, self.late)
        for stake in self.stakes:
            cast.caught_up(stake.defense)
        self.swept(SETTLED)
        follows = LedgerEntry.objects.filter(rule="R38", why__contains="follows that share")
        assert follows.exists() and balance(shrinking) == 0
        of = Account.objects.get(stake=given_back)
        money_return(
            of=of, team=team, reason=f"{team.name} was right.", by=mandate("return", self.rita, CLOSED), now=CLOSED
        )
        self.swept(CLOSED)

    def _withhold(self, stake: Stake, team: Team) -> None:
        of, why = Account.objects.get(stake=stake), f"Team {team.name} is looked into."
        money_withhold(
            of=of, team=team, cents=PRIZE, reason=why, by=mandate("withhold", self.rita, SETTLED), now=SETTLED
        )

    def _paid(self, team: Team) -> None:
        payment = payment_ask(team=team, by=self.olga, now=CLOSED)
        paid = payment_pay(payment_id=payment.pk, reference="wire 7", by=self.olaf, now=CLOSED)
        assert paid.entry is not None
        asked = correction_ask(entry=paid.entry.pk, cents=20, reason="It came back.", by=self.olga, now=CLOSED)
        correction_confirm(correction_id=asked.pk, by=self.olaf, now=CLOSED)
        of, why = Account.objects.get(team=team), f"Team {team.name} is looked into."
        money_withhold(of=of, cents=15, reason=why, by=mandate("withhold", self.rita, CLOSED), now=CLOSED)
        money_return(of=of, reason=why, by=mandate("return", self.rita, CLOSED), now=CLOSED)
        money_withhold(of=of, cents=5, reason=why, by=mandate("withhold", self.rita, CLOSED), now=CLOSED)

    def _overruled(self, team: Team) -> None:
        """Two are overruled: what was paid of them is owed, and some of that comes back."""
        for stake in self.stakes[3:]:
            cast.overruled(stake.defense.breaks.get().image, at=CLOSED)
        self.swept(CLOSED)
        assert {each.team for each in debts()} == {team}
        asked = repayment_ask(team=team, cents=10, reason="Wire 9.", by=self.olga, now=CLOSED)
        correction_confirm(correction_id=asked.pk, by=self.olaf, now=CLOSED)
        self.swept(CLOSED)


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
