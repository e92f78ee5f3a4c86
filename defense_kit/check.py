"""`python -m defense_kit check`: runs the contest's harness on a participant's machine; `new` begins a defense.

Exit status 0: accepted or written; 1: a fault, or too slow; 2: it could not be asked as wanted; 130: Ctrl-C.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from defense_kit import __version__, container
from defense_kit.archive import read_archive
from defense_kit.conversation import ConversationDeadlines
from defense_kit.examine import ROUNDS, ExaminationReport, OpenedDefense, Pixels, smoke_test_defense, synthetic_pictures
from defense_kit.faults import Fault, RunnerFault
from defense_kit.harness import Launch, LaunchedDefense, open_defense
from defense_kit.limits import BATCH_SIZE, HELLO_SECONDS, SECONDS_PER_PICTURE, START_SECONDS, DefenseLimits
from defense_kit.process import start_process
from defense_kit.sealing import Sealing
from defense_kit.warmup.arguments import MAX_ROWS, add_arguments, bounded_number

if TYPE_CHECKING:
    from docker import DockerClient

PROGRAM = "defense.py"
EXAMPLES = {
    name: Path(__file__).parent / "examples" / f"{name}_defense" for name in ("numpy", "torch", "uninteresting")
}
ARCHIVE = ".tar"
SCORER = "check"  # whose containers these are
ACCEPTED, NOT_ACCEPTED, WRONG_USE, STOPPED = 0, 1, 2, 130
LOG_LINES = 60  # a screen or two; --json has all that was kept
PLATFORM_ADVICE = "Here the platform is your own machine: mend what was seen, such as its engine, and check again."
NOT_SEALED = "It ran as a plain process. The contest runs images: check the image too before you hand it in."


class WrongUse(Exception):
    """The command cannot be carried out as given; the message says what to do."""


def parser() -> argparse.ArgumentParser:
    """Return the command line of `python -m defense_kit`."""
    outer = argparse.ArgumentParser(prog="python -m defense_kit", description="Try a defense as the contest runs it.")
    outer.add_argument("--version", action="version", version=__version__)
    commands = outer.add_subparsers(required=True, metavar="new|check|warmup", dest="command")
    new = commands.add_parser("new", help="begin a defense from an example")
    new.add_argument("folder", type=Path, help="a new folder to write it into")
    new.add_argument("--example", choices=sorted(EXAMPLES), default="numpy", help="(default: %(default)s)")
    check = commands.add_parser("check", help="run a defense and report")
    check.add_argument("defense", help=f"a folder with {PROGRAM}, a .py file, an image or an archive of one (.tar)")
    check.add_argument(
        "--pictures", type=Path, metavar="FILE.npy", help="uint8 pictures [N, S, S, 3]; otherwise 40 drawn ones"
    )
    rows = partial(bounded_number, minimum=1, maximum=MAX_ROWS)
    check.add_argument("--batch-size", type=rows, default=BATCH_SIZE, help="rows of a batch (default: %(default)s)")
    check.add_argument(
        "--seconds-per-picture",
        type=_seconds,
        default=float(SECONDS_PER_PICTURE),
        help="at most (default: %(default)s)",
    )
    check.add_argument(
        "--start-seconds", type=_seconds, default=float(START_SECONDS), help="until it connects (default: %(default)s)"
    )
    check.add_argument("--json", action="store_true", help="write the report as JSON")
    warmup = commands.add_parser("warmup", help="measure a defense against the fixed attacks of the warm-up")
    warmup.add_argument("defense", help="as for check")
    add_arguments(warmup)
    return outer


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
        if asked.command == "new":
            return _begun(asked.folder, asked.example)
        return _warmed_up(asked) if asked.command == "warmup" else _checked(asked)
    except WrongUse as error:
        print(f"python -m defense_kit {asked.command}: {error}", file=sys.stderr)
        return WRONG_USE


def _begun(folder: Path, example: str) -> int:
    try:
        shutil.copytree(EXAMPLES[example], folder, ignore=shutil.ignore_patterns("__pycache__"))
    except FileExistsError:
        raise WrongUse(f"{folder} exists; name a new folder") from None
    except OSError as error:
        raise WrongUse(f"could not write {folder}: {error.strerror}") from None
    print(f"Wrote {folder}: put your own network into {folder / PROGRAM}, then try it:")
    print(f"python -m defense_kit check {folder}")
    return ACCEPTED


def _warmed_up(asked: argparse.Namespace) -> int:
    if not (find_spec("PIL") and find_spec("scipy")):
        raise WrongUse('the warm-up needs more packages: pip install "unanimous-defense-kit[warmup]"')
    from defense_kit.warmup import command

    program = _program(asked.defense)
    with launching(asked.defense, DefenseLimits()) as launch:
        if isinstance(launch, SealedDefense):
            return command.run(asked, launch, launch.digest)
        assert program is not None
        whole = Path(asked.defense).is_dir()
        digest_of = partial(command.digest_of, without=command.no_part_of_it(asked))
        return command.run(asked, launch, partial(digest_of, program, whole_folder=whole))


def _checked(asked: argparse.Namespace) -> int:
    deadlines = ConversationDeadlines(
        asked.start_seconds, float(HELLO_SECONDS), asked.batch_size * asked.seconds_per_picture
    )
    try:
        pictures = load_pictures(asked.pictures) if asked.pictures else synthetic_pictures()
        with launching(asked.defense, DefenseLimits()) as launch:
            report = check(launch, pictures, asked.batch_size, asked.seconds_per_picture, deadlines)
    except KeyboardInterrupt:
        print("stopped; nothing of the defense is left running", file=sys.stderr)
        return STOPPED
    report.container_image = launch.image if isinstance(launch, SealedDefense) else ""
    print(json.dumps(report.to_json(), indent=2) if asked.json else _text(report, launch))
    return ACCEPTED if report.accepted else NOT_ACCEPTED


def _text(report: ExaminationReport, launch: Launch) -> str:
    text = report.to_text(log_lines=LOG_LINES)
    return text if isinstance(launch, SealedDefense) or not report.accepted else f"{text}\n{NOT_SEALED}"


def check(
    launch: Launch, pictures: Pixels, batch_size: int, seconds_per_picture: float, deadlines: ConversationDeadlines
) -> ExaminationReport:
    """Examine the defense that `launch` starts, with progress on standard error."""
    batches = -(-len(pictures) // batch_size)

    def open_(seed: int) -> OpenedDefense:
        start = f"starting, at most {deadlines.start:g} s"
        told = f"Round {seed} of {ROUNDS}: {start}; then {batches} batches, at most {deadlines.batch:g} s each"
        print(told, file=sys.stderr, flush=True)
        return open_defense(launch, image_size=pictures.shape[1], batch_size=batch_size, seed=seed, deadlines=deadlines)

    report = smoke_test_defense(open_, pictures, batch_size=batch_size, seconds_per_picture=seconds_per_picture)
    ours = [replace(each, advice=PLATFORM_ADVICE) if each.code == Fault.PLATFORM else each for each in report.faults]
    return replace(report, faults=ours)


@contextmanager
def launching(defense: str, limits: DefenseLimits) -> Iterator[Launch]:
    """Yield a function that starts the named defense; WrongUse when nothing can be started."""
    if program := _program(defense):
        yield partial(start_process, [sys.executable, program.name], program.parent, limits=limits)
    else:
        with closing(_sealed(defense, limits)) as sealed:
            yield sealed


def _program(defense: str) -> Path | None:
    """Return the program of a plain process, None when an image or an archive was named."""
    path = Path(defense)
    if path.is_dir():
        if not (path / PROGRAM).is_file():
            raise WrongUse(f"there is no {PROGRAM} in {path}; name the file itself if it has another name")
        return path / PROGRAM
    if path.is_file() and path.suffix == ".py":
        return path
    if path.is_file() and path.suffix != ARCHIVE:
        raise WrongUse(f"{path} is no folder, .py file or uncompressed {ARCHIVE} that `docker save` wrote")
    if not path.exists() and (defense.startswith((".", "/")) or defense.endswith((".py", ARCHIVE))):
        raise WrongUse(f"there is no {path}")
    return None


class SealedDefense:
    """Starts an image, or what an archive holds, sealed as in the contest. Closing removes what it loaded itself.

    An archive is loaded at the first start, so that its errors are in the report.
    """

    def __init__(self, client: "DockerClient", limits: DefenseLimits, image: str, archive: Path | None) -> None:
        self.image, self._archive = image, archive
        self._client, self._limits = client, limits
        self._names: set[str] | None = None  # what the engine called it before; None until it was looked for

    def __call__(self, socket: Path) -> LaunchedDefense:
        """Start it; `image_pull` when it cannot be had, or is for another kind of machine."""
        if self._names is None:
            self._bring()
        return container.start_container(self._client, Sealing(self.image, SCORER), self._limits, socket)

    def digest(self) -> str:
        """Return the image's digest, also before the first start; RunnerFault for an archive that holds none."""
        return read_archive(self._archive).id if self._archive else self.image

    def _bring(self) -> None:
        if self._archive:
            self.image = read_archive(self._archive).id
        self._names = self._named()
        if self._archive:
            container.load_archive(self._client, self._archive, self.image)
        elif not container.present(self._client, self.image):
            raise RunnerFault(Fault.IMAGE_PULL, f"the engine does not have {self.image} any more")

    def _named(self) -> set[str]:
        from docker.errors import ImageNotFound

        with container.engine_errors():
            try:
                return set(self._client.images.get(self.image).tags)
            except ImageNotFound:
                return set()

    def close(self) -> None:
        """Remove the names that this object gave, and with the last one the image."""
        if self._names is not None:
            # Another check may be using it, or the engine be gone: the report counts more.
            with suppress(RunnerFault), container.engine_errors():
                for name in self._named() - self._names:
                    if name.startswith(f"{container.IMAGE_NAME}:"):  # another name is somebody else's
                        self._client.images.remove(name)
        self._client.close()


def _sealed(defense: str, limits: DefenseLimits) -> SealedDefense:
    """Return an image or an archive ready to start; WrongUse without an engine, or when it has no such image."""
    if find_spec("docker") is None:
        raise WrongUse(f'{defense} would be an image or an archive of one; for those: pip install "docker>=7"')
    from docker.errors import DockerException

    try:
        client = container.connect()
    except RunnerFault as fault:
        raise WrongUse(f"{defense} would be an image or an archive of one, and {fault.text}") from None
    if Path(defense).is_file():
        return SealedDefense(client, limits, "", Path(defense))
    try:
        return SealedDefense(client, limits, str(client.images.get(defense).id), None)
    except DockerException:
        client.close()
        raise WrongUse(f"there is no folder or file {defense}, and the engine has no image of that name") from None


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
