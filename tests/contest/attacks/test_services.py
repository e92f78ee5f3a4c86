"""A team's picture (R2, R23-R26): bit-exact, within the quota, once per team, under embargo, labeled after its week."""

import io
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from PIL import Image as Pillow

from common.errors import Conflict, DomainError, InvalidInput, NotAllowed, TooMany
from contest.attacks import quota, services
from contest.attacks.receipts import receipt_json, receipt_of
from contest.attacks.services import SentBefore, attack_receive, attack_withdraw
from contest.embargo import public_attacks
from contest.models import Attack, QuotaDay, Team
from contest.releases import release_week
from contest.teams.merging import teams_merge
from contest.weeks import week_called
from labeling.enums import Origin
from labeling.images import PictureRefused, read_attack
from labeling.intake import image_add
from labeling.models import Image, KnownPicture, Panel
from labeling.policy import Policy
from labeling.services import panels_deal
from labeling.store import original_key, picture_store
from tests import factories
from tests.contest.attacks import cast
from tests.contest.attacks.cast import BOUNDARY, POLICY, picture, send

pytestmark = pytest.mark.django_db
SECOND = timedelta(seconds=1)
MILLISECOND = timedelta(milliseconds=1)


@pytest.fixture
def red(now: datetime) -> Team:
    cast.policy()
    return cast.team("red")


@pytest.fixture
def blue(red: Team) -> Team:
    return cast.team("blue")


# Receipt and week ----------------------------------------------------------------------------------------------------


def test_a_receipt_has_its_time_week_policy_and_number(red: Team, now: datetime) -> None:
    attack = send(red, now=now)
    assert (attack.received_at, attack.week, attack.of_quota) == (now, "2026-W47", 1)
    assert attack.policy == factories.policy_version()
    assert (attack.sent_by, attack.file_name, attack.copy_of) == (cast.captain(red), "shade-7.png", None)
    assert (attack.image.origin, attack.image.received_at, attack.image.label_from) == ("attack", now, BOUNDARY)


BOUNDARIES = [
    (BOUNDARY - MILLISECOND, "2026-W47", BOUNDARY, "Friday 23:59:59.999 is in"),
    (BOUNDARY, "2026-W48", BOUNDARY + timedelta(days=7), "Saturday 00:00:00 is next week, and not refused"),
    (BOUNDARY - timedelta(microseconds=1), "2026-W47", BOUNDARY, "the last moment there is"),
]


@pytest.mark.parametrize(("moment", "week", "due", "why"), BOUNDARIES, ids=[row[3] for row in BOUNDARIES])
def test_the_week_is_that_of_the_last_byte(red: Team, moment: datetime, week: str, due: datetime, why: str) -> None:
    attack = send(red, now=moment)
    assert (attack.week, attack.image.label_from) == (week, due), why


def test_panels_are_dealt_at_the_boundary_and_not_before(red: Team, now: datetime) -> None:
    for shade in (1, 2):
        send(red, shade, now=now)
    assert panels_deal(policy=POLICY, now=BOUNDARY - MILLISECOND) == 0
    assert panels_deal(policy=POLICY, now=BOUNDARY) == 2


def test_a_late_sweep_deals_the_same_and_no_more(red: Team, now: datetime) -> None:
    send(red, now=now)
    send(red, 8, now=BOUNDARY + timedelta(days=1))
    assert panels_deal(policy=POLICY, now=BOUNDARY + timedelta(days=2)) == 1
    assert panels_deal(policy=POLICY, now=BOUNDARY + timedelta(days=2)) == 0


# Refusals ------------------------------------------------------------------------------------------------------------


def not_entitled(team: Team, now: datetime) -> None:
    attack_receive(team=cast.team("green", entitled=False), data=picture(), policy=POLICY, now=now)


def wrong_size(team: Team, now: datetime) -> None:
    attack_receive(team=team, data=picture(side=17), policy=POLICY, now=now)


def not_staked(team: Team, now: datetime) -> None:
    send(team, now=now, targets=[cast.defense().public_id])


def not_a_defense(team: Team, now: datetime) -> None:
    send(team, now=now, targets=["D-\x00\ud800"])


def quota_used(team: Team, now: datetime) -> None:
    attack_receive(team=team, data=picture(9), policy=Policy(image_size=cast.SIDE, attacks_per_day=1), now=now)


REFUSALS: list[tuple[Callable[[Team, datetime], None], type[DomainError], str, str]] = [
    (not_entitled, NotAllowed, "not_entitled", "no paper and no grant"),
    (wrong_size, PictureRefused, "wrong_size", "never resized"),
    (not_staked, InvalidInput, "not_staked", "published, but nothing is staked on it"),
    (not_a_defense, InvalidInput, "not_staked", "what no database can be asked about"),
    (quota_used, TooMany, "quota_used", "one a day, and one was sent"),
]


@pytest.mark.parametrize(("attempt", "kind", "code", "why"), REFUSALS, ids=[row[2] + ": " + row[3] for row in REFUSALS])
def test_a_refused_upload_costs_nothing_and_leaves_nothing(
    red: Team, now: datetime, attempt: Any, kind: type[DomainError], code: str, why: str
) -> None:
    send(red, now=now)
    with pytest.raises(kind) as refusal:
        attempt(red, now)
    assert refusal.value.code == code, why
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


def test_ten_a_day_and_the_next_day_again(red: Team, now: datetime) -> None:
    midnight = datetime(2026, 11, 19, tzinfo=UTC)
    for shade in range(10):
        assert send(red, shade, now=midnight - SECOND).of_quota == shade + 1
    with pytest.raises(TooMany, match="The next day begins on Thu 19 Nov 2026 00:00:00 UTC"):
        send(red, 99, now=midnight - MILLISECOND)
    assert send(red, 99, now=midnight).of_quota == 1


def test_withdrawn_and_copied_ones_count(red: Team, blue: Team, now: datetime) -> None:
    attack_withdraw(attack=send(red, now=now), by=cast.captain(red), now=now)
    send(blue, 8, now=now)
    send(red, 8, now=now + SECOND)
    assert quota.left(red, policy=POLICY, now=now) == 8


def test_the_quota_is_the_teams_and_not_another_ones(red: Team, blue: Team, now: datetime) -> None:
    numbers = Policy(image_size=cast.SIDE, attacks_per_day=1)
    send(red, 1, now=now, numbers=numbers)
    send(blue, 2, now=now, numbers=numbers)
    assert quota.left(red, policy=numbers, now=now) == quota.left(blue, policy=numbers, now=now) == 0


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
    numbers = cast.policy(time_zone=zone, attacks_per_day=1)
    first, last = (datetime.fromisoformat(each).replace(tzinfo=UTC) for each in (begins, ends))
    assert last - first == timedelta(hours=hours)
    send(red, 1, now=first - MILLISECOND, numbers=numbers)
    send(red, 2, now=first, numbers=numbers)
    with pytest.raises(TooMany):
        send(red, 3, now=last - MILLISECOND, numbers=numbers)
    send(red, 4, now=last, numbers=numbers)


def test_teams_that_were_merged_count_together(red: Team, blue: Team, olga: User, now: datetime) -> None:
    numbers = Policy(image_size=cast.SIDE, attacks_per_day=3)
    send(blue, 1, now=now, numbers=numbers)
    send(red, 2, now=now, numbers=numbers)
    teams_merge(team=blue, into=red, reason="One laboratory.", by=olga, now=now)
    blue.refresh_from_db()
    assert quota.left(blue, policy=numbers, now=now) == quota.left(red, policy=numbers, now=now) == 1
    assert send(red, 3, now=now, numbers=numbers).of_quota == 3
    with pytest.raises(TooMany):
        attack_receive(team=blue, data=picture(4), policy=numbers, now=now)
    with pytest.raises(SentBefore):
        send(red, 1, now=now, numbers=numbers)


def _at_once(*attempts: Callable[[], Any]) -> list[str]:
    """Run attempts in threads that begin together; returns `done` or the code of the refusal of each."""
    barrier, said = Barrier(len(attempts)), []

    def run(attempt: Callable[[], Any]) -> None:
        try:
            barrier.wait(10)
            attempt()
            said.append("done")
        except DomainError as error:
            said.append(error.code)
        finally:
            connection.close()

    threads = [Thread(target=run, args=[attempt]) for attempt in attempts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(said)


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_two_uploads_at_nine_of_ten_are_not_both_the_tenth(now: datetime) -> None:
    cast.policy()
    red = cast.team("red")
    for shade in range(9):
        send(red, shade, now=now)
    attempts = [lambda shade=shade: send(red, shade, now=now) for shade in range(20, 26)]
    assert _at_once(*attempts) == ["done"] + ["quota_used"] * 5
    folder = Path(settings.IMAGE_STORE_URL.removeprefix("file://"))
    assert len(list((folder / "pictures").glob("*/*"))) == 10, "who was too late left no file"
    assert (Attack.objects.count(), QuotaDay.objects.get().used) == (10, 10)
    assert sorted(Attack.objects.values_list("of_quota", flat=True)) == list(range(1, 11))


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_the_same_picture_sent_twice_at_once_is_one_attack(now: datetime) -> None:
    cast.policy()
    red = cast.team("red")
    assert _at_once(*[lambda: send(red, now=now)] * 4) == ["done"] + ["sent_before"] * 3
    assert QuotaDay.objects.get().used == 1


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_of_the_same_pixels_at_once_by_two_teams_one_is_the_first(now: datetime) -> None:
    cast.policy()
    red, blue = cast.team("red"), cast.team("blue")
    assert _at_once(lambda: send(red, now=now), lambda: send(blue, now=now - SECOND)) == ["done", "done"]
    assert Attack.objects.get(team=red).copy_of == Attack.objects.get(team=blue)
    assert Image.objects.get().received_at == now - SECOND


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_teams_that_were_merged_count_together_also_at_once(now: datetime) -> None:
    cast.policy()
    numbers = Policy(image_size=cast.SIDE, attacks_per_day=4)
    red, blue = cast.team("red"), cast.team("blue")
    olga = factories.user("olga", "organizers")
    reds = [lambda shade=shade: send(red, shade, now=now, numbers=numbers) for shade in range(4)]

    def of_blue(shade: int) -> Attack:
        team = Team.objects.get(pk=blue.pk)
        return attack_receive(team=team, data=picture(shade), policy=numbers, now=now)

    send(blue, 90, now=now, numbers=numbers)
    teams_merge(team=blue, into=red, reason="One.", by=olga, now=now)
    said = _at_once(*reds, *[lambda shade=shade: of_blue(shade) for shade in range(50, 54)])
    assert said == ["done"] * 3 + ["quota_used"] * 5
    assert Attack.objects.count() == 4


# Targets -------------------------------------------------------------------------------------------------------------


def test_chosen_targets_are_recorded_and_none_means_all(red: Team, now: datetime) -> None:
    one, _ = cast.staked("one"), cast.staked("two")
    assert list(send(red, 1, now=now, targets=[one.public_id]).targets.all()) == [one]
    assert not send(red, 2, now=now).targets.exists()


# The same pixels -----------------------------------------------------------------------------------------------------


def test_the_same_pixels_by_the_same_team_are_refused_with_the_earlier_receipt(red: Team, now: datetime) -> None:
    first = send(red, now=now)
    with pytest.raises(SentBefore) as refusal:
        send(red, now=now + timedelta(days=30))
    assert (refusal.value.code, refusal.value.attack) == ("sent_before", first)
    assert first.public_id in refusal.value.message


def test_who_lost_the_answer_to_the_last_picture_of_the_day_learns_its_receipt(red: Team, now: datetime) -> None:
    numbers = Policy(image_size=cast.SIDE, attacks_per_day=1)
    send(red, now=now, numbers=numbers)
    with pytest.raises(SentBefore):
        send(red, now=now, numbers=numbers)


def test_the_same_pixels_by_another_team_are_flagged_and_the_first_has_the_credit(
    red: Team, blue: Team, now: datetime
) -> None:
    first, second = send(red, now=now), send(blue, now=now + SECOND)
    assert (second.image, second.copy_of, first.copy_of) == (first.image, first, None)
    assert (second.image.received_at, second.image.label_from) == (now, BOUNDARY)


def test_a_copy_in_a_later_week_leaves_the_picture_where_it_was(red: Team, blue: Team, now: datetime) -> None:
    first = send(red, now=now)
    copy = send(blue, now=BOUNDARY + SECOND)
    assert (copy.week, copy.copy_of) == ("2026-W48", first)
    assert (copy.image.received_at, copy.image.label_from) == (now, BOUNDARY)


def test_a_picture_that_was_never_meant_to_be_labeled_is_due_with_its_attack(red: Team, now: datetime) -> None:
    """Its own time would put it into a week that is released, and so in the open at once (R24)."""
    attack = send(red, now=now)
    taken_in = datetime(2026, 10, 1, tzinfo=UTC)
    Attack.objects.all().delete()
    Image.objects.update(origin="dataset", label_from=None, received_at=taken_in)
    attack = send(red, now=now)
    assert (attack.image.received_at, attack.image.label_from) == (now, BOUNDARY)


def test_a_picture_that_organizers_had_labeled_keeps_its_own_time(red: Team, now: datetime) -> None:
    send(red, now=now)
    taken_in = datetime(2026, 10, 1, tzinfo=UTC)
    Attack.objects.all().delete()
    Image.objects.update(origin="dataset", label_from=taken_in, received_at=taken_in)
    attack = send(red, now=now)
    attack_withdraw(attack=attack, by=cast.captain(red), now=now)
    assert set(Image.objects.values_list("received_at", "label_from")) == {(taken_in, taken_in)}


# Withdrawal ----------------------------------------------------------------------------------------------------------


def test_a_withdrawn_picture_is_never_dealt(red: Team, now: datetime) -> None:
    attack = attack_withdraw(attack=send(red, now=now), by=cast.captain(red), now=now + SECOND)
    assert (attack.withdrawn_at, attack.withdrawn_by) == (now + SECOND, cast.captain(red))
    assert panels_deal(policy=POLICY, now=BOUNDARY + timedelta(days=30)) == 0


WITHDRAWALS = [
    (BOUNDARY - MILLISECOND, "", "the last moment of the week"),
    (BOUNDARY, "week_over", "the week is over, whether a sweep came or not"),
    (BOUNDARY + timedelta(days=9), "week_over", "long after"),
]


@pytest.mark.parametrize(("moment", "code", "why"), WITHDRAWALS, ids=[row[2] for row in WITHDRAWALS])
def test_until_when_a_picture_is_withdrawn(red: Team, now: datetime, moment: datetime, code: str, why: str) -> None:
    attack = send(red, now=now)
    try:
        attack_withdraw(attack=attack, by=cast.captain(red), now=moment)
        said = ""
    except Conflict as error:
        said = error.code
    assert said == code, why


def test_a_picture_that_is_dealt_already_by_a_faster_clock_is_not_withdrawn(red: Team, now: datetime) -> None:
    attack = send(red, now=now)
    panels_deal(policy=POLICY, now=BOUNDARY)
    with pytest.raises(Conflict) as refusal:
        attack_withdraw(attack=attack, by=cast.captain(red), now=BOUNDARY - MILLISECOND)
    assert refusal.value.code == "week_over"
    assert Panel.objects.count() == 1


def test_nobody_withdraws_twice_nor_sends_again(red: Team, now: datetime) -> None:
    attack = attack_withdraw(attack=send(red, now=now), by=cast.captain(red), now=now)
    with pytest.raises(Conflict) as refusal:
        attack_withdraw(attack=attack, by=cast.captain(red), now=now)
    assert refusal.value.code == "withdrawn"
    with pytest.raises(SentBefore, match="It was withdrawn"):
        send(red, now=now)


def test_when_the_first_is_withdrawn_the_copy_has_the_credit_and_is_labeled(
    red: Team, blue: Team, now: datetime
) -> None:
    first, copy = send(red, now=now), send(blue, now=now + SECOND)
    third = send(cast.team("green"), now=now + 2 * SECOND)
    attack_withdraw(attack=first, by=cast.captain(red), now=now + 3 * SECOND)
    copy.refresh_from_db()
    third.refresh_from_db()
    assert (copy.copy_of, third.copy_of) == (None, copy)
    assert (copy.image.received_at, copy.image.label_from) == (now + SECOND, BOUNDARY)


def test_the_pixels_of_a_withdrawn_picture_are_another_teams_in_a_later_week(
    red: Team, blue: Team, now: datetime
) -> None:
    attack_withdraw(attack=send(red, now=now), by=cast.captain(red), now=now)
    later = send(blue, now=BOUNDARY + SECOND)
    assert later.copy_of is None
    assert (later.image.received_at, later.image.label_from) == (BOUNDARY + SECOND, BOUNDARY + timedelta(days=7))


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_a_withdrawal_and_the_dealing_at_once_leave_one_of_the_two(now: datetime) -> None:
    cast.policy()
    red = cast.team("red")
    for shade in range(8):
        attack = send(red, shade, now=now)
        by = cast.captain(red)
        _at_once(
            lambda attack=attack, by=by: attack_withdraw(attack=attack, by=by, now=BOUNDARY - MILLISECOND),
            lambda: panels_deal(policy=POLICY, now=BOUNDARY),
        )
        attack.refresh_from_db()
        assert (attack.withdrawn_at is None) == attack.image.panels.exists()


# What is published of whom, and the contest's own pictures ------------------------------------------------------------


def as_webp(shade: int = 7) -> bytes:
    """The same pixels as `picture(shade)`, in another file."""
    packed = io.BytesIO()
    Pillow.new("RGB", (cast.SIDE, cast.SIDE), (shade,) * 3).save(packed, "WEBP", lossless=True)
    return packed.getvalue()


def test_an_attack_keeps_the_file_that_its_team_sent(red: Team, blue: Team, now: datetime) -> None:
    first = send(red, now=now)
    copy = attack_receive(team=blue, data=as_webp(), policy=POLICY, now=now + SECOND)
    assert (first.original_sha256, first.original_format) == (sha256(picture()).hexdigest(), "PNG")
    assert (copy.original_sha256, copy.original_format) == (sha256(as_webp()).hexdigest(), "WEBP")
    assert (copy.image.source_id, copy.image.original_sha256) == (red.public_id, first.original_sha256)
    store = picture_store()
    assert store.get(original_key(first.original_sha256)) == picture()
    assert store.get(original_key(copy.original_sha256)) == as_webp()


@pytest.mark.parametrize("days", [0, -7], ids=["in the same week", "in the week before"])
def test_who_withdrew_is_named_nowhere_in_the_release(red: Team, blue: Team, days: int, tmp_path: Path) -> None:
    """Neither the team nor its file: the picture comes from who has the credit (R24, R26)."""
    sent_at = BOUNDARY - timedelta(days=2)
    first_at = sent_at + timedelta(days=days)
    gone = attack_receive(team=red, data=as_webp(), policy=POLICY, now=first_at)
    if days == 0:
        send(blue, now=sent_at + SECOND)
    attack_withdraw(attack=gone, by=cast.captain(red), now=first_at + 2 * SECOND)
    if days:
        send(blue, now=sent_at + SECOND)
    made = release_week(week_called("2026-W47"), out=tmp_path / "out", now=BOUNDARY, incomplete=True)
    files = {path.name: path.read_bytes() for path in made.folder.rglob("*") if path.is_file()}
    for secret in (red.public_id, red.name, gone.public_id, gone.original_sha256):
        assert [name for name, data in files.items() if secret.encode() in data] == [], secret
    assert blue.public_id.encode() in files["provenance.csv"]
    assert sha256(picture()).hexdigest().encode() in files["provenance.csv"]


def test_a_photograph_of_the_organizers_keeps_its_source(red: Team, now: datetime) -> None:
    send(red, now=now)
    Attack.objects.all().delete()
    Image.objects.update(origin="dataset", label_from=None, source_id="photo-1", original_sha256="0" * 64)
    image = send(red, now=now).image
    assert (image.source_id, image.original_sha256) == ("photo-1", "0" * 64)


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
        KnownPicture.objects.create(
            image=image, use=use, topic="clear", accepts_bird=[], accepts_bicycle=[], created_at=taken_in
        )
    image.refresh_from_db()
    return image


@pytest.mark.parametrize("origin", ["example", "dataset"])
def test_a_worked_example_is_refused_in_words(red: Team, now: datetime, origin: str) -> None:
    image = among_the_contests_own(origin, "tutorial", labeled=False)
    with pytest.raises(InvalidInput, match="worked example of the tutorial") as refusal:
        send(red, now=now)
    assert refusal.value.code == "an_example"
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
    image = among_the_contests_own(origin, use, labeled=labeled)
    own, other = send(red, now=now), send(red, 8, now=now)
    receipts = [receipt_json(receipt_of(each, all_told=False, now=now)) for each in (own, other)]
    differing = {name for name in receipts[0] if receipts[0][name] != receipts[1][name]}
    assert differing == {"id", "image", "sha256_pixels", "file_name", "of_quota"}, why
    send(blue, now=now + SECOND)
    before = Image.objects.filter(pk=image.pk).values("origin", "label_from", "received_at", "source", "source_id")
    assert list(before) == [
        {name: getattr(image, name) for name in ("origin", "label_from", "received_at", "source", "source_id")}
    ]
    panels = image.panels.count()
    panels_deal(policy=POLICY, now=BOUNDARY)
    assert image.panels.count() == panels + (labeled and not use), "only what the organizers meant to be labeled"
    assert list(public_attacks(now=BOUNDARY)) == [other]
    attack_withdraw(attack=own, by=cast.captain(red), now=now + SECOND)
    assert quota.left(red, policy=POLICY, now=now) == 8, "it counts like any other"
