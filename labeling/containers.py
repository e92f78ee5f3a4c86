"""What a picture file says about itself, read without decoding a pixel (PNG, JPEG, WebP).

Pure. This runs before the image library sees a byte: it decides by content, never by name, and finds the size that
is claimed, whether there is one frame, and where the picture ends, so that a bomb, an animation or a second file
behind the picture is known from a few header bytes.
"""

import re
import struct
from dataclasses import dataclass

from labeling.refusals import refused

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8\xff"
# Frame headers of JPEG (SOF0 to SOF15 without the three markers between them that mean something else).
_FRAME_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_BARE_MARKERS = frozenset({0x01, *range(0xD0, 0xD8)})
_START_OF_SCAN, _END_OF_IMAGE = 0xDA, 0xD9
# In packed JPEG data a real marker is FF with anything but 00 (a stuffed FF), a restart marker or a fill byte.
_MARKER_IN_SCAN = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
_SRGB_GAMMA = range(45000, 46001)  # in 1/100,000; sRGB is written as 45455
_SRGB_CHROMATICITY = (31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000)
_SRGB_CODE_POINTS = bytes((1, 13, 0, 1))


@dataclass(frozen=True, slots=True)
class Container:
    """The outside of a picture file. `end` is the number of bytes that belong to the picture."""

    format: str  # PNG, JPEG or WEBP
    width: int
    height: int
    end: int
    bits: int = 8  # per channel
    animated: bool = False
    lossy: bool = False
    # A PNG may state colours in chunks that viewers and libraries treat differently (gAMA, cHRM, cICP).
    other_colours: bool = False


def inspect(data: bytes) -> Container:
    """Read the headers of a PNG, JPEG or WebP file; raises PictureRefused for anything else."""
    if not data:
        raise refused("empty")
    try:
        if data.startswith(_PNG):
            return _png(data)
        if data.startswith(_JPEG):
            return _jpeg(data)
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return _webp(data)
    except (struct.error, IndexError) as error:
        raise refused("truncated") from error
    raise refused("not_a_picture")


def _png(data: bytes) -> Container:
    if struct.unpack_from(">I4s", data, 8) != (13, b"IHDR"):
        raise refused("header")
    width, height, bits = struct.unpack_from(">IIB", data, 16)
    chunks: dict[bytes, bytes] = {}
    at, kind = len(_PNG), b""
    while kind != b"IEND":
        length, kind = struct.unpack_from(">I4s", data, at)
        # Only the first bytes of a chunk matter here; the packed pixels are not copied.
        chunks.setdefault(kind, data[at + 8 : at + 8 + min(length, 32)])
        at += 12 + length
        if at > len(data):
            raise refused("truncated")
    return Container(
        format="PNG",
        width=width,
        height=height,
        end=at,
        bits=bits,
        animated=b"acTL" in chunks,
        other_colours=_states_other_colours(chunks),
    )


def _states_other_colours(chunks: dict[bytes, bytes]) -> bool:
    """Say whether gAMA, cHRM or cICP name a colour space that is not sRGB."""
    if b"cICP" in chunks and chunks[b"cICP"] != _SRGB_CODE_POINTS:
        return True
    if b"sRGB" in chunks or b"iCCP" in chunks:
        return False  # these take precedence; a profile is judged by what it does
    if b"gAMA" in chunks and int.from_bytes(chunks[b"gAMA"], "big") not in _SRGB_GAMMA:
        return True
    return b"cHRM" in chunks and not _srgb_primaries(chunks[b"cHRM"])


def _srgb_primaries(body: bytes) -> bool:
    if len(body) != 32:
        return False
    stated = struct.unpack(">8I", body)
    return all(abs(value - srgb) <= 100 for value, srgb in zip(stated, _SRGB_CHROMATICITY, strict=True))


def _jpeg(data: bytes) -> Container:
    frame: tuple[int, int, int] | None = None
    at = 2
    while True:
        if data[at] != 0xFF:
            raise refused("header")
        marker = data[at + 1]
        if marker == 0xFF:  # fill byte
            at += 1
            continue
        at += 2
        if marker == _END_OF_IMAGE:
            break
        if marker in _BARE_MARKERS:
            continue
        (length,) = struct.unpack_from(">H", data, at)
        if length < 2:
            raise refused("header")
        if marker in _FRAME_MARKERS and frame is None:
            frame = struct.unpack_from(">BHH", data, at + 2)
        at += length
        if marker == _START_OF_SCAN:
            at = _end_of_scan(data, at)
    if frame is None:
        raise refused("header")
    bits, height, width = frame
    return Container(format="JPEG", width=width, height=height, end=at, bits=bits, lossy=True)


def _end_of_scan(data: bytes, at: int) -> int:
    found = _MARKER_IN_SCAN.search(data, at)
    if found is None:
        raise refused("truncated")
    return found.start()


def _webp(data: bytes) -> Container:
    (length,) = struct.unpack_from("<I", data, 4)
    end = 8 + length + length % 2
    if end > len(data):
        raise refused("truncated")
    kind = data[12:16]
    if kind == b"VP8X":
        width, height = (1 + int.from_bytes(data[at : at + 3], "little") for at in (24, 27))
        lossy = data.find(b"VP8 ", 30, end) >= 0
        return Container("WEBP", width, height, end, animated=bool(data[20] & 0x02), lossy=lossy)
    if kind == b"VP8L" and data[20] == 0x2F:
        (packed,) = struct.unpack_from("<I", data, 21)
        return Container("WEBP", 1 + (packed & 0x3FFF), 1 + (packed >> 14 & 0x3FFF), end)
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", data, 26)
        return Container("WEBP", width & 0x3FFF, height & 0x3FFF, end, lossy=True)
    raise refused("header")
