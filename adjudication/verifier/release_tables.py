"""The tables of a release (R39): the columns of each file, and how each cell is written, checked and read back.

The one place that says so: writers, the verifier, the way back from releases and the documentation follow it. Standard
library only. What a revision added is a table of its own or stands behind the columns that were there.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from adjudication.enums import AppealSide, CaseOutcome, DecidedBy, Verdict
from adjudication.verifier import release_format as form
from adjudication.verifier.cell_kinds import (
    ACCOUNT,
    BOOLEAN,
    FLOAT,
    ID,
    IDS,
    JSON,
    JSON_LIST,
    JSON_OBJECT,
    NUMBER,
    NUMBERS,
    OUTLINE,
    PIXELS,
    REASONS,
    SECONDS,
    SHA256,
    SHARE,
    TEXT,
    TIME,
    WEEK,
    WHOLE,
    WORD,
    CellKind,
    kind_of,
    one_of,
)
from labeling.enums import Answer, Label, Origin, PanelState

_OF_PICTURES = (CaseOutcome.UPHOLD, CaseOutcome.MORE_TASKERS, CaseOutcome.OVERRULE)
_OF_MOTIONS = (CaseOutcome.CARRIED, CaseOutcome.LOST, CaseOutcome.DROPPED)
# What follows the outcome of a case: the count of the votes, without names.
_COUNTED = {"votes": JSON_LIST, "quorum": NUMBER, "recused": NUMBER}
_TABLES = {
    form.IMAGES: {
        "image_id": ID,
        "sha256_pixels": SHA256,
        "width": NUMBER,
        "height": NUMBER,
        "file": kind_of(form.PICTURES + r"/[0-9a-f]{64}\.png"),
        "origin": one_of(Origin),
        "week": WEEK,
        "team": ID.optional(),
        "received_at": TIME,
    },
    form.RESPONSES: {
        "response_id": NUMBER,
        "image_id": ID,
        "panel": NUMBER,
        "tasker_id": ID,
        "submitted_at": TIME,
        "contains_bird": one_of(Answer),
        "contains_bicycle": one_of(Answer),
        "outline": OUTLINE,
        "box_xmin": PIXELS,
        "box_ymin": PIXELS,
        "box_xmax": PIXELS,
        "box_ymax": PIXELS,
        "complete": BOOLEAN.optional(),
        "unoccluded": BOOLEAN.optional(),
        "real": BOOLEAN.optional(),
        "seconds": SECONDS,
        "counted": BOOLEAN,
        "void_reason": TEXT,
    },
    form.RULINGS: {
        "image_id": ID,
        "number": NUMBER,
        "decided_at": TIME,
        "decided_by": one_of(DecidedBy),
        "panel": NUMBER,
        "verdict": one_of(Verdict),
        "label": one_of(Label).optional(),
        "reasons": REASONS,
        "smallest_box_fraction": SHARE,
        "policy_version": NUMBER,
        "explanation": TEXT,
    },
    form.PREDICTIONS: {
        "prediction_id": NUMBER,
        "defense_id": ID,
        "defense_digest": TEXT,
        "image_id": ID,
        "round": NUMBER,
        "answer": kind_of("bird|bicycle|abstain"),
        "score_bicycle": FLOAT,
        "score_bird": FLOAT,
        "device": TEXT,
        "batch_size": NUMBER,
        "batch": NUMBER,
        "row": NUMBER,
        "seed": WHOLE,
        "attempt": NUMBER,
        "latency_us": NUMBER,
        "predicted_at": TIME,
    },
    form.FAULTS: {
        "defense_id": ID,
        "image_id": ID,
        "round": NUMBER,
        "fault": WORD,
        "attempt": NUMBER,
        "at": TIME,
    },
    form.BREAKS: {
        "break_id": NUMBER,
        "defense_id": ID,
        "image_id": ID,
        "ruling_number": NUMBER,
        "round": NUMBER,
        "answer": kind_of("bird|bicycle"),
        "found_at": TIME,
    },
    form.DEFENSES: {
        "defense_id": ID,
        "name": TEXT,
        "digest": TEXT,
        "demo": BOOLEAN,
        "published_at": TIME,
        "retired_at": TIME.optional(),
    },
}

_BREAK = _TABLES[form.BREAKS]
# What the second revision added: columns behind those of the first, and tables of its own.
_SECOND = {
    form.PREDICTIONS: {"run": NUMBER},
    form.DEFENSES: {
        "number": NUMBER,
        "description": TEXT,
        "reference": TEXT,
        "image": TEXT,
        "created_at": TIME,
        "archive": SHA256.optional(),
        "weights": SHA256.optional(),
        "source": SHA256.optional(),
        "team_id": ID.optional(),
        "received_at": TIME.optional(),
        "due_at": TIME.optional(),
        "licence": TEXT,
        "training_code": SHA256.optional(),
        "opened_at": TIME.optional(),
        "withdrawn_at": TIME.optional(),
    },
    form.PROVENANCE: {
        "image_id": ID,
        "number": NUMBER,
        "source": TEXT,
        "source_id": TEXT,
        "licence": TEXT,
        "author": TEXT,
        "original_sha256": SHA256,
        "original_format": TEXT,
        "label_from": TIME,
    },
    form.PANELS: {
        "image_id": ID,
        "panel": NUMBER,
        "size": NUMBER,
        "state": one_of(PanelState),
        "dealt_at": TIME,
        "full_at": TIME.optional(),
    },
    form.ATTACKS: {
        "number": NUMBER,
        "attack_id": ID,
        "image_id": ID,
        "team_id": ID,
        "received_at": TIME,
        "week": WEEK,
        "of_quota": NUMBER,
        "copy_of": ID.optional(),
        "targets": IDS,
        "policy_version": NUMBER.optional(),
    },
    form.TEAMS: {
        "team_id": ID,
        "number": NUMBER,
        "name": TEXT,
        "created_at": TIME,
        "merged_into": ID.optional(),
        "merged_at": TIME.optional(),
    },
    form.ASSOCIATIONS: {
        "number": NUMBER,
        "team_id": ID,
        "since": TIME,
        "until": TIME.optional(),
        "declared_at": TIME,
        "mistaken_at": TIME.optional(),
    },
    form.DECISIONS: {
        "number": NUMBER,
        "kind": WORD,
        "subject": JSON_OBJECT,
        "details": JSON_OBJECT,
        "reason": TEXT,
        "policy_version": NUMBER,
        "decided_at": TIME,
    },
    form.BATCHES: {"number": NUMBER, "batch_id": ID, "decision": NUMBER, "criteria": TEXT, "staked_at": TIME},
    form.STAKES: {
        "number": NUMBER,
        "defense_id": ID,
        "kind": WORD,
        "batch_id": ID.optional(),
        "paid_by": ID.optional(),
        "cents": NUMBER,
        "asked_at": TIME,
        "staked_at": TIME,
        "clock_from": TIME.optional(),
        "ended_at": TIME.optional(),
        "end": WORD.optional(),
    },
    form.AWARDS: {
        "number": NUMBER,
        "stake": NUMBER,
        "defense_id": ID,
        "decision": NUMBER,
        "cents": NUMBER,
        "statement": TEXT,
        "conditions": JSON,
        "awarded_at": TIME,
    },
    form.LEDGER: {
        "number": NUMBER,
        "made_at": TIME,
        "source": ACCOUNT,
        "target": ACCOUNT,
        "cents": NUMBER,
        "rule": TEXT,
        "why": TEXT,
        "causes": JSON_OBJECT,
        "corrects": NUMBER.optional(),
        "decision": NUMBER.optional(),
    },
    form.UNPROVED: _BREAK,
    form.ELIGIBILITY: {
        "number": NUMBER,
        "defense_id": ID,
        "trial": NUMBER,
        "private_set": NUMBER,
        "finished_at": TIME,
        "totals": JSON_OBJECT,
    },
}

# What the third added: which answers each ruling counted, as more taskers may join a panel (R19); the audit trail; and
# what the board was asked and decided (R18-R21, R37).
_THIRD = {
    form.RULINGS: {"response_ids": NUMBERS},
    form.PANELS: {"joined": NUMBER, "joined_at": TIME.optional()},
    form.AUDIT: {
        "number": NUMBER,
        "at": TIME,
        "role": kind_of(r"[a-z]{0,9}"),
        "action": kind_of(r"[a-z_]{1,20}\.[a-z_]{1,20}"),
        "subject": JSON_OBJECT.optional(),
        "why": TEXT,
        "facts": JSON_OBJECT,
        "private_sha256": SHA256,
        "previous": SHA256,
        "sha256": SHA256,
    },
    form.DECISIONS: {"case_id": ID.optional()},
    form.APPEALS: {
        "appeal_id": ID,
        "image_id": ID,
        "ruling_number": NUMBER,
        "side": one_of(AppealSide),
        "team_id": ID,
        "defense_id": ID.optional(),
        "sent_at": TIME,
        "argument": TEXT,
        "marks": JSON_LIST,
        "case_id": ID,
    },
    form.STATEMENTS: {"case_id": ID, "team_id": ID, "sent_at": TIME, "words": TEXT},
    form.CASES: {
        "case_id": ID,
        "image_id": ID,
        "ruling_number": NUMBER,
        "opened_at": TIME,
        "opened_policy_version": NUMBER,
        "decided_at": TIME,
        "policy_version": NUMBER,
        "outcome": one_of(_OF_PICTURES),
        "label": one_of(Label).optional(),
        "reasons": REASONS,
        "explanation": TEXT,
        **_COUNTED,
        "made_ruling_number": NUMBER.optional(),
        "asked_panel": NUMBER.optional(),
        "closed_at": TIME,
        "result_ruling_number": NUMBER,
    },
    form.MOTIONS: {
        "case_id": ID,
        "kind": WORD,
        "subject": JSON_OBJECT,
        "details": JSON_OBJECT,
        "reason": TEXT,
        "opened_at": TIME,
        "opened_policy_version": NUMBER,
        "decided_at": TIME,
        "policy_version": NUMBER,
        "outcome": one_of(_OF_MOTIONS),
        "explanation": TEXT,
        **_COUNTED,
    },
    form.EXAMINATIONS: {
        "number": NUMBER,
        "defense_id": ID,
        "image_id": ID,
        "ruling_number": NUMBER.optional(),
        "at": TIME,
    },
}
# What the fourth added, with the second rule book: the mistakes outside the contest (R29).
_FOURTH = {
    form.MISTAKES: {"defense_id": ID, "image_id": ID, "round": NUMBER, "label": one_of(Label), "found_at": TIME},
}
_REVISIONS = (_TABLES, _SECOND, _THIRD, _FOURTH)

# file -> column name -> what its cells are. The order of the columns is the order in the file.
Tables: TypeAlias = Mapping[str, Mapping[str, CellKind]]


def _tables(revision: int) -> Tables:
    tables: dict[str, dict[str, CellKind]] = {}
    for added in _REVISIONS[:revision]:
        for file, columns in added.items():
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


def written(file: str, rows: Iterable[Sequence[Any]]) -> Iterator[list[str]]:
    """Yield rows of values, in the order of the columns, as the cells of a table; what is None is empty."""
    columns = [column.write for column in TABLES[file].values()]
    for row in rows:
        yield ["" if value is None else write(value) for write, value in zip(columns, row, strict=True)]


def values(file: str, row: Mapping[str, str]) -> dict[str, Any]:
    """Return the values in the cells of a row, by their columns."""
    return {name: TABLES[file][name].read(cell) for name, cell in row.items()}


def files_of(revision: int) -> frozenset[str]:
    """Return the files that a release of this revision has beside its manifest and its pictures."""
    return frozenset({*tables_of(revision), form.TASKER_DATA, form.COCO, form.PARQUET})


def is_file(path: str) -> bool:
    """Say whether a release can have a file of this path at all."""
    return path == form.MANIFEST or path in FILES or form.is_picture(path)
