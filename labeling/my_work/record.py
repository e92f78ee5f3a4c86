"""A tasker's whole record as JSON lines, to be signed. Gold is indistinguishable (R6)."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from labeling.models import Response, Tasker
from labeling.my_work.answer_status import AnswerState, AnswerStatus, standing_reader
from labeling.my_work.selectors import own_answers
from labeling.my_work.signing import FORMAT
from labeling.notices import iso

_ROWS_AT_ONCE = 500


def record_lines(*, tasker: Tasker, site: str, now: datetime) -> Iterator[bytes]:
    """Yield the lines of the record, oldest answer first, without the last line, which is the signature.

    The answers are streamed from the database, so that memory does not grow with them.
    """
    yield b"{" + _member("format", FORMAT)
    yield _member("tasker", tasker.public_id)
    yield _member("site", site)
    yield _member("made_at", iso(now))
    yield b'"answers": [\n'
    count = 0
    for count, line in enumerate(_answers(tasker, now), start=1):
        yield b"," + line if count > 1 else line
    yield b"],\n"
    yield _member("count", count)


def _member(name: str, value: str | int) -> bytes:
    return f'"{name}": {json.dumps(value)},\n'.encode()


def _answers(tasker: Tasker, now: datetime) -> Iterator[bytes]:
    standing = standing_reader(tasker)
    rows = own_answers(tasker).filter(submitted_at__lte=now).order_by("submitted_at", "pk")
    for response in rows.iterator(chunk_size=_ROWS_AT_ONCE):
        yield json.dumps(_answer(response, standing(response))).encode() + b"\n"


def _answer(response: Response, standing: AnswerStatus) -> dict[str, Any]:
    """Return the tasker's answer. The picture is not named: its ID could be looked up elsewhere (R8)."""
    return {
        "id": str(response.assignment.public_id),
        "receipt": response.receipt,
        "received_at": iso(response.submitted_at),
        "contains_bird": response.contains_bird,
        "contains_bicycle": response.contains_bicycle,
        "outline": json.loads(response.outline) if response.outline else None,
        "complete": response.complete,
        "unoccluded": response.unoccluded,
        "real": response.real,
        "milliseconds": response.milliseconds,
        "instructions": response.instructions,
        "counted": standing.state is AnswerState.COUNTED,
        "state": standing.state.value,
        "void_reason": standing.reason or None,
    }
