"""Declares the release tables about defenses: predictions, faults, breaks, mistakes and eligibility (R28-R33, R39)."""

from adjudication.schema import release_format as form
from adjudication.schema.cell_kinds import (
    BOOLEAN,
    DEFENSE_ID,
    FLOAT,
    IMAGE_ID,
    JSON_OBJECT,
    NUMBER,
    SHA256,
    TEAM_ID,
    TEXT,
    TIME,
    WHOLE,
    kind_of,
    one_of,
)
from adjudication.schema.columns import (
    BeforeWeekEnd,
    Between,
    FilledWith,
    NamesRow,
    New,
    NotBefore,
    Once,
    SameAsNamed,
    TableSchema,
    Unchanged,
    bound,
    derived,
    free,
)
from labeling.enums import Label
from policy.numbers import MAX_EVALUATION_RUNS

# The faults of `defense_kit.faults` that count against a defense; after its own faults the platform retries (R30).
DEFENSE_FAULTS = (
    "start_timeout|hello_timeout|batch_timeout|crashed|out_of_memory|gpu_out_of_memory|protocol|nonfinite|disk"
)
_OF_DEFENSE = NamesRow(form.DEFENSES, "defense_id")
_OF_IMAGE = NamesRow(form.IMAGES, "image_id")
_OF_RUN = "the same in all answers of a run"
_SAID = "what its team, or an organizer, said of it"

PREDICTIONS = TableSchema(
    form.PREDICTIONS,
    ("prediction_id",),
    "R29",
    1,
    {
        "prediction_id": bound(NUMBER, "R29", Once()),
        "defense_id": bound(DEFENSE_ID, "R29", _OF_DEFENSE, words=_OF_RUN),
        "defense_digest": derived(TEXT, "R28", "", SameAsNamed(form.DEFENSES, "defense_id", "defense_id", "digest")),
        "image_id": bound(IMAGE_ID, "R29", _OF_IMAGE, words="one that was ruled valid"),
        "round": bound(NUMBER, "R29", words="from 1 to the `evaluation_runs` of the policy, each once; " + _OF_RUN),
        "answer": bound(
            kind_of("bird|bicycle|abstain"),
            "R29",
            words="a confident mistake is a break, or a mistake outside the contest",
        ),
        "score_bicycle": free(FLOAT, "R29", "what the defense said beside its answer; no rule reads it"),
        "score_bird": free(FLOAT, "R29", "what the defense said beside its answer; no rule reads it"),
        "device": bound(TEXT, "R31", words=_OF_RUN),
        "batch_size": bound(NUMBER, "R29", words="the `batch_size` of a policy; " + _OF_RUN),
        "batch": bound(NUMBER, "R29", words="no two answers of a run have the same place"),
        "row": bound(NUMBER, "R29", words="less than `batch_size`; no two answers of a run have the same place"),
        "seed": bound(WHOLE, "R29", words="another one in each round of a picture; " + _OF_RUN),
        "attempt": bound(NUMBER, "R30", words="from 1 on; " + _OF_RUN),
        "latency_us": bound(NUMBER, "R31", words="the same in all answers of a batch"),
        "predicted_at": bound(TIME, "R29", words="not before a ruling of valid on the picture; the same in a batch"),
        "run": bound(NUMBER, "R29", words="what is the same in a run is so here", since=2),
    },
)

FAULTS = TableSchema(
    form.FAULTS,
    ("defense_id", "image_id", "round"),
    "R30",
    1,
    {
        "defense_id": bound(DEFENSE_ID, "R30", _OF_DEFENSE),
        "image_id": bound(IMAGE_ID, "R30", _OF_IMAGE, words="one that was ruled valid"),
        "round": bound(NUMBER, "R30", words="from 1 to the `evaluation_runs` of the policy; no answer in it"),
        "fault": bound(kind_of(DEFENSE_FAULTS), "R30", words="of the closed list, one that the defense answers for"),
        "attempt": bound(NUMBER, "R30", Between(1, 1_000)),
        "at": bound(TIME, "R30", words="not before a ruling of valid on the picture"),
    },
)

_BREAK = {
    "break_id": bound(NUMBER, "R29", Once(), New()),
    "defense_id": bound(DEFENSE_ID, "R29", _OF_DEFENSE),
    "image_id": bound(IMAGE_ID, "R29", _OF_IMAGE, words="one that an attack sent before it was known otherwise"),
    "ruling_number": bound(NUMBER, "R29", words="a ruling of valid"),
    "round": bound(NUMBER, "R29", words="one with this answer"),
    "answer": derived(one_of(Label), "R29", "the prediction of that round"),
    "found_at": bound(TIME, "R29", words="not before the ruling"),
}
BREAKS = TableSchema(form.BREAKS, ("break_id",), "R29", 1, _BREAK)
UNPROVED = TableSchema(
    form.UNPROVED,
    ("break_id",),
    "R29",
    2,
    _BREAK
    | {
        "round": bound(NUMBER, "R29", Between(1, MAX_EVALUATION_RUNS), words="one whose answer is another now"),
        "answer": derived(one_of(Label), "R29", "the class of the ruling: a confident mistake is the other one"),
        "found_at": bound(TIME, "R29", words="not before the ruling"),
    },
)
MISTAKES = TableSchema(
    form.MISTAKES,
    ("defense_id", "image_id"),
    "R29",
    4,
    {
        "defense_id": derived(DEFENSE_ID, "R29", "the predictions"),
        "image_id": derived(IMAGE_ID, "R29", "the predictions, and which pictures no attack sent first"),
        "round": derived(NUMBER, "R29", "the first round with the mistake"),
        "label": derived(one_of(Label), "R29", "the ruling that holds"),
        "found_at": bound(TIME, "R29", words="not before a ruling with this class"),
    },
)

DEFENSES = TableSchema(
    form.DEFENSES,
    ("defense_id",),
    "R28",
    1,
    {
        "defense_id": bound(DEFENSE_ID, "R28", Once(), words="every published one is in every later release"),
        "name": free(TEXT, "R28", _SAID, Unchanged(empty_too=True)),
        "digest": bound(TEXT, "R28", Unchanged(empty_too=True), words="that of all its answers"),
        "demo": bound(BOOLEAN, "R28", Unchanged(empty_too=True), words="one of a team is none"),
        "published_at": bound(TIME, "R32", NotBefore("created_at"), Unchanged(), words="before its answers"),
        "retired_at": bound(TIME.optional(), "R33", NotBefore("published_at"), words="of a team's, never changed"),
        "number": bound(NUMBER, "R39", Once(), Unchanged(empty_too=True), since=2),
        "description": free(TEXT, "R28", _SAID, since=2),
        "reference": free(TEXT, "R28", _SAID, Unchanged(empty_too=True), since=2),
        "image": bound(
            TEXT, "R28", Unchanged(empty_too=True), words="where it names a digest, it is that one", since=2
        ),
        "created_at": bound(
            TIME, "R28", Unchanged(empty_too=True), words="before anything else that is said of it", since=2
        ),
        "archive": free(SHA256.optional(), "R28", "the file is in no release", Unchanged(empty_too=True), since=2),
        "weights": free(SHA256.optional(), "R28", "the file is in no release", Unchanged(empty_too=True), since=2),
        "source": free(SHA256.optional(), "R33", "the file is in no release", since=2),
        "team_id": bound(
            TEAM_ID.optional(), "R28", NamesRow(form.TEAMS, "team_id"), Unchanged(empty_too=True), since=2
        ),
        "received_at": bound(TIME.optional(), "R33", FilledWith("team_id"), Unchanged(empty_too=True), since=2),
        "due_at": derived(TIME.optional(), "R32", "`received_at`: the end of the following week", since=2),
        "licence": free(TEXT, "R33", _SAID, since=2),
        "training_code": free(SHA256.optional(), "R33", "the file is in no release", since=2),
        "opened_at": bound(TIME.optional(), "R33", NotBefore("received_at"), Unchanged(), since=2),
        "withdrawn_at": bound(TIME.optional(), "R33", NotBefore("received_at"), Unchanged(), since=2),
    },
)

ELIGIBILITY = TableSchema(
    form.ELIGIBILITY,
    ("number",),
    "R31",
    2,
    {
        "number": bound(
            NUMBER, "R31", Once(), Unchanged(empty_too=True), words="a row of an earlier release is in every later one"
        ),
        "defense_id": bound(DEFENSE_ID, "R31", _OF_DEFENSE, Unchanged()),
        "trial": bound(NUMBER, "R31", Between(1, 10_000), Unchanged(), words="each once for a defense"),
        "private_set": bound(NUMBER, "R31", Between(1, 10_000), Unchanged()),
        "finished_at": bound(TIME, "R31", BeforeWeekEnd(), Unchanged()),
        "totals": bound(
            JSON_OBJECT, "R31", Unchanged(), words="right, wrong and abstained add up; the last one passes"
        ),
    },
)

SCORING_TABLES = (PREDICTIONS, FAULTS, BREAKS, DEFENSES, UNPROVED, ELIGIBILITY, MISTAKES)
