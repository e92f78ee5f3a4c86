"""Pictures that look alike: the hash, what is flagged, and that comparing with 100,000 costs little (R26)."""

import io
import time
from datetime import datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow
from PIL import ImageEnhance

from contest.attacks.hashing import as_array, difference_hash, near, signed
from contest.attacks.near import MOST_PAIRS, near_duplicates_find
from contest.attacks.services import attack_receive, attack_withdraw
from contest.models import Attack, NearDuplicate, PictureHash, Team
from labeling.png import encode_png
from tests.contest.attacks import cast

PHOTOS = "contest/demo/photos"
SIDE = 299


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


ALIKE = [
    (recompressed, 6, "compressed with losses"),
    (lambda image: ImageEnhance.Brightness(image).enhance(1.2), 6, "brighter"),
    (lambda image: image.resize((150, 150)).resize((SIDE, SIDE)), 6, "made smaller and larger again"),
    (one_pixel, 2, "one pixel changed"),
    (noisy, 6, "noise"),
]


@pytest.mark.parametrize(("change", "most", "why"), ALIKE, ids=[row[2] for row in ALIKE])
def test_what_looks_alike_is_near(change: Any, most: int, why: str) -> None:
    assert (hashed(photo()) ^ hashed(change(photo()))).bit_count() <= most, why


def test_other_pictures_are_far() -> None:
    names = ["bird-001.jpg", "bird-004.jpg", "bird-010.jpg", "bicycle.jpg", "bus.jpg", "car.jpg", "lion.jpg"]
    bits = [hashed(photo(name)) for name in names]
    apart = [(a ^ b).bit_count() for at, a in enumerate(bits) for b in bits[:at]]
    assert min(apart) > 10


def test_the_bits_are_the_steps_from_block_to_block() -> None:
    """Computed by hand: nine columns of one pixel, falling in the first row, rising elsewhere."""
    rows = [[9 - x if y == 0 else x for x in range(9)] for y in range(8)]
    pixels = bytes(20 * value for row in rows for value in row for _ in range(3))
    assert difference_hash(9, 8, pixels) == 0xFF << 56
    with pytest.raises(ValueError, match="too small"):
        difference_hash(8, 8, bytes(8 * 8 * 3))


@settings(max_examples=100)
@given(st.integers(0, 2**64 - 1), st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=30), st.integers(0, 64))
def test_near_is_what_counting_bits_says(bits: int, others: list[int], within: int) -> None:
    kept = [signed(each) for each in others]
    assert all(-(2**63) <= each < 2**63 for each in kept)
    expected = sorted((each ^ bits).bit_count() for each in others if (each ^ bits).bit_count() <= within)
    found = near(bits, as_array(kept), within=within, most=100)
    assert [distance for _, distance in found] == expected
    assert all((others[place] ^ bits).bit_count() == distance for place, distance in found)


@pytest.mark.long("judges by time; test_near_is_what_counting_bits_says asks the same of a few")
def test_a_hundred_thousand_are_compared_in_no_time() -> None:
    kept = np.random.default_rng(1).integers(-(2**63), 2**63 - 1, 100_000, dtype=np.int64)
    others, start = as_array(kept.tolist()), time.perf_counter()
    for bits in range(100):
        near(bits, others, within=6, most=MOST_PAIRS)
    assert (time.perf_counter() - start) / 100 < 0.02


# The sweep -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def red(db: None) -> Team:
    cast.policy()
    return cast.team("red")


def small(image: Pillow.Image) -> Pillow.Image:
    return image.resize((cast.SIDE, cast.SIDE))


def sent(team: Team, image: Pillow.Image, now: datetime) -> Attack:
    image = small(image)
    data = encode_png(image.width, image.height, image.tobytes())
    return attack_receive(team=team, data=data, policy=cast.POLICY, now=now)


@pytest.mark.django_db
@pytest.mark.both("what is on record already is passed over by the database")
def test_a_near_duplicate_is_flagged_once_the_later_one_first(red: Team, now: datetime) -> None:
    first = sent(red, photo(), now)
    assert near_duplicates_find(within=6, now=now) == 1
    later = sent(cast.team("blue"), one_pixel(small(photo())), now)
    other = sent(red, photo("bus.jpg"), now)
    assert near_duplicates_find(within=6, now=now) == 2
    assert near_duplicates_find(within=6, now=now) == 0
    pair = NearDuplicate.objects.get()
    assert (pair.image, pair.like, pair.found_at) == (later.image, first.image, now)
    assert pair.distance <= 6
    assert set(PictureHash.objects.values_list("image", flat=True)) == {first.image_id, later.image_id, other.image_id}


@pytest.mark.django_db
def test_two_of_one_sweep_are_compared_too_and_withdrawn_ones_as_well(red: Team, now: datetime) -> None:
    attack = sent(red, photo(), now)
    sent(red, one_pixel(small(photo())), now)
    attack_withdraw(attack=attack, by=cast.captain(red), now=now)
    assert near_duplicates_find(within=6, now=now) == 2
    assert NearDuplicate.objects.count() == 1


@pytest.mark.django_db
def test_pictures_without_structure_fill_no_table(red: Team, now: datetime) -> None:
    numbers = cast.policy(attacks_per_day=100)
    for shade in range(MOST_PAIRS + 10):
        cast.send(red, shade, now=now, numbers=numbers)
    near_duplicates_find(within=6, now=now)
    assert NearDuplicate.objects.filter(image=Attack.objects.latest("pk").image).count() == MOST_PAIRS


@pytest.mark.django_db
def test_a_picture_that_is_not_in_the_store_holds_nobody_up(
    red: Team, now: datetime, settings: Any, tmp_path: Any
) -> None:
    sent(red, photo(), now)
    settings.IMAGE_STORE_URL = f"file://{tmp_path / 'elsewhere'}"
    sent(red, photo("bus.jpg"), now)
    assert near_duplicates_find(within=6, now=now) == 1
    settings.IMAGE_STORE_URL = f"file://{tmp_path / 'pictures'}"
    assert near_duplicates_find(within=6, now=now) == 1
