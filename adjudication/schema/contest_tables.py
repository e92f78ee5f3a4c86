"""Declares the release tables about attacks, teams, stakes and money (R23-R27, R32-R38)."""

from adjudication.enums import DecisionKind
from adjudication.schema import release_format as form
from adjudication.schema.cell_kinds import (
    ACCOUNT,
    ATTACK_ID,
    BATCH_ID,
    CASE_ID,
    DEFENSE_ID,
    DEFENSE_IDS,
    IMAGE_ID,
    JSON,
    JSON_OBJECT,
    NUMBER,
    TEAM_ID,
    TEXT,
    TIME,
    WEEK,
    kind_of,
    one_of,
)
from adjudication.schema.columns import (
    BeforeWeekEnd,
    Between,
    FilledWith,
    InForceAt,
    InWeek,
    NamesRow,
    New,
    NotBefore,
    NotBeforeNamed,
    Once,
    SameAsNamed,
    TableSchema,
    Unchanged,
    bound,
    derived,
    free,
)

_OF_TEAM = NamesRow(form.TEAMS, "team_id")
_OF_DEFENSE = NamesRow(form.DEFENSES, "defense_id")
MAX_CENTS = 10**14
DECISION_KINDS = one_of(DecisionKind)

ATTACKS = TableSchema(
    form.ATTACKS,
    ("number",),
    "R26",
    2,
    {
        "number": bound(NUMBER, "R26", Once(), New()),
        "attack_id": bound(ATTACK_ID, "R26", Once(), New()),
        "image_id": bound(
            IMAGE_ID, "R26", NamesRow(form.IMAGES, "image_id", earlier=True), words="a team sends each once"
        ),
        "team_id": bound(TEAM_ID, "R26", _OF_TEAM),
        "received_at": bound(
            TIME,
            "R23",
            InWeek(),
            NotBeforeNamed(form.TEAMS, "team_id", "team_id", "created_at"),
            words="in the order of receipt",
        ),
        "week": derived(WEEK, "R23", "`received_at`"),
        "of_quota": bound(
            NUMBER,
            "R25",
            words="from 1 to `attacks_per_day`; it grows with each attack of a team on one day of the zone",
        ),
        "copy_of": derived(
            ATTACK_ID.optional(), "R26", "the first attack with the same picture, here or in an earlier release"
        ),
        "targets": bound(DEFENSE_IDS, "R23", NamesRow(form.DEFENSES, "defense_id"), words="in their order, each once"),
        "policy_version": derived(NUMBER.optional(), "R25", "", InForceAt("received_at")),
    },
)

TEAMS = TableSchema(
    form.TEAMS,
    ("team_id",),
    "R25",
    2,
    {
        "team_id": bound(TEAM_ID, "R25", Once(), words="each is named by another table, or was merged in the week"),
        "number": bound(NUMBER, "R39", Once(), Unchanged()),
        "name": free(TEXT, "R25", "the team's own word; it may change it"),
        "created_at": bound(TIME, "R25", Unchanged(), words="before what the team does"),
        "merged_into": bound(
            TEAM_ID.optional(), "R25", _OF_TEAM, FilledWith("merged_at"), Unchanged(), words="not itself"
        ),
        "merged_at": bound(TIME.optional(), "R25", BeforeWeekEnd(), NotBefore("created_at"), Unchanged()),
    },
)

ASSOCIATIONS = TableSchema(
    form.ASSOCIATIONS,
    ("number",),
    "R27",
    2,
    {
        "number": bound(NUMBER, "R27", Once(), words="one of an earlier release is here while its team is"),
        "team_id": bound(TEAM_ID, "R27", _OF_TEAM, Unchanged()),
        "since": bound(TIME, "R27", BeforeWeekEnd(), Unchanged()),
        "until": bound(TIME.optional(), "R27", NotBefore("since"), BeforeWeekEnd()),
        "declared_at": bound(TIME, "R27", Unchanged()),
        "mistaken_at": bound(TIME.optional(), "R27", NotBefore("declared_at"), BeforeWeekEnd(), Unchanged()),
    },
)

DECISIONS = TableSchema(
    form.DECISIONS,
    ("number",),
    "R21",
    2,
    {
        "number": bound(NUMBER, "R21", Once(), New()),
        "kind": bound(
            DECISION_KINDS,
            "R21",
            words="that of the motion that was carried",
        ),
        "subject": bound(JSON_OBJECT, "R21", words="numbers of existing teams, defenses and stakes"),
        "details": bound(
            JSON_OBJECT,
            "R21",
            words="what the row that was made by it says: criteria, statement, cents; of a forfeit, what it had",
        ),
        "reason": bound(TEXT, "R21", words="that of the motion; before the board voted on these it is free"),
        "policy_version": derived(NUMBER, "R21", "", InForceAt("decided_at")),
        "decided_at": bound(TIME, "R21", InWeek(), words="when the motion was carried"),
        "case_id": bound(CASE_ID.optional(), "R21", NamesRow(form.MOTIONS, "case_id"), since=3),
    },
)

BATCHES = TableSchema(
    form.BATCHES,
    ("number",),
    "R32",
    2,
    {
        "number": bound(NUMBER, "R32", Once(), New()),
        "batch_id": bound(BATCH_ID, "R32", Once(), New(), words="the stakes of its decision are of it"),
        "decision": bound(NUMBER, "R32", NamesRow(form.DECISIONS, "number"), Once(), words="one to stake"),
        "criteria": derived(TEXT, "R32", "`details` of its decision"),
        "staked_at": derived(TIME, "R32", "", SameAsNamed(form.DECISIONS, "number", "decision", "decided_at")),
    },
)

STAKES = TableSchema(
    form.STAKES,
    ("number",),
    "R36",
    2,
    {
        "number": bound(NUMBER, "R36", Once(), Unchanged()),
        "defense_id": bound(DEFENSE_ID, "R36", _OF_DEFENSE, Unchanged()),
        "kind": bound(kind_of("board|team"), "R32", Unchanged(), words="as it has a batch or a team that paid"),
        "batch_id": bound(
            BATCH_ID.optional(),
            "R32",
            NamesRow(form.BATCHES, "batch_id", earlier=True),
            FilledWith("kind", ("board",)),
            Unchanged(),
        ),
        "paid_by": bound(TEAM_ID.optional(), "R32", _OF_TEAM, FilledWith("kind", ("team",)), Unchanged()),
        "cents": derived(NUMBER, "R32", "`attacker_prize_cents` of the policy in force at `asked_at`"),
        "asked_at": bound(TIME, "R32", Unchanged(), words="of the board's, when they were staked"),
        "staked_at": bound(
            TIME,
            "R32",
            NotBefore("asked_at"),
            NotBeforeNamed(form.DEFENSES, "defense_id", "defense_id", "published_at"),
            Unchanged(),
            words="of the board's, when it was decided; of a team's, when the ledger has its money",
        ),
        "clock_from": bound(
            TIME.optional(), "R33", NotBefore("staked_at"), words="`staked_at`, or when the source was opened"
        ),
        "ended_at": bound(TIME.optional(), "R36", NotBefore("staked_at"), BeforeWeekEnd(), FilledWith("end")),
        "end": bound(
            kind_of("(?:broken|won|overtaken|withdrawn|void)?"),
            "R36",
            words="a break for `broken` and `void`, an award for `won`",
        ),
    },
)

AWARDS = TableSchema(
    form.AWARDS,
    ("number",),
    "R37",
    2,
    {
        "number": bound(NUMBER, "R37", Once(), New()),
        "stake": bound(NUMBER, "R37", NamesRow(form.STAKES, "number", earlier=True), words="one of its decision"),
        "defense_id": derived(DEFENSE_ID, "R37", "", SameAsNamed(form.STAKES, "number", "stake", "defense_id")),
        "decision": bound(NUMBER, "R37", NamesRow(form.DECISIONS, "number"), words="one to award"),
        "cents": bound(NUMBER, "R36", words="what the ledger gave by the decision, over all its awards"),
        "statement": derived(TEXT, "R37", "`details` of its decision"),
        "conditions": bound(JSON, "R37", words="each is met; how it was met is in the other tables and releases"),
        "awarded_at": derived(TIME, "R37", "", SameAsNamed(form.DECISIONS, "number", "decision", "decided_at")),
    },
)

LEDGER = TableSchema(
    form.LEDGER,
    ("number",),
    "R34",
    2,
    {
        "number": bound(NUMBER, "R34", Once(), New()),
        "made_at": bound(TIME, "R34", InWeek(), words="not before what it follows from"),
        "source": bound(ACCOUNT, "R34", words="an account that there is, with enough on it, as the rule says"),
        "target": bound(ACCOUNT, "R34", words="an account that there is, another than `source`, as the rule says"),
        "cents": bound(
            NUMBER, "R34", Between(1, MAX_CENTS), words="half of the pool, the stake, or the share, by its rule"
        ),
        "rule": bound(kind_of("R27|R32|R34|R35|R36|R37|R38"), "R34", words="the one by which money goes this way"),
        "why": free(TEXT, "R34", "a sentence for people, of names and rules; what decides is in the other columns"),
        "causes": bound(
            JSON_OBJECT, "R34", words="numbers of breaks, attacks, stakes, awards and entries that there are"
        ),
        "corrects": bound(
            NUMBER.optional(),
            "R34",
            NamesRow(form.LEDGER, "number", earlier=True),
            words="an earlier entry, no more than it moved",
        ),
        "decision": bound(NUMBER.optional(), "R34", NamesRow(form.DECISIONS, "number", earlier=True)),
    },
)

CONTEST_TABLES = (ATTACKS, TEAMS, ASSOCIATIONS, DECISIONS, BATCHES, STAKES, AWARDS, LEDGER)
