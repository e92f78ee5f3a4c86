"""The weekly release as a format (R39): the columns of each file, and how a value is written in them.

Pure: standard library only. The exporter writes with this module and the standalone verifier reads with it, so a
release can be checked on a bare checkout.
"""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, TypeAlias

from adjudication.enums import AppealSide, CaseOutcome, DecidedBy, Reason, Verdict
from labeling.enums import Answer, Label, Origin, PanelState
from labeling.geometry import HUNDREDTHS_PER_PIXEL

FORMAT = "unanimous-release-1"
# What was added since the first releases stands at the end: columns behind the others, and files beside them. A
# manifest without a revision is of the first one.
REVISION = 4
# From the second rule book on, only attacks break a defense (R29).
RULE_BOOK_VERSION = "2"
_RULE_BOOKS = {1: "1", 2: "1", 3: "1", 4: RULE_BOOK_VERSION}
RULE_BOOKS = tuple(sorted(set(_RULE_BOOKS.values())))

MANIFEST = "manifest.json"
PICTURES = "images"
IMAGES = "images.csv"
RESPONSES = "responses.csv"
RULINGS = "rulings.csv"
PREDICTIONS = "predictions.csv"
FAULTS = "faults.csv"
BREAKS = "breaks.csv"
DEFENSES = "defenses.csv"
TASKER_DATA = "tasker_data.csv"
COCO = "annotations.coco.json"
PARQUET = "responses.parquet"
PROVENANCE = "provenance.csv"
PANELS = "panels.csv"
ATTACKS = "attacks.csv"
TEAMS = "teams.csv"
ASSOCIATIONS = "associations.csv"
DECISIONS = "decisions.csv"
BATCHES = "batches.csv"
STAKES = "stakes.csv"
AWARDS = "awards.csv"
LEDGER = "ledger.csv"
UNPROVED = "unproved_breaks.csv"
ELIGIBILITY = "eligibility.csv"
AUDIT = "audit.csv"
APPEALS = "appeals.csv"
STATEMENTS = "statements.csv"
CASES = "cases.csv"
MOTIONS = "motions.csv"
EXAMINATIONS = "examinations.csv"
MISTAKES = "mistakes.csv"


def _one_of(words: Iterable[StrEnum]) -> str:
    return "|".join(word.value for word in words)


# No more digits than a database has: longer ones would only make a hostile release expensive to read.
_NUMBER = r"0|[1-9]\d{0,18}"
_WHOLE = r"-?(?:0|[1-9]\d{0,18})"
_ID = r"[A-Z]-[0-9A-Z]+"
_SHA256 = r"[0-9a-f]{64}"
_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"
_BOOLEAN = r"true|false"
_PIXELS = r"(?:(?:0|[1-9]\d{0,8})\.\d\d)?"
_SHARE = r"(?:(?:0|[1-9]\d{0,18})/[1-9]\d{0,18})?"
_FLOAT = r"-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf)|nan"
_REASONS = f"(?:(?:{'|'.join(Reason)})(?:;(?:{'|'.join(Reason)}))*)?"
# Rings of corners as labeling.geometry.canonical_json writes them, inside a picture, so without a sign.
_COORDINATE = r"(?:0|[1-9]\d{0,8})(?:\.\d?[1-9])?"
_CORNER = rf"\[{_COORDINATE},{_COORDINATE}\]"
_RING = rf"\[{_CORNER}(?:,{_CORNER})*\]"
_OUTLINE = rf"(?:\[{_RING}(?:,{_RING})*\])?"
# A free text: see `text`.
_TEXT = r"(?![=+\-@\t|])[^\r]*"
_MAYBE_ID = f"(?:{_ID})?"
_MAYBE_TIME = f"(?:{_TIME})?"
_MAYBE_NUMBER = f"(?:{_NUMBER})?"
_NUMBERS = rf"(?:(?:{_NUMBER})(?:;(?:{_NUMBER}))*)?"
_MAYBE_SHA256 = f"(?:{_SHA256})?"
_WORD = r"[a-z_]{1,20}"
_JSON_OBJECT = r"\{[^\r\n]*\}"
_JSON_LIST = r"\[[^\r\n]*\]"
_OF_PICTURES = (CaseOutcome.UPHOLD, CaseOutcome.MORE_TASKERS, CaseOutcome.OVERRULE)
_OF_MOTIONS = (CaseOutcome.CARRIED, CaseOutcome.LOST, CaseOutcome.DROPPED)
# What follows the outcome of a case: the count of the votes, without names.
_COUNTED = {"votes": _JSON_LIST, "quorum": _NUMBER, "recused": _NUMBER}
# A place where money is: one of the contest's, a team's, or what lies at one stake.
_ACCOUNT = rf"[a-z]{{1,20}}|team:{_ID}|stake:(?:{_NUMBER})"

_PICTURE = re.compile(PICTURES + r"/[0-9a-f]{64}\.png")
_TABLES = {
    IMAGES: {
        "image_id": _ID,
        "sha256_pixels": _SHA256,
        "width": _NUMBER,
        "height": _NUMBER,
        "file": PICTURES + r"/[0-9a-f]{64}\.png",
        "origin": _one_of(Origin),
        "week": r"\d{4}-W\d\d",
        "team": f"(?:{_ID})?",
        "received_at": _TIME,
    },
    RESPONSES: {
        "response_id": _NUMBER,
        "image_id": _ID,
        "panel": _NUMBER,
        "tasker_id": _ID,
        "submitted_at": _TIME,
        "contains_bird": _one_of(Answer),
        "contains_bicycle": _one_of(Answer),
        "outline": _OUTLINE,
        "box_xmin": _PIXELS,
        "box_ymin": _PIXELS,
        "box_xmax": _PIXELS,
        "box_ymax": _PIXELS,
        "complete": f"(?:{_BOOLEAN})?",
        "unoccluded": f"(?:{_BOOLEAN})?",
        "real": f"(?:{_BOOLEAN})?",
        "seconds": r"(?:0|[1-9]\d*)\.\d{3}",
        "counted": _BOOLEAN,
        "void_reason": _TEXT,
    },
    RULINGS: {
        "image_id": _ID,
        "number": _NUMBER,
        "decided_at": _TIME,
        "decided_by": _one_of(DecidedBy),
        "panel": _NUMBER,
        "verdict": _one_of(Verdict),
        "label": f"(?:{_one_of(Label)})?",
        "reasons": _REASONS,
        "smallest_box_fraction": _SHARE,
        "policy_version": _NUMBER,
        "explanation": _TEXT,
    },
    PREDICTIONS: {
        "prediction_id": _NUMBER,
        "defense_id": _ID,
        "defense_digest": _TEXT,
        "image_id": _ID,
        "round": _NUMBER,
        "answer": "bird|bicycle|abstain",
        "score_bicycle": _FLOAT,
        "score_bird": _FLOAT,
        "device": _TEXT,
        "batch_size": _NUMBER,
        "batch": _NUMBER,
        "row": _NUMBER,
        "seed": _WHOLE,
        "attempt": _NUMBER,
        "latency_us": _NUMBER,
        "predicted_at": _TIME,
    },
    FAULTS: {
        "defense_id": _ID,
        "image_id": _ID,
        "round": _NUMBER,
        "fault": r"[a-z_]{1,20}",
        "attempt": _NUMBER,
        "at": _TIME,
    },
    BREAKS: {
        "break_id": _NUMBER,
        "defense_id": _ID,
        "image_id": _ID,
        "ruling_number": _NUMBER,
        "round": _NUMBER,
        "answer": "bird|bicycle",
        "found_at": _TIME,
    },
    DEFENSES: {
        "defense_id": _ID,
        "name": _TEXT,
        "digest": _TEXT,
        "demo": _BOOLEAN,
        "published_at": _TIME,
        "retired_at": f"(?:{_TIME})?",
    },
}

_BREAK = _TABLES[BREAKS]
# What the second revision added: columns behind those of the first, and tables of its own.
_SECOND = {
    PREDICTIONS: {"run": _NUMBER},
    DEFENSES: {
        "number": _NUMBER,
        "description": _TEXT,
        "reference": _TEXT,
        "image": _TEXT,
        "created_at": _TIME,
        "archive": _MAYBE_SHA256,
        "weights": _MAYBE_SHA256,
        "source": _MAYBE_SHA256,
        "team_id": _MAYBE_ID,
        "received_at": _MAYBE_TIME,
        "due_at": _MAYBE_TIME,
        "licence": _TEXT,
        "training_code": _MAYBE_SHA256,
        "opened_at": _MAYBE_TIME,
        "withdrawn_at": _MAYBE_TIME,
    },
    PROVENANCE: {
        "image_id": _ID,
        "number": _NUMBER,
        "source": _TEXT,
        "source_id": _TEXT,
        "licence": _TEXT,
        "author": _TEXT,
        "original_sha256": _SHA256,
        "original_format": _TEXT,
        "label_from": _TIME,
    },
    PANELS: {
        "image_id": _ID,
        "panel": _NUMBER,
        "size": _NUMBER,
        "state": _one_of(PanelState),
        "dealt_at": _TIME,
        "full_at": _MAYBE_TIME,
    },
    ATTACKS: {
        "number": _NUMBER,
        "attack_id": _ID,
        "image_id": _ID,
        "team_id": _ID,
        "received_at": _TIME,
        "week": r"\d{4}-W\d\d",
        "of_quota": _NUMBER,
        "copy_of": _MAYBE_ID,
        "targets": rf"(?:{_ID}(?:;{_ID})*)?",
        "policy_version": _MAYBE_NUMBER,
    },
    TEAMS: {
        "team_id": _ID,
        "number": _NUMBER,
        "name": _TEXT,
        "created_at": _TIME,
        "merged_into": _MAYBE_ID,
        "merged_at": _MAYBE_TIME,
    },
    ASSOCIATIONS: {
        "number": _NUMBER,
        "team_id": _ID,
        "since": _TIME,
        "until": _MAYBE_TIME,
        "declared_at": _TIME,
        "mistaken_at": _MAYBE_TIME,
    },
    DECISIONS: {
        "number": _NUMBER,
        "kind": _WORD,
        "subject": _JSON_OBJECT,
        "details": _JSON_OBJECT,
        "reason": _TEXT,
        "policy_version": _NUMBER,
        "decided_at": _TIME,
    },
    BATCHES: {"number": _NUMBER, "batch_id": _ID, "decision": _NUMBER, "criteria": _TEXT, "staked_at": _TIME},
    STAKES: {
        "number": _NUMBER,
        "defense_id": _ID,
        "kind": _WORD,
        "batch_id": _MAYBE_ID,
        "paid_by": _MAYBE_ID,
        "cents": _NUMBER,
        "asked_at": _TIME,
        "staked_at": _TIME,
        "clock_from": _MAYBE_TIME,
        "ended_at": _MAYBE_TIME,
        "end": f"(?:{_WORD})?",
    },
    AWARDS: {
        "number": _NUMBER,
        "stake": _NUMBER,
        "defense_id": _ID,
        "decision": _NUMBER,
        "cents": _NUMBER,
        "statement": _TEXT,
        "conditions": r"[\[{][^\r\n]*[\]}]",
        "awarded_at": _TIME,
    },
    LEDGER: {
        "number": _NUMBER,
        "made_at": _TIME,
        "source": _ACCOUNT,
        "target": _ACCOUNT,
        "cents": _NUMBER,
        "rule": _TEXT,
        "why": _TEXT,
        "causes": _JSON_OBJECT,
        "corrects": _MAYBE_NUMBER,
        "decision": _MAYBE_NUMBER,
    },
    UNPROVED: _BREAK,
    ELIGIBILITY: {
        "number": _NUMBER,
        "defense_id": _ID,
        "trial": _NUMBER,
        "private_set": _NUMBER,
        "finished_at": _TIME,
        "totals": _JSON_OBJECT,
    },
}

# What the third added: which answers each ruling counted, as more taskers may join a panel (R19); the audit trail; and
# what the board was asked and decided (R18-R21, R37).
_THIRD = {
    RULINGS: {"response_ids": _NUMBERS},
    PANELS: {"joined": _NUMBER, "joined_at": _MAYBE_TIME},
    AUDIT: {
        "number": _NUMBER,
        "at": _TIME,
        "role": r"[a-z]{0,9}",
        "action": r"[a-z_]{1,20}\.[a-z_]{1,20}",
        "subject": f"(?:{_JSON_OBJECT})?",
        "why": _TEXT,
        "facts": _JSON_OBJECT,
        "private_sha256": _SHA256,
        "previous": _SHA256,
        "sha256": _SHA256,
    },
    DECISIONS: {"case_id": _MAYBE_ID},
    APPEALS: {
        "appeal_id": _ID,
        "image_id": _ID,
        "ruling_number": _NUMBER,
        "side": _one_of(AppealSide),
        "team_id": _ID,
        "defense_id": _MAYBE_ID,
        "sent_at": _TIME,
        "argument": _TEXT,
        "marks": _JSON_LIST,
        "case_id": _ID,
    },
    STATEMENTS: {"case_id": _ID, "team_id": _ID, "sent_at": _TIME, "words": _TEXT},
    CASES: {
        "case_id": _ID,
        "image_id": _ID,
        "ruling_number": _NUMBER,
        "opened_at": _TIME,
        "opened_policy_version": _NUMBER,
        "decided_at": _TIME,
        "policy_version": _NUMBER,
        "outcome": _one_of(_OF_PICTURES),
        "label": f"(?:{_one_of(Label)})?",
        "reasons": _REASONS,
        "explanation": _TEXT,
        **_COUNTED,
        "made_ruling_number": _MAYBE_NUMBER,
        "asked_panel": _MAYBE_NUMBER,
        "closed_at": _TIME,
        "result_ruling_number": _NUMBER,
    },
    MOTIONS: {
        "case_id": _ID,
        "kind": _WORD,
        "subject": _JSON_OBJECT,
        "details": _JSON_OBJECT,
        "reason": _TEXT,
        "opened_at": _TIME,
        "opened_policy_version": _NUMBER,
        "decided_at": _TIME,
        "policy_version": _NUMBER,
        "outcome": _one_of(_OF_MOTIONS),
        "explanation": _TEXT,
        **_COUNTED,
    },
    EXAMINATIONS: {
        "number": _NUMBER,
        "defense_id": _ID,
        "image_id": _ID,
        "ruling_number": _MAYBE_NUMBER,
        "at": _TIME,
    },
}
# What the fourth added, with the second rule book: the mistakes outside the contest (R29).
_FOURTH = {
    MISTAKES: {"defense_id": _ID, "image_id": _ID, "round": _NUMBER, "label": _one_of(Label), "found_at": _TIME},
}
_REVISIONS: tuple[Mapping[str, Mapping[str, str]], ...] = (_TABLES, _SECOND, _THIRD, _FOURTH)

# file -> column -> what a cell looks like. The order of the columns is the order in the file.
Tables: TypeAlias = Mapping[str, Mapping[str, re.Pattern[str]]]


def _tables(revision: int) -> Tables:
    columns: dict[str, dict[str, re.Pattern[str]]] = {}
    for added in _REVISIONS[:revision]:
        for file, cells in added.items():
            columns.setdefault(file, {}).update({name: re.compile(cell, re.ASCII) for name, cell in cells.items()})
    return MappingProxyType({file: MappingProxyType(cells) for file, cells in columns.items()})


_TABLES_OF = tuple(_tables(revision) for revision in range(1, REVISION + 1))
TABLES = _TABLES_OF[-1]
FILES = frozenset({*TABLES, TASKER_DATA, COCO, PARQUET})


def tables_of(revision: int) -> Tables:
    """Return the tables that a release of this revision has."""
    return _TABLES_OF[revision - 1]


def rule_book_of(revision: int) -> str:
    """Return the rule book under which releases of this revision are written."""
    return _RULE_BOOKS[revision]


def files_of(revision: int) -> frozenset[str]:
    """Return the files that a release of this revision has beside its manifest and its pictures."""
    return frozenset({*tables_of(revision), TASKER_DATA, COCO, PARQUET})


def header(file: str) -> list[str]:
    """Return the column names of a table, for example of `responses.csv`."""
    return list(TABLES[file])


def is_file(path: str) -> bool:
    """Say whether a release can have a file of this path at all."""
    return path == MANIFEST or path in FILES or is_picture(path)


def is_picture(path: str) -> bool:
    """Say whether a release can have a picture of this path."""
    return _PICTURE.fullmatch(path) is not None


def release_name(week: str, part: int) -> str:
    """Return the folder's name: `release-2026-W47`, or `release-2026-W47-errata-1` for part 1."""
    return f"release-{week}" + (f"-errata-{part}" if part else "")


def picture_file(sha256_pixels: str) -> str:
    """Return where a release keeps the picture with these pixels."""
    return f"{PICTURES}/{sha256_pixels}.png"


def time(moment: datetime) -> str:
    """An aware moment as UTC with microseconds, always 27 characters: `2026-11-18T12:00:00.000000Z`."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def boolean(value: bool | None) -> str:
    """`true`, `false`, or nothing where it was not asked."""
    return "" if value is None else "true" if value else "false"


def boolean_from(cell: str) -> bool | None:
    """The inverse of `boolean`."""
    return None if cell == "" else cell == "true"


def pixels(hundredths: int | None) -> str:
    """A side of a box in pixels with exactly two decimals; nothing where there is no box."""
    return "" if hundredths is None else f"{hundredths // HUNDREDTHS_PER_PIXEL}.{hundredths % HUNDREDTHS_PER_PIXEL:02d}"


def seconds(milliseconds: int) -> str:
    """Milliseconds as seconds with three decimals."""
    return f"{milliseconds // 1000}.{milliseconds % 1000:03d}"


def time_from(cell: str) -> datetime | None:
    """The inverse of `time`; None where there is nothing."""
    return datetime.fromisoformat(cell) if cell else None


def text_from(cell: str) -> str:
    """The inverse of `text`, but for the ends of lines."""
    return cell.removeprefix("'")


def json_cell(value: Any) -> str:
    """A value as JSON on one line, the same for equal values."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def text(value: str) -> str:
    """Free text for a cell: line ends are LF, and what a spreadsheet could take for a formula gets an apostrophe.

    A reader drops one leading apostrophe, which is unambiguous because a text that begins with one gets another.
    """
    value = value.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{value}" if value.startswith(("=", "+", "-", "@", "\t", "|", "'")) else value
