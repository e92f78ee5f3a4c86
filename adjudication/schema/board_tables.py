"""Declares the release tables about the review board and the audit trail (R18-R21, R37, R39)."""

from adjudication.enums import AppealSide
from adjudication.schema import release_format as form
from adjudication.schema.cell_kinds import (
    APPEAL_ID,
    CASE_ID,
    DEFENSE_ID,
    IMAGE_ID,
    JSON_LIST,
    JSON_OBJECT,
    NUMBER,
    REASONS,
    SHA256,
    TEAM_ID,
    TEXT,
    TIME,
    kind_of,
    one_of,
)
from adjudication.schema.columns import (
    Between,
    FilledWith,
    InForceAt,
    InWeek,
    NamesRow,
    New,
    NotBefore,
    Once,
    TableSchema,
    bound,
    derived,
    free,
)
from adjudication.schema.contest_tables import DECISION_KINDS
from labeling.enums import Label

_OF_CASE = NamesRow(form.CASES, "case_id")
_OF_TEAM = NamesRow(form.TEAMS, "team_id")
# The columns from which the outcome of a case follows: the votes are published without names.
_VOTES = {
    "votes": bound(
        JSON_LIST, "R19", words="the outcome follows from them; who cast them, and in which order, is not published"
    ),
    "quorum": derived(NUMBER, "R21", "`board_quorum` of the policy under which it was opened"),
    "recused": free(NUMBER, "R21", "the names of members who stepped aside are not published", Between(0, 10_000)),
}

APPEALS = TableSchema(
    form.APPEALS,
    ("appeal_id",),
    "R18",
    3,
    {
        "appeal_id": bound(APPEAL_ID, "R18", Once(), New()),
        "image_id": bound(IMAGE_ID, "R18", words="that of its case; one appeal of each team"),
        "ruling_number": bound(NUMBER, "R18", words="no later than the ruling of its case"),
        "side": derived(
            one_of(AppealSide), "R18", "the verdict: a defender against a valid one, an attacker against a rejection"
        ),
        "team_id": bound(TEAM_ID, "R18", _OF_TEAM, words="the team that sent the picture, or that of the defense"),
        "defense_id": bound(
            DEFENSE_ID.optional(), "R18", NamesRow(form.DEFENSES, "defense_id"), FilledWith("side", ("defender",))
        ),
        "sent_at": bound(
            TIME,
            "R18",
            words="within `appeal_days` of the ruling; for a team with only a copy, of a later release",
        ),
        "argument": free(TEXT, "R18", "the team's own words"),
        "marks": bound(JSON_LIST, "R18", words="rectangles inside the picture; their positions are the team's claim"),
        "case_id": bound(CASE_ID, "R18", _OF_CASE),
    },
)

STATEMENTS = TableSchema(
    form.STATEMENTS,
    ("case_id", "team_id"),
    "R18",
    3,
    {
        "case_id": bound(CASE_ID, "R18", _OF_CASE),
        "team_id": bound(TEAM_ID, "R18", _OF_TEAM),
        "sent_at": bound(TIME, "R18", words="while the case was open"),
        "words": free(TEXT, "R18", "the team's own words"),
    },
)

CASES = TableSchema(
    form.CASES,
    ("case_id",),
    "R19",
    3,
    {
        "case_id": bound(CASE_ID, "R19", Once(), New()),
        "image_id": bound(IMAGE_ID, "R19", words="with the ruling it is about"),
        "ruling_number": bound(NUMBER, "R19", words="the ruling that held when it was opened"),
        "opened_at": bound(TIME, "R19", words="after the ruling, before the decision, no later than its appeals"),
        "opened_policy_version": derived(NUMBER, "R21", "", InForceAt("opened_at")),
        "decided_at": bound(TIME, "R19", NotBefore("opened_at"), words="of an overrule, that of the ruling it made"),
        "policy_version": derived(NUMBER, "R21", "", InForceAt("decided_at")),
        "outcome": derived(kind_of("uphold|more_taskers|overrule"), "R19", "`votes`"),
        "label": derived(one_of(Label).optional(), "R20", "`votes`"),
        "reasons": derived(REASONS, "R20", "`votes`"),
        "explanation": bound(
            TEXT, "R20", words="of an overrule, that of the ruling it made; otherwise the board's words"
        ),
        **_VOTES,
        "made_ruling_number": derived(NUMBER.optional(), "R20", "the outcome"),
        "asked_panel": derived(NUMBER.optional(), "R19", "the outcome and the ruling"),
        "closed_at": bound(TIME, "R19", NotBefore("decided_at"), words="the decision, or the ruling it led to"),
        "result_ruling_number": derived(NUMBER, "R19", "the outcome and the rulings"),
    },
)

MOTIONS = TableSchema(
    form.MOTIONS,
    ("case_id",),
    "R21",
    3,
    {
        "case_id": bound(CASE_ID, "R21", Once(), New()),
        "kind": bound(DECISION_KINDS, "R21", words="a kind of decision; of a carried motion, that of its decision"),
        "subject": bound(JSON_OBJECT, "R21", words="numbers of existing teams, defenses and stakes"),
        "details": bound(JSON_OBJECT, "R21", words="of a carried one, what the decision says"),
        "reason": bound(TEXT, "R21", words="of a carried one, that of the decision; otherwise the mover's words"),
        "opened_at": bound(TIME, "R21", words="before it was decided"),
        "opened_policy_version": derived(NUMBER, "R21", "", InForceAt("opened_at")),
        "decided_at": bound(
            TIME, "R21", InWeek(), NotBefore("opened_at"), words="of a carried one, that of the decision"
        ),
        "policy_version": derived(NUMBER, "R21", "", InForceAt("decided_at")),
        "outcome": bound(
            kind_of("carried|lost|dropped"),
            "R21",
            words="as the votes say, unless its mover withdrew it; a decision exactly where it was carried",
        ),
        "explanation": free(TEXT, "R21", "the board's own words"),
        **_VOTES,
    },
)

EXAMINATIONS = TableSchema(
    form.EXAMINATIONS,
    ("number",),
    "R37",
    3,
    {
        "number": bound(NUMBER, "R37", Once(), New()),
        "defense_id": bound(DEFENSE_ID, "R37", NamesRow(form.DEFENSES, "defense_id")),
        "image_id": bound(IMAGE_ID, "R37", NamesRow(form.IMAGES, "image_id", earlier=True)),
        "ruling_number": bound(NUMBER.optional(), "R37", words="an earlier rejection of the picture"),
        "at": bound(TIME, "R37", InWeek(), words="not before the rejection"),
    },
)

AUDIT = TableSchema(
    form.AUDIT,
    ("number",),
    "R39",
    3,
    {
        "number": derived(NUMBER, "R39", "the row before"),
        "at": derived(TIME, "R39", "`sha256`"),
        "role": derived(kind_of(r"[a-z]{0,9}"), "R39", "`sha256`"),
        "action": derived(kind_of(r"[a-z_]{1,20}\.[a-z_]{1,20}"), "R39", "`sha256`"),
        "subject": derived(JSON_OBJECT.optional(), "R39", "`sha256`"),
        "why": derived(TEXT, "R39", "`sha256`"),
        "facts": derived(JSON_OBJECT, "R39", "`sha256`"),
        "private_sha256": derived(SHA256, "R39", "`sha256`; what it is the hash of is in no release"),
        "previous": derived(SHA256, "R39", "the row before, also that of the release before"),
        "sha256": derived(SHA256, "R39", "the rest of the row; the next row repeats it"),
    },
)

BOARD_TABLES = (AUDIT, APPEALS, STATEMENTS, CASES, MOTIONS, EXAMINATIONS)
