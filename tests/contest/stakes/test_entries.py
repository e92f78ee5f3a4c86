"""Handing in, due dates, publication, opening the source, taking back (R28, R31-R33)."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from common.errors import Conflict, InvalidInput, WrongFields
from contest.enums import DefenseStanding
from contest.models import Entry
from contest.stakes import entries, selectors, services
from contest.weeks import week_at
from labeling.models import PolicyVersion
from labeling.policy import Policy
from labeling.selectors import forget_versions
from labeling.store import picture_store
from scoring.enums import RunState, TrialKind
from scoring.models import Defense, Trial
from scoring.sealed import archive_key
from scoring.trials import handed_in
from scoring.trials.services import framework_check, trials_plan
from tests import factories
from tests.contest.stakes import cast
from tests.refusals import refused
from tests.scoring.trials import cast as trials

pytestmark = pytest.mark.django_db
# A week runs from Saturday 00:00 to Saturday 00:00.
SATURDAY = datetime(2026, 11, 21, tzinfo=UTC)
INSTANT = timedelta(microseconds=1)


def hand_in(team: Any, now: datetime, **values: Any) -> Entry:
    made, _ = entries.entry_hand_in(team, cast.given(**values), by=cast.captain(team), policy=cast.policy(now), now=now)
    return made


def other(number: int) -> dict[str, str]:
    """Another defense than the first."""
    return {"name": f"net {number}", "image": f"ghcr.io/blue/net@sha256:{number:064x}"}


# Handing in


def test_an_archive_with_everything_is_kept_under_its_hashes(tmp_path: Path, now: datetime) -> None:
    team = cast.team()
    weights = tmp_path / "net.pt"
    weights.write_bytes(b"w" * 900)
    files = {"source": cast.zipped(tmp_path / "s.zip"), "training_code": cast.zipped(tmp_path / "t.zip", "train.py")}
    made = hand_in(team, now, image="", archive=cast.archive(tmp_path / "a"), weights=weights, **files)
    defense = made.defense
    store = picture_store()
    assert store.exists(archive_key(defense.archive)) and store.exists(handed_in.source_key(defense.source))
    assert store.exists(handed_in.source_key(made.training_code)) and made.training_code != defense.source
    assert store.get(handed_in.weights_key(defense.weights)) == b"w" * 900
    assert (made.received_at, made.opened_at, made.licence) == (now, now, "Apache-2.0")
    assert (made.handed_in_by, made.team) == (cast.captain(team), team)
    assert (defense.published_at, defense.image == defense.digest) == (None, True)


def test_a_digest_in_a_registry_is_pinned_closed_and_tried(now: datetime) -> None:
    made = hand_in(cast.team(), now)
    assert (made.opened_at, made.due_at) == (None, week_at(week_at(now).end).end)
    defense = made.defense
    assert (defense.image, defense.digest) == (cast.IN_REGISTRY, cast.IN_REGISTRY.partition("@")[2])
    assert (defense.archive, defense.layers) == ("", []), "its layers are not known"
    assert trials_plan(policy=cast.policy(), now=now, rng=random.Random(1)) == 1
    assert Trial.objects.get(defense=defense).kind == TrialKind.SMOKE, "its trials begin by themselves"


WRONG = [
    ({"name": " "}, {"name"}, "no name"),
    ({"name": "a\nb"}, {"name"}, "a name of two lines"),
    ({"licence": ""}, {"licence"}, "no licence"),
    ({"licence": "x" * 201}, {"licence"}, "a long licence"),
    ({"description": "x" * 4001}, {"description"}, "a long description"),
    ({"image": ""}, {"archive"}, "no image at all"),
    ({"archive": Path("/nowhere.tar")}, {"archive"}, "an archive and a digest"),
    ({"name": "", "licence": "\x00"}, {"name", "licence"}, "two things at once, and a NUL is nothing"),
]


@pytest.mark.parametrize(("values", "fields", "why"), WRONG, ids=[row[2] for row in WRONG])
def test_what_is_wrong_is_named_all_at_once(values: dict[str, Any], fields: set[str], why: str, now: datetime) -> None:
    with pytest.raises(WrongFields) as refused:
        hand_in(cast.team(), now, **values)
    assert set(refused.value.fields) == fields, why
    assert not Defense.objects.exists()


IMAGES = [
    ("steadfast@sha256:" + "ab" * 32, "", "an image of the engine's own registry"),
    ("team/steadfast:v1@sha256:" + "ab" * 32, "bad_image", "a tag can move, and only the digest says what runs"),
    ("ghcr.io/blue/net", "bad_image", "no digest"),
    ("ghcr.io/blue/net@sha256:" + "AB" * 32, "bad_image", "a digest in capitals"),
    ("ghcr.io/blue/net@sha256:" + "ab" * 31, "bad_image", "a short digest"),
    ("-x/net@sha256:" + "ab" * 32, "bad_image", "what looks like an option"),
    ("ghcr.io/" + "a" * 200 + "@sha256:" + "ab" * 32, "bad_image", "a long name"),
    ("localhost:5000/net@sha256:" + "ab" * 32, "registry_unknown", "the scorer's own machine"),
    ("169.254.169.254/net@sha256:" + "ab" * 32, "registry_unknown", "an address inside"),
    ("registry.example.org:5000/net@sha256:" + "ab" * 32, "registry_unknown", "a registry that is not in use here"),
]


@pytest.mark.parametrize(("image", "code", "why"), IMAGES, ids=[row[2] for row in IMAGES])
def test_images_in_registries(image: str, code: str, why: str, now: datetime) -> None:
    if not code:
        assert hand_in(cast.team(), now, image=image).defense.image == image, why
        return
    with pytest.raises(InvalidInput) as refused:
        hand_in(cast.team(), now, image=image)
    assert (refused.value.code, refused.value.field) == (code, "image"), why


def test_the_registries_in_use_are_a_setting(settings: Any, now: datetime) -> None:
    settings.DEFENSE_REGISTRIES = ["registry.example.org:5000"]
    image = "registry.example.org:5000/net@sha256:" + "ab" * 32
    assert hand_in(cast.team(), now, image=image).defense.image == image
    refused("registry_unknown", hand_in, Entry.objects.get().team, now, name="another")


def test_a_wrong_zip_names_its_field_and_keeps_nothing(tmp_path: Path, now: datetime) -> None:
    wrong = tmp_path / "t.zip"
    wrong.write_bytes(b"no zip")
    with pytest.raises(InvalidInput) as refused:
        hand_in(cast.team(), now, training_code=wrong)
    assert (refused.value.code, refused.value.field) == ("bad_source", "training_code")
    assert not Defense.objects.exists() and not any((tmp_path / "pictures").iterdir())


# The same again, and names


def test_the_same_again_is_known_and_counts_once(tmp_path: Path, now: datetime) -> None:
    team, source = cast.team(), cast.zipped(tmp_path / "s.zip")
    first = hand_in(team, now)
    again, new = entries.entry_hand_in(team, cast.given(), by=cast.member(team), policy=cast.policy(), now=now)
    assert (again, new, selectors.hand_ins_left(team, cast.policy(), now)) == (first, False, 2)
    entries.source_open(first, source, by=cast.member(team), now=now)
    assert hand_in(team, now) == first == hand_in(team, now, source=source), "what is not sent again is no difference"


DIFFERENT = [
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
]  # fmt: skip


@pytest.mark.parametrize(("values", "closed", "named", "addable", "why"), DIFFERENT, ids=[row[4] for row in DIFFERENT])
def test_nothing_is_dropped_without_a_word(
    values: dict[str, str], closed: bool, named: str, addable: bool, why: str, tmp_path: Path, now: datetime
) -> None:
    team = cast.team()
    first = hand_in(team, now, **({} if closed else {"source": cast.zipped(tmp_path / "first.zip", "first.py")}))
    files = {name: cast.zipped(tmp_path / name, "other.py") for name in ("source", "training_code", "weights")}
    sent = {name: files.get(name, text) for name, text in values.items()}
    with pytest.raises(Conflict) as refused:
        hand_in(team, now, **sent)
    words = refused.value.message
    assert (refused.value.code, f"Different now: {named}." in words) == ("differs", True), why
    assert (first.defense.public_id in words) is addable
    assert ("another version" in words) is not (addable and set(values) <= {"source", "training_code"})
    again = Entry.objects.select_related("defense").get()
    assert (again.licence, again.defense.description, again.defense.weights) == ("Apache-2.0", "", "")
    assert again.defense.source == first.defense.source


TAKEN = [
    ({}, "blue", "name_taken", "another image under a name of one's own"),
    ({}, "red", "name_taken", "the name of another team's defense"),
    ({"name": "STEADFAST"}, "red", "name_taken", "the same name in capitals"),
    ({"name": "shipped"}, "red", "name_taken", "the name of a shipped defense"),
    ({"image": cast.IN_REGISTRY}, "red", "name_taken", "the very same of another team"),
]


@pytest.mark.parametrize(("values", "who", "code", "why"), TAKEN, ids=[row[3] for row in TAKEN])
def test_each_defense_has_a_name_of_its_own(
    values: dict[str, Any], who: str, code: str, why: str, now: datetime
) -> None:
    Defense.objects.create(name="Shipped", digest="x", reference="always_abstain", created_at=now, published_at=now)
    teams = {name: cast.team(name) for name in ("blue", "red")}
    hand_in(teams["blue"], now)
    assert refused(code, hand_in, teams[who], now, **({"image": other(7)["image"]} | values)), why
    assert Entry.objects.count() == 1


# How many a week


def test_three_a_week_and_the_next_week_three_more(now: datetime) -> None:
    team, policy = cast.team(), cast.policy()
    for number in range(3):
        hand_in(team, now, **other(number))
    assert selectors.hand_ins_left(team, policy, now) == 0
    refused("quota_used", hand_in, team, SATURDAY - INSTANT, **other(9))
    hand_in(team, SATURDAY, **other(9))
    assert selectors.hand_ins_left(team, policy, SATURDAY) == 2
    assert selectors.hand_ins_left(cast.team("red"), policy, now) == 3, "each team has its own"


COUNTED = [
    ("refused", 3, "what was refused costs nothing"),
    ("withdrawn", 2, "what was taken back counts, and is not handed in again under its name"),
    ("again", 2, "the same again counts once"),
]


@pytest.mark.both("it locks the team, or a defense and its entry")
@pytest.mark.parametrize(("what", "left", "why"), COUNTED, ids=[row[0] for row in COUNTED])
def test_what_counts(what: str, left: int, why: str, now: datetime) -> None:
    team = cast.team()
    if what == "refused":
        refused("bad_image", hand_in, team, now, image="no image")
    elif what == "withdrawn":
        entries.entry_withdraw(hand_in(team, now), by=cast.captain(team), now=now)
        refused("withdrawn_before", hand_in, team, now)
    else:
        assert hand_in(team, now) == hand_in(team, now)
    assert selectors.hand_ins_left(team, cast.policy(), now) == left, why


def test_merged_teams_count_together(now: datetime) -> None:
    blue, red = cast.team("blue"), cast.team("red")
    hand_in(red, now)
    red.merged_into, red.merged_at = blue, now
    red.save()
    assert selectors.hand_ins_left(blue, cast.policy(), now) == 2
    assert [each.team for each in selectors.entries_of(blue)] == [red]


# The due date


DUE = [
    ("2026-11-21T00:00:00+00:00", "UTC", "2026-12-05T00:00:00+00:00", "the first moment of a week"),
    ("2026-11-20T23:59:59.999+00:00", "UTC", "2026-11-28T00:00:00+00:00", "the last moment of the week before"),
    ("2026-11-18T12:00:00+00:00", "UTC", "2026-11-28T00:00:00+00:00", "in the middle of a week"),
    ("2026-03-25T12:00:00+00:00", "Europe/Berlin", "2026-04-03T22:00:00+00:00", "clocks go forward in between"),
    ("2026-10-21T12:00:00+00:00", "Europe/Berlin", "2026-10-30T23:00:00+00:00", "clocks go back in between"),
    ("2028-02-23T12:00:00+00:00", "UTC", "2028-03-04T00:00:00+00:00", "over a leap day"),
]


@pytest.mark.parametrize(("received", "zone", "due", "why"), DUE, ids=[row[3] for row in DUE])
def test_due_by_the_end_of_the_following_week(received: str, zone: str, due: str, why: str) -> None:
    factories.policy_version()
    PolicyVersion.objects.update(numbers=replace(Policy(), time_zone=zone).to_json())
    forget_versions()
    assert selectors.due_date(datetime.fromisoformat(received)) == datetime.fromisoformat(due), why


# Publication


def test_an_eligible_defense_is_published_at_once_and_unstaked(now: datetime) -> None:
    made = cast.entry(cast.team(), now=now)
    assert entries.defenses_publish(policy=cast.policy(), now=now) == 0
    assert selectors.standing_of(made.defense, now=factories.NOW) is DefenseStanding.RECEIVED
    cast.eligible(made.defense)
    assert selectors.standing_of(made.defense, now=factories.NOW) is DefenseStanding.ELIGIBLE
    later = now + timedelta(hours=3)
    assert entries.defenses_publish(policy=cast.policy(), now=later) == 1
    assert entries.defenses_publish(policy=cast.policy(), now=later) == 0, "running it twice changes nothing"
    defense = Defense.objects.get(pk=made.defense_id)
    assert (defense.published_at, selectors.stake_of(defense)) == (later, None)
    assert selectors.standing_of(defense, now=factories.NOW) is DefenseStanding.PUBLISHED


NOT_PUBLISHED = [
    (lambda made: Trial.objects.filter(kind="smoke").delete(), "no smoke test"),
    (lambda made: Trial.objects.filter(kind="private").update(state=RunState.QUEUED), "a trial under way"),
    (lambda made: Trial.objects.filter(kind="private").update(totals={"pictures": 10, "right": 5, "abstained": 5}),
     "not enough right"),
    (lambda made: framework_check(made.defense, passed=False, reason="x", by=cast.board(), now=factories.NOW),
     "the last check of the framework was not passed"),
    (lambda made: entries.entry_withdraw(made, by=cast.captain(made.team), now=factories.NOW), "taken back"),
    (lambda made: Defense.objects.create(name=made.defense.name, digest="y", created_at=factories.NOW,
                                         published_at=factories.NOW), "another one of this name is in force"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "why"), NOT_PUBLISHED, ids=[row[1] for row in NOT_PUBLISHED])
def test_not_published(change: Any, why: str, now: datetime) -> None:
    made = cast.entry(cast.team(), now=now)
    cast.eligible(made.defense)
    change(made)
    assert entries.defenses_publish(policy=cast.policy(), now=now) == 0, why


OVERDUE = [
    (timedelta(0), None, ["container", "private", "earlier", "speed", "framework"], "nothing was done by the date"),
    (-INSTANT, None, None, "the date is not over"),
    (timedelta(0), "passed", ["private", "earlier", "speed", "framework"], "the contest is behind"),
    (timedelta(0), "failed", None, "one that failed is not published by any date"),
    (timedelta(0), "withdrawn", None, "taken back"),
]


@pytest.mark.parametrize(("after", "what", "missing", "why"), OVERDUE, ids=[row[3] for row in OVERDUE])
def test_what_is_overdue(
    after: timedelta, what: str | None, missing: list[str] | None, why: str, now: datetime
) -> None:
    made = cast.entry(cast.team(), now=now)
    if what in ("passed", "failed"):
        trials.passed(made.defense, TrialKind.SMOKE, totals={"accepted": what == "passed"})
    if what == "withdrawn":
        entries.entry_withdraw(made, by=cast.captain(made.team), now=now)
    found = selectors.overdue(cast.policy(), made.due_at + after)
    assert [list(each.missing) for each in found] == ([] if missing is None else [missing]), why


# Opening the source


@pytest.mark.both("it locks a defense, and its entry after it")
def test_a_closed_defense_is_opened_once(tmp_path: Path, now: datetime) -> None:
    team = cast.team()
    made = hand_in(team, now)
    later = now + timedelta(days=3)
    source = cast.zipped(tmp_path / "s.zip")
    opened = entries.source_open(made, source, by=cast.member(team), now=later, training_code=source)
    defense = Defense.objects.get(pk=made.defense_id)
    assert (opened.opened_at, selectors.is_open(defense)) == (later, True)
    assert picture_store().exists(handed_in.source_key(defense.source)) and opened.training_code == defense.source
    refused("open_already", entries.source_open, opened, source, by=cast.captain(team), now=later)


# Taking back


BACK = [
    ("received", "", "before its publication"),
    ("published", "", "published and not at stake"),
    ("asked", "", "a stake that was not paid goes with it"),
    ("staked", "staked", "only the board returns what is at stake"),
    ("withdrawn", "withdrawn", "it was taken back before"),
]


@pytest.mark.parametrize(("what", "code", "why"), BACK, ids=[row[0] for row in BACK])
def test_taking_a_defense_back(what: str, code: str, why: str, tmp_path: Path, now: datetime) -> None:
    team, red = cast.team(), cast.team("red")
    cast.funded()
    made = cast.entry(team, now=now, published=None if what == "received" else now, closed=True)
    answer = cast.answered(made.defense, cast.picture(now), now)
    if what == "asked":
        services.stake_ask(made.defense, by=cast.captain(team), now=now)
    if what == "staked":
        cast.staked(made.defense, now=now)
    if what == "withdrawn":
        entries.entry_withdraw(made, by=cast.captain(team), now=now)
    if code:
        assert refused(code, entries.entry_withdraw, made, by=cast.captain(team), now=now), why
        return
    refused("not_captain", entries.entry_withdraw, made, by=cast.member(team), now=now)
    refused("not_yours", entries.entry_withdraw, made, by=cast.captain(red), now=now)
    back = entries.entry_withdraw(made, by=cast.captain(team), now=now)
    defense = Defense.objects.get(pk=made.defense_id)
    assert (back.withdrawn_at, defense.retired_at) == (now, now), why
    assert selectors.standing_of(defense, now=factories.NOW) is DefenseStanding.WITHDRAWN
    assert selectors.open_stake_of(defense) is None
    answer.refresh_from_db()
    assert answer.defense == defense, "its answers stay"
    refused("withdrawn", entries.source_open, back, cast.zipped(tmp_path / "s.zip"), by=cast.captain(team), now=now)
