"""A team's picture (R2, R23-R26): bit-exact, within the quota, once per team, under embargo, labeled after its week; at
once with others, on PostgreSQL; and what looks like it.
"""

import io
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow
from PIL import ImageEnhance

from contest.attacks import quota, services
from contest.attacks.hashing import as_array, as_signed_64_bits, difference_hash, near
from contest.attacks.models import NearDuplicate, PictureHash, QuotaDay
from contest.attacks.near_duplicates import MAX_PAIRS, near_duplicates_find
from contest.attacks.receipts import attack_receipt, attack_receipt_json
from contest.attacks.services import SentBefore, attack_receive, attack_withdraw
from contest.core.embargo import public_attacks
from contest.core.models import Attack, Team
from contest.core.weeks import week_called
from contest.releases.services import release_week
from contest.teams.services import teams_merge
from labeling.dealing import panels_deal
from labeling.enums import Origin
from labeling.models import Image, KnownPicture
from labeling.pictures.intake import image_add
from picture_files.decoding import read_attack
from picture_files.png import encode_png
from picture_files.store import original_key, picture_store
from policy.numbers import Policy
from tests import factories, tables
from tests.contest.attacks import cast
from tests.contest.attacks.cast import BOUNDARY, POLICY, picture, send
from tests.contest.board.at_once import at_once, codes
from tests.refusals import refused

pytestmark = pytest.mark.django_db
SECOND, MILLISECOND, DAY = timedelta(seconds=1), timedelta(milliseconds=1), timedelta(days=1)
ONE_PER_DAY = Policy(image_size=cast.SIDE, attacks_per_day=1)


def took_back(attack: Attack, now: datetime) -> Attack:
    return attack_withdraw(attack=attack, by=cast.captain(attack.team), now=now)


# Receipt and week ----------------------------------------------------------------------------------------------------


def test_a_receipt_has_its_time_week_policy_and_number(red: Team, now: datetime) -> None:
    """R26; chosen targets are recorded, and none means all."""
    one, _ = cast.staked("one"), cast.staked("two")
    attack = send(red, now=now, targets=[one.public_id])
    assert (attack.received_at, attack.week, attack.of_quota, attack.copy_of) == (now, "2026-W47", 1, None)
    assert attack.policy == factories.policy_version()
    assert (attack.sent_by, attack.file_name) == (cast.captain(red), "shade-7.png")
    assert (attack.image.origin, attack.image.received_at, attack.image.label_from) == ("attack", now, BOUNDARY)
    assert list(attack.targets.all()) == [one] and not send(red, 2, now=now).targets.exists()


@tables.cases(
    "moment week due why",
    (BOUNDARY - MILLISECOND, "2026-W47", BOUNDARY, "Friday 23:59:59.999 is in (R23)"),
    (BOUNDARY, "2026-W48", BOUNDARY + 7 * DAY, "Saturday 00:00:00 is next week, and not refused (R23)"),
    (BOUNDARY - timedelta(microseconds=1), "2026-W47", BOUNDARY, "the last moment there is (R23)"),
)
def test_the_week_is_that_of_the_last_byte(moment: datetime, week: str, due: datetime, why: str, red: Team) -> None:
    attack = send(red, now=moment)
    assert (attack.week, attack.image.label_from) == (week, due), why


def test_panels_are_dealt_at_the_boundary_and_not_before(red: Team, now: datetime) -> None:
    """R24: a late sweep deals the same and no more, and what was withdrawn never."""
    gone = took_back(send(red, 3, now=now), now + SECOND)
    assert (gone.withdrawn_at, gone.withdrawn_by) == (now + SECOND, cast.captain(red))
    for shade, moment in ((1, now), (2, now), (4, BOUNDARY + DAY)):
        send(red, shade, now=moment)
    moments = (BOUNDARY - MILLISECOND, BOUNDARY, BOUNDARY + DAY, BOUNDARY + 8 * DAY)
    assert [panels_deal(policy=POLICY, now=moment) for moment in moments] == [0, 2, 0, 1]


# Refusals ------------------------------------------------------------------------------------------------------------


@tables.cases(
    "attempt code why",
    (lambda red, now: send(cast.team("green", entitled=False), now=now), "not_entitled", "no paper and no grant"),
    (
        lambda red, now: attack_receive(team=red, data=picture(side=17), policy=POLICY, now=now),
        "wrong_size",
        "never resized",
    ),
    (lambda red, now: send(red, now=now, targets=[cast.defense().public_id]), "not_staked", "published, not staked"),
    (lambda red, now: send(red, now=now, targets=["D-\x00\ud800"]), "not_staked", "no database can be asked about it"),
    (lambda red, now: send(red, 9, now=now, numbers=ONE_PER_DAY), "quota_used", "one a day, and one was sent (R25)"),
)
def test_a_refused_upload_costs_nothing_and_leaves_nothing(
    red: Team, now: datetime, attempt: Any, code: str, why: str
) -> None:
    send(red, now=now)
    assert refused(code, attempt, red, now), why
    assert (Attack.objects.count(), Image.objects.count(), QuotaDay.objects.get().used) == (1, 1, 1)


def test_a_crash_in_the_middle_leaves_neither_picture_nor_quota(
    red: Team, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(**_: Any) -> None:
        raise RuntimeError("power cut")

    monkeypatch.setattr(services.Attack.objects, "create", crash)
    with pytest.raises(RuntimeError):
        send(red, now=now)
    assert not Image.objects.exists() and not QuotaDay.objects.exists()


# Quota ---------------------------------------------------------------------------------------------------------------


@pytest.mark.both("the team is locked while its day is counted")
def test_ten_a_day_and_the_next_day_again(red: Team, now: datetime) -> None:
    """R25."""
    midnight = datetime(2026, 11, 19, tzinfo=UTC)
    assert [send(red, shade, now=midnight - SECOND).of_quota for shade in range(10)] == list(range(1, 11))
    words = refused("quota_used", send, red, 99, now=midnight - MILLISECOND).message
    assert "The next day begins on Thu 19 Nov 2026 00:00:00 UTC" in words and send(red, 99, now=midnight).of_quota == 1


def test_withdrawn_and_copied_ones_count_and_those_of_other_teams_do_not(red: Team, blue: Team, now: datetime) -> None:
    took_back(send(red, now=now), now)
    send(blue, 8, now=now)
    send(red, 8, now=now + SECOND)
    assert [quota.quota_left(team, policy=POLICY, now=now) for team in (red, blue)] == [8, 9]


# Local midnight to the next one; the day in the middle has 23 or 25 hours.
@tables.cases(
    "zone begins ends hours why",
    ("Europe/Berlin", "2026-03-28T23:00", "2026-03-29T22:00", 23, "clocks go forward (R25)"),
    ("Europe/Berlin", "2026-10-24T22:00", "2026-10-25T23:00", 25, "clocks go back (R25)"),
    ("America/New_York", "2026-11-01T04:00", "2026-11-02T05:00", 25, "clocks go back, west of UTC"),
    ("UTC", "2028-02-29T00:00", "2028-03-01T00:00", 24, "a leap day"),
    ("Pacific/Auckland", "2026-12-31T11:00", "2027-01-01T11:00", 24, "New Year's Day, while it is December in UTC"),
)
def test_a_day_of_the_quota_is_a_calendar_day_of_the_zone(
    red: Team, zone: str, begins: str, ends: str, hours: int, why: str
) -> None:
    numbers = cast.policy(time_zone=zone, attacks_per_day=1)
    first, last = (datetime.fromisoformat(each).replace(tzinfo=UTC) for each in (begins, ends))
    assert last - first == timedelta(hours=hours)
    for shade, moment in enumerate((first - MILLISECOND, first, last)):
        send(red, shade, now=moment, numbers=numbers)
    refused("quota_used", send, red, 3, now=last - MILLISECOND, numbers=numbers)


def test_teams_that_were_merged_count_together(red: Team, blue: Team, olga: User, now: datetime) -> None:
    numbers = Policy(image_size=cast.SIDE, attacks_per_day=3)
    send(blue, 1, now=now, numbers=numbers)
    send(red, 2, now=now, numbers=numbers)
    teams_merge(team=blue, into=red, reason="One laboratory.", by=olga, now=now)
    blue.refresh_from_db()
    assert quota.quota_left(blue, policy=numbers, now=now) == quota.quota_left(red, policy=numbers, now=now) == 1
    assert send(red, 3, now=now, numbers=numbers).of_quota == 3
    refused("quota_used", attack_receive, team=blue, data=picture(4), policy=numbers, now=now)
    refused("sent_before", send, red, 1, now=now, numbers=numbers)


# The same pixels -----------------------------------------------------------------------------------------------------


def test_the_same_pixels_by_the_same_team_are_refused_with_the_earlier_receipt(red: Team, now: datetime) -> None:
    """R26; also for who lost the answer to the last picture of the day."""
    first = send(red, now=now, numbers=ONE_PER_DAY)
    for later in (now, now + 30 * DAY):
        found = refused("sent_before", send, red, now=later, numbers=ONE_PER_DAY)
        assert isinstance(found, SentBefore) and found.attack == first and first.public_id in found.message


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
    assert [picture_store().get(original_key(each.original_sha256)) for each in (first, copy)] == [picture(), as_webp()]


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
        refused("week_over", took_back, attack, moment)  # whether a sweep came or not
    took_back(attack, BOUNDARY - MILLISECOND)
    refused("withdrawn", took_back, attack, now)
    assert "It was withdrawn" in refused("sent_before", send, red, now=now).message
    panels_deal(policy=POLICY, now=BOUNDARY)
    refused("week_over", took_back, dealt, BOUNDARY - MILLISECOND)  # it is dealt already, by a faster clock


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
    taken_in, read = datetime(2026, 8, 1, tzinfo=UTC), read_attack(picture(), size=cast.SIDE)
    told = {"source": "a shelf", "licence": "CC0", "now": taken_in, "label_from": taken_in if labeled else None}
    image, _ = image_add(read, origin=Origin(origin), **told)
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
    assert "worked example of the tutorial" in refused("an_example", send, red, now=now).message
    image.refresh_from_db()
    assert (image.label_from, Attack.objects.exists(), QuotaDay.objects.exists()) == (None, False, False)


@tables.cases(
    "origin use labeled why",
    ("gold", "gold", True, "gold that is dealt"),
    ("gold", "", True, "what could become gold"),
    ("gold", "", False, "what was taken in for it, and never labeled"),
    ("example", "qualification", False, "a picture of the qualification"),
    ("example", "", False, "one that waits for its place"),
)
def test_one_of_the_contests_own_pictures_is_taken_like_any_other_and_no_case_comes_of_it(
    red: Team, blue: Team, now: datetime, origin: str, use: str, labeled: bool, why: str
) -> None:
    """R6: whoever sends it learns nothing."""
    image = among_the_contests_own(origin, use, labeled=labeled)
    own, other = send(red, now=now), send(red, 8, now=now)
    receipts = [attack_receipt_json(attack_receipt(each, unrestricted=False, now=now)) for each in (own, other)]
    differing = {name for name in receipts[0] if receipts[0][name] != receipts[1][name]}
    assert differing == {"id", "image", "sha256_pixels", "file_name", "of_quota"}, why
    send(blue, now=now + SECOND)
    kept, panels = ("origin", "label_from", "received_at", "source", "source_id"), image.panels.count()
    assert Image.objects.values(*kept).get(pk=image.pk) == {name: getattr(image, name) for name in kept}
    panels_deal(policy=POLICY, now=BOUNDARY)
    assert image.panels.count() == panels + (labeled and not use), "only what the organizers meant to be labeled"
    assert list(public_attacks(now=BOUNDARY)) == [other]
    took_back(own, now + SECOND)
    assert quota.quota_left(red, policy=POLICY, now=now) == 8, "it counts like any other"


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_two_uploads_at_nine_of_ten_are_not_both_the_tenth(red: Team, now: datetime) -> None:
    cast.send_many(red, 9, now=now)
    assert codes(at_once(*[partial(send, red, shade, now=now) for shade in range(20, 26)])) == ["", *["quota_used"] * 5]
    assert len(cast.stored("pictures")) == 10, "who was too late left no file"
    assert (Attack.objects.count(), QuotaDay.objects.get().used) == (10, 10)
    assert sorted(Attack.objects.values_list("of_quota", flat=True)) == list(range(1, 11))


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_the_same_picture_sent_at_once_is_one_attack_of_a_team(red: Team, now: datetime) -> None:
    blue, second = cast.team("blue"), timedelta(seconds=1)
    found = at_once(*[partial(send, red, now=now)] * 3, partial(send, blue, now=now - second))
    assert codes(found) == ["", "", "sent_before", "sent_before"]
    assert set(QuotaDay.objects.values_list("used", flat=True)) == {1}
    assert Attack.objects.get(team=red).copy_of == Attack.objects.get(team=blue), "the first is the first"
    assert Image.objects.get().received_at == now - second


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_teams_that_were_merged_count_together_also_at_once(red: Team, now: datetime) -> None:
    numbers = Policy(image_size=cast.SIDE, attacks_per_day=4)
    blue, olga = cast.team("blue"), factories.user("olga", "organizers")
    send(blue, 90, now=now, numbers=numbers)
    teams_merge(team=blue, into=red, reason="One.", by=olga, now=now)
    takes = partial(attack_receive, policy=numbers, now=now)
    of_both = [
        (team, shade + (team == red)) for team in (red, Team.objects.get(pk=blue.pk)) for shade in (10, 20, 30, 40)
    ]
    found = at_once(*[partial(takes, team=team, data=picture(shade)) for team, shade in of_both])
    assert codes(found) == [""] * 3 + ["quota_used"] * 5 and Attack.objects.count() == 4


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_a_withdrawal_and_the_dealing_at_once_leave_one_of_the_two(red: Team, now: datetime) -> None:
    by, moment = cast.captain(red), BOUNDARY - timedelta(milliseconds=1)
    for shade in range(6):
        attack = send(red, shade, now=now)
        at_once(
            partial(attack_withdraw, attack=attack, by=by, now=moment),
            partial(panels_deal, policy=POLICY, now=BOUNDARY),
        )
        attack.refresh_from_db()
        assert (attack.withdrawn_at is None) == attack.image.panels.exists()


PHOTOS, SIDE = "contest/demo/photos", 299


def photo(name: str = "bird-001.jpg") -> Pillow.Image:
    return Pillow.open(f"{PHOTOS}/{name}").convert("RGB").resize((SIDE, SIDE))


def hashed(image: Pillow.Image) -> int:
    return difference_hash(image.width, image.height, image.tobytes())


def recompressed(image: Pillow.Image) -> Pillow.Image:
    packed = io.BytesIO()
    image.save(packed, "JPEG", quality=75)
    return Pillow.open(packed).convert("RGB")


def one_pixel(image: Pillow.Image) -> Pillow.Image:
    image.putpixel((10, 10), (255, 0, 255))
    return image


def noisy(image: Pillow.Image) -> Pillow.Image:
    noise = np.random.default_rng(1).integers(-8, 9, (SIDE, SIDE, 3))
    return Pillow.fromarray((np.asarray(image).astype(int) + noise).clip(0, 255).astype(np.uint8))


@tables.cases(
    "change most why",
    (recompressed, 6, "compressed with losses"),
    (lambda image: ImageEnhance.Brightness(image).enhance(1.2), 6, "brighter"),
    (lambda image: image.resize((150, 150)).resize((SIDE, SIDE)), 6, "made smaller and larger again"),
    (one_pixel, 2, "one pixel changed"),
    (noisy, 6, "noise"),
)
def test_what_looks_alike_is_near(change: Any, most: int, why: str) -> None:
    assert (hashed(photo()) ^ hashed(change(photo()))).bit_count() <= most, why


def test_other_pictures_are_far() -> None:
    names = ["bird-001.jpg", "bird-004.jpg", "bird-010.jpg", "bicycle.jpg", "bus.jpg", "car.jpg", "lion.jpg"]
    bits = [hashed(photo(name)) for name in names]
    assert min([(a ^ b).bit_count() for at, a in enumerate(bits) for b in bits[:at]]) > 10


def test_the_bits_are_the_steps_from_block_to_block() -> None:
    """Computed by hand: nine columns of one pixel, falling in the first row, rising elsewhere."""
    rows = [[9 - x if y == 0 else x for x in range(9)] for y in range(8)]
    assert difference_hash(9, 8, bytes(20 * value for row in rows for value in row for _ in range(3))) == 0xFF << 56
    with pytest.raises(ValueError, match="too small"):
        difference_hash(8, 8, bytes(8 * 8 * 3))


@settings(max_examples=100)
@given(st.integers(0, 2**64 - 1), st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=30), st.integers(0, 64))
def test_near_is_what_counting_bits_says(bits: int, others: list[int], within: int) -> None:
    kept = [as_signed_64_bits(each) for each in others]
    assert all(-(2**63) <= each < 2**63 for each in kept)
    expected = sorted((each ^ bits).bit_count() for each in others if (each ^ bits).bit_count() <= within)
    found = near(bits, as_array(kept), within=within, limit=100)
    assert [distance for _, distance in found] == expected
    assert all((others[place] ^ bits).bit_count() == distance for place, distance in found)


@pytest.mark.long("judges by time; test_near_is_what_counting_bits_says asks the same of a few")
def test_a_hundred_thousand_are_compared_in_no_time() -> None:
    kept = np.random.default_rng(1).integers(-(2**63), 2**63 - 1, 100_000, dtype=np.int64)
    others, start = as_array(kept.tolist()), time.perf_counter()
    for bits in range(100):
        near(bits, others, within=6, limit=MAX_PAIRS)
    assert (time.perf_counter() - start) / 100 < 0.02


def small(image: Pillow.Image) -> Pillow.Image:
    return image.resize((cast.SIDE, cast.SIDE))


def sent(team: Team, image: Pillow.Image, now: datetime) -> Attack:
    image = small(image)
    data = encode_png(image.width, image.height, image.tobytes())
    return attack_receive(team=team, data=data, policy=cast.POLICY, now=now)


@pytest.mark.both("what is on record already is passed over by the database")
def test_a_near_duplicate_is_flagged_once_the_later_one_first(red: Team, now: datetime) -> None:
    first = sent(red, photo(), now)
    assert near_duplicates_find(within=6, now=now) == 1
    later = sent(cast.team("blue"), one_pixel(small(photo())), now)
    other = sent(red, photo("bus.jpg"), now)
    assert (near_duplicates_find(within=6, now=now), near_duplicates_find(within=6, now=now)) == (2, 0)
    pair = NearDuplicate.objects.get()
    assert (pair.image, pair.like, pair.found_at) == (later.image, first.image, now) and pair.distance <= 6
    assert set(PictureHash.objects.values_list("image", flat=True)) == {first.image_id, later.image_id, other.image_id}


def test_two_of_one_sweep_are_compared_too_and_withdrawn_ones_as_well(red: Team, now: datetime) -> None:
    attack = sent(red, photo(), now)
    sent(red, one_pixel(small(photo())), now)
    attack_withdraw(attack=attack, by=cast.captain(red), now=now)
    assert (near_duplicates_find(within=6, now=now), NearDuplicate.objects.count()) == (2, 1)


def test_pictures_without_structure_fill_no_table(red: Team, now: datetime) -> None:
    cast.send_many(red, MAX_PAIRS + 10, now=now, numbers=cast.policy(attacks_per_day=100))
    near_duplicates_find(within=6, now=now)
    assert NearDuplicate.objects.filter(image=Attack.objects.latest("pk").image).count() == MAX_PAIRS


def test_a_picture_that_is_not_in_the_store_holds_nobody_up(
    red: Team, now: datetime, settings: Any, tmp_path: Any
) -> None:
    sent(red, photo(), now)
    settings.IMAGE_STORE_URL = f"file://{tmp_path / 'elsewhere'}"
    sent(red, photo("bus.jpg"), now)
    assert near_duplicates_find(within=6, now=now) == 1
    settings.IMAGE_STORE_URL = f"file://{tmp_path / 'pictures'}"
    assert near_duplicates_find(within=6, now=now) == 1
