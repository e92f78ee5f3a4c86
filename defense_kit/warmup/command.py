"""`python -m defense_kit warmup`: measures a defense and writes the report."""

import argparse
import hashlib
import json
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from defense_kit.allocator import keep_memory
from defense_kit.conversation import ConversationDeadlines
from defense_kit.faults import RunnerFault
from defense_kit.frames import CLASSES, WARMUP_PIXELS
from defense_kit.harness import BatchSession, Launch, open_defense
from defense_kit.limits import HELLO_SECONDS, SECONDS_PER_PICTURE, START_SECONDS
from defense_kit.warmup.arguments import max_pictures
from defense_kit.warmup.attacks import SIDE
from defense_kit.warmup.changes import FOLDER
from defense_kit.warmup.measure import Measurement
from defense_kit.warmup.methods import method_of
from defense_kit.warmup.page import page
from defense_kit.warmup.pictures import LabelledPicture, UnusablePictures, read_pictures
from defense_kit.warmup.report import report, table
from defense_kit.warmup.results import UnusableResults, open_results

RESULTS, REPORT, PAGE = "results.sqlite3", "report.json", "report.html"
MEASURED, FAULT, WRONG_USE, STOPPED = 0, 1, 2, 130


def run(options: argparse.Namespace, launch: Launch, digest_of_defense: Callable[[], str]) -> int:
    """Measure a defense, write the report into `options.out`, and return the exit status."""
    try:
        pictures = read_pictures(options.pictures, max_pictures(options))
        measure(options, _opened(launch, options.batch_size), pictures, digest_of_defense())
        return MEASURED
    except (UnusablePictures, UnusableResults, OSError, sqlite3.Error) as error:
        print(f"python -m defense_kit warmup: {error}", file=sys.stderr)
        return WRONG_USE
    except RunnerFault as fault:
        print(f"python -m defense_kit warmup: {fault.fault}: {fault.text}\n{fault.log}".rstrip(), file=sys.stderr)
        return FAULT
    except KeyboardInterrupt:
        return STOPPED


def measure(
    options: argparse.Namespace,
    opened: AbstractContextManager[tuple[str, str | None, BatchSession]],
    pictures: Sequence[LabelledPicture],
    digest: str,
) -> dict[str, Any]:
    """Measure a defense, write everything into `options.out`, and return the report.

    `opened` starts the defense and gives its name, what it runs on if that is known, and the session; `digest` is what
    its results are kept under.
    UnusableResults where the folder has results although --resume is not given: then nothing is started.
    """
    keep_memory()
    options.out.mkdir(parents=True, exist_ok=True)
    mode, pictures = options.mode, method_of(options.mode).arranged(pictures)
    with (
        _stopped_as_by_hand(options.out),
        open_results(options.out / RESULTS, digest, resume=options.resume, mode=mode) as results,
        opened as (name, device, session),
    ):
        measurement = Measurement(session, pictures, results, batch=options.batch_size, folder=options.out, mode=mode)
        measured = measurement.run(options.attacks, defense=name, digest=digest, device=device)
    found = report(pictures, measured)
    _write(options.out / REPORT, json.dumps(found, indent=1, allow_nan=False) + "\n")
    _write(options.out / PAGE, page(found, pictures, options.out))
    print(table(found))
    print(f"Written: {options.out / REPORT} and {options.out / PAGE}")
    return found


def _write(path: Path, text: str) -> None:
    part = path.with_name(_part(path.name))  # whoever is killed here leaves what was there
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def _part(name: str) -> str:
    return f"{name}.part"


@contextmanager
def _stopped_as_by_hand(folder: Path) -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does: how far each attack is gets kept, and how to go on is said."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        print(f"stopped; what is done is kept in {folder}: go on with --resume", file=sys.stderr)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _opened(launch: Launch, batch: int) -> Iterator[tuple[str, None, BatchSession]]:
    deadlines = ConversationDeadlines(float(START_SECONDS), float(HELLO_SECONDS), float(batch * SECONDS_PER_PICTURE))
    with open_defense(
        launch, image_size=SIDE, batch_size=batch, seed=0, deadlines=deadlines, pixels=WARMUP_PIXELS
    ) as session:
        yield session.name, None, session


def no_part_of_it(options: argparse.Namespace) -> list[Path]:
    """Return what may lie in a defense's folder and is none of its files: what this command writes, and pictures."""
    database = (RESULTS + end for end in ("", "-journal", "-wal", "-shm"))
    written = [REPORT, PAGE, _part(REPORT), _part(PAGE), FOLDER, *database]
    return [options.out / name for name in written] + [options.pictures / name for name in CLASSES]


def digest_of(program: Path, *, whole_folder: bool, without: Sequence[Path]) -> str:
    """Return the SHA-256 over a program's files by their names: what its results are kept under.

    The files are those of its folder, or where it was named itself those beside it; `without` are files and folders to
    leave out.
    """
    left_out = [each.resolve() for each in without]
    digest = hashlib.sha256()
    for path in sorted(program.parent.rglob("*") if whole_folder else program.parent.glob("*")):
        whole = path.resolve()
        if not path.is_file() or "__pycache__" in path.parts or not {whole, *whole.parents}.isdisjoint(left_out):
            continue
        digest.update(f"{path.relative_to(program.parent)}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as file:
            while piece := file.read(1 << 20):
                digest.update(piece)
    return f"sha256:{digest.hexdigest()}"
