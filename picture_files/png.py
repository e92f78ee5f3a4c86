"""Reads and writes canonical PNG files (R2) with the standard library.

The form is fixed so that anybody can check a release without an image library: 8-bit RGB, no interlacing, the chunks
IHDR, sRGB, IDAT, IEND in this order and nothing else, filter type 0 on every row. The identity of a picture is the
hash of its pixels, never of its file, so another zlib writing other bytes changes nothing.
"""

import hashlib
import struct
import zlib
from collections.abc import Iterator

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MAX_SIDE = 4096
_IHDR = struct.Struct(">IIBBBBB")
_RGB8 = (8, 2, 0, 0, 0)  # bit depth, colour type RGB, deflate, adaptive filters, not interlaced
_PERCEPTUAL = b"\x00"
# So many bytes of a picture are unpacked at once.
_PIECE = 1 << 20


class PictureDamaged(ValueError):
    """A file that is not in the canonical form, or whose bytes have changed since it was written."""


def pixels_sha256(width: int, height: int, pixels: bytes) -> str:
    """Return the identity of a picture (R2), as 64 hexadecimal digits.

    It is SHA-256 over the ASCII line `RGB8 {width}x{height}` with its newline, followed by the pixels: three bytes
    each (red, green, blue), row by row from the top left.
    """
    _check_pixels(width, height, pixels)
    digest = _identity(width, height)
    digest.update(pixels)
    return digest.hexdigest()


def _identity(width: int, height: int) -> "hashlib._Hash":
    """Return what the pixels are to be hashed into."""
    return hashlib.sha256(f"RGB8 {width}x{height}\n".encode("ascii"))


def encode_png(width: int, height: int, pixels: bytes) -> bytes:
    """Return `pixels` (RGB8, C order) as a canonical PNG; the same pixels and zlib give the same bytes."""
    _check_pixels(width, height, pixels)
    stride = width * 3
    rows = b"".join(b"\x00" + pixels[start : start + stride] for start in range(0, len(pixels), stride))
    chunks = (
        (b"IHDR", _IHDR.pack(width, height, *_RGB8)),
        (b"sRGB", _PERCEPTUAL),
        (b"IDAT", zlib.compress(rows, 9)),
        (b"IEND", b""),
    )
    return SIGNATURE + b"".join(_chunk(kind, body) for kind, body in chunks)


def decode_png(data: bytes) -> tuple[int, int, bytes]:
    """Read a canonical PNG back into width, height and RGB8 pixels.

    Raises PictureDamaged for any other PNG, a wrong checksum, missing or additional bytes.
    """
    width, height, packed = _parts(data)
    pixels = [pixels for rows in _rows(packed, width, height) for pixels in rows]
    return width, height, b"".join(pixels)


def png_identity(data: bytes) -> tuple[int, int, str]:
    """Return width, height and `pixels_sha256` of a canonical PNG, whose pixels are not held as a whole.

    Raises PictureDamaged as `decode_png` does.
    """
    width, height, packed = _parts(data)
    digest = _identity(width, height)
    for rows in _rows(packed, width, height):
        for pixels in rows:
            digest.update(pixels)
    return width, height, digest.hexdigest()


def _parts(data: bytes) -> tuple[int, int, memoryview]:
    """Return width, height and the packed rows."""
    chunks = list(_chunks(data))
    if [kind for kind, _ in chunks] != [b"IHDR", b"sRGB", b"IDAT", b"IEND"]:
        raise PictureDamaged("not a canonical picture: other chunks than IHDR, sRGB, IDAT, IEND")
    (_, header), (_, intent), (_, packed), (_, end) = chunks
    if len(header) != _IHDR.size or intent != _PERCEPTUAL or end:
        raise PictureDamaged("not a canonical picture: a chunk has another content")
    width, height, *form = _IHDR.unpack(header)
    if tuple(form) != _RGB8 or not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):
        raise PictureDamaged("not a canonical picture: not 8-bit RGB of a known size")
    return width, height, packed


def _check_pixels(width: int, height: int, pixels: bytes) -> None:
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE) or len(pixels) != width * height * 3:
        raise ValueError(f"{len(pixels)} bytes are not the RGB pixels of a {width} x {height} picture")


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _chunks(data: bytes) -> Iterator[tuple[bytes, memoryview]]:
    """Yield (kind, body) to the last byte of `data`, checking every checksum."""
    if not data.startswith(SIGNATURE):
        raise PictureDamaged("not a PNG file")
    at, whole = len(SIGNATURE), memoryview(data)
    while at < len(data):
        if at + 12 > len(data):
            raise PictureDamaged("the file ends in the middle of a chunk")
        (length,) = struct.unpack_from(">I", data, at)
        body_end = at + 8 + length
        if body_end + 4 > len(data):
            raise PictureDamaged("the file ends in the middle of a chunk")
        (checksum,) = struct.unpack_from(">I", data, body_end)
        if zlib.crc32(whole[at + 4 : body_end]) != checksum:
            raise PictureDamaged("a checksum is wrong")
        yield data[at + 4 : at + 8], whole[at + 8 : body_end]
        at = body_end + 4


def _inflated(packed: memoryview, size: int) -> Iterator[bytes]:
    """Yield exactly `size` bytes in pieces; never more, whatever the file claims."""
    stream, at, left = zlib.decompressobj(), 0, size
    while not stream.eof:
        fed: bytes | memoryview = stream.unconsumed_tail
        if not fed:
            fed, at = packed[at : at + _PIECE], at + _PIECE
        try:
            piece = stream.decompress(fed, min(left + 1, _PIECE))
        except zlib.error as error:
            raise PictureDamaged("the packed pixels are damaged") from error
        left -= len(piece)
        if left < 0 or not piece and not fed:
            break
        yield piece
    if left or not stream.eof or stream.unused_data or at < len(packed):
        raise PictureDamaged("the packed pixels have another length than the size says")


def _rows(packed: memoryview, width: int, height: int) -> Iterator[list[bytes]]:
    """Yield some rows at a time, without the filter byte in front of each."""
    step, begun, filtered = width * 3 + 1, b"", False
    for piece in _inflated(packed, height * step):
        begun += piece
        whole = len(begun) - len(begun) % step
        filtered = filtered or any(begun[:whole:step])
        yield [begun[start + 1 : start + step] for start in range(0, whole, step)]
        begun = begun[whole:]
    if filtered:
        raise PictureDamaged("not a canonical picture: a row is filtered")
