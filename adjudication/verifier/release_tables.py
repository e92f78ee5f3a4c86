"""The tables of a release (R39): the columns of each file and the format of each cell.

The one place that says so: writers, the verifier, the way back from releases and the documentation follow it. Standard
library only. What a revision added is a table of its own or stands behind the columns that were there.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

from adjudication.enums import AppealSide, CaseOutcome, DecidedBy, Reason, Verdict
from adjudication.verifier import release_format as form
from labeling.enums import Answer, Label, Origin, PanelState


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
# A free text: see `cells.text`.
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

_TABLES = {
    form.IMAGES: {
        "image_id": _ID,
        "sha256_pixels": _SHA256,
        "width": _NUMBER,
        "height": _NUMBER,
        "file": form.PICTURES + r"/[0-9a-f]{64}\.png",
        "origin": _one_of(Origin),
        "week": r"\d{4}-W\d\d",
        "team": f"(?:{_ID})?",
        "received_at": _TIME,
    },
    form.RESPONSES: {
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
    form.RULINGS: {
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
    form.PREDICTIONS: {
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
    form.FAULTS: {
        "defense_id": _ID,
        "image_id": _ID,
        "round": _NUMBER,
        "fault": r"[a-z_]{1,20}",
        "attempt": _NUMBER,
        "at": _TIME,
    },
    form.BREAKS: {
        "break_id": _NUMBER,
        "defense_id": _ID,
        "image_id": _ID,
        "ruling_number": _NUMBER,
        "round": _NUMBER,
        "answer": "bird|bicycle",
        "found_at": _TIME,
    },
    form.DEFENSES: {
        "defense_id": _ID,
        "name": _TEXT,
        "digest": _TEXT,
        "demo": _BOOLEAN,
        "published_at": _TIME,
        "retired_at": f"(?:{_TIME})?",
    },
}

_BREAK = _TABLES[form.BREAKS]
# What the second revision added: columns behind those of the first, and tables of its own.
_SECOND = {
    form.PREDICTIONS: {"run": _NUMBER},
    form.DEFENSES: {
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
    form.PROVENANCE: {
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
    form.PANELS: {
        "image_id": _ID,
        "panel": _NUMBER,
        "size": _NUMBER,
        "state": _one_of(PanelState),
        "dealt_at": _TIME,
        "full_at": _MAYBE_TIME,
    },
    form.ATTACKS: {
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
    form.TEAMS: {
        "team_id": _ID,
        "number": _NUMBER,
        "name": _TEXT,
        "created_at": _TIME,
        "merged_into": _MAYBE_ID,
        "merged_at": _MAYBE_TIME,
    },
    form.ASSOCIATIONS: {
        "number": _NUMBER,
        "team_id": _ID,
        "since": _TIME,
        "until": _MAYBE_TIME,
        "declared_at": _TIME,
        "mistaken_at": _MAYBE_TIME,
    },
    form.DECISIONS: {
        "number": _NUMBER,
        "kind": _WORD,
        "subject": _JSON_OBJECT,
        "details": _JSON_OBJECT,
        "reason": _TEXT,
        "policy_version": _NUMBER,
        "decided_at": _TIME,
    },
    form.BATCHES: {"number": _NUMBER, "batch_id": _ID, "decision": _NUMBER, "criteria": _TEXT, "staked_at": _TIME},
    form.STAKES: {
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
    form.AWARDS: {
        "number": _NUMBER,
        "stake": _NUMBER,
        "defense_id": _ID,
        "decision": _NUMBER,
        "cents": _NUMBER,
        "statement": _TEXT,
        "conditions": r"[\[{][^\r\n]*[\]}]",
        "awarded_at": _TIME,
    },
    form.LEDGER: {
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
    form.UNPROVED: _BREAK,
    form.ELIGIBILITY: {
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
    form.RULINGS: {"response_ids": _NUMBERS},
    form.PANELS: {"joined": _NUMBER, "joined_at": _MAYBE_TIME},
    form.AUDIT: {
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
    form.DECISIONS: {"case_id": _MAYBE_ID},
    form.APPEALS: {
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
    form.STATEMENTS: {"case_id": _ID, "team_id": _ID, "sent_at": _TIME, "words": _TEXT},
    form.CASES: {
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
    form.MOTIONS: {
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
    form.EXAMINATIONS: {
        "number": _NUMBER,
        "defense_id": _ID,
        "image_id": _ID,
        "ruling_number": _MAYBE_NUMBER,
        "at": _TIME,
    },
}
# What the fourth added, with the second rule book: the mistakes outside the contest (R29).
_FOURTH = {
    form.MISTAKES: {"defense_id": _ID, "image_id": _ID, "round": _NUMBER, "label": _one_of(Label), "found_at": _TIME},
}
_REVISIONS: tuple[Mapping[str, Mapping[str, str]], ...] = (_TABLES, _SECOND, _THIRD, _FOURTH)


@dataclass(frozen=True, slots=True)
class ColumnCheck:
    """What a cell of a column looks like, and, once it is declared, what proves it: empty says that nothing is yet."""

    cell: re.Pattern[str]
    proof: str = ""


# file -> column name -> the column. The order of the columns is the order in the file.
Tables: TypeAlias = Mapping[str, Mapping[str, ColumnCheck]]


def _tables(revision: int) -> Tables:
    tables: dict[str, dict[str, ColumnCheck]] = {}
    for added in _REVISIONS[:revision]:
        for file, cells in added.items():
            columns = {name: ColumnCheck(re.compile(cell, re.ASCII)) for name, cell in cells.items()}
            tables.setdefault(file, {}).update(columns)
    return MappingProxyType({file: MappingProxyType(columns) for file, columns in tables.items()})


_TABLES_OF = tuple(_tables(revision) for revision in range(1, form.REVISION + 1))
TABLES = _TABLES_OF[-1]
FILES = frozenset({*TABLES, form.TASKER_DATA, form.COCO, form.PARQUET})


def tables_of(revision: int) -> Tables:
    """Return the tables that a release of this revision has."""
    return _TABLES_OF[revision - 1]


def header(file: str) -> list[str]:
    """Return the column names of a table, for example of `responses.csv`."""
    return list(TABLES[file])


def files_of(revision: int) -> frozenset[str]:
    """Return the files that a release of this revision has beside its manifest and its pictures."""
    return frozenset({*tables_of(revision), form.TASKER_DATA, form.COCO, form.PARQUET})


def is_file(path: str) -> bool:
    """Say whether a release can have a file of this path at all."""
    return path == form.MANIFEST or path in FILES or form.is_picture(path)
