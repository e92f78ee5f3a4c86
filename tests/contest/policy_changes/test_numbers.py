"""The numbers of the policy in words: all are there, and what is typed is read, or refused."""

import re
from dataclasses import fields
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as configured
from hypothesis import given, settings
from hypothesis import strategies as st

from accounts.locale import zone_names
from common.errors import InvalidInput
from contest.policy_changes.moments import moment_of, moment_text
from contest.policy_changes.numbers import GROUPS, NEEDED_OF, NUMBERS, changed_numbers
from policy.enums import GoldFeedback, OutlineGate
from policy.numbers import LIMITS, Policy
from tests.refusals import refused

# Any policy that can be followed.
_SHARES = st.fractions(min_value=0, max_value=1, max_denominator=10_000).filter(bool)
_ELSE = {
    "name": st.from_regex(r"[a-z0-9][a-z0-9.-]{0,39}", fullmatch=True),
    "currency": st.from_regex(r"[A-Z]{3}", fullmatch=True),
    "time_zone": st.sampled_from(zone_names()),
    "min_box_fraction": _SHARES,
    "outline_gate": st.sampled_from(OutlineGate),
    "gold_feedback": st.sampled_from(GoldFeedback),
    "occlusion_allowed": st.booleans(),
    "eligibility_strict": st.booleans(),
}


def _possible(numbers: dict[str, Any]) -> Policy:
    for kind in ("qualification", "short_qualification"):
        numbers[f"{kind}_needed"] = min(numbers[f"{kind}_needed"], numbers[f"{kind}_size"])
    return Policy(**numbers)


POLICIES = st.fixed_dictionaries(
    _ELSE | {name: st.integers(least, most) for name, (least, most) in LIMITS.items()}
).map(_possible)

RULES = (Path(configured.BASE_DIR) / "docs" / "rules.md").read_text()
SOURCE = (Path(configured.BASE_DIR) / "policy" / "numbers.py").read_text()


def test_every_number_of_the_policy_and_of_the_rule_book_is_told_of_once() -> None:
    told = [each.name for numbers in GROUPS.values() for each in numbers]
    assert sorted(told) == sorted(each.name for each in fields(Policy))
    named = set(re.findall(r"policy `([a-z_]+)`", RULES, re.IGNORECASE))
    assert named <= set(told) and len(named) > 5
    assert set(NEEDED_OF) | set(NEEDED_OF.values()) <= set(NUMBERS)


@pytest.mark.parametrize("name", sorted(NUMBERS))
def test_a_number_says_what_it_is_and_what_it_may_be(name: str) -> None:
    number = NUMBERS[name]
    assert number.title and number.meaning.endswith(".") and number.range.endswith(".")
    assert all(f"**{rule}**" in RULES for rule in number.rules)
    cited = re.search(rf"^    {name}: .*# ((?:R\d+(?:, )?)*)", SOURCE, re.M)
    assert set(re.findall(r"R\d+", cited[1] if cited else "")) <= set(number.rules), "those the policy itself cites"


@pytest.mark.parametrize("name", sorted(LIMITS))
def test_its_limits_are_allowed_and_nothing_beyond(name: str) -> None:
    read, (least, most) = NUMBERS[name].read, LIMITS[name]
    found = [read(typed) for typed in (str(least), f" {most:,} ", str(least - 1), str(most + 1))]
    assert found == [least, most, None, None]
    with pytest.raises(ValueError, match=name):
        Policy(**{name: most + 1})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "typed", "value"),
    [
        ("panel_size", "5", 5),
        ("panel_size", "", None),  # nothing
        ("panel_size", "3.0", None),  # no whole number
        ("panel_size", "-3", None),  # a sign
        ("panel_size", "٣", None),  # digits that Python reads and nobody means
        ("panel_size", "9" * 5000, None),  # more digits than Python reads
        ("stake_hours", "2,160", 2160),
        ("min_box_fraction", "20 %", Fraction(1, 5)),
        ("min_box_fraction", "1/3", Fraction(1, 3)),
        ("min_box_fraction", "0", None),  # every picture would do
        ("min_box_fraction", "101 %", None),  # none would
        ("outline_gate", "not_excluded", OutlineGate.NOT_EXCLUDED),
        ("outline_gate", "nobody", None),
        ("gold_feedback", "retired", GoldFeedback.RETIRED),
        ("gold_feedback", "", None),
        ("occlusion_allowed", "yes", True),
        ("occlusion_allowed", "no", False),
        ("occlusion_allowed", "true", None),  # neither of the words
        ("time_zone", "Europe/Berlin", "Europe/Berlin"),
        ("time_zone", "Berlin", None),  # no name of the list
        ("time_zone", "../../etc/passwd", None),
        ("currency", "EUR", "EUR"),
        ("currency", "eur", None),  # small letters
        ("currency", "EURO", None),
        ("name", "unambiguous-2", "unambiguous-2"),
        ("name", "", None),
        ("name", "<b>", None),
    ],
)
def test_what_is_typed(name: str, typed: str, value: Any) -> None:
    read = NUMBERS[name].read(typed)
    assert (type(read), read) == (type(value), value)


@settings(max_examples=40)
@given(policy=POLICIES)
def test_any_policy_is_read_again_as_it_was_written(policy: Policy) -> None:
    read: dict[str, Any] = {name: each.read(each.text(each.of(policy))) for name, each in NUMBERS.items()}
    assert policy == Policy.from_json(policy.to_json()) == Policy(**read)
    assert all(each.words(each.of(policy), policy.currency) for each in NUMBERS.values())


def test_what_changes_is_told_in_words() -> None:
    found = changed_numbers(
        Policy(), Policy(min_box_fraction=Fraction(1, 5), appeal_days=1, attacker_prize_cents=150_000)
    )
    told = [(each.number.name, each.old, each.new) for each in found]
    assert told == [
        ("min_box_fraction", "25 %", "20 %"),
        ("appeal_days", "7 days", "1 day"),
        ("attacker_prize_cents", "USD 1,000.00", "USD 1,500.00"),
    ]


def test_no_more_is_needed_than_there_is() -> None:
    with pytest.raises(ValueError, match="qualification_needed"):
        Policy(qualification_size=5, qualification_needed=6)


# Moments as they are typed, by the clocks of a zone -------------------------------------------------------------------

BERLIN = "Europe/Berlin"


@pytest.mark.parametrize(
    ("typed", "zone", "moment"),
    [
        ("2026-11-28T00:00", "UTC", datetime(2026, 11, 28, tzinfo=UTC)),
        (" 2026-11-28 00:00 ", BERLIN, datetime(2026, 11, 27, 23, tzinfo=UTC)),
        ("2026-07-01T12:30:00", BERLIN, datetime(2026, 7, 1, 10, 30, tzinfo=UTC)),
        ("", BERLIN, "Give a day and a time"),
        ("tomorrow", BERLIN, "Give a day and a time"),
        ("2026-11-28", BERLIN, "Give a day and a time"),  # no time
        ("2026-02-30T00:00", BERLIN, "Give a day and a time"),  # no such day
        ("2026-11-28T24:00", BERLIN, "Give a day and a time"),
        ("9999-12-31T23:59", BERLIN, "Give a day and a time"),  # in another zone there is no such year
        ("0001-01-01T00:00", BERLIN, "Give a day and a time"),
        ("2026-11-28T00:00Z", BERLIN, "Give a day and a time"),  # a zone of its own
        ("2026-03-29T02:30", BERLIN, "never shown by the clocks in Europe/Berlin"),
        ("2026-10-25T02:30", BERLIN, "shown twice by the clocks in Europe/Berlin"),
    ],
)
def test_a_moment_is_read_or_refused_in_words(typed: str, zone: str, moment: datetime | str) -> None:
    if isinstance(moment, datetime):
        assert moment_of(typed, zone, field="since") == moment
    else:
        found = refused("invalid", moment_of, typed, zone, field="since")
        assert (found.field, moment in found.message) == ("since", True)


@given(minutes=st.integers(0, 60 * 24 * 366 * 40), zone=st.sampled_from(zone_names()))
def test_a_moment_in_words_is_the_moment_or_one_of_two(minutes: int, zone: str) -> None:
    moment = datetime.fromtimestamp(1_700_000_000 - 1_700_000_000 % 60 + 60 * minutes, UTC)
    try:
        read = moment_of(moment_text(moment, zone), zone, field="since")
    except InvalidInput as error:
        assert "shown twice" in error.message
    else:
        assert read == moment
