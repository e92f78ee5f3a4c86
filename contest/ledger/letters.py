"""Sends messages to a team about its money (R34-R38)."""

from collections.abc import Iterable
from datetime import datetime

from django.urls import reverse

from common.database.grouping import grouped
from common.times import to_the_second
from contest.core.enums import AccountKind, MessageKind
from contest.core.models import Team
from contest.core.teams import final_team
from contest.ledger.amounts import money
from contest.ledger.models import Account, LedgerEntry, Payment
from contest.outbox.writing import notify
from contest.teams.letters import link_to
from policy.selectors import policy_in_force


def notify_posted(entries: Iterable[LedgerEntry], *, now: datetime) -> None:
    """Tell each team in one message what these entries move to and from its account."""
    by_team = grouped(
        (final_team(side.team), (sign * entry.cents, entry))
        for entry in entries
        for side, sign in ((entry.target, 1), (entry.source, -1))
        if side.team is not None
    )
    for team, moved in by_team.items():
        currency = policy_in_force(now).policy.currency
        notify(
            team,
            MessageKind.POSTED,
            about=reverse("team-money"),
            now=now,
            amount=money(sum(cents for cents, _ in moved), currency),
            corrected=any(entry.corrects_id for _, entry in moved),
            lines=[
                {
                    "amount": money(cents, currency),
                    "rule": entry.rule,
                    "why": entry.why,
                    "reason": entry.decision.reason if entry.decision else "",
                }
                for cents, entry in moved
            ],
            **_account(team, currency),
        )


def _account(team: Team, currency: str) -> dict[str, str]:
    cents = Account.objects.filter(kind=AccountKind.TEAM, team=team).values_list("balance_cents", flat=True).first()
    return {"balance": money(cents or 0, currency), "page": link_to("team-money")}


def notify_paid(payment: Payment, *, now: datetime) -> None:
    """Tell a team that a payment was made."""
    policy = policy_in_force(now).policy
    notify(
        payment.team,
        MessageKind.PAID,
        about=reverse("team-money"),
        now=now,
        amount=money(payment.cents, policy.currency),
        reference=payment.reference,
        at=to_the_second(now, policy.time_zone),
        **_account(payment.team, policy.currency),
    )
