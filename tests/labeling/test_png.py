"""The canonical picture file and the identity of a picture (R2)."""

import hashlib
import io
import random
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow

from labeling.png import PictureDamaged, decode_png, encode_png, pixels_sha256

RED_AND_BLUE = b"\xff\x00\x00\x00\x00\xff"


@st.composite
def pictures(draw: st.DrawFn) -> tuple[int, int, bytes]:
    width, height = draw(st.integers(1, 24)), draw(st.integers(1, 24))
    noise = random.Random(draw(st.integers(0, 2**32)))
    palette = draw(st.integers(1, 256))
    return width, height, bytes(noise.randrange(palette) for _ in range(width * height * 3))


def test_the_identity_is_the_documented_hash() -> None:
    """The same bytes in another shape are another picture; the same pixels give the same file, which is read."""
    written_out = hashlib.sha256(b"RGB8 2x1\n" + RED_AND_BLUE).hexdigest()
    assert pixels_sha256(2, 1, RED_AND_BLUE) == written_out != pixels_sha256(1, 2, RED_AND_BLUE)
    assert written_out == "3d59e1a87bb55198689201a19ece8a61846cb937bb78db6f180e911afae5468b"
    assert encode_png(2, 1, RED_AND_BLUE) == encode_png(2, 1, bytearray(RED_AND_BLUE))
    assert decode_png(GOOD) == (2, 1, RED_AND_BLUE)


@settings(max_examples=50)
@given(pictures())
def test_what_was_written_is_read_back_by_us_and_by_pillow(picture: tuple[int, int, bytes]) -> None:
    width, height, pixels = picture
    data = encode_png(width, height, pixels)
    assert decode_png(data) == picture
    with Pillow.open(io.BytesIO(data)) as image:
        assert (image.mode, image.size, image.tobytes()) == ("RGB", (width, height), pixels)
        assert image.info["srgb"] == 0


@given(pictures(), st.data())
def test_one_changed_byte_is_always_found(picture: tuple[int, int, bytes], data: st.DataObject) -> None:
    file = bytearray(encode_png(*picture))
    file[data.draw(st.integers(0, len(file) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(PictureDamaged):
        decode_png(bytes(file))


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _png(*chunks: tuple[bytes, bytes]) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks)


HEADER = (b"IHDR", struct.pack(">IIBBBBB", 2, 1, 8, 2, 0, 0, 0))
SRGB, END = (b"sRGB", b"\x00"), (b"IEND", b"")
PIXELS = (b"IDAT", zlib.compress(b"\x00" + RED_AND_BLUE))
GOOD = _png(HEADER, SRGB, PIXELS, END)

NOT_CANONICAL = [
    (b"", "nothing"),
    (GOOD[:8], "the signature alone"),
    (GOOD[:-1], "the last byte is missing"),
    (GOOD + b"PK\x03\x04", "something follows the end"),
    (_png(HEADER, PIXELS, END), "no sRGB chunk"),
    (_png(HEADER, SRGB, (b"tEXt", b"a\x00b"), PIXELS, END), "an additional chunk"),
    (_png(HEADER, SRGB, PIXELS, PIXELS, END), "two IDAT chunks"),
    (_png(SRGB, HEADER, PIXELS, END), "another order"),
    (_png((b"IHDR", HEADER[1][:-1] + b"\x01"), SRGB, PIXELS, END), "interlaced"),
    (_png((b"IHDR", struct.pack(">IIBBBBB", 2, 1, 16, 2, 0, 0, 0)), SRGB, PIXELS, END), "16 bits"),
    (_png((b"IHDR", struct.pack(">IIBBBBB", 10**6, 1, 8, 2, 0, 0, 0)), SRGB, PIXELS, END), "too wide"),
    (_png((b"IHDR", HEADER[1] + b"\x00"), SRGB, PIXELS, END), "a longer header"),
    (_png(HEADER, (b"sRGB", b"\x01"), PIXELS, END), "another intent"),
    (_png(HEADER, SRGB, (b"IDAT", b"not deflate"), END), "pixels that are not packed"),
    (_png(HEADER, SRGB, (b"IDAT", zlib.compress(bytes(6))), END), "too few pixels"),
    (_png(HEADER, SRGB, (b"IDAT", zlib.compress(bytes(10**7))), END), "far more pixels than the size says"),
    (_png(HEADER, SRGB, (b"IDAT", PIXELS[1] + b"x"), END), "bytes behind the packed pixels"),
    (_png(HEADER, SRGB, (b"IDAT", PIXELS[1][:-4]), END), "packed pixels without their checksum"),
    (_png(HEADER, SRGB, (b"IDAT", zlib.compress(b"\x01" + RED_AND_BLUE)), END), "a filtered row"),
]


@pytest.mark.parametrize(("data", "reason"), NOT_CANONICAL, ids=[reason for _, reason in NOT_CANONICAL])
def test_any_other_form_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(PictureDamaged):
        decode_png(data)


@pytest.mark.parametrize(
    ("width", "height", "length", "reason"),
    [(0, 1, 0, "no width"), (2, 1, 5, "a byte short"), (2, 1, 7, "a byte long"), (4097, 1, 3 * 4097, "too wide")],
)
def test_only_whole_pictures_are_written_or_named(width: int, height: int, length: int, reason: str) -> None:
    for make in (encode_png, pixels_sha256):
        with pytest.raises(ValueError, match="not the RGB pixels"):
            make(width, height, bytes(length))


def test_it_needs_nothing_but_the_standard_library() -> None:
    """The verifier of a release reads pictures on a machine with nothing installed."""
    program = "import sys, labeling.png; sys.exit(any(name in sys.modules for name in ('django', 'PIL', 'numpy')))"
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-S", "-c", program], cwd=root, check=False).returncode == 0
