"""The arguments of `python -m defense_kit warmup`. Needs none of the extra's packages."""

import argparse
from functools import partial
from pathlib import Path

from defense_kit.warmup import AS_PUBLISHED, ATTACKS, DEFAULT, QUICK, QUICK_PICTURES

BATCH_SIZE, MAX_ROWS = 64, 256


def add_arguments(command: argparse.ArgumentParser, *, of_contest: bool = False) -> None:
    """Declare what the command takes, beside the defense. `of_contest`: the contest has pictures and a folder."""
    number = partial(bounded_number, minimum=2, maximum=100_000)
    rows = partial(bounded_number, minimum=1, maximum=MAX_ROWS)
    command.add_argument(
        "--pictures", type=Path, required=not of_contest, metavar="FOLDER", help="with folders bird, bicycle"
    )
    command.add_argument("--attacks", type=_attacks, default=ATTACKS, metavar="NAMES", help=f"of {','.join(ATTACKS)}")
    command.add_argument("--images", type=number, metavar="N", help="so many pictures, half of each class")
    out = None if of_contest else Path("warmup")
    command.add_argument("--out", type=Path, default=out, metavar="DIR", help="(default: warmup)")
    modes = command.add_mutually_exclusive_group()
    modes.add_argument(
        "--quick",
        action="store_const",
        dest="mode",
        const=QUICK,
        default=DEFAULT,
        help=f"{QUICK_PICTURES} pictures and few steps: not comparable with other runs",
    )
    modes.add_argument(
        "--as-published",
        action="store_const",
        dest="mode",
        const=AS_PUBLISHED,
        help="with the deviations of the code of 2018: not comparable with the contest's runs",
    )
    command.add_argument("--resume", action="store_true", help="go on with what is in DIR")
    command.add_argument("--batch-size", type=rows, default=BATCH_SIZE, help="rows of a batch (default: %(default)s)")


def _attacks(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.split(",")))
    if unknown := [name for name in names if name not in ATTACKS]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is no attack; there are {', '.join(ATTACKS)}")
    return names


def bounded_number(text: str, *, minimum: int, maximum: int) -> int:
    """Return the number that an argument is; ArgumentTypeError for anything else."""
    if not text.isdecimal() or not minimum <= int(text) <= maximum:
        raise argparse.ArgumentTypeError(f"expected a number from {minimum} to {maximum:,}")
    return int(text)


def max_pictures(options: argparse.Namespace) -> int | None:
    """Return how many pictures are taken at most; None for all."""
    most: int | None = options.images
    return QUICK_PICTURES if most is None and options.mode == QUICK else most
