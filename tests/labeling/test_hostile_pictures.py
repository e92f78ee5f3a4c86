"""Pictures made to cost much: each is refused or taken for little time and memory, whoever sends it (R2)."""

import io
import struct
import threading
import time
import tracemalloc
import zlib

import pytest
from PIL import Image as Pillow
from PIL import ImageCms

from common.errors import Busy
from common.gates import Gate
from labeling import images
from labeling.containers import MOST_CHUNKS, MOST_EXTRA_BYTES, MOST_SCANS, MOST_SEGMENTS
from labeling.images import PictureRefused, read_attack, read_dataset
from tests.labeling.cast import refused

SIZE = 299
FLAT = Pillow.new("RGB", (SIZE, SIZE), (90, 120, 40))


def _file(image: Pillow.Image = FLAT, form: str = "PNG", **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


def _segment(marker: int, body: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body


def _chunk(kind: bytes, body: bytes = b"") -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _riff_chunk(kind: bytes, body: bytes = b"") -> bytes:
    return struct.pack("<4sI", kind, len(body)) + body + bytes(len(body) % 2)


PNG, JPEG, WEBP = (
    _file(),
    _file(form="JPEG", progressive=True),
    _file(form="WEBP", lossless=True, exif=b"Exif\0\0II*\0"),
)


def scans(count: int, image: Pillow.Image = FLAT) -> bytes:
    """Return a legal progressive JPEG with `count` scans more than usual, each of 12 bytes and of all its pixels."""
    data = _file(image, "JPEG", progressive=True)
    one_long_run = _segment(0xC4, b"\x10" + bytes([1, *[0] * 15]) + b"\xe0")
    scan = _segment(0xDA, b"\x01\x01\x00\x01\x3f\x10") + b"\0\0"
    return data[:-2] + one_long_run + scan * count + b"\xff\xd9"


def _jpeg_with(front: bytes) -> bytes:
    return JPEG[:2] + front + JPEG[2:]


def _png_with(front: bytes) -> bytes:
    return PNG[:33] + front + PNG[33:]


def _webp_with(*more: bytes) -> bytes:
    body = WEBP[12:] + b"".join(more)
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body


def _exif_of(entries: int, each: int) -> bytes:
    """Return an EXIF list whose entries all lie in the same bytes: unpacked it is `entries` times as long."""
    listed = b"".join(struct.pack("<HHII", tag, 1, each, 0) for tag in range(0x8000, 0x8000 + entries))
    return b"II*\0" + struct.pack("<IH", 8, entries) + listed + bytes(max(0, each - len(listed)))


def _chained_profile() -> bytes:
    """Return an sRGB profile with a chain of steps, as many as somebody likes, in place of its copyright."""
    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    (count,) = struct.unpack_from(">I", profile, 128)
    tags = [struct.unpack_from(">4sII", profile, 132 + 12 * number) for number in range(count)]
    (number, (_, at, _)) = next((number, tag) for number, tag in enumerate(tags) if tag[0] == b"cprt")
    profile[132 + 12 * number : 136 + 12 * number] = b"D2B0"
    profile[at : at + 4] = b"mpet"
    return bytes(profile)


# Refused by both doors: (bytes, code, reason).
REFUSED = [
    (scans(MOST_SCANS), "too_many_scans", "a few scans more than any program writes"),
    (scans(20_000), "too_many_scans", "20,000 scans: seconds of decoding in 240 KB"),
    (_jpeg_with(b"\xff" * 10_000_000), "damaged", "ten million fill bytes in front of a marker"),
    (_jpeg_with((b"\xff" * 900 + b"\xfe\0\2") * 1_000), "damaged", "fill bytes spread over many segments"),
    (_jpeg_with(_segment(0xFE, b"") * MOST_SEGMENTS), "too_many_parts", "a thousand empty comments"),
    (_jpeg_with(_segment(0xFE, b"") * 2_000_000), "too_many_parts", "two million empty comments"),
    (_jpeg_with(b"\xff\xd0" * 2_000_000), "too_many_parts", "two million markers that mean nothing here"),
    (
        _jpeg_with(_segment(0xED, b"Photoshop 3.0\0" + b"8BIM\x04\x04\0\0\0\0\0\0" * 5_000) * 100),
        "too_much_beside",
        "half a million entries of notes",
    ),
    (_png_with(_chunk(b"teSt") * MOST_CHUNKS), "too_many_parts", "ten thousand empty chunks"),
    (_png_with(_chunk(b"teSt") * 1_000_000), "too_many_parts", "a million empty chunks"),
    (_png_with(_chunk(b"tEXt", b"a\0" + bytes(MOST_EXTRA_BYTES))), "too_much_beside", "more notes than picture"),
    (_webp_with(_riff_chunk(b"XXXX") * 1_000_000), "too_many_parts", "a million empty parts of a WebP"),
    (_webp_with(_riff_chunk(b"XXXX", bytes(MOST_EXTRA_BYTES))), "too_much_beside", "a WebP with much in its bag"),
    (_webp_with(_riff_chunk(b"ANMF", bytes(24)) * 2), "animated", "frames of a WebP that says it has none"),
]
# Refused as an attack, by its headers alone.
NOT_EXACT = [
    (scans(50, FLAT.convert("L")), "not_rgb", "a greyscale picture of many scans"),
    (scans(40, FLAT.convert("CMYK")), "not_rgb", "a CMYK picture of many scans"),
    (scans(50, FLAT.resize((900, 900))), "wrong_size", "another size"),
    (_file(FLAT.convert("P")), "not_rgb", "a palette"),
    (_file(FLAT.convert("1")), "not_rgb", "black and white"),
    (_file(icc_profile=_chained_profile()), "colour_profile", "a colour profile that computes a chain"),
    (_file(icc_profile=bytes(images.MAX_PROFILE_BYTES + 1)), "colour_profile", "a profile of any length"),
]
# What the image library would read and nobody needs is left out: these are taken, for little.
TAKEN = [
    (_png_with(_chunk(b"eXIf", _exif_of(30_000, 400_000))), "an EXIF list whose 30,000 entries share 400 KB, in a PNG"),
    (
        _jpeg_with(_segment(0xE1, b"Exif\0\0" + _exif_of(5_000, 60_000))),
        "an EXIF list whose 5,000 entries share 60 KB, in a JPEG",
    ),
    (
        _webp_with(_riff_chunk(b"EXIF", _exif_of(30_000, 400_000))),
        "an EXIF list whose 30,000 entries share 400 KB, in a WebP",
    ),
    (_png_with(_chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(900_000), 9)) * 500), "notes of 450 MB unpacked"),
    (_png_with(_chunk(b"iTXt", b"a\0\1\0\0\0" + zlib.compress(bytes(9 << 20), 9))), "one note of 9 MiB unpacked"),
    (scans(MOST_SCANS - 12), "as many scans as are allowed"),
]


def _ids(table: list[tuple[object, ...]]) -> list[str]:
    return [str(row[-1]) for row in table]


@pytest.fixture(autouse=True)
def _for_little() -> object:
    """Hold each test of this module to the time that a request may take of a processor."""
    began = time.process_time()
    yield
    assert time.process_time() - began < 0.5


@pytest.mark.parametrize("door", [read_attack, read_dataset])
@pytest.mark.parametrize(("data", "code", "reason"), REFUSED, ids=_ids(REFUSED))
def test_refused_for_little(door: object, data: bytes, code: str, reason: str) -> None:
    assert refused(PictureRefused, door, data, size=SIZE).code == code


@pytest.mark.parametrize(("data", "code", "reason"), NOT_EXACT, ids=_ids(NOT_EXACT))
def test_an_attack_is_refused_by_its_headers(
    data: bytes, code: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if code != "colour_profile":
        monkeypatch.setattr(images, "_open", None)  # nothing is decoded
    assert refused(PictureRefused, read_attack, data, size=SIZE).code == code


@pytest.mark.parametrize(("data", "reason"), TAKEN, ids=_ids(TAKEN))
def test_taken_for_little(data: bytes, reason: str) -> None:
    tracemalloc.start()
    try:
        picture = read_attack(data, size=SIZE)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (picture.width, picture.height, peak < 64 << 20) == (SIZE, SIZE, True)


def test_a_profile_that_comes_often_is_unpacked_once() -> None:
    profile = b"x\0\0" + zlib.compress(bytes(1 << 20), 9)
    refused(PictureRefused, read_attack, _png_with(_chunk(b"iCCP", profile) * 3_000), size=SIZE)


def test_the_sum_of_all_passes_is_bounded() -> None:
    """Few scans of many pixels cost as much as many scans of few."""
    before, frame, after = scans(50).partition(b"\xff\xc2")
    large = before + frame + after[:3] + struct.pack(">HH", 4_000, 5_000) + after[7:]
    assert "more than 20 passes" in str(refused(PictureRefused, read_dataset, large, size=SIZE))


def test_one_picture_is_decoded_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who comes while another one is decoded waits; with too many waiting the next is sent away, with a time."""
    monkeypatch.setattr(images, "DECODING", gate := Gate(at_once=1, waiting=1, seconds=30))
    taken: list[images.Picture] = []
    waiting = threading.Thread(target=lambda: taken.append(read_attack(PNG, size=SIZE)))
    with gate:
        waiting.start()
        while gate._admitted.acquire(blocking=False):  # until the other thread waits
            gate._admitted.release()
        busy = refused(Busy, read_attack, PNG, size=SIZE)
        assert "send this again in 30 seconds" in str(busy) and not taken
    waiting.join()
    assert (len(taken), busy.retry_after) == (1, 30)


def test_nobody_waits_longer_than_the_gate_says() -> None:
    gate = Gate(at_once=1, waiting=1, seconds=0.01)
    with gate, pytest.raises(Busy), gate:
        pass
    with gate:  # who gave up holds no place
        pass
