"""The organizers' pages of the policy: what is shown, what is typed and never lost, and that it is looked at first."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from contest.policy.numbers import NUMBERS
from contest.policy.selectors import history
from contest.policy.services import Draft, policy_record
from labeling.models import PolicyVersion, Tasker
from labeling.policy import Policy
from labeling.selectors import forget_versions
from tests import factories
from tests.contest.pages import lacking, posted

pytestmark = pytest.mark.django_db
URL, NEW = "/organizer/policy/", "/organizer/policy/new/"
LATER = "2999-01-05T00:00"
_FIELD = re.compile(r'<input id="(\w+)" name="\1" value="([^"]*)"')
_CHOSEN = re.compile(r'<select id="(\w+)".*?<option value="(\w+)" selected>', re.S)


@pytest.fixture(autouse=True)
def first(db: None) -> None:
    factories.policy_version()
    forget_versions()


def sent(
    base: int = 1, do: str = "preview", since: str = LATER, reason: str = "A reason", **numbers: str
) -> dict[str, str]:
    return {"base": str(base), "do": do, "since": since, "reason": reason} | numbers


def fields(page: str) -> Mapping[str, str]:
    """Return the numbers as the form has them, and how those that are chosen stand."""
    found = dict(_FIELD.findall(page)) | dict(_CHOSEN.findall(page.replace("</select>", "</select>\n")))
    return {name: unescape(value) for name, value in found.items()}


def recorded(by: User, days: int = 1, **numbers: Any) -> PolicyVersion:
    """A version of somebody else, meanwhile."""
    newest = history(now=(now := timezone.now()))[0]
    draft = Draft(replace(newest.policy, **numbers), newest.version, now + timedelta(days=days), "Meanwhile")
    return policy_record(draft, by=by, zone="UTC", now=now)


# Who -----------------------------------------------------------------------------------------------------------------


def test_only_organizers_record(signed_in: Any, rita: User, stan: User, tara: Tasker) -> None:
    told = sent(do="record", appeal_days="8")
    clients = [*(signed_in(who) for who in (rita, stan, tara)), Client()]
    for url in (URL, NEW):
        found = [(each.get(url).status_code, each.post(url, told).status_code) for each in clients]
        assert found == [(403, 403), (404, 404), (403, 403), (302, 302)], url
    assert PolicyVersion.objects.count() == 1


# The form ------------------------------------------------------------------------------------------------------------


def test_the_form_has_every_number_with_its_rule_and_its_range(organizer: Client) -> None:
    page = organizer.get(NEW).content.decode()
    found, policy = fields(page), Policy()
    shown = {name: each.text(each.of(policy)) for name, each in NUMBERS.items()}
    assert {name: value for name, value in found.items() if name in NUMBERS} == shown
    for each in NUMBERS.values():
        assert each.range in page and all(f'href="/rules/#{rule}"' in page for rule in each.rules)
    assert "Version 1: 25 %" in page and "By the clocks in UTC" in page


def test_what_is_recorded_was_looked_at_first(organizer: Client, olga: User) -> None:
    told = sent(min_box_fraction="1/5", panel_size="4")
    preview = organizer.post(NEW, told).content.decode()
    assert PolicyVersion.objects.count() == 1
    assert not lacking(
        preview,
        *("25 %", "20 %", "3 taskers", "4 taskers", "A reason", "Nothing is recorded yet", "Sat 5 Jan 2999 00:00 UTC"),
        "Panels that are dealt before keep what they were dealt with",
        "/organizer/what-if/?box=20+%25&amp;panel=4&amp;gate=best_guess_yes",
    )
    answer = organizer.post(NEW, told | {"do": "record"}, follow=True)
    assert answer.redirect_chain == [(URL, 303)]
    assert "Version 2 is recorded. It holds from Sat 5 Jan 2999 00:00 UTC on." in answer.content.decode()
    row = PolicyVersion.objects.get(version=2)
    assert (row.recorded_by, row.reason, row.numbers) == (
        olga,
        "A reason",
        Policy(panel_size=4).to_json() | {"min_box_fraction": "1/5"},
    )


def test_one_goes_back_from_the_preview_with_what_was_typed(organizer: Client) -> None:
    page = organizer.post(NEW, sent(do="edit", appeal_days="8", reason="Because")).content.decode()
    assert fields(page)["appeal_days"] == "8" and ">Because</textarea>" in page and f'value="{LATER}"' in page
    preview = organizer.post(NEW, sent(appeal_days="8")).content.decode()
    assert "For rulings from before the time stays as it was." in preview
    assert "what-if/?" not in preview, "numbers that cannot be tried lead to no trial"


@pytest.mark.parametrize(
    ("told", "field", "words"),
    [
        ({"panel_size": "2"}, "panel_size", "A whole number from 3 to 9."),
        ({"panel_size": "three"}, "panel_size", "A whole number from 3 to 9."),
        ({"min_box_fraction": "0 %"}, "min_box_fraction", "more than 0 and at most all of it"),
        ({"time_zone": "Mars/Olympus"}, "time_zone", "A name of the IANA list"),
        ({"currency": "euro"}, "currency", "Three capital letters"),
        ({"outline_gate": "nobody"}, "outline_gate", "One of the two"),
        ({"qualification_size": "5"}, "qualification_needed", "At most 5"),  # 8 of 5 are never right
        ({"appeal_days": "8", "since": "2020-01-01T00:00"}, "since", "at least one minute from now"),
        ({"appeal_days": "8", "since": "soon"}, "since", "Give a day and a time"),
        ({"appeal_days": "8", "reason": " "}, "reason", "Give the reason"),
        ({"appeal_days": "8", "reason": "x" * 4500}, "reason", "at most 4,000"),
    ],
)
def test_what_makes_no_sense_is_said_at_its_field(
    told: dict[str, str], field: str, words: str, organizer: Client
) -> None:
    posted(organizer, NEW, sent(do="record") | told, 400)
    answer = organizer.post(NEW, sent() | told)
    page = answer.content.decode()
    place = page.split(f'id="{field}"', 1)[1][:16_000]
    assert 'aria-invalid="true"' in place.split(">", 1)[0] + ">", field
    assert words in re.split(r'<div class="number', place)[0]
    kept = {name: value for name, value in fields(page).items() if name in told and name != "outline_gate"}
    assert (answer.status_code, PolicyVersion.objects.count()) == (400, 1)
    assert kept == {name: value for name, value in told.items() if name in kept}


def test_what_changes_nothing_or_is_no_form_of_ours_is_refused(organizer: Client) -> None:
    said = posted(organizer, NEW, sent(do="record", panel_size=" 3 ", min_box_fraction="1/4"), 400)
    assert "Nothing differs from version 1. Change a number." in said
    for told in ({"base": "x\x00"}, {"base": "9" * 40}, {"panel_size": "\x00"}, {"since": "\x00" * 9, "base": "1"}):
        assert organizer.post(NEW, sent() | told).status_code in {400, 409}


def test_what_was_tried_is_taken_over(organizer: Client) -> None:
    tried = organizer.get("/organizer/what-if/?box=20+%25&panel=4&gate=not_excluded&occlusion=on").content.decode()
    address = re.search(rf'href="({NEW}[^"]+)">Record these numbers…', tried)
    assert address is not None
    found = fields(organizer.get(unescape(address[1])).content.decode())
    names = ("min_box_fraction", "panel_size", "outline_gate", "occlusion_allowed", "appeal_days")
    assert [found[name] for name in names] == ["20 %", "4", "not_excluded", "yes", "7"]


# Two at once ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("do", ["preview", "record", "edit"])
def test_the_second_is_shown_what_the_first_recorded_and_loses_nothing(do: str, organizer: Client, oscar: User) -> None:
    recorded(oscar, appeal_days=9, board_days=30)
    answer = organizer.post(NEW, sent(do=do, appeal_days="8", panel_size="oops", reason="Mine"))
    page = answer.content.decode()
    assert answer.status_code == 409
    assert "version 2 was recorded meanwhile" in page and "by oscar" in page
    assert "7 days" in page and "9 days" in page, "what it changed"
    found = fields(page)
    assert (found["appeal_days"], found["panel_size"], found["board_days"]) == ("8", "oops", "30")
    assert not lacking(page, ">Mine</textarea>", f'value="{LATER}"', '<input type="hidden" name="base" value="2">')
    assert PolicyVersion.objects.count() == 2
    organizer.post(NEW, sent(base=2, do="record", appeal_days="8", board_days=found["board_days"]))
    assert PolicyVersion.objects.get(version=3).numbers == Policy(appeal_days=8, board_days=30).to_json()


# The page ------------------------------------------------------------------------------------------------------------


def test_the_page_shows_what_holds_what_comes_and_what_was(organizer: Client, olga: User, oscar: User) -> None:
    page = organizer.get(URL).content.decode()
    assert "No version is to come." in page and "There is none: the version in force is the first." in page
    recorded(oscar, appeal_days=9)
    page = organizer.get(URL).content.decode()
    assert page.index("Version 1</a>") < page.index("Version 2</a>")
    assert "by oscar" in page and "Call version 2 back" in page and "9 days with version 2" in page
    recorded(oscar, days=2, appeal_days=10)
    page = organizer.get(URL).content.decode()
    assert "Call version 3 back" in page and "Call version 2 back" not in page, "the newest first"


def test_a_version_is_called_back_with_a_reason(organizer: Client, oscar: User) -> None:
    recorded(oscar, appeal_days=9)
    assert "Give the reason: it is public." in posted(organizer, URL, {"version": "2", "reason": " "}, 400)
    page = organizer.post(URL, {"version": "2", "reason": "A mistake"}, follow=True).content.decode()
    assert not lacking(
        page,
        "Version 2 is called back. Version 3 goes on",
        "Never in force",
        "No number changes: it goes on with those of version 1.",
    )
    for version in ("2", "zero"):
        said = posted(organizer, URL, {"version": version, "reason": "Again"}, 409)
        assert "version 3 was recorded meanwhile" in said, version
    assert PolicyVersion.objects.count() == 3


@pytest.fixture
def oscar(db: None) -> User:
    return factories.user("oscar", "organizers")
