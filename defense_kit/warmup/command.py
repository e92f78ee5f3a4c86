"""`python -m defense_kit warmup`: what it is given, and what it writes."""

import argparse
import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from defense_kit.conversation import ConversationDeadlines
from defense_kit.faults import RunnerFault
from defense_kit.harness import Launch, open_defense
from defense_kit.limits import HELLO_SECONDS, SECONDS_PER_PICTURE, START_SECONDS
from defense_kit.warmup.measure import ATTACKS, Measurement
from defense_kit.warmup.moves import SIDE
from defense_kit.warmup.pictures import LabelledPicture, UnusablePictures, read_pictures
from defense_kit.warmup.report import report, table
from defense_kit.warmup.results import InUse, open_results

BATCH_SIZE = 64
RESULTS, REPORT = "results.sqlite3", "report.json"
MEASURED, FAULT, WRONG_USE, STOPPED = 0, 1, 2, 130


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare what the command takes, beside the defense."""
    command.add_argument(
        "--pictures", type=Path, required=True, metavar="FOLDER", help="with the folders bird, bicycle"
    )
    command.add_argument("--attacks", type=_attacks, default=ATTACKS, metavar="NAMES", help=f"of {','.join(ATTACKS)}")
    command.add_argument("--images", type=_count, metavar="N", help="so many pictures, half of each class")
    command.add_argument("--out", type=Path, default=Path("warmup"), metavar="DIR", help="(default: %(default)s)")
    command.add_argument("--resume", action="store_true", help="go on with what is in DIR")
    command.add_argument("--batch-size", type=_count, default=BATCH_SIZE, help="rows of a batch (default: %(default)s)")


def _attacks(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.split(",")))
    if unknown := [name for name in names if name not in ATTACKS]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is no attack; there are {', '.join(ATTACKS)}")
    return names


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 100_000:
        raise argparse.ArgumentTypeError("expected a number from 1 to 100,000")
    return int(text)


def run(asked: argparse.Namespace, launch: Launch, digest: str) -> int:
    """Measure a defense, write the report into `asked.out`, and return the exit status."""
    try:
        pictures = read_pictures(asked.pictures, asked.images)
        asked.out.mkdir(parents=True, exist_ok=True)
        return _measured(asked, launch, digest, pictures)
    except (UnusablePictures, InUse, OSError) as error:
        print(f"python -m defense_kit warmup: {error}", file=sys.stderr)
        return WRONG_USE
    except RunnerFault as fault:
        print(f"python -m defense_kit warmup: {fault.fault}: {fault.text}\n{fault.log}", file=sys.stderr)
        return FAULT
    except KeyboardInterrupt:
        print(f"stopped; what is done is kept in {asked.out}: go on with --resume", file=sys.stderr)
        return STOPPED


def _measured(asked: argparse.Namespace, launch: Launch, digest: str, pictures: Sequence[LabelledPicture]) -> int:
    batch = int(asked.batch_size)
    deadlines = ConversationDeadlines(float(START_SECONDS), float(HELLO_SECONDS), float(batch * SECONDS_PER_PICTURE))
    with (
        open_results(asked.out / RESULTS, digest, resume=asked.resume) as results,
        open_defense(
            launch, image_size=SIDE, batch_size=batch, seed=0, deadlines=deadlines, pixels="float32"
        ) as session,
    ):
        measurement = Measurement(session, pictures, results, batch=batch)
        measured = measurement.run(asked.attacks, defense=session.name, digest=digest)
    found = report(pictures, measured)
    (asked.out / REPORT).write_text(json.dumps(found, indent=1) + "\n")
    print(table(found))
    print(f"Written: {asked.out / REPORT}")
    return MEASURED


def digest_of(program: Path) -> str:
    """Return the SHA-256 over the files of a program's folder, by their names: what its results are kept under."""
    digest = hashlib.sha256()
    for path in sorted(program.parent.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            named = f"{path.relative_to(program.parent)}\0{path.stat().st_size}\0"
            digest.update(named.encode())
            with path.open("rb") as file:
                while piece := file.read(1 << 20):
                    digest.update(piece)
    return f"sha256:{digest.hexdigest()}"
