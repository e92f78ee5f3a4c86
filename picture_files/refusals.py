"""The catalogue of reasons to refuse a picture, shared by the server and the upload page (R2).

Pure. `{name}` marks what is filled in; `code` is the stable word of the API.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from common.errors import InvalidInput


class PictureRefused(InvalidInput):
    """A picture that cannot be taken; the message says what to change. `field` is always `image`.

    `decoded` says that its headers alone did not refuse it.
    """

    decoded = False

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message, code, field="image")


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason, with its code and its words."""

    code: str
    words: str


REFUSALS: Mapping[str, Refusal] = {
    "empty": Refusal("empty", "The file is empty. Send the picture again."),
    "not_a_picture": Refusal(
        "not_a_picture", "This is not a PNG, JPEG or WebP picture, whatever its name says. Save it as PNG."
    ),
    "truncated": Refusal("truncated", "The file ends in the middle of the picture. Send the whole file again."),
    "header": Refusal("damaged", "The file is damaged: its header makes no sense. Save the picture again."),
    "no_pixels": Refusal("damaged", "The file says that the picture has no pixels. Save it again."),
    "two_sizes": Refusal("damaged", "The file states two different sizes. Save the picture again."),
    "damaged": Refusal("damaged", "The file is damaged: the picture in it cannot be decoded. Save the picture again."),
    "too_many_bytes": Refusal("too_many_bytes", "The file has more than {most} MiB. Send a smaller one."),
    "too_many_pixels": Refusal(
        "too_many_pixels",
        "The file says that the picture is {width} x {height}; at most {most} megapixels are taken. Make it smaller.",
    ),
    "too_many_scans": Refusal(
        "too_many_scans",
        "The JPEG is built up in more than {most} passes over the picture. Save it as PNG, or as a plain JPEG.",
    ),
    "too_many_parts": Refusal(
        "too_many_parts", "The file is cut into more than {most} parts. Save the picture again with another program."
    ),
    "too_much_beside": Refusal(
        "too_much_beside",
        "The file carries more than {most} MiB beside the picture: previews, notes or a colour profile. "
        "Save it without them.",
    ),
    "animated": Refusal("animated", "The picture is animated. Save a single frame."),
    "trailing_bytes": Refusal(
        "trailing_bytes",
        "{count} bytes follow the end of the picture. Save it again so that the file holds the picture alone.",
    ),
    "wrong_size": Refusal(
        "wrong_size",
        "The picture is {width} x {height}. Make it exactly {size} x {size} pixels yourself; it is not resized here.",
    ),
    "wrong_depth": Refusal("wrong_depth", "The picture has {bits} bits per channel. Save it with 8 bits."),
    "colour_profile": Refusal(
        "colour_profile",
        "The picture carries colours other than sRGB. Convert it to sRGB and save it without a profile.",
    ),
    "unreadable_profile": Refusal(
        "colour_profile",
        "The embedded colour profile cannot be read. Save the picture as sRGB without a profile.",
    ),
    "not_rgb": Refusal("not_rgb", "The picture is {kind}. Save it as RGB with 8 bits."),
    "exif_rotation": Refusal(
        "exif_rotation", "An EXIF entry says to turn the picture. Turn it yourself and save it without EXIF."
    ),
    "transparent": Refusal(
        "transparent", "The picture is partly transparent. Flatten it onto a background and save it as RGB."
    ),
    "too_small": Refusal(
        "too_small",
        "The picture is {width} x {height}; its shorter side must have at least {size} pixels, because enlarging "
        "would invent them. Use a larger copy.",
    ),
}
LOSSY = "The file is compressed with losses: what counts is how it decodes here. Send a PNG to be sure of every pixel."
BLACK_AND_WHITE, GREYSCALE, PALETTE, CMYK = "black and white", "greyscale", "a palette picture", "CMYK"


def refused(reason: str, **values: int | str) -> PictureRefused:
    """Return the refusal for `reason`, a key of REFUSALS, with its places filled in."""
    found = REFUSALS[reason]
    return PictureRefused(found.words.format(**values), found.code)
