"""A team's picture (R2, R23-R26): bit-exact, within the quota, once per team, under embargo, labeled after its week."""

import io
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from PIL import Image as Pillow

from common.errors import Conflict, DomainError, InvalidInput, TooMany
from contest.attacks import quota, services
from contest.attacks.receipts import receipt_json, receipt_of
from contest.attacks.services import SentBefore, attack_receive, attack_withdraw
from contest.embargo import public_attacks
from contest.models import Attack, QuotaDay, Team
from contest.releases import release_week
from contest.teams.merging import teams_merge
from contest.weeks import week_called
from labeling.enums import Origin
from labeling.images import read_attack
from labeling.intake import image_add
from labeling.models import Image, KnownPicture
from labeling.policy import Policy
from labeling.services import panels_deal
from labeling.store import original_key, picture_store
from tests import factories
from tests.contest.attacks import cast
from tests.contest.attacks.cast import BOUNDARY, POLICY, picture, refusal, send

pytestmark = pytest.mark.django_db
SECOND, MILLISECOND, DAY = timedelta(seconds=1), timedelta(milliseconds=1), timedelta(days=1)
ONE_A_DAY = Policy(image_size=cast.SIDE, attacks_per_day=1)


@pytest.fixture
def blue(red: Team) -> Team:
    return cast.team("blue")


def took_back(attack: Attack, now: datetime) -> Attack:
    return attack_withdraw(attack=attack, by=cast.captain(attack.team), now=now)


def refused_as(act: Callable[[], Any]) -> str:
    with pytest.raises(DomainError) as found:
        act()
    return found.value.code


# Receipt and week ----------------------------------------------------------------------------------------------------


def test_a_receipt_has_its_time_week_policy_and_number(red: Team, now: datetime) -> None:
    """R26; chosen targets are recorded, and none means all."""
    one, _ = cast.staked("one"), cast.staked("two")
    attack = send(red, now=now, targets=[one.public_id])
    assert (attack.received_at, attack.week, attack.of_quota) == (now, "2026-W47", 1)
    assert (attack.policy, attack.copy_of) == (factories.policy_version(), None)
    assert (attack.sent_by, attack.file_name) == (cast.captain(red), "shade-7.png")
    assert (attack.image.origin, attack.image.received_at, attack.image.label_from) == ("attack", now, BOUNDARY)
    assert list(attack.targets.all()) == [one] and not send(red, 2, now=now).targets.exists()


BOUNDARIES = [
    (BOUNDARY - MILLISECOND, "2026-W47", BOUNDARY, "Friday 23:59:59.999 is in"),
    (BOUNDARY, "2026-W48", BOUNDARY + 7 * DAY, "Saturday 00:00:00 is next week, and not refused"),
    (BOUNDARY - timedelta(microseconds=1), "2026-W47", BOUNDARY, "the last moment there is"),
]


def test_the_week_is_that_of_the_last_byte(red: Team) -> None:
    """R23."""
    for shade, (moment, week, due, why) in enumerate(BOUNDARIES):
        attack = send(red, shade, now=moment)
        assert (attack.week, attack.image.label_from) == (week, due), why


def test_panels_are_dealt_at_the_boundary_and_not_before(red: Team, now: datetime) -> None:
    """R24: a late sweep deals the same and no more, and what was withdrawn never."""
    gone = took_back(send(red, 3, now=now), now + SECOND)
    assert (gone.withdrawn_at, gone.withdrawn_by) == (now + SECOND, cast.captain(red))
    for shade in (1, 2):
        send(red, shade, now=now)
    send(red, 4, now=BOUNDARY + DAY)
    moments = (BOUNDARY - MILLISECOND, BOUNDARY, BOUNDARY + DAY, BOUNDARY + 8 * DAY)
    assert [panels_deal(policy=POLICY, now=moment) for moment in moments] == [0, 2, 0, 1]


# Refusals ------------------------------------------------------------------------------------------------------------

REFUSALS: list[tuple[Callable[[Team, datetime], Any], str, str]] = [
    (lambda red, now: send(cast.team("green", entitled=False), now=now), "not_entitled", "no paper and no grant"),
    (
        lambda red, now: attack_receive(team=red, data=picture(side=17), policy=POLICY, now=now),
        "wrong_size",
        "never resized",
    ),
    (lambda red, now: send(red, now=now, targets=[cast.defense().public_id]), "not_staked", "published, not staked"),
    (lambda red, now: send(red, now=now, targets=["D-\x00\ud800"]), "not_staked", "no database can be asked about it"),
    (lambda red, now: send(red, 9, now=now, numbers=ONE_A_DAY), "quota_used", "one a day, and one was sent"),
]


@pytest.mark.parametrize(("attempt", "code", "why"), REFUSALS, ids=[row[2] for row in REFUSALS])
def test_a_refused_upload_costs_nothing_and_leaves_nothing(
    red: Team, now: datetime, attempt: Any, code: str, why: str
) -> None:
    """R25."""
    send(red, now=now)
    assert refused_as(lambda: attempt(red, now)) == code, why
    assert (Attack.objects.count(), Image.objects.count(), QuotaDay.objects.get().used) == (1, 1, 1)


def test_a_crash_in_the_middle_leaves_neither_picture_nor_quota(
    red: Team, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(**_: Any) -> None:
        raise RuntimeError("power cut")

    monkeypatch.setattr(services.Attack.objects, "create", crash)
    refusal(RuntimeError, send, red, now=now)
    assert not Image.objects.exists() and not QuotaDay.objects.exists()


# Quota ---------------------------------------------------------------------------------------------------------------


@pytest.mark.both("the team is locked while its day is counted")
def test_ten_a_day_and_the_next_day_again(red: Team, now: datetime) -> None:
    """R25."""
    midnight = datetime(2026, 11, 19, tzinfo=UTC)
    assert [send(red, shade, now=midnight - SECOND).of_quota for shade in range(10)] == list(range(1, 11))
    with pytest.raises(TooMany, match="The next day begins on Thu 19 Nov 2026 00:00:00 UTC"):
        send(red, 99, now=midnight - MILLISECOND)
    assert send(red, 99, now=midnight).of_quota == 1


def test_withdrawn_and_copied_ones_count_and_those_of_other_teams_do_not(red: Team, blue: Team, now: datetime) -> None:
    took_back(send(red, now=now), now)
    send(blue, 8, now=now)
    send(red, 8, now=now + SECOND)
    assert [quota.left(team, policy=POLICY, now=now) for team in (red, blue)] == [8, 9]


# Local midnight to the next one; the day in the middle has 23 or 25 hours.
DAYS = [
    ("Europe/Berlin", "2026-03-28T23:00", "2026-03-29T22:00", 23, "clocks go forward"),
    ("Europe/Berlin", "2026-10-24T22:00", "2026-10-25T23:00", 25, "clocks go back"),
    ("America/New_York", "2026-11-01T04:00", "2026-11-02T05:00", 25, "clocks go back, west of UTC"),
    ("UTC", "2028-02-29T00:00", "2028-03-01T00:00", 24, "a leap day"),
    ("Pacific/Auckland", "2026-12-31T11:00", "2027-01-01T11:00", 24, "New Year's Day, while it is December in UTC"),
]


@pytest.mark.parametrize(("zone", "begins", "ends", "hours", "why"), DAYS, ids=[row[4] for row in DAYS])
def test_a_day_of_the_quota_is_a_calendar_day_of_the_zone(
    red: Team, zone: str, begins: str, ends: str, hours: int, why: str
) -> None:
    """R25."""
    numbers = cast.policy(time_zone=zone, attacks_per_day=1)
    first, last = (datetime.fromisoformat(each).replace(tzinfo=UTC) for each in (begins, ends))
    assert last - first == timedelta(hours=hours)
    for shade, moment in enumerate((first - MILLISECOND, first, last)):
        send(red, shade, now=moment, numbers=numbers)
    assert refused_as(lambda: send(red, 3, now=last - MILLISECOND, numbers=numbers)) == "quota_used"


def test_teams_that_were_merged_count_together(red: Team, blue: Team, olga: User, now: datetime) -> None:
    numbers = Policy(image_size=cast.SIDE, attacks_per_day=3)
    send(blue, 1, now=now, numbers=numbers)
    send(red, 2, now=now, numbers=numbers)
    teams_merge(team=blue, into=red, reason="One laboratory.", by=olga, now=now)
    blue.refresh_from_db()
    assert quota.left(blue, policy=numbers, now=now) == quota.left(red, policy=numbers, now=now) == 1
    assert send(red, 3, now=now, numbers=numbers).of_quota == 3
    refusal(TooMany, attack_receive, team=blue, data=picture(4), policy=numbers, now=now)
    assert refused_as(lambda: send(red, 1, now=now, numbers=numbers)) == "sent_before"


# The same pixels -----------------------------------------------------------------------------------------------------


def test_the_same_pixels_by_the_same_team_are_refused_with_the_earlier_receipt(red: Team, now: datetime) -> None:
    """R26; also for who lost the answer to the last picture of the day."""
    first = send(red, now=now, numbers=ONE_A_DAY)
    for later in (now, now + 30 * DAY):
        with pytest.raises(SentBefore) as found:
            send(red, now=later, numbers=ONE_A_DAY)
        assert (found.value.code, found.value.attack) == ("sent_before", first)
        assert first.public_id in found.value.message


def test_the_same_pixels_by_another_team_are_flagged_and_the_first_has_the_credit(
    red: Team, blue: Team, now: datetime
) -> None:
    """R26: a copy leaves the picture where it was, and each keeps the file that its team sent."""
    first, copy = send(red, now=now), attack_receive(team=blue, data=as_webp(), policy=POLICY, now=now + SECOND)
    late = send(cast.team("green"), now=BOUNDARY + SECOND)
    assert (first.copy_of, copy.copy_of, late.copy_of, late.week) == (None, first, first, "2026-W48")
    assert first.image == copy.image == late.image
    assert (late.image.received_at, late.image.label_from) == (now, BOUNDARY)
    assert (first.original_sha256, first.original_format) == (sha256(picture()).hexdigest(), "PNG")
    assert (copy.original_sha256, copy.original_format) == (sha256(as_webp()).hexdigest(), "WEBP")
    assert (copy.image.source_id, copy.image.original_sha256) == (red.public_id, first.original_sha256)
    kept = [picture_store().get(original_key(each.original_sha256)) for each in (first, copy)]
    assert kept == [picture(), as_webp()]


TAKEN_IN = datetime(2026, 10, 1, tzinfo=UTC)


@pytest.mark.parametrize("labeled", [False, True])
def test_a_photograph_of_the_organizers_that_a_team_sends(red: Team, now: datetime, labeled: bool) -> None:
    """It keeps its source, and its time where it was to be labeled. Otherwise it is due with its attack: its own time
    would put it into a week that is released, and so in the open at once (R24)."""
    send(red, now=now)
    Attack.objects.all().delete()
    own = {"label_from": TAKEN_IN if labeled else None, "received_at": TAKEN_IN}
    Image.objects.update(origin="dataset", source_id="photo-1", original_sha256="0" * 64, **own)
    attack = send(red, now=now)
    assert (attack.image.source_id, attack.image.original_sha256) == ("photo-1", "0" * 64)
    times = (TAKEN_IN, TAKEN_IN) if labeled else (now, BOUNDARY)
    assert (attack.image.received_at, attack.image.label_from) == times
    took_back(attack, now)
    if labeled:
        assert Image.objects.values_list("received_at", "label_from").get() == times


# Withdrawal ----------------------------------------------------------------------------------------------------------


def test_until_when_a_picture_is_withdrawn_and_once(red: Team, now: datetime) -> None:
    attack, dealt = send(red, now=now), send(red, 2, now=now)
    for moment in (BOUNDARY, BOUNDARY + 9 * DAY):
        assert refused_as(lambda moment=moment: took_back(attack, moment)) == "week_over", "whether a sweep came or not"
    took_back(attack, BOUNDARY - MILLISECOND)
    assert refused_as(lambda: took_back(attack, now)) == "withdrawn"
    with pytest.raises(SentBefore, match="It was withdrawn"):
        send(red, now=now)
    panels_deal(policy=POLICY, now=BOUNDARY)
    with pytest.raises(Conflict) as found:  # it is dealt already, by a faster clock
        took_back(dealt, BOUNDARY - MILLISECOND)
    assert found.value.code == "week_over"


def test_when_the_first_is_withdrawn_the_copy_has_the_credit_and_is_labeled(
    red: Team, blue: Team, now: datetime
) -> None:
    """R26."""
    first, copy = send(red, now=now), send(blue, now=now + SECOND)
    third = send(cast.team("green"), now=now + 2 * SECOND)
    took_back(first, now + 3 * SECOND)
    copy.refresh_from_db()
    third.refresh_from_db()
    assert (copy.copy_of, third.copy_of) == (None, copy)
    assert (copy.image.received_at, copy.image.label_from) == (now + SECOND, BOUNDARY)
    for each in (copy, third):
        took_back(each, now + 3 * SECOND)
    later = send(cast.team("grey"), now=BOUNDARY + SECOND)
    assert later.copy_of is None, "the pixels of a withdrawn picture are another team's in a later week"
    assert (later.image.received_at, later.image.label_from) == (BOUNDARY + SECOND, BOUNDARY + 7 * DAY)


# What is published of whom, and the contest's own pictures ------------------------------------------------------------


def as_webp(shade: int = 7) -> bytes:
    """The same pixels as `picture(shade)`, in another file."""
    packed = io.BytesIO()
    Pillow.new("RGB", (cast.SIDE, cast.SIDE), (shade,) * 3).save(packed, "WEBP", lossless=True)
    return packed.getvalue()


@pytest.mark.parametrize("days", [0, -7], ids=["in the same week", "in the week before"])
def test_who_withdrew_is_named_nowhere_in_the_release(red: Team, blue: Team, days: int, tmp_path: Path) -> None:
    """Neither the team nor its file: the picture comes from who has the credit (R24, R26)."""
    sent_at = BOUNDARY - 2 * DAY
    gone = attack_receive(team=red, data=as_webp(), policy=POLICY, now=sent_at + days * DAY)
    if days == 0:
        send(blue, now=sent_at + SECOND)
    took_back(gone, sent_at + days * DAY + 2 * SECOND)
    if days:
        send(blue, now=sent_at + SECOND)
    made = release_week(week_called("2026-W47"), out=tmp_path / "out", now=BOUNDARY, incomplete=True)
    files = {path.name: path.read_bytes() for path in made.folder.rglob("*") if path.is_file()}
    for secret in (red.public_id, red.name, gone.public_id, gone.original_sha256):
        assert [name for name, data in files.items() if secret.encode() in data] == [], secret
    assert blue.public_id.encode() in files["provenance.csv"]
    assert sha256(picture()).hexdigest().encode() in files["provenance.csv"]


def among_the_contests_own(origin: str, use: str, *, labeled: bool) -> Image:
    """The picture of `send`, as one that the organizers took in long before."""
    taken_in = datetime(2026, 8, 1, tzinfo=UTC)
    due = taken_in if labeled else None
    read = read_attack(picture(), size=cast.SIDE)
    image, _ = image_add(read, origin=Origin(origin), source="a shelf", licence="CC0", now=taken_in, label_from=due)
    if use == "gold":
        Image.objects.filter(pk=image.pk).update(dealt_at=taken_in)
        factories.gold(factories.panel(image))
    elif use:
        accepts = {"accepts_bird": [], "accepts_bicycle": [], "topic": "clear"}
        KnownPicture.objects.create(image=image, use=use, created_at=taken_in, **accepts)
    image.refresh_from_db()
    return image


@pytest.mark.parametrize("origin", ["example", "dataset"])
def test_a_worked_example_is_refused_in_words(red: Team, now: datetime, origin: str) -> None:
    image = among_the_contests_own(origin, "tutorial", labeled=False)
    with pytest.raises(InvalidInput, match="worked example of the tutorial") as found:
        send(red, now=now)
    assert found.value.code == "an_example"
    image.refresh_from_db()
    assert (image.label_from, Attack.objects.exists(), QuotaDay.objects.exists()) == (None, False, False)


SECRET = [
    ("gold", "gold", True, "gold that is dealt"),
    ("gold", "", True, "what could become gold"),
    ("gold", "", False, "what was taken in for it, and never labeled"),
    ("example", "qualification", False, "a picture of the qualification"),
    ("example", "", False, "one that waits for its place"),
]


@pytest.mark.parametrize(("origin", "use", "labeled", "why"), SECRET, ids=[row[3] for row in SECRET])
def test_one_of_the_contests_own_pictures_is_taken_like_any_other_and_no_case_comes_of_it(
    red: Team, blue: Team, now: datetime, origin: str, use: str, labeled: bool, why: str
) -> None:
    """R6: whoever sends it learns nothing."""
    image = among_the_contests_own(origin, use, labeled=labeled)
    own, other = send(red, now=now), send(red, 8, now=now)
    receipts = [receipt_json(receipt_of(each, all_told=False, now=now)) for each in (own, other)]
    differing = {name for name in receipts[0] if receipts[0][name] != receipts[1][name]}
    assert differing == {"id", "image", "sha256_pixels", "file_name", "of_quota"}, why
    send(blue, now=now + SECOND)
    kept, panels = ("origin", "label_from", "received_at", "source", "source_id"), image.panels.count()
    assert Image.objects.values(*kept).get(pk=image.pk) == {name: getattr(image, name) for name in kept}
    panels_deal(policy=POLICY, now=BOUNDARY)
    assert image.panels.count() == panels + (labeled and not use), "only what the organizers meant to be labeled"
    assert list(public_attacks(now=BOUNDARY)) == [other]
    took_back(own, now + SECOND)
    assert quota.left(red, policy=POLICY, now=now) == 8, "it counts like any other"
