"""Rebuilds cases, decisions and motions from the releases; votes as counts without names."""

from datetime import datetime, timedelta

from adjudication.models import Ruling
from adjudication.schema import release_format as form
from contest.board.models import Appeal, AppealStatement, CaseDecision, CaseParty
from contest.core.enums import CaseKind, CaseState, PartyRole
from contest.core.models import Case, Team
from contest.prizes.models import Examination
from contest.record.rebuild.contest_rows import ids_of
from contest.record.rebuild.filling import FilledTables
from contest.record.rebuild.mirror_reader import MirroredRecord, MirroredRelease, Values
from labeling.models import Panel
from policy.models import PolicyVersion
from policy.numbers import Policy

_Rulings = dict[tuple[str, int], int]
# In the order in which they are kept and shown; a release sorts them.
_MARK = ("x", "y", "width", "height", "words")


class _Policies:
    """The policies by version: their rows, and until when each lets the board decide a case."""

    def __init__(self) -> None:
        self._rows = {row.version: row for row in PolicyVersion.objects.all()}

    def row(self, version: int) -> PolicyVersion:
        return self._rows[version]

    def due(self, version: int, opened: datetime) -> datetime:
        return opened + timedelta(days=Policy.from_json(self._rows[version].numbers).board_days)


# Pictures ------------------------------------------------------------------------------------------------------------


def fill_cases(part: MirroredRelease, known: FilledTables) -> None:
    """Fill what was argued and decided about the pictures of a week, in the order in which it was; its rulings and
    panels are there already."""
    rows = sorted(part.rows(form.CASES), key=lambda row: (row["decided_at"], row["case_id"]))
    images = {known.images[row["image_id"]]: row["image_id"] for row in rows}
    rulings = {
        (images[image], ruling): pk
        for image, ruling, pk in Ruling.objects.filter(image__in=images).values_list("image", "number", "pk")
    }
    policies = _Policies()
    cases = {row["case_id"]: _case(row, known, rulings, policies) for row in rows}
    for row in rows:
        case, asked = cases[row["case_id"]], row["asked_panel"]
        decision = _decision(row, case, policies)
        decision.label, decision.reasons = row["label"], row["reasons"]
        decision.ruling_id = rulings.get((row["image_id"], row["made_ruling_number"]))
        decision.panel = None if asked is None else Panel.objects.get(image=case.image_id, number=asked)
        decision.save(force_insert=True)
    _fill_words(part, known, cases, rulings)


def _case(row: Values, known: FilledTables, rulings: _Rulings, policies: _Policies) -> Case:
    return Case.objects.create(
        public_id=row["case_id"],
        kind=CaseKind.PICTURE,
        state=CaseState.CLOSED,
        image_id=known.images[row["image_id"]],
        ruling_id=rulings[row["image_id"], row["ruling_number"]],
        policy=policies.row(row["opened_policy_version"]),
        due_at=policies.due(row["opened_policy_version"], row["opened_at"]),
        result_id=rulings[row["image_id"], row["result_ruling_number"]],
        **row.of("opened_at", "closed_at"),
    )


def _decision(row: Values, case: Case, policies: _Policies) -> CaseDecision:
    return CaseDecision(
        case=case,
        policy=policies.row(row["policy_version"]),
        **row.of("outcome", "explanation", "votes", "quorum", "recused", "decided_at"),
    )


def _fill_words(part: MirroredRelease, known: FilledTables, cases: dict[str, Case], rulings: _Rulings) -> None:
    teams = ids_of(Team)
    for row in sorted(part.rows(form.APPEALS), key=lambda each: each["sent_at"]):
        whose = {"case": cases[row["case_id"]], "team_id": teams[row["team_id"]]}
        Appeal.objects.create(
            public_id=row["appeal_id"],
            image_id=known.images[row["image_id"]],
            ruling_id=rulings[row["image_id"], row["ruling_number"]],
            defense_id=known.defenses.get(row["defense_id"]),
            marks=[{name: mark[name] for name in _MARK} for mark in row["marks"]],
            **whose,
            **row.of("side", "argument", "sent_at"),
        )
        CaseParty.objects.create(role=PartyRole.APPELLANT, added_at=row["sent_at"], **whose)
    for row in sorted(part.rows(form.STATEMENTS), key=lambda each: each["sent_at"]):
        AppealStatement.objects.create(
            case=cases[row["case_id"]], team_id=teams[row["team_id"]], **row.of("words", "sent_at")
        )


# Motions and examinations --------------------------------------------------------------------------------------------


def fill_motions(record: MirroredRecord) -> None:
    """Fill the motions that were decided, before the decisions that name them."""
    policies = _Policies()
    for row in sorted(record.by_week(form.MOTIONS, "case_id"), key=lambda each: (each["decided_at"], each["case_id"])):
        motion = Case.objects.create(
            public_id=row["case_id"],
            kind=CaseKind.MOTION,
            state=CaseState.CLOSED,
            motion=row["kind"],
            policy=policies.row(row["opened_policy_version"]),
            due_at=policies.due(row["opened_policy_version"], row["opened_at"]),
            closed_at=row["decided_at"],
            **row.of("subject", "details", "reason", "opened_at"),
        )
        _decision(row, motion, policies).save(force_insert=True)


def fill_examinations(record: MirroredRecord, known: FilledTables) -> None:
    """Fill the confirmations of rejected pictures, whose weeks are all filled already. One of a ruling that no part of
    its week's release has is left out: it came after the last one."""
    for row in record.by_week(form.EXAMINATIONS, "number"):
        image, named = known.images.get(row["image_id"]), row["ruling_number"]
        ruling = None if named is None else Ruling.objects.filter(image=image, number=named).first()
        if image is not None and (ruling is None) == (named is None):
            values = {"pk": row["number"], "image_id": image, "ruling": ruling, "at": row["at"]}
            Examination.objects.create(defense_id=known.defenses[row["defense_id"]], **values)
