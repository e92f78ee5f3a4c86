"""Rebuilds cases, decisions and motions from the releases; votes as counts without names."""

import json
from datetime import datetime, timedelta

from adjudication.models import Ruling
from adjudication.verifier import cells
from adjudication.verifier import release_format as form
from adjudication.verifier.release_reader import Row
from contest.board.models import Appeal, AppealStatement, CaseDecision, CaseParty
from contest.core.enums import CaseKind, CaseState, PartyRole
from contest.core.models import Case, Team
from contest.prizes.models import Examination
from contest.record.rebuild.contest_rows import ids_of, moment_in, number
from contest.record.rebuild.filling import FilledTables
from contest.record.rebuild.mirror_reader import MirroredRecord, MirroredRelease
from labeling.models import Panel
from policy.models import PolicyVersion
from policy.numbers import Policy

_Rulings = dict[tuple[str, str], int]
# In the order in which they are kept and shown; a release sorts them.
_MARK = ("x", "y", "width", "height", "words")


class _Policies:
    """The policies by version: their rows, and until when each lets the board decide a case."""

    def __init__(self) -> None:
        self._rows = {str(row.version): row for row in PolicyVersion.objects.all()}

    def row(self, version: str) -> PolicyVersion:
        return self._rows[version]

    def due(self, version: str, opened: datetime) -> datetime:
        return opened + timedelta(days=Policy.from_json(self._rows[version].numbers).board_days)


# Pictures ------------------------------------------------------------------------------------------------------------


def fill_cases(part: MirroredRelease, known: FilledTables) -> None:
    """Fill what was argued and decided about the pictures of a week, in the order in which it was; its rulings and
    panels are there already."""
    rows = sorted(part.rows(form.CASES), key=lambda row: (row["decided_at"], row["case_id"]))
    images = {known.images[row["image_id"]]: row["image_id"] for row in rows}
    rulings = {
        (images[image], str(ruling)): pk
        for image, ruling, pk in Ruling.objects.filter(image__in=images).values_list("image", "number", "pk")
    }
    policies = _Policies()
    cases = {row["case_id"]: _case(row, known, rulings, policies) for row in rows}
    for row in rows:
        _decision_on_picture(row, cases[row["case_id"]], rulings, policies).save(force_insert=True)
    _fill_words(part, known, cases, rulings)


def _case(row: Row, known: FilledTables, rulings: _Rulings, policies: _Policies) -> Case:
    opened = moment_in(row["opened_at"])
    return Case.objects.create(
        public_id=row["case_id"],
        kind=CaseKind.PICTURE,
        state=CaseState.CLOSED,
        image_id=known.images[row["image_id"]],
        ruling_id=rulings[row["image_id"], row["ruling_number"]],
        policy=policies.row(row["opened_policy_version"]),
        opened_at=opened,
        due_at=policies.due(row["opened_policy_version"], opened),
        closed_at=moment_in(row["closed_at"]),
        result_id=rulings[row["image_id"], row["result_ruling_number"]],
    )


def _decision_on_picture(row: Row, case: Case, rulings: _Rulings, policies: _Policies) -> CaseDecision:
    made = _decision(row, case, policies)
    made.label = row["label"]
    made.reasons = row["reasons"].split(";") if row["reasons"] else []
    if row["made_ruling_number"]:
        made.ruling_id = rulings[row["image_id"], row["made_ruling_number"]]
    if row["asked_panel"]:
        made.panel = Panel.objects.get(image=case.image_id, number=int(row["asked_panel"]))
    return made


def _decision(row: Row, case: Case, policies: _Policies) -> CaseDecision:
    return CaseDecision(
        case=case,
        outcome=row["outcome"],
        explanation=cells.text_from(row["explanation"]),
        votes=json.loads(row["votes"]),
        quorum=int(row["quorum"]),
        recused=int(row["recused"]),
        policy=policies.row(row["policy_version"]),
        decided_at=moment_in(row["decided_at"]),
    )


def _fill_words(part: MirroredRelease, known: FilledTables, cases: dict[str, Case], rulings: _Rulings) -> None:
    teams = ids_of(Team)
    for row in sorted(part.rows(form.APPEALS), key=lambda each: each["sent_at"]):
        made = _appeal(row, known, cases[row["case_id"]], teams[row["team_id"]], rulings)
        made.save(force_insert=True)
        told = {"role": PartyRole.APPELLANT, "added_at": made.sent_at}
        CaseParty.objects.create(case=made.case, team_id=made.team_id, **told)
    for row in sorted(part.rows(form.STATEMENTS), key=lambda each: each["sent_at"]):
        said = {"words": cells.text_from(row["words"]), "sent_at": moment_in(row["sent_at"])}
        AppealStatement.objects.create(case=cases[row["case_id"]], team_id=teams[row["team_id"]], **said)


def _appeal(row: Row, known: FilledTables, case: Case, team: int, rulings: _Rulings) -> Appeal:
    return Appeal(
        public_id=row["appeal_id"],
        case=case,
        team_id=team,
        image_id=known.images[row["image_id"]],
        ruling_id=rulings[row["image_id"], row["ruling_number"]],
        defense_id=known.defenses[row["defense_id"]] if row["defense_id"] else None,
        side=row["side"],
        argument=cells.text_from(row["argument"]),
        marks=[{name: mark[name] for name in _MARK} for mark in json.loads(row["marks"])],
        sent_at=moment_in(row["sent_at"]),
    )


# Motions and examinations --------------------------------------------------------------------------------------------


def fill_motions(record: MirroredRecord) -> None:
    """Fill the motions that were decided, before the decisions that name them."""
    policies = _Policies()
    for row in sorted(record.by_week(form.MOTIONS, "case_id"), key=lambda each: (each["decided_at"], each["case_id"])):
        _decision(row, _motion(row, policies), policies).save(force_insert=True)


def _motion(row: Row, policies: _Policies) -> Case:
    opened = moment_in(row["opened_at"])
    return Case.objects.create(
        public_id=row["case_id"],
        kind=CaseKind.MOTION,
        state=CaseState.CLOSED,
        motion=row["kind"],
        subject=json.loads(row["subject"]),
        details=json.loads(row["details"]),
        reason=cells.text_from(row["reason"]),
        policy=policies.row(row["opened_policy_version"]),
        opened_at=opened,
        due_at=policies.due(row["opened_policy_version"], opened),
        closed_at=moment_in(row["decided_at"]),
    )


def fill_examinations(record: MirroredRecord, known: FilledTables) -> None:
    """Fill the confirmations of rejected pictures, whose weeks are all filled already. One of a ruling that no part of
    its week's release has is left out: it came after the last one."""
    for row in record.by_week(form.EXAMINATIONS, "number"):
        image, named = known.images.get(row["image_id"]), number(row["ruling_number"])
        ruling = None if named is None else Ruling.objects.filter(image=image, number=named).first()
        if image is not None and (ruling is None) == (named is None):
            values = {"pk": int(row["number"]), "image_id": image, "ruling": ruling, "at": moment_in(row["at"])}
            Examination(defense_id=known.defenses[row["defense_id"]], **values).save(force_insert=True)
