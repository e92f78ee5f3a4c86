"""Writes a release in which nothing differs, as large as it is wanted, without its pictures:
`python -m tests.adjudication.large_release FOLDER PICTURES`. Three taskers answered on each."""

import csv
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from adjudication.schema import release_format as form
from adjudication.schema import release_tables
from policy.numbers import Policy
from tests.adjudication.derived import derived_files

WEEK, START, END = "2026-W02", "2026-01-03T00:00:00.000000Z", "2026-01-10T00:00:00.000000Z"
SENT, ANSWERED = "2026-01-07T09:00:00.000000Z", "2026-01-07T10:00:00.000000Z"
OUTLINE = "[[[10.25,10],[90,10],[90,90.5],[50.75,60],[10.25,90.5]]]"
BOX = ["10.25", "10.00", "90.00", "90.50"]


def write_release(folder: Path, pictures: int) -> None:
    """Write the release into a new folder."""
    folder.mkdir(parents=True)
    counts: dict[str, int] = {}
    rows = _rows(range(1, pictures + 1))
    for file in release_tables.TABLES:
        counts[file.partition(".")[0]] = _write(folder / file, [release_tables.header(file), *rows.get(file, ())]) - 1
    (folder / form.PARQUET).write_bytes(b"")
    values = _manifest(folder, {**counts, "tasker_data": pictures})
    for name, text in derived_files(folder).items():
        (folder / name).write_text(text)
    names = sorted(release_tables.FILES)
    values["files"] = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    _write_manifest(folder, values)


def _write(path: Path, rows: Sequence[Iterable[object]]) -> int:
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    return len(rows)


def _rows(numbers: Sequence[int]) -> dict[str, list[list[object]]]:
    return {
        form.IMAGES: [
            [_image(n), sha, 100, 100, form.picture_file(sha), "dataset", WEEK, "", SENT]
            for n, sha in ((n, _sha256(n)) for n in numbers)
        ],
        form.RESPONSES: [row for n in numbers for row in _responses(n)],
        form.RULINGS: [
            [_image(n), 1, ANSWERED, "rules", 1, "valid", "bird", "", "51359/80000", 1, "", _ids(n)] for n in numbers
        ],
        form.PROVENANCE: [[_image(n), n, "bench", "", "CC0", "", _sha256(n), "PNG", SENT] for n in numbers],
        form.PANELS: [[_image(n), 1, 3, "settled", SENT, ANSWERED, 0, ""] for n in numbers],
    }


def _responses(number: int) -> Iterator[list[object]]:
    answers = ["definitely_yes", "definitely_no", OUTLINE, *BOX, "true", "true", "true", "12.500", "true", ""]
    for place in range(3):
        tasker = f"T-W{1_000 + (number + place) % 30}"
        yield [3 * number + place, _image(number), 1, tasker, ANSWERED, *answers]


def _image(number: int) -> str:
    return f"P-{number:08}"


def _ids(number: int) -> str:
    return ";".join(str(3 * number + place) for place in range(3))


def _sha256(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()


def _manifest(folder: Path, counts: dict[str, int]) -> dict[str, Any]:
    values: dict[str, Any] = {
        "format": form.FORMAT,
        "revision": form.REVISION,
        "name": form.release_name(WEEK, 0),
        "week": WEEK,
        "part": 0,
        "previous_name": "",
        "previous_sha256": "",
        "week_start": START,
        "week_end": END,
        "time_zone": "UTC",
        "rule_book": form.RULE_BOOK_VERSION,
        "policy": {"1": Policy().to_json()},
        "waiting": dict.fromkeys(("panel", "answers", "report", "ruling", "runs"), 0),
        "kept_out": 0,
        "policy_from": {"1": "2026-01-01T00:00:00.000000Z"},
        "policy_reason": {"1": "The rule book as first written."},
        "counts": counts,
        "files": {},
    }
    _write_manifest(folder, values)
    return values


def _write_manifest(folder: Path, values: dict[str, Any]) -> None:
    (folder / form.MANIFEST).write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    write_release(Path(sys.argv[1]), int(sys.argv[2]))
