"""Keeps the currency unchanged once the ledger has an entry (R34)."""

from datetime import datetime
from typing import Any

from common.errors import Conflict
from contest.ledger.models import LedgerEntry
from policy.models import PolicyVersion
from policy.numbers import Policy
from policy.selectors import policy_in_force


def currency_keep(instance: PolicyVersion, **_: Any) -> None:
    """Refuse to save a policy with another currency than that of the ledger's entries.

    Entries are cents of that currency, and their amounts would be read as amounts of the new one.
    """
    first = LedgerEntry.objects.order_by("pk").values_list("made_at", flat=True).first()
    if first is None:
        return
    begun = PolicyVersion.objects.filter(in_force_from__lte=first).order_by("-version").first()
    if begun is None or _currency(begun) == _currency(instance):
        return
    raise Conflict(
        f"Version {instance.version} of the policy was not recorded: its currency is {_currency(instance)}, and the"
        f" ledger has entries in {_currency(begun)}. Record it with the currency {_currency(begun)}.",
        "currency_fixed",
        field="currency",
    )


def currency_begin(now: datetime) -> None:
    """Refuse the first entry of the ledger while a future policy has another currency: Conflict."""
    if LedgerEntry.objects.exists():
        return
    coming = PolicyVersion.objects.filter(in_force_from__gt=now).order_by("in_force_from", "version")
    changes = [(each.in_force_from, policy_in_force(each.in_force_from).policy.currency) for each in coming]
    if not changes:
        return
    begun = PolicyVersion.objects.filter(in_force_from__lte=now).exists()
    kept = policy_in_force(now).policy.currency if begun else changes[0][1]
    for since, currency in changes:
        if currency != kept:
            raise Conflict(
                f"Nothing was recorded: the currency is {kept} now and {currency} from {since:%-d %B %Y} on. Record a"
                f" policy that keeps {kept}, or wait until {currency} is in force.",
                "currency_changes",
            )


def _currency(version: PolicyVersion) -> str:
    return str(version.numbers.get("currency", Policy().currency))
