"""The format of a release (R39): names of files and folders, revisions, rule books.

Standard library only. The columns are in `release_tables`, how a value is written in `cells`.
"""

import re

FORMAT = "unanimous-release-1"
# Later revisions only add: columns after the existing ones, and further files. A manifest without a revision has the
# first one.
REVISION = 4
# From the second rule book on, only attacks break a defense (R29).
RULE_BOOK_VERSION = "2"
_RULE_BOOKS = {1: "1", 2: "1", 3: "1", 4: RULE_BOOK_VERSION}
RULE_BOOKS = tuple(sorted(set(_RULE_BOOKS.values())))

# Source and licence of a picture that was sent as an attack, in `provenance.csv`.
ATTACK_SOURCE = "attack"
ATTACK_LICENCE = "sent under the contest's terms"

MANIFEST = "manifest.json"
# The signed checkpoint: beside the manifest, but in no manifest and no zip, because witnesses add lines to it.
SIGNATURE = "manifest.sig"
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
_NAME = re.compile(r"release-(\d{4}-W\d{2})(?:-errata-([1-9]\d{0,3}))?", re.ASCII)
_PICTURE = re.compile(PICTURES + r"/[0-9a-f]{64}\.png")


def rule_book_version(revision: int) -> str:
    """Return the rule book under which releases of this revision are written."""
    return _RULE_BOOKS[revision]


def is_picture(path: str) -> bool:
    """Say whether the path has the form of a picture's path in a release."""
    return _PICTURE.fullmatch(path) is not None


def release_name(week: str, part: int) -> str:
    """Return the folder's name: `release-2026-W47`, or `release-2026-W47-errata-1` for part 1."""
    return f"release-{week}" + (f"-errata-{part}" if part else "")


def picture_file(sha256_pixels: str) -> str:
    """Return where a release keeps the picture with these pixels."""
    return f"{PICTURES}/{sha256_pixels}.png"


def parse_release_name(name: str) -> tuple[str, int] | None:
    """Return week and part of a release of this name; None for another form of name."""
    found = _NAME.fullmatch(name)
    return (found[1], int(found[2] or 0)) if found else None
