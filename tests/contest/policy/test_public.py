"""What everybody may know of the policy: the numbers beside the rules, every version, and the same for programs."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from contest.policy.numbers import NUMBERS
from contest.policy.services import Draft, policy_call_back, policy_record
from labeling.models import Tasker
from labeling.policy import Policy
from tests import factories
from tests.contest.pages import lacking

pytestmark = pytest.mark.django_db
PAGES = ["/rules/", "/rules/versions/1/", "/rules/versions/2/", "/api/v1/policies/"]


@pytest.fixture(scope="module", autouse=True)
def versions(module_world: Path) -> None:
    """Version 2 is to come; version 3 was called back by version 4."""
    factories.policy_version()
    olga, now = factories.user("olga", "organizers"), timezone.now()
    for base, numbers, why in ((1, {}, "Nine <days>"), (2, {"panel_size": 5}, "Five")):
        draft = Draft(Policy(appeal_days=9, **numbers), base, now + timedelta(days=base), why)
        policy_record(draft, by=olga, zone="UTC", now=now)
    policy_call_back(3, reason="Not five", by=olga, now=now)


@pytest.mark.parametrize("page", PAGES)
def test_it_is_open_to_everybody_and_names_nobody(page: str, signed_in: Any, stan: User, tara: Tasker) -> None:
    for reader in (Client(), signed_in(stan), signed_in(tara)):
        answer = reader.get(page)
        assert answer.status_code == 200 and "olga" not in answer.content.decode()


def test_each_rule_has_its_numbers_beside_it(client: Client) -> None:
    page = client.get("/rules/").content.decode()
    for each in NUMBERS.values():
        for rule in each.rules:
            entry = page.split(f'<li id="{rule}">', 1)[1].split('<li id="R')[0]
            assert f"{each.title}: <strong>{each.words(each.of(Policy()), 'USD')}</strong>" in entry, rule
    entry = page.split('<li id="R18">', 1)[1].split('<li id="R')[0]
    assert "<strong>9 days</strong>" in entry and '<a href="/rules/versions/4/">version 4</a>' in entry
    entry = page.split('<li id="R2">', 1)[1].split('<li id="R3">')[0]
    assert entry.index("Dataset images") < entry.index("in-force"), "behind the parts of the rule, not within them"


def test_the_history_is_whole_and_a_version_has_a_page_for_ever(client: Client) -> None:
    page = client.get("/rules/").content.decode().split('id="versions"')[1]
    assert re.findall(r'id="version-(\d)"', page) == ["4", "3", "2", "1"]
    assert "Nine &lt;days&gt;" in page and "Not five" in page
    assert page.count("Never in force") == 2, "versions 2 and 3: version 4 goes on with the numbers of version 2"
    page = client.get("/rules/versions/3/").content.decode()
    assert not lacking(
        page,
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
