"""Uploaded bytes (R2): a strict door for attacks, a converting one for photographs, and little cost at either."""

import io
import random
import re
import struct
import threading
import time
import tracemalloc
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow
from PIL import ImageCms, ImageDraw

from common.errors import ServerBusy
from common.gates import ConcurrencyGate
from picture_files import decoding
from picture_files.decoding import MAX_PICTURE_BYTES, CanonicalPicture, PictureRefused, read_attack, read_dataset
from picture_files.image_headers import MAX_CHUNKS, MAX_EXTRA_BYTES, MAX_SCANS, MAX_SEGMENTS
from picture_files.png import encode_png, pixels_sha256
from tests.labeling.cast import refused
from tests.tables import cases

SIZE = 299


PHOTOS = Path(__file__).parents[2] / "contest/demo/photos"


def _noise(width: int = SIZE, height: int = SIZE, channels: int = 3, seed: int = 1) -> np.ndarray:
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, channels), dtype=np.uint8)
    return pixels[:, :, 0] if channels == 1 else pixels


def _image(width: int = SIZE, height: int = SIZE) -> Pillow.Image:
    return Pillow.fromarray(_noise(width, height))


def _file(image: Pillow.Image | None = None, form: str = "PNG", **options: Any) -> bytes:
    buffer = io.BytesIO()
    (image or _image()).save(buffer, form, **options)
    return buffer.getvalue()


def _chunk(kind: bytes, body: bytes = b"") -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _with_chunk(kind: bytes, body: bytes, png: bytes | None = None) -> bytes:
    """Put a chunk right behind IHDR."""
    png = png or _file()
    return png[:33] + _chunk(kind, body) + png[33:]


def _bare_png(width: int, height: int, *, bits: int = 8, colour: int = 2, packed: bytes = b"") -> bytes:
    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)
    body = _chunk(b"IDAT", packed or zlib.compress(bytes(100)))
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + body + _chunk(b"IEND", b"")


def _rgba(alpha: int) -> Pillow.Image:
    image = _image().convert("RGBA")
    image.putalpha(255)
    image.putpixel((150, 150), (1, 2, 3, alpha))
    return image


def _exif(orientation: int) -> Pillow.Exif:
    exif = Pillow.Exif()
    exif[0x0112] = orientation
    return exif


def _turned(orientation: int, form: str = "PNG") -> bytes:
    return _file(form=form, exif=_exif(orientation))


def _profile_of(photo: str) -> bytes:
    with Pillow.open(PHOTOS / photo) as image:
        profile: bytes = image.info["icc_profile"]
    return profile


def _stating(width: int, height: int, jpeg: bytes, frame: bytes = b"\xff\xc0") -> bytes:
    """State another size in the frame header of a JPEG."""
    before, after = jpeg.split(frame, 1)
    return before + frame + after[:3] + struct.pack(">HH", height, width) + after[7:]


PNG, JPEG, WEBP = _file(), _file(form="JPEG"), _file(form="WEBP")


TWO_FRAMES = {"save_all": True, "append_images": [Pillow.fromarray(_noise(seed=2))]}


TRANSPARENT_COLOUR = _with_chunk(b"tRNS", struct.pack(">HHH", *(int(value) for value in _noise()[0, 0])))


@pytest.fixture
def for_little() -> Iterator[None]:
    """Hold a test to the time that a request may take of a processor."""
    began = time.process_time()
    yield
    assert time.process_time() - began < 0.5


def _bytes(made: bytes | Pillow.Image) -> bytes:
    return made if isinstance(made, bytes) else _file(made)


def _pixels(data: bytes) -> bytes:
    with Pillow.open(io.BytesIO(data)) as image:
        return image.convert("RGB").tobytes()


@pytest.mark.parametrize("door", [read_attack, read_dataset])
# Refused by both doors: (bytes, code, reason).
@cases(
    "data code reason",
    (b"", "empty", "an empty file"),
    (b"GIF89a" + bytes(100), "not_a_picture", "a GIF"),
    (_file(form="GIF"), "not_a_picture", "a real GIF"),
    (_file(form="BMP"), "not_a_picture", "a BMP"),
    (_file(form="TIFF"), "not_a_picture", "a TIFF"),
    (b"Dear organizers,\nhere is my picture.\n", "not_a_picture", "text with an image name"),
    (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not_a_picture", "an SVG"),
    (b"%PDF-1.7\n" + PNG, "not_a_picture", "a PDF with a picture in it"),
    (b"PK\x03\x04" + PNG, "not_a_picture", "a ZIP with a picture in it"),
    (b" " + PNG, "not_a_picture", "something before the picture"),
    (b"RIFF\x24\x00\x00\x00WAVEfmt " + bytes(32), "not_a_picture", "a sound"),
    (bytes(MAX_PICTURE_BYTES + 1), "too_many_bytes", "more than 20 MiB"),
    (_bare_png(100_000, 100_000), "too_many_pixels", "a decompression bomb: 10 gigapixels in a tiny file"),
    (_bare_png(2**31 - 1, 2**31 - 1), "too_many_pixels", "the largest size a PNG can state"),
    (_bare_png(5000, 4001), "too_many_pixels", "a little more than 20 megapixels"),
    (_stating(20_000, 20_000, JPEG), "too_many_pixels", "a JPEG whose header states 400 megapixels"),
    (
        b"RIFF\x16\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff",
        "too_many_pixels",
        "a WebP canvas of 16 million squared",
    ),
    (_bare_png(0, 299), "damaged", "a picture without pixels"),
    (_bare_png(SIZE, SIZE), "damaged", "packed pixels for a fraction of the stated size"),
    (_bare_png(SIZE, SIZE, packed=b"not deflate"), "damaged", "pixels that are not packed"),
    (PNG[:8] + _chunk(b"tEXt", b"a\x00b") + PNG[8:], "damaged", "a PNG without its header in front"),
    (PNG[:60] + bytes(40) + PNG[100:], "damaged", "a PNG with bytes changed in the middle"),
    (JPEG[:4] + b"\x00\x00" + JPEG[6:], "damaged", "a JPEG segment without a length"),
    (b"\xff\xd8\xff\xd9", "damaged", "a JPEG that starts and ends"),
    (b"RIFF\x20\x00\x00\x00WEBPNOPE" + bytes(40), "damaged", "a WebP of no known kind"),
    (PNG[:-1], "truncated", "a PNG short of one byte"),
    (PNG[: len(PNG) // 2], "truncated", "half a PNG"),
    (PNG[:20], "truncated", "a PNG header cut short"),
    (JPEG[:-1], "truncated", "a JPEG short of one byte"),
    (JPEG[: len(JPEG) // 2], "truncated", "half a JPEG"),
    (JPEG[:30], "truncated", "a JPEG header cut short"),
    (WEBP[:-1], "truncated", "a WebP short of one byte"),
    (WEBP[:16], "truncated", "a WebP header cut short"),
    (_file(form="PNG", **TWO_FRAMES), "animated", "an animated PNG"),
    (_file(form="WEBP", lossless=True, **TWO_FRAMES), "animated", "an animated WebP"),
)
def test_refused_by_both_doors(door: Any, data: bytes, code: str, reason: str) -> None:
    refusal = refused(PictureRefused, door, data, size=SIZE)
    assert (refusal.code, refusal.field) == (code, "image")


# Refused as an attack only; an organizer's photograph like this is converted.
@cases(
    "made code reason",
    (_file(_image(300, 299)), "wrong_size", "one pixel too wide"),
    (_file(_image(598, 598)), "wrong_size", "twice the size"),
    (_rgba(254), "transparent", "one pixel that is not fully opaque"),
    (_rgba(0), "transparent", "one pixel that is clear"),
    (TRANSPARENT_COLOUR, "transparent", "one colour declared transparent"),
    (_file(_rgba(254), "WEBP", lossless=True), "transparent", "a WebP with alpha"),
    (_image().convert("P"), "not_rgb", "a palette"),
    (_image().convert("L"), "not_rgb", "greyscale"),
    (_image().convert("LA"), "not_rgb", "greyscale with alpha"),
    (_image().convert("1"), "not_rgb", "black and white"),
    (_file(_image().convert("L"), "JPEG"), "not_rgb", "a greyscale JPEG"),
    (_file(_image().convert("CMYK"), "JPEG"), "not_rgb", "a CMYK JPEG"),
    (
        _bare_png(SIZE, SIZE, bits=16, packed=zlib.compress(bytes((1 + SIZE * 6) * SIZE))),
        "wrong_depth",
        "16 bits per channel",
    ),
    (Pillow.fromarray(np.zeros((SIZE, SIZE), np.uint16)), "wrong_depth", "16-bit greyscale"),
    *[(_turned(number), "exif_rotation", f"EXIF orientation {number}") for number in range(2, 9)],
    (_turned(6, "JPEG"), "exif_rotation", "a JPEG with an EXIF orientation"),
    (_turned(6, "WEBP"), "exif_rotation", "a WebP with an EXIF orientation"),
    (_file(icc_profile=_profile_of("bird-029.jpg")), "colour_profile", "Adobe RGB"),
    (_file(icc_profile=_profile_of("bird-002.jpg")), "colour_profile", "a camera's own profile"),
    (_file(icc_profile=_profile_of("bird-029.jpg"), form="JPEG"), "colour_profile", "a JPEG in Adobe RGB"),
    (_file(icc_profile=b"no profile at all"), "colour_profile", "a profile that cannot be read"),
    (_with_chunk(b"gAMA", struct.pack(">I", 100_000)), "colour_profile", "a linear gamma"),
    (_with_chunk(b"cICP", bytes((12, 16, 0, 1))), "colour_profile", "Display P3 by code points"),
    (
        _with_chunk(b"cHRM", struct.pack(">8I", *[31270, 32900, 68000, 32000, 26500, 69000, 15000, 6000])),
        "colour_profile",
        "the primaries of Display P3",
    ),
    (PNG + b"PK\x03\x04 a whole archive", "trailing_bytes", "a PNG that is a ZIP too"),
    (JPEG + b"<script>alert(1)</script>", "trailing_bytes", "a JPEG that is a page too"),
    (WEBP + bytes(2), "trailing_bytes", "a WebP with bytes behind it"),
    (_file(form="MPO", **TWO_FRAMES), "trailing_bytes", "a second JPEG behind the first"),
)
def test_refused_or_converted_as_it_is_sent_as_an_attack_or_a_photograph(
    made: bytes | Pillow.Image, code: str, reason: str
) -> None:
    assert refused(PictureRefused, read_attack, _bytes(made), size=SIZE).code == code
    picture = read_dataset(_bytes(made), size=SIZE)
    assert (picture.width, picture.height, len(picture.pixels)) == (SIZE, SIZE, SIZE * SIZE * 3)


@cases(
    "made warnings reason",
    (PNG, 0, "an RGB PNG"),
    (_rgba(255), 0, "a PNG with a fully opaque alpha channel"),
    (_with_chunk(b"tRNS", struct.pack(">HHH", 256, 256, 256)), 0, "a transparent colour that no pixel has"),
    (_turned(1), 0, "an EXIF entry that says upright"),
    (_file(icc_profile=_profile_of("bird-004.jpg")), 0, "the common sRGB profile"),
    (_file(icc_profile=ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()), 0, "another sRGB"),
    (_with_chunk(b"gAMA", struct.pack(">I", 45455)), 0, "the gamma of sRGB"),
    (_with_chunk(b"sRGB", b"\x00", _with_chunk(b"gAMA", struct.pack(">I", 100_000))), 0, "sRGB overrules gamma"),
    (_with_chunk(b"cICP", bytes((1, 13, 0, 1))), 0, "sRGB by code points"),
    (_with_chunk(b"tEXt", b"Comment\x00<script>"), 0, "a comment, which is not kept"),
    (_file(form="WEBP", lossless=True), 0, "a lossless WebP"),
    (JPEG, 1, "a JPEG, with a warning"),
    (_file(form="JPEG", progressive=True), 1, "a progressive JPEG, with a warning"),
    (WEBP, 1, "a lossy WebP, with a warning"),
)
def test_taken_bit_by_bit(made: bytes | Pillow.Image, warnings: int, reason: str) -> None:
    data = _bytes(made)
    picture = read_attack(data, size=SIZE)
    assert (picture.pixels, picture.pixels_sha256) == (_pixels(data), pixels_sha256(SIZE, SIZE, picture.pixels))
    assert (picture.original, len(picture.warnings)) == (data, warnings)


def test_a_canonical_picture_stays_itself_through_both_doors() -> None:
    canonical = encode_png(SIZE, SIZE, _noise().tobytes())
    attack, photograph = read_attack(canonical, size=SIZE), read_dataset(canonical, size=SIZE)
    assert (attack, attack.pixels, attack.original_format) == (photograph, _noise().tobytes(), "PNG")


# How a camera stores an upright picture under each EXIF orientation (rows are y, columns are x).
STORED = {
    1: lambda upright: upright,
    2: np.fliplr,
    3: lambda upright: np.rot90(upright, 2),
    4: np.flipud,
    5: lambda upright: upright.transpose(1, 0, 2),
    6: lambda upright: np.rot90(upright, 1),
    7: lambda upright: np.rot90(upright, 2).transpose(1, 0, 2),
    8: lambda upright: np.rot90(upright, -1),
}


@pytest.mark.parametrize("orientation", STORED)
@pytest.mark.parametrize("form", ["PNG", "WEBP"])
def test_each_exif_orientation_is_turned_upright(orientation: int, form: str) -> None:
    stored = Pillow.fromarray(np.ascontiguousarray(STORED[orientation](_noise())))
    data = _file(stored, form, exif=_exif(orientation), **({"lossless": True} if form == "WEBP" else {}))
    assert read_dataset(data, size=SIZE).pixels == _noise().tobytes()


def test_the_orientation_of_a_large_jpeg_is_followed_too() -> None:
    """Large JPEGs are decoded smaller; the top of this one is red once it is turned."""
    stored = Pillow.new("RGB", (4000, 3000), "white")
    ImageDraw.Draw(stored).rectangle((0, 0, 1000, 3000), fill="red")
    # Stored left is upright top.
    picture = _shown(read_dataset(_file(stored, "JPEG", exif=_exif(6)), size=SIZE))
    assert picture[10, 150, 1] < 40 < picture[140, 150, 1] and (picture[295, :] > 250).all()


def _shown(picture: CanonicalPicture) -> np.ndarray:
    return np.frombuffer(picture.pixels, np.uint8).reshape(picture.height, picture.width, 3)


@pytest.mark.parametrize(("width", "height"), [(900, 300), (300, 900)])
def test_the_middle_of_the_longer_side_is_kept(width: int, height: int) -> None:
    thirds = Pillow.new("RGB", (width, height), "red")
    box = (300, 0, 599, 299) if width > height else (0, 300, 299, 599)
    ImageDraw.Draw(thirds).rectangle(box, fill="lime")
    assert (_shown(read_dataset(_file(thirds), size=SIZE))[5:-5, 5:-5] == (0, 255, 0)).all()


@pytest.mark.parametrize(
    ("door", "size", "code", "words"),
    [
        (read_dataset, (800, 298), "too_small", "800 x 298"),
        (read_attack, (640, 480), "wrong_size", r"is 640 x 480. Make it exactly 299 x 299.* it is not resized here\.$"),
    ],
    ids=["too small: enlarging invents", "an attack of another size"],
)
def test_a_picture_that_fits_not_is_refused_with_what_to_change(
    door: Any, size: tuple[int, int], code: str, words: str
) -> None:
    refusal = refused(PictureRefused, door, _file(_image(*size)), size=SIZE)
    assert refusal.code == code and re.search(words, refusal.message)


def test_transparent_parts_lie_on_white() -> None:
    half = Pillow.new("RGBA", (SIZE, SIZE), (0, 0, 0, 255))
    half.paste((255, 0, 0, 0), (0, 0, 150, SIZE))
    half.paste((0, 0, 0, 128), (200, 0, SIZE, SIZE))
    assert _shown(read_dataset(_file(half), size=SIZE))[10, [10, 160, 250], 0].tolist() == [255, 0, 127]


@cases(
    "image colour reason",
    (Pillow.new("L", (SIZE, SIZE), 90), (90, 90, 90), "greyscale"),
    (Pillow.new("LA", (SIZE, SIZE), (90, 255)), (90, 90, 90), "greyscale with alpha"),
    (Pillow.new("1", (SIZE, SIZE), 1), (255, 255, 255), "black and white"),
    (
        Pillow.new("RGB", (SIZE, SIZE), (10, 200, 30)).convert("P", palette=Pillow.Palette.ADAPTIVE),
        (10, 200, 30),
        "a palette",
    ),
    (Pillow.fromarray(np.full((SIZE, SIZE), 0x5A80, np.uint16)), (0x5A, 0x5A, 0x5A), "16-bit greyscale, scaled"),
    (Pillow.new("CMYK", (SIZE, SIZE), (0, 0, 0, 0)), (255, 255, 255), "no ink is white"),
    (Pillow.new("CMYK", (SIZE, SIZE), (0, 255, 255, 0)), (255, 0, 0), "magenta and yellow are red"),
)
def test_other_kinds_become_rgb(image: Pillow.Image, colour: tuple[int, int, int], reason: str) -> None:
    data, away = (_file(image, "JPEG", quality=95), 3) if image.mode == "CMYK" else (_file(image), 0)
    assert np.abs(_shown(read_dataset(data, size=SIZE)).astype(int) - colour).max() <= away


ADOBE_TO_XYZ = np.array([[0.57667, 0.18556, 0.18823], [0.29734, 0.62736, 0.07529], [0.02703, 0.07069, 0.99134]])


XYZ_TO_SRGB = np.array([[3.24045, -1.53714, -0.49853], [-0.96927, 1.87601, 0.04156], [0.05564, -0.20403, 1.05723]])


def _adobe_to_srgb(colour: tuple[int, int, int]) -> np.ndarray:
    """The textbook conversion, worked out here from the primaries of both spaces."""
    linear = np.clip(XYZ_TO_SRGB @ ADOBE_TO_XYZ @ (np.array(colour) / 255) ** 2.19921875, 0, 1)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055) * 255


@pytest.mark.parametrize("colour", [(100, 150, 100), (128, 128, 128), (200, 90, 60), (60, 90, 160)])
@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
def test_an_embedded_profile_is_converted_to_srgb(colour: tuple[int, int, int], mode: str) -> None:
    image = Pillow.new("RGB", (SIZE, SIZE), colour).convert(mode)
    picture = read_dataset(_file(image, icc_profile=_profile_of("bird-029.jpg")), size=SIZE)
    assert (np.abs(_shown(picture) - _adobe_to_srgb(colour)).max() <= 2, picture.warnings) == (True, ())


def test_an_srgb_profile_changes_no_pixel() -> None:
    assert read_dataset(_file(icc_profile=_profile_of("bird-004.jpg")), size=SIZE).pixels == _noise().tobytes()


@cases(
    "data note reason",
    (_file(icc_profile=b"no profile at all"), "colour profile", "a profile that cannot be read"),
    (_file(_image().convert("L"), icc_profile=_profile_of("bird-029.jpg")), "colour profile", "RGB profile on grey"),
    (PNG + b"PK\x03\x04", "4 bytes behind the picture", "bytes behind the picture"),
    (_with_chunk(b"gAMA", struct.pack(">I", 100_000)), "other than sRGB", "a gamma without a profile"),
)
def test_what_cannot_be_honoured_is_noted(data: bytes, note: str, reason: str) -> None:
    (warning,) = read_dataset(data, size=SIZE).warnings
    assert note in warning


def test_only_the_first_picture_of_a_camera_file_is_taken() -> None:
    picture = read_dataset(_file(form="MPO", quality=95, **TWO_FRAMES), size=SIZE)
    assert picture.pixels == _pixels(_file(form="JPEG", quality=95))


SMALL = 16


_small = Pillow.fromarray(_noise(SMALL, SMALL))


@settings(max_examples=300)
@given(
    st.sampled_from(
        [
            _file(_small),
            _file(_small, icc_profile=_profile_of("bird-029.jpg"), exif=Pillow.Exif()),
            _file(_small.convert("P")),
            _file(_small, "JPEG"),
            _file(_small, "JPEG", progressive=True),
            _file(_small.convert("CMYK"), "JPEG"),
            _file(_small, "WEBP"),
            _file(_small.convert("RGBA"), "WEBP", lossless=True, exif=b"Exif\x00\x00MM\x00*"),
        ]
    ),
    st.integers(0, 2**32),
    st.integers(1, 8),
    st.booleans(),
)
def test_damaged_files_are_taken_or_refused_and_nothing_else(seed: bytes, number: int, edits: int, cut: bool) -> None:
    draw, data = random.Random(number), bytearray(seed)
    for _ in range(edits):
        at = draw.randrange(len(data))
        data[at : at + draw.choice((0, 1, 1, 1, 4))] = draw.randbytes(draw.choice((1, 1, 1, 2, 4)))
    if cut:
        del data[draw.randrange(len(data)) :]
    for door in (read_attack, read_dataset):
        try:
            picture = door(bytes(data), size=SMALL)
        except PictureRefused as refusal:
            assert refusal.code and refusal.message.endswith(".")
        else:
            assert len(picture.pixels) == SMALL * SMALL * 3


FLAT = Pillow.new("RGB", (SIZE, SIZE), (90, 120, 40))


def _segment(marker: int, body: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body


def _riff_chunk(kind: bytes, body: bytes = b"") -> bytes:
    return struct.pack("<4sI", kind, len(body)) + body + bytes(len(body) % 2)


FLAT_PNG, FLAT_JPEG, FLAT_WEBP = (
    _file(FLAT),
    _file(FLAT, form="JPEG", progressive=True),
    _file(FLAT, form="WEBP", lossless=True, exif=b"Exif\0\0II*\0"),
)


def scans(count: int, image: Pillow.Image = FLAT) -> bytes:
    """Return a legal progressive JPEG with `count` scans more than usual, each of 12 bytes and of all its pixels."""
    data = _file(image, "JPEG", progressive=True)
    one_long_run = _segment(0xC4, b"\x10" + bytes([1, *[0] * 15]) + b"\xe0")
    scan = _segment(0xDA, b"\x01\x01\x00\x01\x3f\x10") + b"\0\0"
    return data[:-2] + one_long_run + scan * count + b"\xff\xd9"


def _jpeg_with(front: bytes) -> bytes:
    return FLAT_JPEG[:2] + front + FLAT_JPEG[2:]


def _png_with(front: bytes) -> bytes:
    return FLAT_PNG[:33] + front + FLAT_PNG[33:]


def _webp_with(*more: bytes) -> bytes:
    body = FLAT_WEBP[12:] + b"".join(more)
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


@pytest.mark.parametrize("door", [read_attack, read_dataset])
@cases(
    "data code reason",
    (scans(MAX_SCANS), "too_many_scans", "a few scans more than any program writes"),
    (scans(20_000), "too_many_scans", "20,000 scans: seconds of decoding in 240 KB"),
    (_jpeg_with(b"\xff" * 10_000_000), "damaged", "ten million fill bytes in front of a marker"),
    (_jpeg_with((b"\xff" * 900 + b"\xfe\0\2") * 1_000), "damaged", "fill bytes spread over many segments"),
    (_jpeg_with(_segment(0xFE, b"") * MAX_SEGMENTS), "too_many_parts", "a thousand empty comments"),
    (_jpeg_with(_segment(0xFE, b"") * 2_000_000), "too_many_parts", "two million empty comments"),
    (_jpeg_with(b"\xff\xd0" * 2_000_000), "too_many_parts", "two million markers that mean nothing here"),
    (
        _jpeg_with(_segment(0xED, b"Photoshop 3.0\0" + b"8BIM\x04\x04\0\0\0\0\0\0" * 5_000) * 100),
        "too_much_beside",
        "half a million entries of notes",
    ),
    (_png_with(_chunk(b"teSt") * MAX_CHUNKS), "too_many_parts", "ten thousand empty chunks"),
    (_png_with(_chunk(b"teSt") * 1_000_000), "too_many_parts", "a million empty chunks"),
    (_png_with(_chunk(b"tEXt", b"a\0" + bytes(MAX_EXTRA_BYTES))), "too_much_beside", "more notes than picture"),
    (_webp_with(_riff_chunk(b"none") * 1_000_000), "too_many_parts", "a million empty parts of a WebP"),
    (_webp_with(_riff_chunk(b"none", bytes(MAX_EXTRA_BYTES))), "too_much_beside", "a WebP with much beside it"),
    (_webp_with(_riff_chunk(b"ANMF", bytes(24)) * 2), "animated", "frames of a WebP that says it has none"),
)
def test_refused_for_little(for_little: None, door: Any, data: bytes, code: str, reason: str) -> None:
    assert refused(PictureRefused, door, data, size=SIZE).code == code


@cases(
    "data code reason",
    (scans(50, FLAT.convert("L")), "not_rgb", "a greyscale picture of many scans"),
    (scans(40, FLAT.convert("CMYK")), "not_rgb", "a CMYK picture of many scans"),
    (scans(50, FLAT.resize((900, 900))), "wrong_size", "another size"),
    (_file(FLAT.convert("P")), "not_rgb", "a palette"),
    (_file(FLAT.convert("1")), "not_rgb", "black and white"),
    (_file(FLAT, icc_profile=_chained_profile()), "colour_profile", "a colour profile that computes a chain"),
    (_file(FLAT, icc_profile=bytes(decoding.MAX_PROFILE_BYTES + 1)), "colour_profile", "a profile of any length"),
)
def test_an_attack_is_refused_by_its_headers(
    for_little: None, data: bytes, code: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if code != "colour_profile":
        monkeypatch.setattr(decoding, "_open", None)  # nothing is decoded
    assert refused(PictureRefused, read_attack, data, size=SIZE).code == code


# What the image library would read and nobody needs is left out: these are taken, for little.
@cases(
    "data reason",
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
    (scans(MAX_SCANS - 12), "as many scans as are allowed"),
)
def test_taken_for_little(for_little: None, data: bytes, reason: str) -> None:
    tracemalloc.start()
    try:
        picture = read_attack(data, size=SIZE)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (picture.width, picture.height, peak < 64 << 20) == (SIZE, SIZE, True)


def test_a_profile_that_comes_often_is_unpacked_once(for_little: None) -> None:
    profile = b"x\0\0" + zlib.compress(bytes(1 << 20), 9)
    refused(PictureRefused, read_attack, _png_with(_chunk(b"iCCP", profile) * 3_000), size=SIZE)


def test_the_sum_of_all_passes_is_bounded(for_little: None) -> None:
    """Few scans of many pixels cost as much as many scans of few."""
    large = _stating(5_000, 4_000, scans(50), b"\xff\xc2")
    assert "more than 20 passes" in str(refused(PictureRefused, read_dataset, large, size=SIZE))


def test_one_picture_is_decoded_at_a_time(for_little: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who comes while another one is decoded waits; with too many waiting the next is sent away, with a time."""
    monkeypatch.setattr(decoding, "DECODING", gate := ConcurrencyGate(at_once=1, waiting=1, seconds=30))
    taken: list[decoding.CanonicalPicture] = []
    waiting = threading.Thread(target=lambda: taken.append(read_attack(FLAT_PNG, size=SIZE)))
    with gate:
        waiting.start()
        while gate._admitted.acquire(blocking=False):  # until the other thread waits
            gate._admitted.release()
        busy = refused(ServerBusy, read_attack, FLAT_PNG, size=SIZE)
        assert "send this again in 30 seconds" in str(busy) and not taken
    waiting.join()
    assert (len(taken), busy.retry_after) == (1, 30)


def test_nobody_waits_longer_than_the_gate_says(for_little: None) -> None:
    gate = ConcurrencyGate(at_once=1, waiting=1, seconds=0.01)
    with gate, pytest.raises(ServerBusy), gate:
        pass
    with gate:  # who gave up holds no place
        pass
