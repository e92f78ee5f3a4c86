"""Recording versions of the policy and calling them back: what is refused, that nothing holds backwards, two at once,
and the organizers' pages, which lose nothing that was typed and show it before it is recorded."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from common.errors import DomainError
from common.models import AuditEntry
from contest.ledger.models import LedgerEntry
from contest.policy_changes.numbers import NUMBERS
from contest.policy_changes.selectors import PolicyState, numbers_in_force, policy_history
from contest.policy_changes.services import MIN_NOTICE, PolicyDraft, policy_call_back, policy_draft, policy_record
from labeling.models import Tasker
from labeling.selectors import forget_versions
from policy.models import PolicyVersion
from policy.numbers import Policy
from policy.selectors import policies_between, policy_at, policy_in_force, time_zones
from tests import factories
from tests.at_once import at_once
from tests.contest.ledger import cast
from tests.contest.pages import answers, shows
from tests.contest.policy_changes.test_numbers import POLICIES
from tests.refusals import refused

pytestmark = pytest.mark.django_db


NOW, DAY = factories.NOW, timedelta(days=1)  # a Wednesday at noon


def record(
    by: User, *, base: int = 1, since: datetime = NOW + DAY, now: datetime = NOW, reason: str = "why", **numbers: Any
) -> PolicyVersion:
    newest = policy_history(now=now)[0].policy
    return policy_record(PolicyDraft(replace(newest, **numbers), base, since, reason), by=by, zone="UTC", now=now)


def states(now: datetime = NOW) -> dict[int, PolicyState]:
    return {each.version: each.state for each in policy_history(now=now)}


@pytest.fixture(autouse=True)
def first(db: None) -> None:
    factories.policy_version()
    forget_versions()


def test_a_version_holds_from_its_moment_on(olga: User) -> None:
    row = record(olga, min_box_fraction=Fraction(1, 5))
    assert (row.version, row.recorded_by, row.recorded_at) == (2, olga, NOW)
    assert policy_in_force(NOW + DAY - timedelta(microseconds=1)).version == 1
    assert policy_in_force(NOW + DAY).policy == Policy(min_box_fraction=Fraction(1, 5))
    found = (states(), states(NOW + DAY))
    assert found == ({2: PolicyState.TO_COME, 1: PolicyState.IN_FORCE}, {2: PolicyState.IN_FORCE, 1: PolicyState.PAST})


def recorded(by: User, *acts: Callable[[User], object], **numbers: Any) -> None:
    """Record version 2, which is to come, and then act."""
    record(by, appeal_days=8)
    for act in acts:
        act(by)
    if numbers:
        record(by, base=2, **numbers)


def back(version: int, after: timedelta = timedelta(0), reason: str = "why") -> Callable[[User], object]:
    """Return what calls a version back."""
    return lambda by: policy_call_back(version, reason=reason, by=by, now=NOW + after)


def in_yen(by: User) -> None:
    """Draft another currency, with money in the ledger."""
    cast.deposit(100, by)
    policy_draft(PolicyDraft(Policy(currency="JPY"), 1, NOW + DAY, "why"), by=by, zone="UTC", now=NOW)


SHORT, READ = NOW + MIN_NOTICE - timedelta(microseconds=1), DAY - MIN_NOTICE + timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("act", "code", "field", "words"),
    [
        (lambda by: record(by, appeal_days=7), "unchanged", None, "Nothing differs from version 1"),
        (lambda by: record(by, reason=" \n", appeal_days=8), "invalid", "reason", "Give the reason"),
        (lambda by: record(by, reason="x" * 4001, appeal_days=8), "invalid", "reason", "at most 4,000"),
        (lambda by: record(by, since=NOW, appeal_days=8), "too_early", "since", "at least one minute from now"),
        (lambda by: record(by, since=SHORT, appeal_days=8), "too_early", "since", "No policy holds backwards"),
        (
            lambda by: record(by, since=NOW - 365 * DAY, appeal_days=8),
            "too_early",
            "since",
            "No policy holds backwards",
        ),
        (lambda by: record(by, base=0, appeal_days=8), "policy_changed", None, "version 1 was recorded meanwhile"),
        (lambda by: record(by, base=7, appeal_days=8), "policy_changed", None, "version 1 was recorded meanwhile"),
        # None comes before or with one that is to come.
        (
            lambda by: recorded(by, since=NOW + MIN_NOTICE, appeal_days=9),
            "too_early",
            "since",
            "Version 2 holds from Thu 19 Nov",
        ),
        (
            lambda by: recorded(by, since=NOW + DAY, appeal_days=9),
            "too_early",
            "since",
            "Version 2 holds from Thu 19 Nov",
        ),
        # The currency stays what the ledger is kept in.
        (in_yen, "currency_fixed", "currency", "the ledger has entries in USD"),
        # Calling back: it holds; somebody may have read it; not the newest; there is none; the reason is public.
        (lambda by: recorded(by, back(2, DAY)), "policy_in_force", None, ""),
        (lambda by: recorded(by, back(2, READ)), "policy_in_force", None, ""),
        (lambda by: recorded(by, back(1)), "policy_changed", None, ""),
        (lambda by: recorded(by, back(9)), "policy_changed", None, ""),
        (lambda by: recorded(by, back(2, reason=" ")), "invalid", "reason", ""),
        (
            lambda by: PolicyVersion.objects.update(in_force_from=NOW + DAY) and back(1)(by),  # the first one
            "policy_in_force",
            None,
            "",
        ),
    ],
)
def test_what_is_refused_and_not_called_back(
    act: Callable[[User], object], code: str, field: str | None, words: str, olga: User
) -> None:
    found = refused(code, act, olga)
    assert (found.field, words in found.message) == (field, True)


@pytest.mark.both("a constraint refuses it")
def test_the_database_has_each_version_once(olga: User) -> None:
    record(olga, appeal_days=8)
    with pytest.raises(IntegrityError), transaction.atomic():
        PolicyVersion.objects.create(version=2, numbers=Policy().to_json(), in_force_from=NOW, reason="again")


# Calling back ---------------------------------------------------------------------------------------------------------


def test_one_that_is_to_come_is_called_back_by_one_that_goes_on(olga: User) -> None:
    record(olga, appeal_days=8, time_zone="Asia/Tokyo")
    row = policy_call_back(2, reason="a mistake", by=olga, now=NOW)
    assert (row.version, row.in_force_from, row.reason, row.recorded_by) == (3, NOW, "a mistake", olga)
    newest, never, first = policy_history(now=NOW + 2 * DAY)
    assert states(NOW + 2 * DAY) == {3: PolicyState.IN_FORCE, 2: PolicyState.NEVER, 1: PolicyState.PAST}
    assert [each.replaced_by for each in (newest, never, first)] == [None, 3, None]
    assert (newest.changes, newest.before) == ((), first)
    assert [change.number.name for change in never.changes] == ["appeal_days", "time_zone"]
    assert {*dict(policies_between(NOW - DAY, NOW + 2 * DAY)).values(), policy_at(NOW + 2 * DAY)} == {Policy()}
    assert [zone for _, zone in time_zones()] == ["UTC"], "nothing is left of its zone"
    assert record(olga, base=3, since=NOW + MIN_NOTICE, appeal_days=9).version == 4, "and the way is free again"


def test_with_two_to_come_the_newer_one_is_called_back_first(olga: User) -> None:
    record(olga, appeal_days=8)
    record(olga, base=2, since=NOW + 2 * DAY, appeal_days=9)
    refused("policy_changed", policy_call_back, 2, reason="a mistake", by=olga, now=NOW)
    row = policy_call_back(3, reason="a mistake", by=olga, now=NOW)
    assert (row.version, row.in_force_from) == (4, NOW + DAY), "it stands for version 2, which was to come"
    assert [policy_at(NOW + days * DAY).appeal_days for days in (0, 1, 2, 3)] == [7, 8, 8, 8]
    policy_call_back(4, reason="that too", by=olga, now=NOW)
    assert {policy_at(NOW + days * DAY).appeal_days for days in (0, 1, 2, 3)} == {7}


def test_both_are_in_the_audit_trail(olga: User) -> None:
    record(olga, appeal_days=8)
    policy_call_back(2, reason="a mistake", by=olga, now=NOW)
    rows = AuditEntry.objects.order_by("pk").values_list("action", "subject", "why", "user", "published")
    assert list(rows) == [
        ("policy.record", {"policy": [2]}, "why", olga.pk, True),
        ("policy.call_back", {"policy": [2]}, "a mistake", olga.pk, True),
    ]
    refused("policy_changed", record, olga, base=1, appeal_days=9)
    assert AuditEntry.objects.count() == 2


# What is told ---------------------------------------------------------------------------------------------------------


def test_each_number_names_the_version_that_brought_it(olga: User) -> None:
    record(olga, appeal_days=8)
    record(olga, base=2, since=NOW + 2 * DAY, board_days=20)
    record(olga, base=3, since=NOW + 9 * DAY, appeal_days=9)
    held = {each.number.name: each for each in numbers_in_force(policy_history(now=NOW + 3 * DAY))}
    told = {name: (each.words, each.version) for name, each in held.items() if each.version > 1}
    assert told == {"appeal_days": ("8 days", 2), "board_days": ("20 days", 3)}
    coming = {name: [(words, to.version) for words, to in held[name].coming] for name in ("appeal_days", "panel_size")}
    assert coming == {"appeal_days": [("9 days", 4)], "panel_size": []}
    olga.delete()
    assert policy_history(now=NOW)[0].row.recorded_by is None, "a deleted account leaves the version"


# Whatever is recorded -------------------------------------------------------------------------------------------------

_STEPS = st.lists(
    st.tuples(
        st.integers(0, 60 * 48),  # minutes until it is done
        st.one_of(st.none(), st.tuples(POLICIES, st.integers(-60 * 24, 60 * 96))),  # called back, or what and for when
    ),
    max_size=6,
)


@pytest.mark.slow("it tries many histories")
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=_STEPS)
def test_whatever_is_recorded_nothing_holds_backwards(olga: User, steps: Sequence[tuple[int, Any]]) -> None:
    PolicyVersion.objects.exclude(version=1).delete()
    forget_versions()
    now, looked = NOW, [NOW - DAY]
    for minutes, step in steps:
        now += timedelta(minutes=minutes)
        looked.append(now)
        before = [policy_at(moment) for moment in looked]
        rows, newest = list(PolicyVersion.objects.order_by("version").values()), policy_history(now=now)[0].version
        try:
            if step is None:
                row = policy_call_back(newest, reason="why", by=olga, now=now)
            else:
                draft = PolicyDraft(step[0], newest, now + timedelta(minutes=step[1]), "why")
                row = policy_record(draft, by=olga, zone="UTC", now=now)
        except DomainError:
            assert list(PolicyVersion.objects.order_by("version").values()) == rows, "a refusal records nothing"
            continue
        assert [policy_at(moment) for moment in looked] == before, "what held stays what held"
        assert list(PolicyVersion.objects.exclude(pk=row.pk).order_by("version").values()) == rows, "only added"
        assert step is None or Policy.from_json(PolicyVersion.objects.get(pk=row.pk).numbers) == step[0]
        # Versions that hold follow each other without a gap, and one is in force; it is the one that decides.
        held = [each for each in reversed(policy_history(now=now)) if each.state is not PolicyState.NEVER]
        since = [each.since for each in held]
        assert ([each.until for each in held], since) == ([*since[1:], None], sorted(set(since)))
        assert [policy_in_force(each.since).version for each in held] == [each.version for each in held]
        assert [each.version for each in held if each.state is PolicyState.IN_FORCE] == [policy_in_force(now).version]


# Two organizers at once -----------------------------------------------------------------------------------------------


def recording(by: User, base: int, days: int, number: int) -> Callable[[], Any]:
    """Return what records a version that holds so many days from now on."""
    return lambda: record(by, base=base, since=NOW + days * DAY, appeal_days=number) and ""


BESIDE = pytest.mark.postgres("several at once: SQLite has one writer")


@BESIDE
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("many", [2, pytest.param(6, marks=pytest.mark.long("more at once"))])
def test_one_of_all_is_recorded(many: int, olga: User) -> None:
    for base in range(1, 4):
        told = sorted(at_once(*(recording(olga, base, base, 10 * base + each) for each in range(many))))
        assert (told, PolicyVersion.objects.count()) == (["", *["policy_changed"] * (many - 1)], base + 1)


@BESIDE
@pytest.mark.django_db(transaction=True)
def test_calling_back_beside_recording(olga: User) -> None:
    for _ in range(3):
        PolicyVersion.objects.exclude(version=1).delete()
        forget_versions()
        recording(olga, 1, 1, 9)()
        assert sorted(at_once(lambda: back(2)(olga) and "", recording(olga, 2, 2, 10))) == ["", "policy_changed"]
        assert len(policy_history(now=NOW)) == 3


# The currency, which is fixed once money moved (R34) ------------------------------------------------------------------

COMING = cast.BEFORE + 3 * DAY


def put(currency: str, *, since: datetime = cast.BEFORE, **numbers: int) -> PolicyVersion:
    """Write a version into the database, whatever the services would say."""
    told, version = replace(Policy(), currency=currency, **numbers), PolicyVersion.objects.count() + 1
    forget_versions()
    return PolicyVersion.objects.create(version=version, numbers=told.to_json(), in_force_from=since, reason="x")


def test_a_policy_of_another_currency_is_refused_once_there_is_an_entry(olga: User) -> None:
    """R34: one that is recorded before may have any."""
    put("EUR")
    cast.deposit(100, olga, now=cast.BEFORE + DAY)
    assert "its currency is JPY, and the ledger has entries in EUR" in refused("currency_fixed", put, "JPY").message
    assert put("EUR", appeal_days=8).version == PolicyVersion.objects.count() == 3


@pytest.mark.parametrize(("then", "moment"), [("EUR", COMING), ("USD", cast.BEFORE + DAY)], ids=["changed", "not so"])
def test_the_first_entry_waits_while_the_currency_is_to_change(then: str, moment: datetime, olga: User) -> None:
    """Else what was entered as cents of the one would be read as cents of the other from then on (R34)."""
    put("EUR", since=COMING)
    found = refused("currency_changes", cast.deposit, 100, olga, now=cast.BEFORE + DAY)
    assert "the currency is USD now and EUR from " in found.message and not LedgerEntry.objects.exists()
    put(then, since=COMING)
    cast.deposit(100, olga, now=moment)
    assert LedgerEntry.objects.exists()


def test_numbers_from_before_there_were_currencies_are_of_the_first(olga: User) -> None:
    """R34."""
    first = PolicyVersion.objects.get()
    first.numbers.pop("currency", None)
    first.save()
    cast.deposit(100, olga)
    put("USD")
    first.numbers["currency"] = "EUR"
    refused("currency_fixed", first.save)


# The organizers' pages ------------------------------------------------------------------------------------------------

URL, NEW, LATER = "/organizer/policy/", "/organizer/policy/new/", "2999-01-05T00:00"
_FIELD = re.compile(r'<input type="text" name="(\w+)" value="([^"]*)"')
_CHOSEN = re.compile(r'<select name="(\w+)".*?<option value="(\w+)" selected>', re.S)


def sent(
    base: int = 1, do: str = "preview", since: str = LATER, reason: str = "A reason", **numbers: str
) -> dict[str, str]:
    return {"base": str(base), "do": do, "since": since, "reason": reason} | numbers


def fields(page: str) -> Mapping[str, str]:
    """Return the numbers as the form has them, and how those that are chosen stand."""
    found = dict(_FIELD.findall(page)) | dict(_CHOSEN.findall(page.replace("</select>", "</select>\n")))
    return {name: unescape(value) for name, value in found.items()}


def meanwhile(by: User, days: int = 1, **numbers: Any) -> PolicyVersion:
    """A version of somebody else."""
    now = timezone.now()
    since, base = now + timedelta(days=days), policy_history(now=now)[0].version
    return record(by, base=base, since=since, now=now, reason="Meanwhile", **numbers)


@pytest.fixture
def oscar(db: None) -> User:
    return factories.user("oscar", "organizers")


def test_only_organizers_record(signed_in: Any, rita: User, stan: User, tara: Tasker) -> None:
    for who, status in ((signed_in(rita), 403), (signed_in(stan), 404), (signed_in(tara), 403), (Client(), 302)):
        for url in (URL, NEW):
            found = (who.get(url).status_code, who.post(url, sent(do="record", appeal_days="8")).status_code)
            assert found == (status, status), url
    assert PolicyVersion.objects.count() == 1


def test_the_form_has_every_number_with_its_rule_and_its_range(organizer: Client) -> None:
    page = organizer.get(NEW).content.decode()
    assert fields(page).items() >= {name: each.text(each.of(Policy())) for name, each in NUMBERS.items()}.items()
    for each in NUMBERS.values():
        shows(page, each.range, *(f'href="/rules/#{rule}"' for rule in each.rules))
    shows(page, "Version 1: 25 %", "By the clocks in UTC")


@pytest.mark.parametrize(
    ("minute", "second", "end", "why"),
    [(58, 59, "2027-01-16T00:00", "the end of this week"), (59, 1, "2027-01-23T00:00", "that would be too early")],
)
def test_the_form_begins_with_the_end_of_a_week(
    minute: int, second: int, end: str, why: str, organizer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    friday = datetime(2027, 1, 15, 23, minute, second, tzinfo=UTC)
    monkeypatch.setattr("contest.pages.organizer.policy_views.domain_now", lambda: friday)
    assert f'value="{end}"' in organizer.get(NEW).content.decode(), why


def test_what_is_recorded_was_looked_at_first(organizer: Client, olga: User) -> None:
    told = sent(min_box_fraction="1/5", panel_size="4")
    answers(
        organizer.post(NEW, told),
        200,
        *("25 %", "20 %", "3 taskers", "4 taskers", "A reason", "Nothing is recorded yet", "Sat 5 Jan 2999 00:00 UTC"),
        "Panels that are dealt before keep what they were dealt with",
        "/organizer/what-if/?min_box_fraction=20+%25&amp;panel_size=4&amp;outline_gate=best_guess_yes",
    )
    assert PolicyVersion.objects.count() == 1
    answer = organizer.post(NEW, told | {"do": "record"}, follow=True)
    assert answer.redirect_chain == [(URL, 303)]
    answers(answer, 200, "Version 2 is recorded. It holds from Sat 5 Jan 2999 00:00 UTC on.")
    row, numbers = PolicyVersion.objects.get(version=2), Policy(panel_size=4).to_json() | {"min_box_fraction": "1/5"}
    assert (row.recorded_by, row.reason, row.numbers) == (olga, "A reason", numbers)


def test_one_goes_back_from_the_preview_with_what_was_typed(organizer: Client) -> None:
    page = organizer.post(NEW, sent(do="edit", appeal_days="8", reason="Because")).content.decode()
    assert fields(page)["appeal_days"] == "8"
    shows(page, "\nBecause</textarea>", f'value="{LATER}"')
    # Numbers that cannot be tried lead to no trial.
    answers(
        organizer.post(NEW, sent(appeal_days="8")),
        200,
        "For rulings from before the time stays as it was.",
        but=["what-if/?"],
    )


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
    answers(organizer.post(NEW, sent(do="record") | told), 400)
    answer = organizer.post(NEW, sent() | told)
    page = answer.content.decode()
    place = page.split(f' name="{field}"', 1)[1]
    marked, said = place.partition(">")[0], place.partition('<div class="number')[0]
    assert ('aria-invalid="true"' in marked, words in said) == (True, True), field
    kept = {name: value for name, value in fields(page).items() if name in told and name != "outline_gate"}
    assert kept == {name: value for name, value in told.items() if name in kept}
    assert (answer.status_code, PolicyVersion.objects.count()) == (400, 1)


def test_what_changes_nothing_or_is_no_form_of_ours_is_refused(organizer: Client) -> None:
    answers(
        organizer.post(NEW, sent(do="record", panel_size=" 3 ", min_box_fraction="1/4")),
        400,
        "Nothing differs from version 1. Change a number.",
    )
    for told in ({"base": "x\x00"}, {"base": "9" * 40}, {"panel_size": "\x00"}, {"since": "\x00" * 9, "base": "1"}):
        assert organizer.post(NEW, sent() | told).status_code in {400, 409}


def test_what_was_tried_is_taken_over(organizer: Client) -> None:
    tried = organizer.get(
        "/organizer/what-if/?min_box_fraction=20+%25&panel_size=4&outline_gate=not_excluded&occlusion_allowed=yes"
    ).content.decode()
    (address,) = re.findall(rf'href="({NEW}[^"]+)">Record these numbers…', tried)
    found = fields(organizer.get(unescape(address)).content.decode())
    told = {"min_box_fraction": "20 %", "panel_size": "4", "outline_gate": "not_excluded", "occlusion_allowed": "yes"}
    assert found.items() >= (told | {"appeal_days": "7"}).items()


@pytest.mark.parametrize("do", ["preview", "record", "edit"])
def test_the_second_is_shown_what_the_first_recorded_and_loses_nothing(do: str, organizer: Client, oscar: User) -> None:
    meanwhile(oscar, appeal_days=9, board_days=30)
    answer = organizer.post(NEW, sent(do=do, appeal_days="8", panel_size="oops", reason="Mine"))
    answers(
        answer,
        409,
        "version 2 was recorded meanwhile",
        "by oscar",
        "7 days",
        "9 days",
        "\nMine</textarea>",
        f'value="{LATER}"',
        '<input type="hidden" name="base" value="2"',
    )
    found = fields(answer.content.decode())
    assert (found["appeal_days"], found["panel_size"], found["board_days"]) == ("8", "oops", "30")
    answers(organizer.post(NEW, sent(do=do, base=999)), 409, "version 2 was recorded meanwhile")
    assert PolicyVersion.objects.count() == 2
    organizer.post(NEW, sent(base=2, do="record", appeal_days="8", board_days=found["board_days"]))
    assert PolicyVersion.objects.get(version=3).numbers == Policy(appeal_days=8, board_days=30).to_json()


def test_the_page_shows_what_holds_what_comes_and_what_was(organizer: Client, olga: User, oscar: User) -> None:
    answers(organizer.get(URL), 200, "No version is to come.", "There is none: the version in force is the first.")
    meanwhile(oscar, appeal_days=9)
    page = organizer.get(URL).content.decode()
    shows(page, "by oscar", "Call version 2 back", "9 days with version 2")
    assert page.index("Version 1</a>") < page.index("Version 2</a>")
    meanwhile(oscar, days=2, appeal_days=10)
    answers(organizer.get(URL), 200, "Call version 3 back", but=["Call version 2 back"])  # the newest first


def test_a_version_is_called_back_with_a_reason(organizer: Client, oscar: User) -> None:
    meanwhile(oscar, appeal_days=9)
    answers(organizer.post(URL, {"version": "2", "reason": " "}), 400, "Give the reason: it is public.")
    answers(
        organizer.post(URL, {"version": "2", "reason": "A mistake"}, follow=True),
        200,
        *("Version 2 is called back. Version 3 goes on", "Never in force"),
        "No number changes: it goes on with those of version 1.",
    )
    for version in ("2", "zero"):
        again = organizer.post(URL, {"version": version, "reason": "Again"})
        answers(again, 409, "version 3 was recorded meanwhile")
    assert PolicyVersion.objects.count() == 3
