"""Reads the headers of a picture file (PNG, JPEG, WebP) without decoding pixels.

Pure. This runs before the image library sees a byte: it decides by content, never by name, and finds the size that
is claimed, the number of channels, whether there is one frame, and where the picture ends, so that a bomb, an animation
or a second file behind the picture is known from a few header bytes. It also names the pieces that decoding needs: the
image library gets these alone, so that no untrusted comment, preview or EXIF list reaches its parsers.

Every walk is bounded by a number of pieces, so that it costs milliseconds whatever the file holds.
"""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from picture_files.refusals import BLACK_AND_WHITE, CMYK, GREYSCALE, PALETTE, refused

# A progressive JPEG has about ten scans. Each one costs a pass over all pixels, and a scan fits into 12 bytes.
MAX_SCANS = 64
MAX_SCAN_PIXELS = 400_000_000  # scans times pixels: 20 megapixels in 20 scans
MAX_SEGMENTS = 1_000  # of a JPEG, and parts of a WebP
MAX_CHUNKS = 10_000  # of a PNG: 20 MiB in the 8 KiB pieces that the common library writes are 2,560
MAX_EXTRA_BYTES = 4 * 1024 * 1024  # notes, previews, colour profiles: all that is not the picture
_MAX_FILL_BYTES = 1_024  # in front of the markers of a JPEG
_MAX_EXIF_ENTRIES = 512  # entries are sorted by number, and the orientation has a low one

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8\xff"
# Frame headers of JPEG (SOF0 to SOF15 without the three markers between them that mean something else).
_FRAME_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_BARE_MARKERS = frozenset({0x01, *range(0xD0, 0xD8)})
_START_OF_SCAN, _END_OF_IMAGE = 0xDA, 0xD9
_COMMENT, _APPLICATION = 0xFE, range(0xE0, 0xF0)
# What applications write that changes how a JPEG decodes: its kind of colours, and its profile.
_DECIDES_COLOURS = {0xE0: b"JFIF\0", 0xE2: b"ICC_PROFILE\0", 0xEE: b"Adobe"}
_EXIF, _XMP = b"Exif\0\0", b"http://ns.adobe.com/xap/1.0/\0"
# In packed JPEG data a real marker is FF with anything but 00 (a stuffed FF), a restart marker or a fill byte.
_MARKER_IN_SCAN = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
_FILL = re.compile(rb"\xff+")
_XMP_ORIENTATION = re.compile(rb"tiff:Orientation(?:=\"|>)([0-9])")
_ORIENTATION = 0x0112
# Chunks of a PNG that its pixels depend on; IDAT holds them.
_NEEDED_CHUNKS = frozenset({b"IHDR", b"PLTE", b"tRNS", b"iCCP", b"IDAT", b"IEND"})
_MAX_NOTE_BYTES = 64 * 1024  # of EXIF or XMP that is read for an orientation
_SRGB_GAMMA = range(45000, 46001)  # in 1/100,000; sRGB is written as 45455
_SRGB_CHROMATICITY = (31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000)
_SRGB_CODE_POINTS = bytes((1, 13, 0, 1))
_PNG_KINDS = {0: GREYSCALE, 3: PALETTE, 4: GREYSCALE}
_JPEG_KINDS = {1: GREYSCALE, 4: CMYK}


@dataclass(frozen=True, slots=True)
class ImageContainer:
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
    kind: str = ""  # in words, where the channels are not RGB or RGBA
    orientation: int = 1  # as EXIF counts: 1 is upright
    scans: int = 1
    # Where the bytes lie that decoding needs, in order; none means all of them.
    needed: tuple[tuple[int, int], ...] = ()

    def bare(self, data: bytes) -> bytes:
        """Return the file with nothing but what decoding needs."""
        return b"".join(data[start:end] for start, end in self.needed) if self.needed else data


def inspect(data: bytes) -> ImageContainer:
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


def _png(data: bytes) -> ImageContainer:
    if struct.unpack_from(">I4s", data, 8) != (13, b"IHDR"):
        raise refused("header")
    width, height, bits, colour = struct.unpack_from(">IIBB", data, 16)
    chunks: dict[bytes, tuple[int, int]] = {}
    needed, extra, at = [(0, len(_PNG))], 0, len(_PNG)
    for kind, start, at in _png_chunks(data):
        # Of all chunks but the pixels the first one counts: a profile that comes a thousand times is unpacked once.
        if kind == b"IDAT" or (kind in _NEEDED_CHUNKS and kind not in chunks):
            needed.append((start, at))
        if kind != b"IDAT":
            extra += at - start
        chunks.setdefault(kind, (start + 8, at - 4))
    _refuse_much_beside(extra)
    # Only the first bytes of a chunk matter here; the packed pixels are not copied.
    heads = {kind: data[start : min(end, start + 32)] for kind, (start, end) in chunks.items()}
    return ImageContainer(
        format="PNG",
        width=width,
        height=height,
        end=at,
        bits=bits,
        animated=b"acTL" in chunks,
        other_colours=_states_other_colours(heads),
        kind=BLACK_AND_WHITE if (colour, bits) == (0, 1) else _PNG_KINDS.get(colour, ""),
        orientation=_exif_orientation(data, *chunks[b"eXIf"]) if b"eXIf" in chunks else 1,
        needed=tuple(needed),
    )


def _png_chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yield kind, start and end of every chunk, to the last one."""
    at = len(_PNG)
    for _ in range(MAX_CHUNKS):
        length, kind = struct.unpack_from(">I4s", data, at)
        end = at + 12 + length
        if end > len(data):
            raise refused("truncated")
        yield kind, at, end
        if kind == b"IEND":
            return
        at = end
    raise refused("too_many_parts", most=MAX_CHUNKS)


def _refuse_much_beside(extra: int) -> None:
    if extra > MAX_EXTRA_BYTES:
        raise refused("too_much_beside", most=MAX_EXTRA_BYTES // 1024**2)


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


def _jpeg(data: bytes) -> ImageContainer:
    frame: tuple[int, int, int, int] | None = None
    needed, extra, scans, orientation = [(0, 2)], 0, 0, 0
    end = 2
    for marker, start, body, end in _jpeg_segments(data):
        if marker in _FRAME_MARKERS and frame is None:
            frame = struct.unpack_from(">BHHB", data, body + 2)
        if marker == _START_OF_SCAN:
            scans += 1
            if scans > MAX_SCANS:
                raise refused("too_many_scans", most=MAX_SCANS)
        if marker in _APPLICATION or marker == _COMMENT:
            extra += end - start
            orientation = orientation or _jpeg_orientation(data, body + 2, end)
            if not _decides_colours(marker, data, body):
                continue
        needed.append((start, end))
    if frame is None:
        raise refused("header")
    _refuse_much_beside(extra)
    bits, height, width, channels = frame
    _refuse_much_work(scans, width * height)
    return ImageContainer(
        format="JPEG",
        width=width,
        height=height,
        end=end,
        bits=bits,
        lossy=True,
        kind=_JPEG_KINDS.get(channels, ""),
        orientation=orientation or 1,
        scans=scans,
        needed=tuple(needed),
    )


def _refuse_much_work(scans: int, pixels: int) -> None:
    if scans * pixels > MAX_SCAN_PIXELS:
        raise refused("too_many_scans", most=max(1, MAX_SCAN_PIXELS // pixels))


def _decides_colours(marker: int, data: bytes, body: int) -> bool:
    says = _DECIDES_COLOURS.get(marker)
    return says is not None and data.startswith(says, body + 2)


def _jpeg_segments(data: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Yield marker, start, body and end of every segment to the end of the picture; that of a scan holds its data."""
    at, fill = 2, 0
    for _ in range(MAX_SEGMENTS):
        run = _FILL.match(data, at)
        if run is None:
            raise refused("header" if at < len(data) else "truncated")
        fill += run.end() - at - 1
        if fill > _MAX_FILL_BYTES:
            raise refused("header")
        start, marker, body = run.end() - 1, data[run.end()], run.end() + 1
        at = body
        if marker not in _BARE_MARKERS and marker != _END_OF_IMAGE:
            (length,) = struct.unpack_from(">H", data, body)
            if length < 2:
                raise refused("header")
            at += length
            if marker == _START_OF_SCAN:
                at = _end_of_scan(data, at)
        yield marker, start, body, at
        if marker == _END_OF_IMAGE:
            return
    raise refused("too_many_parts", most=MAX_SEGMENTS)


def _jpeg_orientation(data: bytes, start: int, end: int) -> int:
    """Return what a note of a JPEG says of the orientation, 0 when it says nothing."""
    if data.startswith(_EXIF, start):
        return _exif_orientation(data, start, end)
    if data.startswith(_XMP, start):
        return _xmp_orientation(data, start, end)
    return 0


def _xmp_orientation(data: bytes, start: int, end: int) -> int:
    found = _XMP_ORIENTATION.search(data, start, min(end, start + _MAX_NOTE_BYTES))
    return int(found[1]) if found else 0


def _exif_orientation(data: bytes, start: int, end: int) -> int:
    """Return the orientation that EXIF between two places states, 0 for none; data that makes no sense says nothing."""
    tiff = data[start : min(end, start + _MAX_NOTE_BYTES)].removeprefix(_EXIF)
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(tiff[:4])
    if order is None:
        return 0
    try:
        (at,) = struct.unpack_from(order + "I", tiff, 4)
        (count,) = struct.unpack_from(order + "H", tiff, at)
        for entry in range(at + 2, at + 2 + 12 * min(count, _MAX_EXIF_ENTRIES), 12):
            tag, kind = struct.unpack_from(order + "HH", tiff, entry)
            if tag == _ORIENTATION:
                form = {1: "B", 4: "I"}.get(kind, "H")
                return int(struct.unpack_from(order + form, tiff, entry + 8)[0])
    except struct.error:
        pass
    return 0


def _end_of_scan(data: bytes, at: int) -> int:
    found = _MARKER_IN_SCAN.search(data, at)
    if found is None:
        raise refused("truncated")
    return found.start()


def _webp(data: bytes) -> ImageContainer:
    (length,) = struct.unpack_from("<I", data, 4)
    end = 8 + length + length % 2
    if end > len(data):
        raise refused("truncated")
    kind = data[12:16]
    if kind == b"VP8X":
        return _extended_webp(data, end)
    if kind == b"VP8L" and data[20] == 0x2F:
        (packed,) = struct.unpack_from("<I", data, 21)
        return ImageContainer("WEBP", 1 + (packed & 0x3FFF), 1 + (packed >> 14 & 0x3FFF), end)
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", data, 26)
        return ImageContainer("WEBP", width & 0x3FFF, height & 0x3FFF, end, lossy=True)
    raise refused("header")


def _extended_webp(data: bytes, end: int) -> ImageContainer:
    width, height = (1 + int.from_bytes(data[at : at + 3], "little") for at in (24, 27))
    animated, lossy, orientation, extra = bool(data[20] & 0x02), False, 0, 0
    for kind, start, stop in _webp_chunks(data, end):
        animated |= kind == b"ANMF"
        lossy |= kind == b"VP8 "
        if kind == b"EXIF":
            orientation = orientation or _exif_orientation(data, start, stop)
        if kind == b"XMP ":
            orientation = orientation or _xmp_orientation(data, start, stop)
        if kind not in (b"VP8 ", b"VP8L", b"ALPH", b"ANMF"):
            extra += stop - start
    _refuse_much_beside(extra)
    return ImageContainer("WEBP", width, height, end, animated=animated, lossy=lossy, orientation=orientation or 1)


def _webp_chunks(data: bytes, end: int) -> Iterator[tuple[bytes, int, int]]:
    """Yield kind, start and end of the content of every chunk."""
    at = 12
    for _ in range(MAX_SEGMENTS):
        if at + 8 > end:
            return
        kind, length = struct.unpack_from("<4sI", data, at)
        yield kind, at + 8, min(at + 8 + length, end)
        at += 8 + length + length % 2
    raise refused("too_many_parts", most=MAX_SEGMENTS)
