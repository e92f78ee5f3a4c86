"""Money that came in, was won, withheld and corrected: a site whose pages are looked at."""

from django.contrib.auth.models import User

from contest.core.models import Member, Team
from contest.ledger.models import Account
from contest.ledger.withholding import money_withhold
from contest.payments.corrections import correction_request
from contest.prizes.sweeps import prizes_settle
from tests import factories
from tests.browser.looking import Look, organizer
from tests.contest.ledger import cast
from tests.contest.ledger.cast import PRIZE, SETTLED
from tests.factories import mandate


def made() -> Team:
    """A team and its captain, two organizers and a member of the board."""
    organizer()
    red = cast.team("red")
    Member.objects.create(team=red, user=factories.user("carl"), captain=True)
    factories.user("olaf", "organizers")
    factories.user("rita", "review board")
    return red


def pages(red: Team) -> list[Look]:
    """Every page with something to show."""
    olga, board = User.objects.get(username="olga"), User.objects.get(username="rita")
    deposit = cast.deposit(9 * PRIZE, olga)
    asked = correction_request(
        entry=deposit.pk, cents=7, reason="Mistyped: seven cents too much.", by=olga, now=SETTLED
    )
    stake = cast.staked(cast.defense("A second net with a rather long name", cast.team("people of another institute")))
    broken = cast.staked(cast.defense("A net of three layers", cast.team("makers of nets")))
    cast.broken(broken.defense, cast.attack(red))
    cast.ended(broken)
    cast.ruled(cast.attack(red, days=2).image, "")
    prizes_settle(now=SETTLED)
    withheld = {"of": Account.objects.get(team=red), "cents": 500, "reason": "Looked at.", "now": SETTLED}
    money_withhold(by=mandate("withhold", board, SETTLED), **withheld)
    return [
        ("", "/money/"),
        ("olga", "/organizer/money/"),
        ("olga", "/organizer/money/corrections/"),
        ("olaf", f"/organizer/money/corrections/{asked.pk}/"),
        ("carl", "/team/money/"),
        ("rita", "/board/withheld/"),
        ("rita", "/board/awards/"),
        ("rita", f"/board/awards/{stake.pk}/"),
        ("rita", f"/board/examinations/{stake.defense.public_id}/"),
    ]
