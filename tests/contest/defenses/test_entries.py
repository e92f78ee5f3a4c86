"""Handing in, due dates, publication, opening the source, taking back: only when nothing can change what becomes of the
prize (R22, R28, R29, R31-R33, R35). What failed a condition of publication, why, and what to do.
"""

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from common.errors import WrongFields
from contest.core.enums import DefenseStanding, MessageKind, StakeEnd
from contest.core.models import Member, Stake, Team
from contest.core.weeks import week_at
from contest.defenses import entries, letters, selectors, stake_ends, staking
from contest.defenses.eligibility import failures, next_step
from contest.defenses.models import DefenseEntry
from contest.outbox.letters import write_message
from contest.outbox.models import Message
from contest.prizes.sweeps import prizes_settle
from labeling.selectors import forget_versions
from picture_files.store import picture_store
from policy.models import PolicyVersion
from policy.numbers import Policy
from scoring.enums import EligibilityCondition, Fault, RunState, TrialKind
from scoring.models import Defense, RunItem, Trial
from scoring.sealed import archive_key
from scoring.services import runs_plan
from scoring.trials import submitted_files
from scoring.trials.services import framework_check, trials_plan
from tests import factories, tables
from tests.contest.defenses import cast
from tests.contest.ledger import cast as money
from tests.contest.ledger.cast import CLOSED, MONDAY, PRIZE, SETTLED, balance
from tests.contest.pages import shows, words
from tests.refusals import refused
from tests.scoring.trials import cast as trials

pytestmark = pytest.mark.django_db
# A week runs from Saturday 00:00 to Saturday 00:00.
SATURDAY, INSTANT = datetime(2026, 11, 21, tzinfo=UTC), timedelta(microseconds=1)


def hand_in(team: Any, now: datetime, **values: Any) -> DefenseEntry:
    made, _ = entries.submit_defense(
        team, cast.given(**values), by=cast.captain(team), policy=cast.policy(now), now=now
    )
    return made


def other(number: int) -> dict[str, str]:
    return {"name": f"net {number}", "image": f"ghcr.io/blue/net@sha256:{number:064x}"}


# Handing in


def test_an_archive_with_everything_is_kept_under_its_hashes(tmp_path: Path, now: datetime) -> None:
    team, weights = cast.team(), tmp_path / "net.pt"
    weights.write_bytes(b"w" * 900)
    made = hand_in(
        team,
        now,
        image="",
        archive=cast.archive(tmp_path / "a"),
        weights=weights,
        source=cast.zipped(tmp_path / "s.zip"),
        training_code=cast.zipped(tmp_path / "t.zip", "train.py"),
    )
    defense, store = made.defense, picture_store()
    zips = [submitted_files.source_key(each) for each in (defense.source, made.training_code)]
    assert all(map(store.exists, (archive_key(defense.archive), *zips))) and len(set(zips)) == 2
    assert store.get(submitted_files.weights_key(defense.weights)) == b"w" * 900
    told = (made.received_at, made.opened_at, made.licence, made.handed_in_by, made.team)
    assert told == (now, now, "Apache-2.0", cast.captain(team), team)
    assert (defense.published_at, defense.image == defense.digest) == (None, True)


def test_a_digest_in_a_registry_is_pinned_closed_and_tried(now: datetime) -> None:
    """Its layers are not known, and its trials begin by themselves."""
    made = hand_in(cast.team(), now)
    defense, digest = made.defense, cast.IN_REGISTRY.partition("@")[2]
    assert (made.opened_at, made.due_at) == (None, week_at(week_at(now).end).end)
    assert (defense.image, defense.digest, defense.archive, defense.layers) == (cast.IN_REGISTRY, digest, "", [])
    assert trials_plan(policy=cast.policy(), now=now, rng=random.Random(1)) == 1
    assert Trial.objects.get(defense=defense).kind == TrialKind.SMOKE


@tables.cases(
    "values fields why",
    ({"name": " "}, {"name"}, "no name"),
    ({"name": "a\nb"}, {"name"}, "a name of two lines"),
    ({"licence": ""}, {"licence"}, "no licence"),
    ({"licence": "x" * 201}, {"licence"}, "a long licence"),
    ({"description": "x" * 4001}, {"description"}, "a long description"),
    ({"image": ""}, {"archive"}, "no image at all"),
    ({"archive": Path("/nowhere.tar")}, {"archive"}, "an archive and a digest"),
    ({"name": "", "licence": "\x00"}, {"name", "licence"}, "two things at once, and a NUL is nothing"),
)
def test_what_is_wrong_is_named_all_at_once(values: dict[str, Any], fields: set[str], why: str, now: datetime) -> None:
    error = refused("invalid", hand_in, cast.team(), now, **values)
    assert isinstance(error, WrongFields) and set(error.fields) == fields and not Defense.objects.exists(), why


@tables.cases(
    "image code why",
    ("team/steadfast:v1@sha256:" + "ab" * 32, "bad_image", "a tag can move, and only the digest says what runs"),
    ("ghcr.io/blue/net", "bad_image", "no digest"),
    ("ghcr.io/blue/net@sha256:" + "AB" * 32, "bad_image", "a digest in capitals"),
    ("ghcr.io/blue/net@sha256:" + "ab" * 31, "bad_image", "a short digest"),
    ("-x/net@sha256:" + "ab" * 32, "bad_image", "what looks like an option"),
    ("ghcr.io/" + "a" * 200 + "@sha256:" + "ab" * 32, "bad_image", "a long name"),
    ("localhost:5000/net@sha256:" + "ab" * 32, "registry_unknown", "the scorer's own machine"),
    ("169.254.169.254/net@sha256:" + "ab" * 32, "registry_unknown", "an address inside"),
    ("registry.example.org:5000/net@sha256:" + "ab" * 32, "registry_unknown", "a registry that is not in use here"),
)
def test_images_that_cannot_be_used(image: str, code: str, why: str, now: datetime) -> None:
    assert refused(code, hand_in, cast.team(), now, image=image).field == "image", why


def test_the_registries_in_use_are_a_setting(settings: Any, now: datetime) -> None:
    own = "steadfast@sha256:" + "ab" * 32
    assert hand_in(cast.team(), now, image=own).defense.image == own, "an image of the engine's own registry"
    settings.DEFENSE_REGISTRIES = ["registry.example.org:5000"]
    image = f"registry.example.org:5000/{own}"
    assert hand_in(cast.team("red"), now, name="another", image=image).defense.image == image
    refused("registry_unknown", hand_in, DefenseEntry.objects.all()[0].team, now, name="a third")


def test_a_wrong_zip_names_its_field_and_keeps_nothing(tmp_path: Path, now: datetime) -> None:
    wrong = tmp_path / "t.zip"
    wrong.write_bytes(b"no zip")
    assert refused("bad_source", hand_in, cast.team(), now, training_code=wrong).field == "training_code"
    assert not Defense.objects.exists() and not any((tmp_path / "pictures").iterdir())


# The same again, and names


def test_the_same_again_is_known_and_counts_once(tmp_path: Path, now: datetime) -> None:
    team, source = cast.team(), cast.zipped(tmp_path / "s.zip")
    first = hand_in(team, now)
    again, new = entries.submit_defense(team, cast.given(), by=cast.member(team), policy=cast.policy(), now=now)
    assert (again, new, selectors.submissions_left(team, cast.policy(), now)) == (first, False, 2)
    entries.source_open(first, source, by=cast.member(team), now=now)
    assert hand_in(team, now) == first == hand_in(team, now, source=source), "what is not sent again is no difference"


@tables.cases(
    "values closed named addable why",
    ({"licence": "MIT"}, False, "licence", False, "another licence"),
    ({"description": "Better."}, False, "description", False, "a description"),
    ({"source": "s"}, True, "source", True, "source for a closed one, which is added on its page"),
    ({"source": "s", "training_code": "t"}, True, "source and training code", True, "both are added there"),
    ({"training_code": "t"}, True, "training code", False, "training code alone cannot be added"),
    ({"source": "s", "licence": "MIT"}, True, "source and licence", True, "two ways for the two"),
    ({"source": "s"}, False, "source", False, "another source than the one that was handed in"),
    ({"weights": "w"}, False, "weights", False, "weights"),
    ({"source": "s", "weights": "w", "licence": "MIT", "description": "x"}, True,
     "source, weights, licence and description", True, "everything is named"),
)  # fmt: skip
def test_nothing_is_dropped_without_a_word(
    values: dict[str, str], closed: bool, named: str, addable: bool, why: str, tmp_path: Path, now: datetime
) -> None:
    team = cast.team()
    first = hand_in(team, now, **({} if closed else {"source": cast.zipped(tmp_path / "first.zip", "first.py")}))
    files = {name: cast.zipped(tmp_path / name, "other.py") for name in ("source", "training_code", "weights")}
    sent = {name: files.get(name, text) for name, text in values.items()}
    words = refused("differs", hand_in, team, now, **sent).message
    another = not (addable and set(values) <= {"source", "training_code"})
    said = [f"Different now: {named}." in words, first.defense.public_id in words, "another version" in words]
    assert said == [True, addable, another], why
    kept = DefenseEntry.objects.values_list(
        "licence", "defense__description", "defense__weights", "defense__source"
    ).get()
    assert kept == ("Apache-2.0", "", "", first.defense.source)


@tables.cases(
    "values who code why",
    ({}, "blue", "name_taken", "another image under a name of one's own"),
    ({}, "red", "name_taken", "the name of another team's defense"),
    ({"name": "STEADFAST"}, "red", "name_taken", "the same name in capitals"),
    ({"name": "shipped"}, "red", "name_taken", "the name of a shipped defense"),
    ({"image": cast.IN_REGISTRY}, "red", "name_taken", "the very same of another team"),
)
def test_each_defense_has_a_name_of_its_own(
    values: dict[str, Any], who: str, code: str, why: str, now: datetime
) -> None:
    Defense.objects.create(name="Shipped", digest="x", reference="always_abstain", created_at=now, published_at=now)
    teams = {name: cast.team(name) for name in ("blue", "red")}
    hand_in(teams["blue"], now)
    assert refused(code, hand_in, teams[who], now, **({"image": other(7)["image"]} | values)), why
    assert DefenseEntry.objects.count() == 1


# How many a week


def test_three_a_week_and_the_next_week_three_more(now: datetime) -> None:
    team, left = cast.team(), partial(selectors.submissions_left, policy=cast.policy())
    for number in range(3):
        hand_in(team, now, **other(number))
    assert [left(each, now=now) for each in (team, cast.team("red"))] == [0, 3], "each team has its own"
    refused("quota_used", hand_in, team, SATURDAY - INSTANT, **other(9))
    assert hand_in(team, now, **other(2)) == DefenseEntry.objects.latest("pk"), "the last one sent again is known"
    hand_in(team, SATURDAY, **other(9))
    assert left(team, now=SATURDAY) == 2


@pytest.mark.both("it locks the team, or a defense and its entry")
@tables.cases(
    "act left why",
    (lambda team, now: refused("bad_image", hand_in, team, now, image="no image"), 3, "what was refused costs nothing"),
    (lambda team, now: (entries.entry_withdraw(hand_in(team, now), by=cast.captain(team), now=now),
                        refused("withdrawn_before", hand_in, team, now)), 2,
     "what was taken back counts, and is not handed in again under its name"),
    (lambda team, now: (hand_in(team, now), hand_in(team, now)), 2, "the same again counts once"),
)  # fmt: skip
def test_what_counts(act: Any, left: int, why: str, now: datetime) -> None:
    team = cast.team()
    act(team, now)
    assert selectors.submissions_left(team, cast.policy(), now) == left, why


def test_merged_teams_count_together(now: datetime) -> None:
    blue, red = cast.team("blue"), cast.team("red")
    hand_in(red, now)
    Team.objects.filter(pk=red.pk).update(merged_into=blue, merged_at=now)
    left, counted = selectors.submissions_left(blue, cast.policy(), now), selectors.submissions_of(blue)
    assert (left, [each.team for each in counted]) == (2, [red])


# The due date


@tables.cases(
    "received zone due why",
    ("2026-11-21T00:00:00+00:00", "UTC", "2026-12-05T00:00:00+00:00", "the first moment of a week"),
    ("2026-11-20T23:59:59.999+00:00", "UTC", "2026-11-28T00:00:00+00:00", "the last moment of the week before"),
    ("2026-11-18T12:00:00+00:00", "UTC", "2026-11-28T00:00:00+00:00", "in the middle of a week"),
    ("2026-03-25T12:00:00+00:00", "Europe/Berlin", "2026-04-03T22:00:00+00:00", "clocks go forward in between"),
    ("2026-10-21T12:00:00+00:00", "Europe/Berlin", "2026-10-30T23:00:00+00:00", "clocks go back in between"),
    ("2028-02-23T12:00:00+00:00", "UTC", "2028-03-04T00:00:00+00:00", "over a leap day"),
)
def test_due_by_the_end_of_the_following_week(received: str, zone: str, due: str, why: str) -> None:
    factories.policy_version()
    PolicyVersion.objects.update(numbers=replace(Policy(), time_zone=zone).to_json())
    forget_versions()
    assert selectors.due_date(datetime.fromisoformat(received)) == datetime.fromisoformat(due), why


# Publication


def published(now: datetime) -> int:
    return entries.defenses_publish(policy=cast.policy(), now=now)


def test_an_eligible_defense_is_published_at_once_and_unstaked(now: datetime) -> None:
    made, later = cast.entry(cast.team(), now=now), now + timedelta(hours=3)

    def standing() -> DefenseStanding:
        return selectors.defense_state_of(Defense.objects.get(), now=now)

    assert (published(now), standing()) == (0, DefenseStanding.RECEIVED)
    cast.eligible(made.defense)
    assert standing() is DefenseStanding.ELIGIBLE
    assert [published(later) for _ in range(2)] == [1, 0], "running it twice changes nothing"
    defense = Defense.objects.get()
    assert (defense.published_at, selectors.newest_stakes([defense]), standing()) == (
        later,
        {},
        DefenseStanding.PUBLISHED,
    )


@tables.cases(
    "change why",
    (lambda made: Trial.objects.filter(kind="smoke").delete(), "no smoke test"),
    (lambda made: Trial.objects.filter(kind="private").update(state=RunState.QUEUED), "a trial under way"),
    (lambda made: Trial.objects.filter(kind="private").update(totals={"pictures": 10, "right": 5, "abstained": 5}),
     "not enough right"),
    (lambda made: framework_check(made.defense, passed=False, reason="x", by=cast.board(), now=factories.NOW),
     "the last check of the framework was not passed"),
    (lambda made: entries.entry_withdraw(made, by=cast.captain(made.team), now=factories.NOW), "taken back"),
    (lambda made: Defense.objects.create(name=made.defense.name, digest="y", created_at=factories.NOW,
                                         published_at=factories.NOW), "another one of this name is in force"),
)  # fmt: skip
def test_not_published(change: Any, why: str, now: datetime) -> None:
    made = cast.entry(cast.team(), now=now)
    cast.eligible(made.defense)
    change(made)
    assert published(now) == 0, why


def smoked(made: DefenseEntry, accepted: bool) -> None:
    trials.passed(made.defense, TrialKind.SMOKE, totals={"accepted": accepted})


@tables.cases(
    "after change missing why",
    (timedelta(0), lambda made: None, [["container", "private", "earlier", "speed", "framework"]],
     "nothing was done by the date"),
    (-INSTANT, lambda made: None, [], "the date is not over"),
    (timedelta(0), lambda made: smoked(made, True), [["private", "earlier", "speed", "framework"]],
     "the contest is behind"),
    (timedelta(0), lambda made: smoked(made, False), [], "one that failed is not published by any date"),
    (timedelta(0), lambda made: entries.entry_withdraw(made, by=cast.captain(made.team), now=made.received_at), [],
     "taken back"),
)  # fmt: skip
def test_what_is_overdue(after: timedelta, change: Any, missing: list[list[str]], why: str, now: datetime) -> None:
    made = cast.entry(cast.team(), now=now)
    change(made)
    assert [list(each.missing) for each in selectors.overdue(cast.policy(), made.due_at + after)] == missing, why


# What failed a condition of publication, why, and what to do (R31)

SMOKE, PRIVATE, EARLIER, PROBE = TrialKind
MENDED_BY_A_NEW_SET = {EligibilityCondition.PRIVATE, EligibilityCondition.SPEED}


@pytest.fixture
def net(db: None) -> DefenseEntry:
    return cast.passing(cast.team("blue"), "the net")


def private(**totals: int) -> Callable[[Defense], None]:
    return lambda defense: trials.passed(defense, PRIVATE, totals={"rows": 16, "milliseconds": 900} | totals)


def crashed(kind: TrialKind, totals: dict[str, Any]) -> Callable[[Defense], None]:
    return lambda defense: trials.passed(defense, kind, totals=totals, fault=Fault.CRASHED)


# what failed, the conditions, words of what was missed
@tables.cases(
    "change conditions words why",
    (private(pictures=10, right=7, abstained=3), [EligibilityCondition.PRIVATE],
     "7 of 10 right. At least 80 % is needed: 8.", "too few right"),
    (private(pictures=11, right=8, abstained=3), [EligibilityCondition.PRIVATE],
     "8 of 11 right. At least 80 % is needed: 9.", "what is needed is rounded up"),
    (private(pictures=10, right=9, wrong=1), [EligibilityCondition.PRIVATE],
     "1 counted as wrong. None may be: abstaining is not wrong.", "enough right, and one wrong in the strict reading"),
    (private(pictures=10, right=9, faults=1), [EligibilityCondition.PRIVATE],
     "1 of them had no answer because of a fault; before publication that is a wrong answer.",
     "a fault is a wrong answer"),
    (lambda defense: trials.passed(defense, PRIVATE, totals=trials.GOOD[PRIVATE] | {"milliseconds": 10_000_000}),
     [EligibilityCondition.SPEED], "A picture may take at most 60 s.", "too slow"),
    (crashed(SMOKE, {"accepted": False, "rounds": 0}), [EligibilityCondition.CONTAINER],
     "The smoke test ended in the fault crashed: The program ended", "it crashed"),
    (lambda defense: trials.passed(defense, SMOKE, totals={"accepted": False, "pictures_per_minute": 0}),
     [EligibilityCondition.CONTAINER], "The smoke test was not accepted. It answered 0 pictures a minute.",
     "slow in smoke"),
    (lambda defense: trials.passed(defense, EARLIER, totals={"pictures": 4, "right": 3, "wrong": 1}),
     [EligibilityCondition.EARLIER],
     "1 of 4 answers to earlier valid attacks counted as wrong. None may be.", "a confident mistake"),
    (lambda defense: framework_check(defense, passed=False, reason="compiled", by=cast.board(), now=factories.NOW)
     and None, [EligibilityCondition.FRAMEWORK], "The review board's check: compiled", "the board said no"),
)  # fmt: skip
def test_what_was_missed_is_named_and_a_new_private_set_promised_where_it_helps(
    change: Callable[[Defense], None],
    conditions: list[EligibilityCondition],
    words: str,
    why: str,
    net: DefenseEntry,
    now: datetime,
) -> None:
    assert selectors.defense_state_of(net.defense, now=now) is DefenseStanding.ELIGIBLE
    change(net.defense)
    found = failures([net.defense], now=now)[net.defense_id]
    assert [each.condition for each in found] == conditions and words in found[0].words
    assert found[0].advice and found[0].at is not None and "Hand in a new version" in next_step(found)
    assert selectors.defense_state_of(net.defense, now=now) is DefenseStanding.NOT_ELIGIBLE
    trials.private(4, seed=300)
    trials_plan(policy=cast.policy(), now=now, rng=random.Random(1))
    helps = selectors.defense_state_of(net.defense, now=now) is DefenseStanding.RECEIVED
    assert ("begins again by itself" in next_step(found)) == helps == (conditions[0] in MENDED_BY_A_NEW_SET), why


def test_two_failures_are_mended_by_a_new_set_where_it_mends_both(net: DefenseEntry, now: datetime) -> None:
    trials.passed(net.defense, PRIVATE, totals=cast.WEAK)
    trials.passed(net.defense, SMOKE, totals={"accepted": False})
    assert "begins again" not in next_step(failures([net.defense], now=now)[net.defense_id])


# What takes it back to waiting
@tables.cases(
    "change why",
    (lambda net: trials.private(4, seed=300), "a new private set asks it again"),
    (lambda net: trials.ask(net.defense, PRIVATE, factories.NOW), "an organizer asked for another trial"),
    (
        lambda net: trials.passed(net.defense, PRIVATE, state=RunState.DEAD, totals={}),
        "the platform's fault is no failure",
    ),
)
def test_it_waits_again(change: Callable[[DefenseEntry], Any], why: str, net: DefenseEntry, now: datetime) -> None:
    trials.passed(net.defense, PRIVATE, totals=cast.WEAK)
    assert selectors.defense_state_of(net.defense, now=now) is DefenseStanding.NOT_ELIGIBLE
    change(net)
    standing = selectors.defense_state_of(net.defense, now=now)
    assert (standing, failures([net.defense], now=now)) == (DefenseStanding.RECEIVED, {})


def test_after_its_publication_or_withdrawal_it_is_no_failure(net: DefenseEntry, now: datetime) -> None:
    trials.passed(net.defense, PRIVATE, totals=cast.WEAK)
    for changed in ({"published_at": now}, {"published_at": None, "retired_at": now}):
        Defense.objects.filter(pk=net.defense_id).update(**changed)
        standing = selectors.defense_state_of(Defense.objects.get(), now=now)
        assert (standing is DefenseStanding.NOT_ELIGIBLE, failures(Defense.objects.all(), now=now)) == (False, {})
    DefenseEntry.objects.filter(pk=net.pk).update(withdrawn_at=now)
    assert letters.notify_not_eligible(now=now) == 0, "and nobody is told"


def test_a_team_is_told_once_of_each_failure(net: DefenseEntry, now: datetime) -> None:
    assert letters.notify_not_eligible(now=now) == 0
    trials.passed(net.defense, PRIVATE, totals=cast.WEAK)
    assert [letters.notify_not_eligible(now=now) for _ in range(2)] == [2, 0]
    told = Message.objects.filter(kind=MessageKind.NOT_ELIGIBLE).order_by("pk")
    assert [each.user.username for each in told if each.user] == ["cap-blue", "mem-blue"]
    letter = write_message(told[0])
    assert letter.title == "the net is not eligible" and "At least 80 % is needed: 8." in letter.text
    net.team.members.create(user=factories.user("late"))
    assert letters.notify_not_eligible(now=now) == 0, "who joins later reads it on the page"
    trials.private(4, seed=300)
    assert letters.notify_not_eligible(now=now) == 0, "it waits again"
    trials.passed(net.defense, PRIVATE, totals=cast.WEAK, finished_at=now + timedelta(hours=1))
    assert letters.notify_not_eligible(now=now + timedelta(hours=1)) == 3, "it failed the new set as well"


def test_a_list_asks_as_many_questions_as_one(
    net: DefenseEntry, now: datetime, django_assert_max_num_queries: Any
) -> None:
    for number in range(5):
        trials.passed(cast.entry(net.team, f"net of five {number}").defense, PRIVATE, totals=cast.WEAK)
    with django_assert_max_num_queries(6):
        assert len(failures(Defense.objects.all(), now=now)) == 5


# Opening the source


@pytest.mark.both("it locks a defense, and its entry after it")
def test_a_closed_defense_is_opened_once(tmp_path: Path, now: datetime) -> None:
    team, later, source = cast.team(), now + timedelta(days=3), cast.zipped(tmp_path / "s.zip")
    opens = partial(entries.source_open, hand_in(team, now), source, now=later)
    opened = opens(by=cast.member(team), training_code=source)
    defense = Defense.objects.get()
    assert (opened.opened_at, selectors.is_open(defense), opened.training_code) == (later, True, defense.source)
    assert picture_store().exists(submitted_files.source_key(defense.source))
    refused("open_already", opens, by=cast.captain(team))


# Taking back


@tables.cases(
    "what change code why",
    ("received", lambda made, now: None, "", "before its publication"),
    ("published", lambda made, now: None, "", "published and not at stake"),
    ("asked", lambda made, now: staking.stake_request(made.defense, by=cast.captain(made.team), now=now), "",
     "a stake that was not paid goes with it"),
    ("staked", lambda made, now: cast.staked(made.defense, now=now), "staked",
     "only the board returns what is at stake"),
    ("withdrawn", lambda made, now: entries.entry_withdraw(made, by=cast.captain(made.team), now=now), "withdrawn",
     "it was taken back before"),
)  # fmt: skip
def test_taking_a_defense_back(what: str, change: Any, code: str, why: str, tmp_path: Path, now: datetime) -> None:
    team = cast.team()
    cast.funded()
    made = cast.entry(team, now=now, published=None if what == "received" else now, closed=True)
    answer = cast.answered(made.defense, cast.picture(now), now)
    withdraws = partial(entries.entry_withdraw, made, now=now)
    change(made, now)
    if code:
        assert refused(code, withdraws, by=cast.captain(team)), why
        return
    refused("not_captain", withdraws, by=cast.member(team))
    refused("not_yours", withdraws, by=cast.captain(cast.team("red")))
    back, defense = withdraws(by=cast.captain(team)), Defense.objects.get()
    assert (back.withdrawn_at, defense.retired_at, selectors.open_stake_of(defense)) == (now, now, None), why
    assert selectors.defense_state_of(defense, now=factories.NOW) is DefenseStanding.WITHDRAWN
    assert answer in defense.predictions.all(), "its answers stay"
    refused("withdrawn", entries.source_open, back, cast.zipped(tmp_path / "s.zip"), by=cast.captain(team), now=now)


@pytest.fixture
def captain(db: None) -> User:
    return factories.user("cap")


@pytest.fixture
def stake(olga: User, captain: User) -> Stake:
    """A defense at stake since MONDAY."""
    money.deposit(100_000, olga)
    makers = Member.objects.create(team=money.team("makers"), user=captain, captain=True).team
    return money.staked(money.defense("net", makers))


def withdrawn(stake: Stake, by: User, now: datetime) -> Defense:
    entries.entry_withdraw(stake.defense.entry, by=by, now=now)
    return Defense.objects.get(pk=stake.defense_id)


def stays(stake: Stake, by: User, now: datetime) -> str:
    error = refused("not_final", withdrawn, stake, by, now)
    assert Defense.objects.get(pk=stake.defense_id).retired_at is None
    return error.message


def test_a_broken_defense_stays_until_the_earlier_week_is_run_too(stake: Stake, captain: User) -> None:
    red, blue = money.team("red"), money.team("blue")
    money.broken(stake.defense, money.attack(red, days=6))
    earlier = money.attack(blue, days=1)
    stake_ends.stakes_end(now=SETTLED)
    assert "it waits for 2026-W47, 2026-W48. It can be taken back when the pictures" in stays(stake, captain, SETTLED)
    money.ruled(earlier.image, at=SETTLED)
    runs_plan(policy=Policy(), now=SETTLED, rng=random.Random(1))
    assert RunItem.objects.filter(defense=stake.defense, image=earlier.image).exists(), "it is run all the same"
    RunItem.objects.filter(image=earlier.image).delete()
    assert (prizes_settle(now=SETTLED), balance(red)) == (1, PRIZE), "the week of the break alone is settled"
    money.broken(stake.defense, earlier, found=SETTLED)
    for _ in range(2):
        money.swept(CLOSED)
    assert (balance(red), balance(blue)) == (0, PRIZE), "the earlier week has the prize"
    assert withdrawn(stake, captain, CLOSED).retired_at == CLOSED


def test_the_day_is_named_as_soon_as_it_is_known(stake: Stake, captain: User) -> None:
    money.broken(stake.defense, money.attack(money.team("red"), days=1))
    ruled = MONDAY.replace(hour=0) + timedelta(7)  # two days after its week
    at, said = ruled + timedelta(7), "it waits for 2026-W47. It can be taken back from Mon 30 Nov 2026 00:00:00 UTC on"
    assert "2026-W47" in stays(stake, captain, ruled), "no sweep has seen the break, and it is seen"
    stake_ends.stakes_end(now=ruled)
    assert said in stays(stake, captain, at - INSTANT)
    assert withdrawn(stake, captain, at).retired_at == at


def test_a_void_stake_waits_for_the_week_of_its_break_alone(stake: Stake, captain: User) -> None:
    money.broken(stake.defense, money.attack(money.team("red"), days=-6))
    money.attack(money.team("blue"), days=1)
    stake_ends.stakes_end(now=MONDAY + timedelta(1))
    assert [week.name for week in stake_ends.not_final(stake.defense, now=MONDAY + timedelta(1)).weeks] == ["2026-W46"]
    assert stake_ends.not_final(stake.defense, now=CLOSED) is None


def test_a_broken_stake_waits_for_a_week_of_before_that_may_void_it(stake: Stake, captain: User) -> None:
    other = money.staked(money.defense("other", money.team("others")))
    money.broken(stake.defense, money.attack(money.team("red"), days=1))
    early = money.attack(money.team("blue"), days=-20)
    stake_ends.stakes_end(now=SETTLED)
    assert early.week in stays(stake, captain, CLOSED)
    money.ended(other, StakeEnd.WITHDRAWN)
    assert stake_ends.not_final(other.defense, now=CLOSED) is None, (
        "what was taken back unbroken waits for nothing of before"
    )
    money.ruled(early.image, "", at=SETTLED)
    assert withdrawn(stake, captain, CLOSED).retired_at == CLOSED


def test_no_stake_comes_back_into_force_on_a_defense_that_is_retired(stake: Stake, captain: User) -> None:
    sent = money.attack(money.team("red"), days=1)
    money.broken(stake.defense, sent)
    stake_ends.stakes_end(now=SETTLED)
    withdrawn(stake, captain, CLOSED)
    money.overruled(sent.image, at=CLOSED + timedelta(1))
    for _ in range(2):
        stake_ends.stakes_end(now=CLOSED + timedelta(1))
        assert Stake.objects.values_list("end", "ended_at").get() == (StakeEnd.WITHDRAWN, CLOSED)
    prizes_settle(now=CLOSED + timedelta(1))
    assert balance(stake) == 0, "the money is back where it came from"


def test_one_that_comes_back_into_force_is_at_stake_and_ends_where_its_defense_is_retired(
    stake: Stake, captain: User
) -> None:
    sent = money.attack(money.team("red"), days=1)
    money.broken(stake.defense, sent)
    stake_ends.stakes_end(now=SETTLED)
    money.overruled(sent.image)
    refused("staked", withdrawn, stake, captain, CLOSED + timedelta(30))
    Defense.objects.filter(pk=stake.defense_id).update(retired_at=CLOSED)
    stake_ends.stakes_end(now=CLOSED)
    assert Stake.objects.values_list("end", "ended_at").get() == (StakeEnd.WITHDRAWN, CLOSED)


def test_what_the_board_returns_is_broken_by_what_was_sent_before(stake: Stake, captain: User, rita: User) -> None:
    blue, returned = money.team("blue"), MONDAY + timedelta(2)
    sent, by = money.attack(blue, days=1), factories.mandate("return", rita, returned)
    staking.return_request(stake, "A mistake of ours.", by=captain, now=returned)
    staking.return_decide(stake, granted=True, reason="Granted.", by=by, now=returned)
    assert balance(stake) == 0 and "2026-W47" in stays(stake, captain, returned)
    money.broken(stake.defense, sent)
    money.swept(SETTLED)
    assert balance(blue) == PRIZE
    assert selectors.defense_state_of(withdrawn(stake, captain, CLOSED), now=factories.NOW) is DefenseStanding.WITHDRAWN


def test_its_page_says_when_instead_of_offering_it(
    stake: Stake, captain: User, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("django.utils.timezone.now", lambda: SETTLED)
    money.broken(stake.defense, money.attack(money.team("red"), days=1))
    stake_ends.stakes_end(now=SETTLED)
    client.force_login(captain)
    address, offer = f"/team/defenses/{stake.defense.public_id}/", "Withdraw net for good"
    shows(words(client, address), "It can be taken back from Mon 30 Nov 2026", but=[offer])
    assert client.post(f"{address}withdraw/", {"sure": "yes"}).status_code == 409
    monkeypatch.setattr("django.utils.timezone.now", lambda: CLOSED)
    client.force_login(captain)
    shows(words(client, address), offer)
