"""Decodes bytes to a canonical picture (R2); the only module that decodes pictures.

Two entry points. `read_attack` takes pixels bit by bit or not at all: people and models see exactly what an attacker
made. `read_dataset` converts an ordinary photograph. Both read the size, the format and the number of frames from the
headers (picture_files.image_headers) before a pixel is decoded, and turn errors of the image library into refusals.
The library gets only the parts of the file that decoding needs, and one process decodes one picture at a time.
"""

import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from PIL import Image as Pillow
from PIL import ImageCms

from common.gates import ConcurrencyGate
from picture_files.image_headers import ImageContainer, inspect
from picture_files.png import pixels_sha256
from picture_files.refusals import BLACK_AND_WHITE, CMYK, GREYSCALE, LOSSY, PALETTE, PictureRefused, refused

__all__ = ["MAX_PICTURE_BYTES", "MAX_PIXELS", "CanonicalPicture", "PictureRefused", "read_attack", "read_dataset"]

MAX_PICTURE_BYTES = 20 * 1024 * 1024
MAX_PIXELS = 20_000_000
# Real sRGB profiles have 0.4 to 61 KB.
MAX_PROFILE_BYTES = 64 * 1024
# What uploads an attack waits for its turn rather than be refused: the second in which it arrived may decide its week.
# As many wait as a web process has threads.
DECODING = ConcurrencyGate(at_once=1, waiting=15, seconds=3.0)
# EXIF orientation -> how to turn the stored picture upright; 1 and unknown values leave it as it is.
_UPRIGHT = {
    2: Pillow.Transpose.FLIP_LEFT_RIGHT,
    3: Pillow.Transpose.ROTATE_180,
    4: Pillow.Transpose.FLIP_TOP_BOTTOM,
    5: Pillow.Transpose.TRANSPOSE,
    6: Pillow.Transpose.ROTATE_270,
    7: Pillow.Transpose.TRANSVERSE,
    8: Pillow.Transpose.ROTATE_90,
}
# A profile is sRGB when it moves no colour by more than rounding; real sRGB profiles differ by 1.
_SAME_COLOUR = 2
_CHAINED = b"mpet"  # the type of a profile's entry with such a chain (ICC.1, multiProcessElementsType)
_LEVELS = range(0, 256, 17)
_COLOUR_GRID = bytes(level for red in _LEVELS for green in _LEVELS for blue in _LEVELS for level in (red, green, blue))
_REFUSED_MODES = {
    "1": BLACK_AND_WHITE,
    "L": GREYSCALE,
    "LA": GREYSCALE,
    "P": PALETTE,
    "PA": PALETTE,
    "CMYK": CMYK,
}


@dataclass(frozen=True, slots=True)
class CanonicalPicture:
    """A canonical picture with what it was made from. `pixels` is RGB8 in C order, 3·width·height bytes."""

    width: int
    height: int
    pixels: bytes
    pixels_sha256: str
    original: bytes
    original_sha256: str
    original_format: str
    warnings: tuple[str, ...] = ()


def read_attack(data: bytes, *, size: int) -> CanonicalPicture:
    """Take an attack picture bit-exactly (R2): `size` x `size` RGB, 8 bits, one frame.

    Raises PictureRefused, saying what to change, for everything else.
    """
    container = _checked_outside(data)
    _refuse_other_than_exact(container, len(data), size)
    with DECODING, _refusing_damage():
        image = _open(data, container)
        _refuse_conversions(image)
        pixels = _opaque_rgb(image).tobytes()
    warnings = (LOSSY,) if container.lossy else ()
    return _picture(data, container, size, pixels, warnings)


def read_dataset(data: bytes, *, size: int) -> CanonicalPicture:
    """Convert a photograph (R2): upright, sRGB, on white, shorter side `size`, cut square from the centre.

    A photograph that already is `size` x `size` sRGB keeps its pixels. Raises PictureRefused.
    """
    container = _checked_outside(data)
    if min(container.width, container.height) < size:
        raise refused("too_small", width=container.width, height=container.height, size=size)
    warnings = _dataset_warnings(container, len(data))
    with DECODING, _refusing_damage():
        # Only the picture itself is decoded, without any data that follows it in the file.
        image = _open(data[: container.end], container, at_least=3 * size)
        image, more = _in_srgb(_upright(image, container.orientation))
        pixels = _square(image, size).tobytes()
    return _picture(data, container, size, pixels, warnings + more)


def _checked_outside(data: bytes) -> ImageContainer:
    """Check all that needs no decoding: bytes, format, claimed size, frames."""
    if len(data) > MAX_PICTURE_BYTES:
        raise refused("too_many_bytes", most=MAX_PICTURE_BYTES // 1024**2)
    container = inspect(data)
    if container.width < 1 or container.height < 1:
        raise refused("no_pixels")
    if container.width * container.height > MAX_PIXELS:
        most = MAX_PIXELS // 10**6
        raise refused("too_many_pixels", width=container.width, height=container.height, most=most)
    if container.animated:
        raise refused("animated")
    return container


def _refuse_other_than_exact(container: ImageContainer, length: int, size: int) -> None:
    """Refuse what the headers of an attack already give away."""
    width, height, bits, kind = container.width, container.height, container.bits, container.kind
    for wrong, reason, values in (
        (length > container.end, "trailing_bytes", {"count": length - container.end}),
        ((width, height) != (size, size), "wrong_size", {"width": width, "height": height, "size": size}),
        (bits > 8, "wrong_depth", {"bits": bits}),
        (kind, "not_rgb", {"kind": kind}),
        (container.orientation in _UPRIGHT, "exif_rotation", {}),
        (container.other_colours, "colour_profile", {}),
    ):
        if wrong:
            raise refused(reason, **values)


def _refuse_conversions(image: Pillow.Image) -> None:
    """Refuse what would have to be converted, and so would not be bit-exact."""
    if image.mode not in ("RGB", "RGBA"):
        kind = _REFUSED_MODES.get(image.mode, f"of the kind {image.mode}")
        raise refused("not_rgb", kind=kind)
    profile = image.info.get("icc_profile")
    if profile and (len(profile) > MAX_PROFILE_BYTES or _transform_to_srgb(profile, "RGB") is not None):
        raise refused("colour_profile")


def _opaque_rgb(image: Pillow.Image) -> Pillow.Image:
    """Return the RGB pixels; an alpha channel must say opaque everywhere."""
    if not image.has_transparency_data:
        return image
    image = image.convert("RGBA")
    if image.getchannel("A").getextrema() != (255, 255):
        raise refused("transparent")
    return image.convert("RGB")


@contextmanager
def _refusing_damage() -> Iterator[None]:
    """Turn whatever the image library raises over a broken file into a refusal.

    The library documents no closed list: besides OSError and SyntaxError, damaged files surface as struct, index,
    key, overflow and memory errors.
    """
    try:
        yield
    except PictureRefused as error:
        error.decoded = True
        raise
    except Exception as error:
        damaged = refused("damaged")
        damaged.decoded = True
        raise damaged from error


def _open(data: bytes, container: ImageContainer, *, at_least: int | None = None) -> Pillow.Image:
    """Decode the pixels. `at_least` lets a large JPEG be decoded smaller, both sides staying above it."""
    image: Pillow.Image = Pillow.open(io.BytesIO(container.bare(data)), formats=[container.format])
    if image.size != (container.width, container.height):
        raise refused("two_sizes")
    if at_least is not None:
        image.draft(None, (at_least, at_least))  # None: the mode is not changed
    image.load()
    return image


def _dataset_warnings(container: ImageContainer, length: int) -> tuple[str, ...]:
    warnings = []
    if length > container.end:
        warnings.append(f"{length - container.end} bytes behind the picture were left out")
    if container.other_colours:
        warnings.append("the PNG states colours other than sRGB without a profile; taken as sRGB")
    return tuple(warnings)


def _upright(image: Pillow.Image, orientation: int) -> Pillow.Image:
    turn = _UPRIGHT.get(orientation)
    return image if turn is None else image.transpose(turn)


def _in_srgb(image: Pillow.Image) -> tuple[Pillow.Image, tuple[str, ...]]:
    """Return the picture as sRGB on white, and what could not be honoured."""
    profile = image.info.get("icc_profile")
    alpha = image.convert("RGBA").getchannel("A") if image.has_transparency_data else None
    image = _plain_mode(image)
    warnings: tuple[str, ...] = ()
    if profile:
        image, warnings = _through_profile(image, profile)
    image = image.convert("RGB")
    if alpha is not None:
        white = Pillow.new("RGB", image.size, "white")
        white.paste(image, mask=alpha)
        image = white
    return image, warnings


def _plain_mode(image: Pillow.Image) -> Pillow.Image:
    """Return the colours without alpha as RGB, L or CMYK, 8 bits: the modes a profile can speak of."""
    if image.mode.startswith("I"):  # 16-bit grey; a plain convert would clip it instead of scaling
        return image.convert("I").point(lambda value: value / 256).convert("L")
    if image.mode in ("RGB", "L", "CMYK"):
        return image
    return image.convert("L" if image.mode in ("1", "LA") else "RGB")


def _through_profile(image: Pillow.Image, profile: bytes) -> tuple[Pillow.Image, tuple[str, ...]]:
    """Convert from the embedded profile; one that is broken or of another kind is passed over, as viewers do."""
    try:
        transform = _transform_to_srgb(profile, image.mode)
    except PictureRefused:
        return image, ("the embedded colour profile cannot be used; taken as sRGB",)
    if transform is None:
        return image, ()
    return _applied(transform, image), ()


def _transform_to_srgb(profile: bytes, mode: str) -> ImageCms.ImageCmsTransform | None:
    """Return the transform from `profile` to sRGB; None when the profile is sRGB itself. Raises PictureRefused."""
    if _CHAINED in profile:  # a chain of any number of steps, each computed for every colour
        raise refused("unreadable_profile")
    try:
        transform = ImageCms.buildTransform(
            ImageCms.ImageCmsProfile(io.BytesIO(profile)),
            ImageCms.createProfile("sRGB"),
            mode,
            "RGB",
            renderingIntent=ImageCms.Intent.RELATIVE_COLORIMETRIC,
            flags=ImageCms.Flags.BLACKPOINTCOMPENSATION,
        )
    except (ImageCms.PyCMSError, OSError, ValueError, TypeError) as error:
        raise refused("unreadable_profile") from error
    return None if mode == "RGB" and _changes_nothing(transform) else transform


def _changes_nothing(transform: ImageCms.ImageCmsTransform) -> bool:
    """Judge a profile by what it does to a grid of colours: names and copyright lines prove nothing."""
    colours = Pillow.frombytes("RGB", (len(_LEVELS) ** 3, 1), _COLOUR_GRID)
    moved = _applied(transform, colours).tobytes()
    return all(abs(a - b) <= _SAME_COLOUR for a, b in zip(_COLOUR_GRID, moved, strict=True))


def _applied(transform: ImageCms.ImageCmsTransform, image: Pillow.Image) -> Pillow.Image:
    converted = ImageCms.applyTransform(image, transform)
    if converted is None:  # the library's answer only when asked to change the picture in place
        raise TypeError("the colour transform returned no picture")
    return converted


def _square(image: Pillow.Image, size: int) -> Pillow.Image:
    """Resize so that the shorter side is `size`, then cut the middle of the longer one."""
    width, height = image.size
    shorter = min(width, height)
    if shorter != size:
        scaled = (max(size, round(width * size / shorter)), max(size, round(height * size / shorter)))
        image = image.resize(scaled, Pillow.Resampling.LANCZOS, reducing_gap=3.0)
    left, top = (image.width - size) // 2, (image.height - size) // 2
    return image.crop((left, top, left + size, top + size))


def _picture(
    data: bytes, container: ImageContainer, size: int, pixels: bytes, warnings: tuple[str, ...]
) -> CanonicalPicture:
    return CanonicalPicture(
        width=size,
        height=size,
        pixels=pixels,
        pixels_sha256=pixels_sha256(size, size, pixels),
        original=data,
        original_sha256=hashlib.sha256(data).hexdigest(),
        original_format=container.format,
        warnings=warnings,
    )
