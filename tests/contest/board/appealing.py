"""Two teams at the present moment, each with something to appeal: for pages, which ask the real clock."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from contest.attacks.services import attack_receive
from contest.core.models import Attack, Stake, Team
from contest.core.weeks import week_at
from policy.selectors import policy_in_force
from scoring.models import Defense
from tests import factories
from tests.contest.attacks import cast as attacks
from tests.contest.board.cast import SURE, UNSURE, rule
from tests.contest.ledger import cast as money

ARGUMENT = "The wing in the middle is a part of the branch behind it: see the mark."


@dataclass
class Appealing:
    """`valid` and `rejected` are pictures that red sent last week; blue's defense was at stake then."""

    red: Team
    blue: Team
    stake: Stake
    valid: Attack
    rejected: Attack

    @property
    def defense(self) -> Defense:
        """The defense at stake."""
        return self.stake.defense


def appealing(now: datetime, *, photo: bytes = b"") -> Appealing:
    """Both teams, their captains `red` and `blue`, a member of the board, and rulings of an hour ago."""
    factories.policy_version()
    money.deposit(10 * money.PRIZE, factories.user("sponsor", "organizers"), now - timedelta(days=40))
    for name in ("rita", "rosa"):
        factories.user(name, "review board")
    red, blue = attacks.team("red"), attacks.team("blue")
    stake = money.staked(
        money.defense("A net that keeps still", blue, received=now - timedelta(days=30)), at=now - timedelta(days=20)
    )
    sent = week_at(now).start - timedelta(days=2)
    valid = sends(red, photo or attacks.picture(90, 299), sent)
    rejected = sends(red, attacks.picture(180, 299), sent + timedelta(hours=1))
    for each, said in ((valid, [SURE] * 3), (rejected, [SURE, SURE, UNSURE])):
        rule(factories.panel(each.image, dealt_at=now - timedelta(hours=3)), *said, now=now - timedelta(hours=1))
    return Appealing(red, blue, stake, valid, rejected)


def sends(team: Team, data: bytes, now: datetime) -> Attack:
    """A picture of a team."""
    return attack_receive(
        team=team,
        data=data,
        policy=policy_in_force(now).policy,
        now=now,
        by=attacks.captain(team),
        targets=(),
        file_name="heron.png",
    )
