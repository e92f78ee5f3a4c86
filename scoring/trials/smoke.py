"""The smoke test (R31): a first trial on public pictures, with its log kept."""

from collections.abc import Callable
from typing import Any

import numpy as np

from defense_kit.examine import ExaminationReport
from defense_kit.faults import RunnerFault
from defense_kit.protocol import BatchAnswers
from labeling.enums import KnownUse
from labeling.learning import content
from picture_files.decoding import read_dataset
from scoring.arrays import Pixels, load_arrays
from scoring.enums import Fault
from scoring.rules import PLATFORM_FAULTS
from scoring.runner import DefenseRunner, check_answers
from scoring.trials import selectors, totals


def public_pictures(size: int, seed: int) -> Pixels:
    """Return uint8 pictures [N, size, size, 3] out of the released weeks, or those of the tutorial where none is."""
    published = selectors.smoke_pictures(size, seed)
    return load_arrays(published, size) if published else _tutorial_pictures(size)


def _tutorial_pictures(size: int) -> Pixels:
    files = [row["file"] for row in content.rows() if row["use"] == KnownUse.TUTORIAL]
    pictures = [read_dataset((content.PICTURES / file).read_bytes(), size=size).pixels for file in files]
    return np.frombuffer(b"".join(pictures), np.uint8).reshape(len(files), size, size, 3)


class ExaminableSession:
    """A session as the examination knows it; `name` and an empty log are those of a program that says neither."""

    def __init__(self, session: DefenseRunner, name: str) -> None:
        self._session, self._rows = session, 0
        self.name: str = getattr(session, "name", name)

    def send(self, images: Pixels) -> None:
        """Hand over a batch."""
        self._rows = len(images)
        self._session.send(images)

    def receive(self) -> BatchAnswers:
        """Return the checked answers to the oldest batch; the last fault brings the log along."""
        return check_answers(self._session.receive(), self._rows)

    def log(self) -> str:
        """Return the end of what it printed."""
        log: Callable[[], str] = getattr(self._session, "log", str)
        return log()

    def close(self) -> None:
        """End it."""
        self._session.close()


def result(report: ExaminationReport, device: str) -> dict[str, Any]:
    """Return what is kept of an examination; RunnerFault when the platform is to blame, so that it is tried again."""
    first = report.faults[0] if report.faults else None
    if first is not None and Fault(first.code) in PLATFORM_FAULTS:
        raise RunnerFault(Fault(first.code), first.text)
    return {
        "totals": _totals_of(report, device),
        "log": report.to_text(),
        "device": device[:120],
        "fault": first.code if first else "",
        "fault_text": first.text if first else "",
    }


def _totals_of(report: ExaminationReport, device: str) -> dict[str, Any]:
    seconds = sum(sum(one.batch_seconds) for one in report.rounds)
    return {
        "accepted": report.accepted,
        "pictures": report.pictures,
        "rounds": len(report.rounds),
        "answers": report.counts,
        "changed": report.changed,
        "pictures_per_minute": totals.per_minute(report.pictures * len(report.rounds), round(seconds * 1000)),
        "device": device,
    }
