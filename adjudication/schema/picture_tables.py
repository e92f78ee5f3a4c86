"""Declares the release tables about pictures: images, responses, rulings, panels (R2, R4-R16, R39)."""

from adjudication.enums import DecidedBy, Verdict
from adjudication.schema import release_format as form
from adjudication.schema.cell_kinds import (
    BOOLEAN,
    IMAGE_ID,
    NUMBER,
    NUMBERS,
    OUTLINE,
    PIXELS,
    REASONS,
    SECONDS,
    SHA256,
    SHARE,
    TASKER_ID,
    TEAM_ID,
    TEXT,
    TIME,
    WEEK,
    kind_of,
    one_of,
)
from adjudication.schema.columns import (
    InWeek,
    NamesRow,
    New,
    NotBefore,
    NotBeforeNamed,
    Once,
    TableSchema,
    bound,
    derived,
    free,
)
from labeling.enums import RELEASED_ORIGINS, Answer, Label, PanelState

_OF_IMAGE = NamesRow(form.IMAGES, "image_id")
_ANSWER = "of counted answers the ruling follows from it, by R13 to R15"
_SHAPE = "the questions that were asked follow from the answers (R10); " + _ANSWER

IMAGES = TableSchema(
    form.IMAGES,
    ("image_id",),
    "R2",
    1,
    {
        "image_id": bound(IMAGE_ID, "R2", Once(), New(), words="`provenance.csv` has a row for it, and no other"),
        "sha256_pixels": derived(SHA256, "R2", "the pixels of the picture's file"),
        "width": derived(NUMBER, "R2", "the picture's file"),
        "height": derived(NUMBER, "R2", "the picture's file"),
        "file": derived(kind_of(form.PICTURES + r"/[0-9a-f]{64}\.png"), "R2", "`sha256_pixels`"),
        "origin": derived(
            one_of(RELEASED_ORIGINS), "R3", "`source` in `provenance.csv`; an attack's picture has an attack"
        ),
        "week": derived(WEEK, "R23", "the release's week"),
        "team": derived(TEAM_ID.optional(), "R26", "the first attack of the week with this picture"),
        "received_at": bound(
            TIME, "R23", InWeek(), words="of an attack's picture, the time of the first attack that sent it"
        ),
    },
)

RESPONSES = TableSchema(
    form.RESPONSES,
    ("response_id",),
    "R8",
    1,
    {
        "response_id": bound(NUMBER, "R16", Once(), words="rulings name those they count"),
        "image_id": bound(IMAGE_ID, "R8", words="a picture of the release, with its panel"),
        "panel": bound(NUMBER, "R7", words="a panel of the picture in `panels.csv`; rulings count those of their own"),
        "tasker_id": bound(TASKER_ID, "R8", words="no tasker answers twice on a picture"),
        "submitted_at": bound(
            TIME, "R8", words="not before its panel was dealt; a counted one not after its panel was full"
        ),
        "contains_bird": bound(one_of(Answer), "R9", words=_ANSWER),
        "contains_bicycle": bound(one_of(Answer), "R9", words=_ANSWER),
        "outline": bound(
            OUTLINE, "R11", words="simple polygons inside the picture, there exactly when it is asked for; " + _ANSWER
        ),
        "box_xmin": derived(PIXELS, "R14", "`outline`"),
        "box_ymin": derived(PIXELS, "R14", "`outline`"),
        "box_xmax": derived(PIXELS, "R14", "`outline`"),
        "box_ymax": derived(PIXELS, "R14", "`outline`"),
        "complete": bound(BOOLEAN.optional(), "R12", words=_SHAPE),
        "unoccluded": bound(BOOLEAN.optional(), "R12", words=_SHAPE),
        "real": bound(BOOLEAN.optional(), "R12", words=_SHAPE),
        "seconds": free(SECONDS, "R6", "measured by the tasker's browser"),
        "counted": bound(BOOLEAN, "R8", words="no more than the places of the panel, and those that the ruling names"),
        "void_reason": bound(TEXT, "R6", words="empty for an answer that counts; the words are free"),
    },
)

RULINGS = TableSchema(
    form.RULINGS,
    ("image_id", "number"),
    "R16",
    1,
    {
        "image_id": bound(
            IMAGE_ID, "R16", _OF_IMAGE, words="every picture has one, but those that the manifest counts"
        ),
        "number": derived(NUMBER, "R16", "the rulings of the picture before it"),
        "decided_at": bound(
            TIME, "R16", words="not before the answers it counts, nor before the ruling or the case before it"
        ),
        "decided_by": derived(one_of(DecidedBy), "R20", "`cases.csv`: the board's rulings are those it made"),
        "panel": derived(NUMBER, "R19", "the panels of the picture and the ruling before it"),
        "verdict": derived(one_of(Verdict), "R13", "the answers; of the board's the votes"),
        "label": derived(one_of(Label).optional(), "R13", "the answers; of the board's the votes"),
        "reasons": derived(REASONS, "R15", "the answers; of the board's the votes"),
        "smallest_box_fraction": derived(SHARE, "R14", "the answers"),
        "policy_version": derived(
            NUMBER, "R7", "what was in force when the panel was dealt, or when the board decided"
        ),
        "explanation": derived(TEXT, "R20", "that of the case; empty for rulings of the rules"),
        "response_ids": derived(NUMBERS, "R16", "the counted answers of the panel", since=3),
    },
)

PROVENANCE = TableSchema(
    form.PROVENANCE,
    ("image_id",),
    "R2",
    2,
    {
        "image_id": bound(IMAGE_ID, "R2", _OF_IMAGE, words="one row for each picture"),
        "number": bound(NUMBER, "R39", Once(), New()),
        "source": bound(TEXT, "R3", words="`attack` exactly for pictures of attacks; other words are the organizers'"),
        "source_id": bound(TEXT, "R3", words="of an attack's picture, the team with the first receipt"),
        "licence": bound(TEXT, "R3", words="of an attack's picture, the words of the contest"),
        "author": free(TEXT, "R3", "the organizers' word"),
        "original_sha256": free(SHA256, "R2", "the file as it was sent is not released"),
        "original_format": free(TEXT, "R2", "the file as it was sent is not released"),
        "label_from": bound(
            TIME, "R24", words="of an attack's picture, the end of its week; no panel is dealt before it"
        ),
    },
)

PANELS = TableSchema(
    form.PANELS,
    ("image_id", "panel"),
    "R7",
    2,
    {
        "image_id": bound(IMAGE_ID, "R7", _OF_IMAGE),
        "panel": bound(NUMBER, "R7", words="numbered from 1 without a gap"),
        "size": bound(
            NUMBER, "R7", words="what the policy or the board asks for, and as many answers as the ruling counts"
        ),
        "state": bound(one_of(PanelState), "R7", words="as its answers and rulings are"),
        "dealt_at": bound(
            TIME,
            "R24",
            NotBeforeNamed(form.PROVENANCE, "image_id", "image_id", "label_from"),
            words="before its answers",
        ),
        "full_at": bound(
            TIME.optional(), "R7", NotBefore("dealt_at"), words="filled where all places are; after the counted answers"
        ),
        "joined": bound(NUMBER, "R19", words="as many as a case asked for", since=3),
        "joined_at": bound(TIME.optional(), "R19", NotBefore("dealt_at"), words="when a case was decided", since=3),
    },
)

PICTURE_TABLES = (IMAGES, RESPONSES, RULINGS, PROVENANCE, PANELS)
