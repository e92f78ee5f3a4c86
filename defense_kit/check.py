"""`python -m defense_kit check`: the contest's own harness on a participant's machine.

Exit status 0: accepted; 1: a fault, or too slow; 2: it could not be asked as wanted.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from defense_kit.conversation import Deadlines
from defense_kit.examine import Examined, Pixels, Report, examine, synthetic_pictures
from defense_kit.faults import Fault, RunnerFault
from defense_kit.harness import open_defense
from defense_kit.launch import Launch, Launched
from defense_kit.limits import Limits
from defense_kit.process import start_process

PROGRAM = "defense.py"
ARCHIVE = ".tar"
SCORER = "check"  # whose containers these are
ACCEPTED, NOT_ACCEPTED, WRONG_USE = 0, 1, 2


class WrongUse(Exception):
    """What was asked for cannot be done; the message says what to do."""


def parser() -> argparse.ArgumentParser:
    """Return the command line of `python -m defense_kit`."""
    outer = argparse.ArgumentParser(prog="python -m defense_kit", description="Try a defense as the contest runs it.")
    check = outer.add_subparsers(required=True, metavar="check").add_parser("check", help="run a defense and report")
    check.add_argument("defense", help=f"a folder with {PROGRAM}, a .py file, an image or an archive of one (.tar)")
    check.add_argument(
        "--pictures", type=Path, metavar="FILE.npy", help="uint8 pictures [N, S, S, 3]; otherwise 40 drawn ones"
    )
    check.add_argument("--batch-size", type=_count, default=16, help="rows of a batch (default: %(default)s)")
    check.add_argument("--seconds-per-picture", type=_seconds, default=60.0, help="at most (default: %(default)s)")
    check.add_argument("--start-seconds", type=_seconds, default=300.0, help="until it connects (default: %(default)s)")
    check.add_argument("--json", action="store_true", help="write the report as JSON")
    return outer


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 256:
        raise argparse.ArgumentTypeError("expected a number from 1 to 256")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 3600:
        raise argparse.ArgumentTypeError("expected seconds above 0 and up to 3600")
    return seconds


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    asked = parser().parse_args(arguments)
    try:
        launch = launch_of(asked.defense, Limits())
        pictures = load_pictures(asked.pictures) if asked.pictures else synthetic_pictures()
    except WrongUse as error:
        print(f"python -m defense_kit check: {error}", file=sys.stderr)
        return WRONG_USE
    deadlines = Deadlines(asked.start_seconds, 30.0, asked.batch_size * asked.seconds_per_picture)
    report = check(launch, pictures, asked.batch_size, asked.seconds_per_picture, deadlines)
    print(json.dumps(report.to_json(), indent=2) if asked.json else report.to_text())
    return ACCEPTED if report.accepted else NOT_ACCEPTED


def check(
    launch: Launch, pictures: Pixels, batch_size: int, seconds_per_picture: float, deadlines: Deadlines
) -> Report:
    """Examine what `launch` starts."""

    def open_(seed: int) -> Examined:
        size = pictures.shape[1]
        return open_defense(launch, image_size=size, batch_size=batch_size, seed=seed, deadlines=deadlines)

    return examine(open_, pictures, batch_size=batch_size, seconds_per_picture=seconds_per_picture)


def launch_of(defense: str, limits: Limits) -> Launch:
    """Return how to start what a person named; WrongUse when it is nothing that can be started."""
    path = Path(defense)
    if path.is_dir():
        if not (path / PROGRAM).is_file():
            raise WrongUse(f"there is no {PROGRAM} in {path}; name the file itself if it has another name")
        return _process_launch(path / PROGRAM, limits)
    if path.is_file() and path.suffix == ".py":
        return _process_launch(path, limits)
    if path.is_file() and path.suffix != ARCHIVE:
        raise WrongUse(f"{path} is no folder, .py file or {ARCHIVE} that `docker save` wrote")
    if not path.exists() and (defense.startswith((".", "/")) or defense.endswith((".py", ARCHIVE))):
        raise WrongUse(f"there is no {path}")
    return _container_launch(defense, limits)


def _process_launch(program: Path, limits: Limits) -> Launch:
    def start(socket: Path) -> Launched:
        return start_process([sys.executable, program.name], program.parent, socket, limits)

    return start


def _container_launch(defense: str, limits: Limits) -> Launch:
    """Return how to run an archive or an image that the engine has, sealed as in the contest."""
    if find_spec("docker") is None:
        raise WrongUse("an image needs the docker package: pip install docker")
    from defense_kit import container

    @cache
    def prepared() -> Launch:
        client = container.connect()
        return container.container_launch(client, container.Sealing(_image_id(client, defense), SCORER), limits)

    return lambda socket: prepared()(socket)


def _image_id(client: Any, defense: str) -> str:
    """Return the digest of an image; an archive is given to the engine first."""
    from docker.errors import ImageNotFound

    from defense_kit import container
    from defense_kit.archive import read_archive

    if Path(defense).is_file():
        return container.load_archive(client, Path(defense), read_archive(Path(defense)).id).id
    with container.engine_errors():
        try:
            return str(client.images.get(defense).id)
        except ImageNotFound:
            raise RunnerFault(Fault.IMAGE_PULL, f"the engine has no image {defense}; build or load it first") from None


def load_pictures(path: Path) -> Pixels:
    """Return the pictures in a .npy file, uint8 [N, S, S, 3]; WrongUse for anything else."""
    try:
        pictures = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise WrongUse(f"could not read {path} as a .npy file: {error}") from None
    shape: tuple[int, ...] = pictures.shape if isinstance(pictures, np.ndarray) else ()
    if len(shape) != 4 or shape[1] != shape[2] or shape[3] != 3 or 0 in shape or pictures.dtype != np.uint8:
        raise WrongUse(f"{path} has to hold uint8 pictures [N, S, S, 3]")
    return np.asarray(pictures, np.uint8)
