"""A week that is over: pictures in the store, each answered by a full panel and ruled upon, written in bulk.

Run in a process with the project's settings: rows go in through COPY, rulings come from the real rules.
"""

import io
import json
import uuid
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import psycopg2

from adjudication.rules import CountedOpinion, VerdictPolicy, adjudicate
from bench.forms import form
from labeling.answers import FormAnswers, read_form
from picture_files.png import encode_png, pixels_sha256
from policy.enums import OutlineGate

PANEL = 3
TASKERS = 30
FORMS = 512
RECEIVED = datetime(2026, 1, 7, 9, 0, tzinfo=UTC)
Row = Sequence[Any]


def write_week(database: str, store: Path, pictures: int, side: int) -> None:
    """Write `pictures` answered pictures of `side` x `side` pixels, received on 7 January 2026."""
    connection = psycopg2.connect(database)
    with connection, connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        for table, columns, rows in _tables(store, pictures, side):
            _copy(cursor, table, columns, rows)
    connection.autocommit = True
    connection.cursor().execute("VACUUM ANALYZE")
    connection.close()


def _copy(cursor: Any, table: str, columns: str, rows: Iterable[Row]) -> None:
    cursor.copy_expert(f"COPY {table} ({columns}) FROM STDIN", _Lines(rows))


class _Lines(io.TextIOBase):
    """Rows as COPY reads them, made while it reads."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._lines = iter(rows)
        self._rest = ""

    def read(self, size: int | None = -1) -> str:
        """Return about `size` characters, nothing at the end."""
        parts = [self._rest]
        length = len(self._rest)
        for row in self._lines:
            parts.append("\t".join(map(_text, row)) + "\n")
            length += len(parts[-1])
            if size is not None and 0 < size <= length:
                break
        text = "".join(parts)
        end = len(text) if size is None or size < 0 else size
        self._rest = text[end:]
        return text[:end]


def _text(value: Any) -> str:
    if value is None:
        return "\\N"
    return str(value).replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")


def _tables(store: Path, pictures: int, side: int) -> Iterator[tuple[str, str, Iterable[Row]]]:
    """Yield (table, columns, rows) in an order that fits together; ids count from 1."""
    numbers = range(1, pictures + 1)
    answers = [_answers(Random(seed), side) for seed in range(FORMS)]
    yield (
        "labeling_tasker", "id, public_id, state, shuffle_seed, passed, created_at",
        ([n, f"T-W{n:04}", "qualified", n, "{}", RECEIVED] for n in range(1_000, 1_000 + TASKERS)),
    )  # fmt: skip
    yield (
        "labeling_image",
        "id, public_id, pixels_sha256, original_sha256, original_format, width, height, origin, source, source_id, "
        "licence, author, received_at, label_from, dealt_at",
        (_image(n, side, store) for n in numbers),
    )
    at = RECEIVED + timedelta(hours=1)
    yield (
        "labeling_panel",
        "id, image_id, number, size, answered, leased, missing, state, dealt_at, waiting_since, full_at",
        ([n, n, 1, PANEL, PANEL, 0, 0, "settled", at, at, at] for n in numbers),
    )
    yield (
        "labeling_panelplace", "id, panel_id, number",
        ([_place(n, number), n, number] for n in numbers for number in range(1, PANEL + 1)),
    )  # fmt: skip
    yield (
        "labeling_assignment",
        "id, public_id, panel_id, image_id, tasker_id, person, lease_token, state, slot, tie_break, leased_at, "
        "expires_at, ended_at, problem",
        (_assignment(n, number, at) for n in numbers for number in range(1, PANEL + 1)),
    )
    yield (
        "labeling_response",
        "id, assignment_id, image_id, panel_id, tasker_id, place_id, contains_bird, contains_bicycle, outline, "
        "box_xmin, box_ymin, box_xmax, box_ymax, complete, unoccluded, real, milliseconds, submitted_at, "
        "answers_sha256, receipt",
        (_response(n, number, _said(answers, n, number), at) for n in numbers for number in range(1, PANEL + 1)),
    )
    yield (
        "adjudication_ruling",
        "id, image_id, number, panel_id, verdict, label, reasons, smallest_box_numerator, smallest_box_denominator, "
        "policy_id, response_ids, decided_at, decided_by, explanation",
        (_ruling(n, [_said(answers, n, number) for number in range(1, PANEL + 1)], side, at) for n in numbers),
    )


def _place(picture: int, number: int) -> int:
    return (picture - 1) * PANEL + number


def _tasker(picture: int, number: int) -> int:
    return 1_000 + (picture + number) % TASKERS


def _answers(rng: Random, side: int) -> FormAnswers:
    said = form(rng, side)
    return read_form(said, width=side, height=side, gate=OutlineGate.BEST_GUESS_YES)


def _said(answers: Sequence[FormAnswers], picture: int, number: int) -> FormAnswers:
    # Two pictures of three are unanimous about the class: all three answers then come from forms of one class.
    first = answers[picture * 7 % FORMS]
    if picture % 3 == 0:
        return answers[(picture * 7 + number * 11) % FORMS]
    alike = (answers[(picture * 7 + number * 11 + step) % FORMS] for step in range(FORMS))
    return next(each for each in alike if (each.bird, each.bicycle) == (first.bird, first.bicycle))


def _image(number: int, side: int, store: Path) -> Row:
    pixels = Random(number).randbytes(side) * (side * 3)
    sha = pixels_sha256(side, side, pixels)
    path = store / "pictures" / sha[:2] / f"{sha}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encode_png(side, side, pixels))
    kept = ["PNG", side, side, "dataset", "bench", "", "CC0", "", RECEIVED, RECEIVED, RECEIVED]
    return [number, f"P-{number:08}", sha, sha, *kept]


def _assignment(picture: int, number: int, at: datetime) -> Row:
    place = _place(picture, number)
    name, tasker = uuid.UUID(int=place), _tasker(picture, number)
    return [place, name, picture, picture, tasker, tasker, "", "answered", 1, "leftmost", at, at, at, ""]


def _response(picture: int, number: int, said: FormAnswers, at: datetime) -> Row:
    place, outline = _place(picture, number), said.outline
    box = [outline.box.xmin, outline.box.ymin, outline.box.xmax, outline.box.ymax] if outline else [None] * 4
    statements = [said.complete, said.unoccluded, said.real]
    return [
        place, place, picture, picture, _tasker(picture, number), place, said.bird, said.bicycle,
        outline.json if outline else "", *box, *statements, said.milliseconds, at, said.sha256, f"{place:012}",
    ]  # fmt: skip


def _ruling(picture: int, said: Sequence[FormAnswers], side: int, at: datetime) -> Row:
    decision = adjudicate([_opinion(each) for each in said], VerdictPolicy(), width=side, height=side)
    share = decision.smallest_box
    ids = json.dumps([_place(picture, number) for number in range(1, PANEL + 1)])
    parts = [share.numerator, share.denominator] if share is not None else [None, None]
    said_of_it = [decision.verdict, decision.label or "", json.dumps(list(decision.reasons)), *parts]
    return [picture, picture, 1, picture, *said_of_it, 1, ids, at, "rules", ""]


def _opinion(said: FormAnswers) -> CountedOpinion:
    box = said.outline.box if said.outline else None
    return CountedOpinion(said.bird, said.bicycle, box, said.complete, said.unoccluded, said.real)
