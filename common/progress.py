"""Progress lines of a long command, every few seconds, where no bar can be drawn."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

LINE_SECONDS = 3.0
SILENT_SECONDS = 5.0


def every_few_seconds(
    write: Callable[[str], object], *, seconds: float = LINE_SECONDS, clock: Callable[[], float] = time.monotonic
) -> Callable[[str], None]:
    """Return a function that writes a line, unless it wrote one less than `seconds` ago."""
    written = clock()

    def line(words: str) -> None:
        nonlocal written
        if clock() - written >= seconds:
            written = clock()
            write(words)

    return line


@contextmanager
def still_working(
    write: Callable[[str], object], *, seconds: float = SILENT_SECONDS
) -> Iterator[Callable[[str], None]]:
    """Give a function that names the present step. A step that lasts is written every `seconds`, with its duration."""
    step, since, ended = "", time.monotonic(), Event()

    def begin(name: str) -> None:
        nonlocal step, since
        step, since = name, time.monotonic()

    def report() -> None:
        while not ended.wait(seconds):
            lasts = time.monotonic() - since
            if step and lasts >= seconds:
                write(f"{step}: {lasts:.0f} s so far")

    reporter = Thread(target=report, name="progress", daemon=True)
    reporter.start()
    try:
        yield begin
    finally:
        ended.set()
        reporter.join()
