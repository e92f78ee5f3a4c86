"""What everybody may know of the policy: the numbers beside the rules, every version, and the same for programs."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from contest.policy_changes.numbers import NUMBERS
from contest.policy_changes.services import PolicyDraft, policy_call_back, policy_record
from labeling.models import Tasker
from policy.numbers import Policy
from tests import factories
from tests.contest.pages import answers, shows

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module", autouse=True)
def versions(module_world: Path) -> None:
    """Version 2 is to come; version 3 was called back by version 4."""
    factories.policy_version()
    olga, now = factories.user("olga", "organizers"), timezone.now()
    for base, numbers, why in ((1, {}, "Nine <days>"), (2, {"panel_size": 5}, "Five")):
        draft = PolicyDraft(Policy(appeal_days=9, **numbers), base, now + timedelta(days=base), why)
        policy_record(draft, by=olga, zone="UTC", now=now)
    policy_call_back(3, reason="Not five", by=olga, now=now)


@pytest.mark.parametrize("page", ["/rules/", "/rules/versions/1/", "/rules/versions/2/", "/api/v1/policies/"])
def test_it_is_open_to_everybody_and_names_nobody(page: str, signed_in: Any, stan: User, tara: Tasker) -> None:
    for reader in (Client(), signed_in(stan), signed_in(tara)):
        answers(reader.get(page), 200, but=["olga"])


def test_each_rule_has_its_numbers_beside_it(client: Client) -> None:
    page = client.get("/rules/").content.decode()
    beside = {rule: rest for rule, _, rest in (each.partition('">') for each in page.split('<li id="')[1:])}
    for each in NUMBERS.values():
        for rule in each.rules:
            shows(beside[rule], f"{each.title}: <strong>{each.words(each.of(Policy()), 'USD')}</strong>")
    shows(beside["R18"], "<strong>9 days</strong>", '<a href="/rules/versions/4/">version 4</a>')
    assert beside["R2"].index("Dataset images") < beside["R2"].index("in-force"), "behind the parts of the rule"


def test_the_history_is_whole_and_a_version_has_a_page_for_ever(client: Client) -> None:
    page = client.get("/rules/").content.decode().split('id="versions"')[1]
    shows(page, "Nine &lt;days&gt;", "Not five")
    found = re.findall(r'id="version-(\d)"', page), page.count("Never in force")
    assert found == (["4", "3", "2", "1"], 2), "version 4 goes on with the numbers of version 2, which never holds"
    answers(
        client.get("/rules/versions/3/"),
        200,
        "3 taskers",
        "5 taskers",
        "took its place. It was to begin",
        'href="/rules/versions/2/"',
        'href="/rules/versions/4/"',
    )
    assert [client.get(f"/rules/versions/{number}/").status_code for number in (0, 5, 10**17)] == [404, 404, 404]


def test_programs_read_the_same(client: Client) -> None:
    found = client.get("/api/v1/policies/").json()["policies"]
    assert [(each["version"], each["standing"], each["changed"]) for each in found] == [
        (4, "to come", ["appeal_days"]),
        (3, "never in force", ["panel_size"]),
        (2, "never in force", ["appeal_days"]),
        (1, "in force", []),
    ]
    assert (found[0]["numbers"], found[3]["until"]) == (Policy(appeal_days=9).to_json(), found[0]["since"])
