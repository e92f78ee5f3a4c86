"""Measures a defense: runs the attacks, stores each result as it comes, and prints progress."""

import hashlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from defense_kit.harness import BatchSession
from defense_kit.warmup import DEFAULT, QUICK, QUICK_STEPS
from defense_kit.warmup.answer_checks import AnswerChecks, clean_scores, flat_pictures, is_randomised
from defense_kit.warmup.attacks import Attack, Rows, Scores, as_floats, single_query
from defense_kit.warmup.changes import distance, start_of, write_png
from defense_kit.warmup.checkpoints import Begin, Checkpoints
from defense_kit.warmup.methods import OURS, Method, max_steps, method_of
from defense_kit.warmup.pictures import LabelledPicture
from defense_kit.warmup.report import AttackTiming, Measured, MeasuredPicture
from defense_kit.warmup.results import Results
from defense_kit.warmup.scheduler import MAX_IN_FLIGHT, Scheduler, enough_running

PROGRESS_SECONDS = 10.0
MIN_BATCH_ROWS = 8
_RANDOMISED, _CHANGED = "randomised", "changed"  # what is kept of the checks, for a run that goes on
_NO_PICTURE = np.zeros((0, 0, 3), np.float32)  # in place of one that is not needed any longer


class Measurement:
    """The attacks of one run on one defense, opened for float32 pictures."""

    def __init__(
        self,
        session: BatchSession,
        pictures: Sequence[LabelledPicture],
        results: Results,
        *,
        batch: int,
        folder: Path,
        mode: str = DEFAULT,
    ) -> None:
        self._defense, self._pictures, self._results = session, pictures, results
        self._of = {each.picture.key: each.picture for each in pictures}
        self._batch, self._folder = batch, folder
        self._set = hashlib.sha256(b"".join(each.picture.key for each in pictures)).hexdigest()
        self._mode, self._method, self._steps = mode, method_of(mode), QUICK_STEPS if mode == QUICK else {}

    def run(self, names: Sequence[str], *, defense: str, digest: str, device: str | None) -> Measured:
        """Run what is not there yet, and return everything. Results are kept as they come; `folder` gets PNGs.

        `device` is what the defense runs on, if that is known.
        """
        clean, timing = [each.picture for each in self._pictures], dict[str, AttackTiming]()
        before = clean_scores(self._ask, clean, batch=self._batch)
        if is_randomised(self._ask, clean, batch=self._batch):
            self._results.add_flag(_RANDOMISED)
        flat = flat_pictures(self._ask, clean, batch=self._batch)
        for name in names:
            timing[name] = self._attack(name)
            if clean_scores(self._ask, clean, batch=self._batch).tobytes() != before.tobytes():
                self._results.add_flag(_CHANGED)
        found = {name: self._measured(name) for name in names}
        flags = self._results.flags()
        checks = AnswerChecks(_RANDOMISED in flags, _CHANGED in flags, *flat)
        originals = {key: write_png(self._folder, of, "clean", of.pixels) for key, of in self._of.items()}
        return Measured(defense, digest, device, self._mode, self._batch, checks, found, originals, timing)

    def _attack(self, name: str) -> AttackTiming:
        there = self._results.pictures(self._kept_as(name))
        of = [each for each in self._chosen(name) if each.picture.key not in there]
        batch = rows_of_batch(name, self._batch, len(self._chosen(name)))
        running = attacks_at_once(name, batch, self._method)
        scheduler = Scheduler[bytes](self._defense, batch=batch, max_running=running)
        checkpoints = Checkpoints(self._results, self._method.states.get(name), self._kept_as(name))
        begun = (
            (each.picture.key, checkpoints.begin(each.picture, self._begin(name, each, scheduler.room))) for each in of
        )
        most = max_steps(self._mode, name)
        progress = _Progress(name, len(of), most, lambda: scheduler.rows_wanted, checkpoints.steps)

        def sent() -> None:
            checkpoints.save_each_minute()
            progress.print_sometimes()

        scheduler.on_sent = sent
        began = time.monotonic()
        try:
            for key, result in scheduler.run(begun):
                self._results.add(self._kept_as(name), key, result)
                checkpoints.end(key)
                progress.done += 1
        except BaseException:
            checkpoints.save()
            raise
        progress.end()
        return AttackTiming(len(of), scheduler.rows_wanted, scheduler.rows_sent, time.monotonic() - began)

    def _kept_as(self, name: str) -> str:
        """Return what an attack is kept as: the boundary attack begins from other pictures of this very set."""
        return f"{name} {self._set}" if name == "boundary" else name

    def _chosen(self, name: str) -> Sequence[LabelledPicture]:
        return self._method.boundary_pictures(self._pictures) if name == "boundary" else self._pictures

    def _measured(self, name: str) -> dict[bytes, MeasuredPicture]:
        """Return what is kept of an attack, with what is answered about each picture in a file of 8 bits."""
        chosen = {each.picture.key for each in self._chosen(name)}
        found: dict[bytes, Callable[[Scores], MeasuredPicture]] = {}

        def rounded() -> Iterator[tuple[bytes, Attack]]:
            for key, result in self._results.of(self._kept_as(name)):
                if key in chosen:
                    pixels, of = as_bytes(result.picture), self._of[key]
                    far = distance(start_of(name, of, self._method.first_move), result.picture)
                    png = write_png(self._folder, of, name, pixels)
                    found[key] = partial(MeasuredPicture, replace(result, picture=_NO_PICTURE), far, png)
                    yield key, single_query(as_floats(pixels))

        scheduler = Scheduler[bytes](self._defense, batch=self._batch, max_running=enough_running(self._batch, 1))
        return {key: found[key](answered.scores) for key, answered in scheduler.run(rounded())}

    def _begin(self, name: str, each: LabelledPicture, room: Callable[[], int]) -> Begin:
        method, steps = self._method, self._steps.get(name)
        if name == "boundary":
            others = [other.picture.pixels for other in self._pictures if other.of_class != each.of_class]
            return lambda of, state, keep: method.boundary(of, others, state, keep, steps, room)
        if name == "spsa":
            return lambda of, state, keep: method.spsa(of, state, keep, steps)
        return lambda of, *_: method.stateless[name](of)

    def _ask(self, rows: Rows) -> Scores:
        self._defense.send(rows)
        return self._defense.receive().scores


def rows_of_batch(attack: str, max_rows: int, pictures: int) -> int:
    """Return how many rows each batch of an attack on so many pictures has.

    A picture of the boundary attack mostly waits for the answer to one row: batches of half of the pictures are full
    while one is answered and the next one is made. Smaller ones than MIN_BATCH_ROWS would cost a card as much.
    """
    return min(max_rows, max(MIN_BATCH_ROWS, -(-pictures // MAX_IN_FLIGHT))) if attack == "boundary" else max_rows


def attacks_at_once(attack: str, batch: int, method: Method = OURS) -> int:
    """Return how many pictures to attack at once."""
    return enough_running(batch, method.rows_at_once[attack])


def as_bytes(picture: Rows) -> "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]":
    """Return a picture rounded to 8 bits, to nearest."""
    rounded: np.ndarray[tuple[int, ...], np.dtype[np.uint8]] = np.rint(picture * np.float32(255)).astype(np.uint8)
    return rounded


class _Progress:
    """Prints on standard error how many pictures of an attack are done, the rate, and when all will be if each takes as
    many steps as it may."""

    def __init__(
        self,
        name: str,
        pictures: int,
        max_steps: int | None,
        rows: Callable[[], int],
        steps: Callable[[], tuple[int, int]],
    ) -> None:
        """`max_steps` is of a picture, None for an attack without steps; `rows` are the queries sent; `steps` the
        steps taken, and those that the pictures under way have behind them."""
        self._name, self._pictures, self._max_steps, self._rows, self._steps = name, pictures, max_steps, rows, steps
        self.done = 0
        self._began = self._printed = time.monotonic()

    def print_sometimes(self) -> None:
        """Print a line, unless the last one is recent."""
        now = time.monotonic()
        if now - self._printed < PROGRESS_SECONDS:
            return
        self._printed = now
        ends, (taken, left) = "", self._work()
        if taken:
            seconds = left * (now - self._began) / taken
            ends = time.strftime(", done about %Y-%m-%d %H:%M", time.localtime(time.time() + seconds))
        self._print(f"{self.done:,} of {self._pictures:,} pictures, {self._rate():,.0f} queries/s{ends}")

    def _work(self) -> tuple[int, int]:
        """Return the steps taken and those that are left at most; pictures where an attack has no steps."""
        left = self._pictures - self.done
        if self._max_steps is None:
            return self.done, left
        taken, behind = self._steps()
        return taken, left * self._max_steps - behind

    def end(self) -> None:
        """All pictures are done."""
        done = f"{self.done:,} pictures, {self._rate():,.0f} queries/s"
        self._print(done if self._pictures else "nothing was left to do")

    def _rate(self) -> float:
        return self._rows() / max(time.monotonic() - self._began, 1e-9)

    def _print(self, words: str) -> None:
        print(f"{self._name}: {words}", file=sys.stderr, flush=True)
