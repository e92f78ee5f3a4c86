"""The policy numbers in force, shown beside their rules in the rule book."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.template.loader import render_to_string

from common.database.grouping import grouped
from common.times import absolute
from contest.policy_changes.selectors import NumberInForce


def beside_rules(numbers: Sequence[NumberInForce], zone: str) -> Mapping[str, str]:
    """Return the HTML beside each rule that has numbers. It is the same until another version is in force."""
    rules = grouped((rule, each) for each in numbers for rule in each.number.rules)
    return {
        rule: render_to_string("policy/_beside.html", {"groups": _groups(held, zone)}) for rule, held in rules.items()
    }


def _groups(held: Sequence[NumberInForce], zone: str) -> list[dict[str, Any]]:
    """Return the numbers of a rule by the version that brought them."""
    found: dict[int, dict[str, Any]] = {}
    for each in held:
        begun = {"version": each.version, "since": absolute(each.since, zone), "rows": []}
        coming = [(words, absolute(later.since, zone), later.version) for words, later in each.coming]
        found.setdefault(each.version, begun)["rows"].append((each, coming))
    return list(found.values())
