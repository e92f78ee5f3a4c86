"""Rebuilds policies, teams, defenses, stakes and money from the releases."""

import json
from datetime import datetime
from typing import Any

from adjudication.verifier import cells
from adjudication.verifier import release_format as form
from adjudication.verifier.release_reader import Row
from common.models import AuditEntry, AuditSeal
from contest.core.enums import AccountKind, DecisionKind, EntitlementKind, EntitlementState
from contest.core.models import Award, BoardDecision, Case, Release, Stake, StakeBatch, Team
from contest.defenses.models import DefenseEntry
from contest.ledger.models import Account, LedgerEntry
from contest.record.rebuild.mirror_reader import MirroredRecord
from contest.teams.models import Association, AssociationMistake, Entitlement, TeamMerge
from policy.models import PolicyVersion
from scoring.enums import RunState, TrialKind
from scoring.models import Defense, PrivateSet, Trial


def moment_in(cell: str) -> datetime:
    """Return the time in a cell that has one."""
    return datetime.fromisoformat(cell)


def number(cell: str) -> int | None:
    """Return the whole number in a cell; None where it is empty."""
    return int(cell) if cell else None


def fill_policies(record: MirroredRecord) -> None:
    """Record every policy that the releases name."""
    for part in record.weeks:
        since, why = part.manifest["policy_from"], part.manifest["policy_reason"]
        for version, numbers in part.manifest["policy"].items():
            values = {"numbers": numbers, "in_force_from": moment_in(since[version]), "reason": why[version]}
            PolicyVersion.objects.update_or_create(version=int(version), defaults=values)


def fill_audit(record: MirroredRecord) -> None:
    """Fill the audit trail as far as it is published: of the private parts the hashes alone, and so without a salt."""
    rows = record.by_week(form.AUDIT, "number")
    entries = AuditEntry.objects.bulk_create(map(_audited, rows))
    AuditSeal.objects.bulk_create(_seal(row, entry) for row, entry in zip(rows, entries, strict=True))


def _audited(row: Row) -> AuditEntry:
    return AuditEntry(
        at=moment_in(row["at"]),
        role=row["role"],
        action=row["action"],
        subject=json.loads(row["subject"] or "{}"),
        why=cells.text_from(row["why"]),
        origin="release",
        published=bool(row["subject"]),
        public=json.loads(row["facts"]),
    )


def _seal(row: Row, entry: AuditEntry) -> AuditSeal:
    hashes = {name: row[name] for name in ("private_sha256", "previous", "sha256")}
    return AuditSeal(number=int(row["number"]), entry=entry, **hashes)


def fill_releases(record: MirroredRecord) -> None:
    """Record the releases themselves, in the order of the chain."""
    for part in record.parts:
        listed = part.listed
        kept = ("week", "part", "manifest_sha256", "previous_sha256", "counts", "bytes")
        Release.objects.create(released_at=moment_in(listed["released_at"]), **{name: listed[name] for name in kept})


def fill_teams(record: MirroredRecord) -> None:
    """Fill teams, who was merged into whom, and when a team was associated with the contest."""
    rows = record.by_week(form.TEAMS, "team_id")
    Team.objects.bulk_create(
        Team(
            pk=int(row["number"]),
            public_id=row["team_id"],
            name=cells.text_from(row["name"]),
            created_at=moment_in(row["created_at"]),
        )
        for row in rows
    )
    ids = ids_of(Team)
    for row in rows:
        if row["merged_into"]:
            _merge(ids[row["team_id"]], ids[row["merged_into"]], moment_in(row["merged_at"]))
    associations = record.by_week(form.ASSOCIATIONS, "number")
    Association.objects.bulk_create(_association(row, ids[row["team_id"]]) for row in associations)
    AssociationMistake.objects.bulk_create(
        AssociationMistake(association_id=int(row["number"]), reason="", declared_at=moment_in(row["mistaken_at"]))
        for row in associations
        if row["mistaken_at"]
    )


def _merge(team: int, into: int, moment: datetime) -> None:
    Team.objects.filter(pk=team).update(merged_into=into, merged_at=moment)
    TeamMerge.objects.create(team_id=team, into_id=into, reason="", merged_at=moment)


def _association(row: Row, team: int) -> Association:
    since = moment_in(row["since"])
    values = {"since": since, "until": cells.time_from(row["until"]), "declared_at": moment_in(row["declared_at"])}
    return Association(pk=int(row["number"]), team_id=team, reason="", **values)


def fill_defenses(record: MirroredRecord) -> None:
    """Fill the published defenses and what their teams said of them."""
    teams = ids_of(Team)
    rows = record.by_publication(form.DEFENSES, "defense_id")
    Defense.objects.bulk_create(map(_defense, rows))
    handed_in = [row for row in rows if row["team_id"]]
    DefenseEntry.objects.bulk_create(_entry(row, teams[row["team_id"]]) for row in handed_in)
    defenses = ids_of(Defense)
    for row in record.by_week(form.ELIGIBILITY, "number"):
        _tried(row, defenses[row["defense_id"]]).save(force_insert=True)


def _tried(row: Row, defense: int) -> Trial:
    """A trial with its totals; of the private set nothing but its number is published."""
    finished = moment_in(row["finished_at"])
    values = {"note": "", "imported_at": finished, "completed_at": finished}
    private_set, _ = PrivateSet.objects.get_or_create(number=int(row["private_set"]), defaults=values)
    return Trial(
        pk=int(row["number"]),
        defense_id=defense,
        kind=TrialKind.PRIVATE,
        number=int(row["trial"]),
        private_set=private_set,
        seed=0,
        batch_size=1,
        state=RunState.FINISHED,
        totals=json.loads(row["totals"]),
        created_at=finished,
        finished_at=finished,
    )


def _defense(row: Row) -> Defense:
    texts = {name: cells.text_from(row[name]) for name in ("name", "digest", "description", "reference", "image")}
    files = {name: row[name] for name in ("archive", "weights", "source")}
    return Defense(
        pk=int(row["number"]),
        public_id=row["defense_id"],
        copied=True,
        demo=bool(cells.boolean_from(row["demo"])),
        created_at=moment_in(row["created_at"]),
        published_at=moment_in(row["published_at"]),
        retired_at=cells.time_from(row["retired_at"]),
        **texts,
        **files,
    )


def _entry(row: Row, team: int) -> DefenseEntry:
    times = {name: cells.time_from(row[name]) for name in ("opened_at", "withdrawn_at")}
    return DefenseEntry(
        team_id=team,
        defense_id=int(row["number"]),
        received_at=moment_in(row["received_at"]),
        due_at=moment_in(row["due_at"]),
        licence=cells.text_from(row["licence"]),
        training_code=row["training_code"],
        **times,
    )


def fill_stakes(record: MirroredRecord) -> None:
    """Fill what the board decided beside pictures, by the motions that are there already, and what was staked."""
    policies = dict(PolicyVersion.objects.values_list("version", "pk"))
    decisions = record.by_week(form.DECISIONS, "number")
    motions = ids_of(Case)
    BoardDecision.objects.bulk_create(_decision(row, policies, motions) for row in decisions)
    StakeBatch.objects.bulk_create(map(_batch, record.by_week(form.BATCHES, "number")))
    known = ids_of(Defense), ids_of(Team), ids_of(StakeBatch)
    Stake.objects.bulk_create(_stake(row, *known) for row in record.by_week(form.STAKES, "number"))


def fill_grants() -> None:
    """Fill which teams the board let attack without a paper, as its decisions tell, in their order (R25). Why others
    may attack is in no release: papers name people."""
    told = BoardDecision.objects.filter(kind__in=(DecisionKind.GRANT, DecisionKind.REVOKE))
    teams = set(Team.objects.values_list("pk", flat=True))
    for decision in told.order_by("decided_at", "pk"):
        for team in teams.intersection(decision.subject.get("team", ())):
            if decision.kind == DecisionKind.GRANT:
                _grant(decision, team)
            else:
                _revoke(team)


def _grant(decision: BoardDecision, team: int) -> None:
    when = {"asked_at": decision.decided_at, "decided_at": decision.decided_at}
    told = {"kind": EntitlementKind.GRANT, "state": EntitlementState.ACCEPTED, "decision": decision}
    Entitlement.objects.create(team_id=team, **told, **when)


def _revoke(team: int) -> None:
    held = Entitlement.objects.filter(team=team, state=EntitlementState.ACCEPTED)
    held.update(state=EntitlementState.REVOKED)


def _decision(row: Row, policies: dict[int, int], motions: dict[str, int]) -> BoardDecision:
    return BoardDecision(
        pk=int(row["number"]),
        kind=row["kind"],
        subject=json.loads(row["subject"]),
        details=json.loads(row["details"]),
        reason=cells.text_from(row["reason"]),
        policy_id=policies[int(row["policy_version"])],
        decided_at=moment_in(row["decided_at"]),
        case_id=motions.get(row["case_id"]),
    )


def _batch(row: Row) -> StakeBatch:
    return StakeBatch(
        pk=int(row["number"]),
        public_id=row["batch_id"],
        criteria=cells.text_from(row["criteria"]),
        decision_id=int(row["decision"]),
        staked_at=moment_in(row["staked_at"]),
    )


def _stake(row: Row, defenses: dict[str, int], teams: dict[str, int], batches: dict[str, int]) -> Stake:
    times = {name: cells.time_from(row[name]) for name in ("staked_at", "clock_from", "ended_at")}
    return Stake(
        pk=int(row["number"]),
        defense_id=defenses[row["defense_id"]],
        kind=row["kind"],
        batch_id=batches.get(row["batch_id"]),
        paid_by_id=teams.get(row["paid_by"]),
        cents=int(row["cents"]),
        asked_at=moment_in(row["asked_at"]),
        end=row["end"],
        **times,
    )


def fill_money(record: MirroredRecord) -> None:
    """Fill awards and the ledger: the database moves the balances with its entries."""
    Award.objects.bulk_create(map(_award, record.by_week(form.AWARDS, "number")))
    teams, accounts = ids_of(Team), dict[str, int]()
    for row in sorted(record.by_week(form.LEDGER, "number"), key=lambda each: int(each["number"])):
        for place in (row["source"], row["target"]):
            accounts.setdefault(place, _account(place, teams).pk)
        _entered(row, accounts).save(force_insert=True)


def _award(row: Row) -> Award:
    return Award(
        pk=int(row["number"]),
        stake_id=int(row["stake"]),
        decision_id=int(row["decision"]),
        cents=int(row["cents"]),
        statement=cells.text_from(row["statement"]),
        conditions=json.loads(row["conditions"]),
        awarded_at=moment_in(row["awarded_at"]),
    )


def _account(place: str, teams: dict[str, int]) -> Account:
    kind, _, whose = place.partition(":")
    of: dict[str, Any] = {"team_id": None, "stake_id": None}
    if kind == AccountKind.TEAM:
        of["team_id"] = teams[whose]
    elif kind == AccountKind.STAKE:
        of["stake_id"] = int(whose)
    return Account.objects.get_or_create(kind=kind, **of)[0]


def _entered(row: Row, accounts: dict[str, int]) -> LedgerEntry:
    return LedgerEntry(
        pk=int(row["number"]),
        source_id=accounts[row["source"]],
        target_id=accounts[row["target"]],
        cents=int(row["cents"]),
        rule=cells.text_from(row["rule"]),
        why=cells.text_from(row["why"]),
        causes=json.loads(row["causes"]),
        corrects_id=number(row["corrects"]),
        decision_id=number(row["decision"]),
        made_at=moment_in(row["made_at"]),
    )


def ids_of(model: Any) -> dict[str, int]:
    """Return public id -> row number."""
    return dict(model.objects.values_list("public_id", "pk"))
