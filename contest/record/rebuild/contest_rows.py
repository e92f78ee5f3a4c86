"""Rebuilds policies, teams, defenses, stakes and money from the releases."""

from typing import Any

from adjudication.schema import cells
from adjudication.schema import release_format as form
from common.models import AuditEntry, AuditSeal
from contest.core.enums import AccountKind, DecisionKind, EntitlementKind, EntitlementState
from contest.core.models import Award, BoardDecision, Case, Release, Stake, StakeBatch, Team
from contest.defenses.models import DefenseEntry
from contest.ledger.models import Account, LedgerEntry
from contest.record.rebuild.mirror_reader import MirroredRecord, Values
from contest.teams.models import Association, AssociationMistake, Entitlement, TeamMerge
from policy.models import PolicyVersion
from scoring.enums import RunState, TrialKind
from scoring.models import Defense, PrivateSet, Trial


def fill_policies(record: MirroredRecord) -> None:
    """Record every policy that the releases name."""
    for part in record.weeks:
        since, why = part.manifest["policy_from"], part.manifest["policy_reason"]
        for version, numbers in part.manifest["policy"].items():
            values = {"in_force_from": cells.time_from(since[version]), "reason": why[version], "numbers": numbers}
            PolicyVersion.objects.update_or_create(version=int(version), defaults=values)


def fill_audit(record: MirroredRecord) -> None:
    """Fill the audit trail as far as it is published: of the private parts the hashes alone, and so without a salt."""
    rows = record.by_week(form.AUDIT, "number")
    entries = AuditEntry.objects.bulk_create(
        AuditEntry(
            **row.of("at", "role", "action", "why"),
            subject=row["subject"] or {},
            origin="release",
            published=row["subject"] is not None,
            public=row["facts"],
        )
        for row in rows
    )
    AuditSeal.objects.bulk_create(
        AuditSeal(entry=entry, **row.of("number", "private_sha256", "previous", "sha256"))
        for row, entry in zip(rows, entries, strict=True)
    )


def fill_releases(record: MirroredRecord) -> None:
    """Record the releases themselves, in the order of the chain."""
    kept = ("week", "part", "manifest_sha256", "previous_sha256", "counts", "bytes")
    for part in record.parts:
        values = {name: part.listed[name] for name in kept}
        values["released_at"] = cells.time_from(part.listed["released_at"])
        last = max((row["number"] for row in part.rows(form.AUDIT)), default=0)
        Release.objects.create(**values, last_audit_number=last)


def fill_teams(record: MirroredRecord) -> None:
    """Fill teams, who was merged into whom, and when a team was associated with the contest."""
    rows = record.by_week(form.TEAMS, "team_id")
    Team.objects.bulk_create(
        Team(pk=row["number"], public_id=row["team_id"], **row.of("name", "created_at")) for row in rows
    )
    ids = ids_of(Team)
    for row in rows:
        if row["merged_into"]:
            merge = {"into_id": ids[row["merged_into"]], "merged_at": row["merged_at"]}
            Team.objects.filter(pk=row["number"]).update(merged_into=merge["into_id"], merged_at=row["merged_at"])
            TeamMerge.objects.create(team_id=row["number"], reason="", **merge)
    associations = record.by_week(form.ASSOCIATIONS, "number")
    Association.objects.bulk_create(
        Association(pk=row["number"], team_id=ids[row["team_id"]], reason="", **row.of("since", "until", "declared_at"))
        for row in associations
    )
    AssociationMistake.objects.bulk_create(
        AssociationMistake(association_id=row["number"], reason="", declared_at=row["mistaken_at"])
        for row in associations
        if row["mistaken_at"]
    )


_DEFENSE = (
    *("name", "digest", "demo", "description", "reference", "image", "archive", "weights", "source"),
    *("created_at", "published_at", "retired_at"),
)
_ENTRY = ("received_at", "due_at", "licence", "training_code", "opened_at", "withdrawn_at")


def fill_defenses(record: MirroredRecord) -> None:
    """Fill the published defenses and what their teams said of them."""
    teams = ids_of(Team)
    rows = record.by_publication(form.DEFENSES, "defense_id")
    Defense.objects.bulk_create(
        Defense(pk=row["number"], public_id=row["defense_id"], copied=True, **row.of(*_DEFENSE)) for row in rows
    )
    DefenseEntry.objects.bulk_create(
        DefenseEntry(team_id=teams[row["team_id"]], defense_id=row["number"], **row.of(*_ENTRY))
        for row in rows
        if row["team_id"]
    )
    defenses = ids_of(Defense)
    for row in record.by_week(form.ELIGIBILITY, "number"):
        _fill_trial(row, defenses[row["defense_id"]])


def _fill_trial(row: Values, defense: int) -> None:
    """Fill a trial with its totals; of the private set nothing but its number is published."""
    finished = row["finished_at"]
    values = {"note": "", "imported_at": finished, "completed_at": finished}
    private_set, _ = PrivateSet.objects.get_or_create(number=row["private_set"], defaults=values)
    Trial.objects.create(
        pk=row["number"],
        defense_id=defense,
        kind=TrialKind.PRIVATE,
        number=row["trial"],
        private_set=private_set,
        seed=0,
        batch_size=1,
        state=RunState.FINISHED,
        created_at=finished,
        **row.of("totals", "finished_at"),
    )


def fill_stakes(record: MirroredRecord) -> None:
    """Fill what the board decided beside pictures, by the motions that are there already, and what was staked."""
    policies = dict(PolicyVersion.objects.values_list("version", "pk"))
    motions = ids_of(Case)
    BoardDecision.objects.bulk_create(
        BoardDecision(
            pk=row["number"],
            policy_id=policies[row["policy_version"]],
            case_id=motions.get(row["case_id"]),
            **row.of("kind", "subject", "details", "reason", "decided_at"),
        )
        for row in record.by_week(form.DECISIONS, "number")
    )
    StakeBatch.objects.bulk_create(
        StakeBatch(
            pk=row["number"],
            public_id=row["batch_id"],
            decision_id=row["decision"],
            **row.of("criteria", "staked_at"),
        )
        for row in record.by_week(form.BATCHES, "number")
    )
    defenses, teams, batches = ids_of(Defense), ids_of(Team), ids_of(StakeBatch)
    Stake.objects.bulk_create(
        Stake(
            pk=row["number"],
            defense_id=defenses[row["defense_id"]],
            batch_id=batches.get(row["batch_id"]),
            paid_by_id=teams.get(row["paid_by"]),
            **row.of("kind", "cents", "asked_at", "staked_at", "clock_from", "ended_at", "end"),
        )
        for row in record.by_week(form.STAKES, "number")
    )


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
                held = Entitlement.objects.filter(team=team, state=EntitlementState.ACCEPTED)
                held.update(state=EntitlementState.REVOKED)


def _grant(decision: BoardDecision, team: int) -> None:
    when = {"asked_at": decision.decided_at, "decided_at": decision.decided_at}
    told = {"kind": EntitlementKind.GRANT, "state": EntitlementState.ACCEPTED, "decision": decision}
    Entitlement.objects.create(team_id=team, **told, **when)


def fill_money(record: MirroredRecord) -> None:
    """Fill awards and the ledger: the database moves the balances with its entries."""
    Award.objects.bulk_create(
        Award(
            pk=row["number"],
            stake_id=row["stake"],
            decision_id=row["decision"],
            **row.of("cents", "statement", "conditions", "awarded_at"),
        )
        for row in record.by_week(form.AWARDS, "number")
    )
    teams, accounts = ids_of(Team), dict[str, int]()
    for row in sorted(record.by_week(form.LEDGER, "number"), key=lambda each: int(each["number"])):
        for place in (row["source"], row["target"]):
            accounts.setdefault(place, _account(place, teams).pk)
        LedgerEntry.objects.create(
            pk=row["number"],
            source_id=accounts[row["source"]],
            target_id=accounts[row["target"]],
            corrects_id=row["corrects"],
            decision_id=row["decision"],
            **row.of("cents", "rule", "why", "causes", "made_at"),
        )


def _account(place: str, teams: dict[str, int]) -> Account:
    kind, _, whose = place.partition(":")
    of: dict[str, Any] = {
        "team_id": teams[whose] if kind == AccountKind.TEAM else None,
        "stake_id": int(whose) if kind == AccountKind.STAKE else None,
    }
    return Account.objects.get_or_create(kind=kind, **of)[0]


def ids_of(model: Any) -> dict[str, int]:
    """Return public id -> row number."""
    return dict(model.objects.values_list("public_id", "pk"))
