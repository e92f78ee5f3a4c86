"""Writes the contest's tables of a release: attacks, teams, stakes, decisions, money (R39).

Each states what happened in its week, as known at the end of the week: what is decided later belongs to a later week,
and causes no errata of this one. All functions run inside `contest.releases.snapshot.snapshot`.
"""

from datetime import datetime
from functools import reduce
from operator import or_

from django.db.models import Case, F, Max, QuerySet, When

from adjudication.schema import release_format as form
from common.audit.seals import public_of, seals
from common.database.grouping import grouped
from common.models import AuditSeal
from contest.core.enums import RELEASED_ORIGINS, AccountKind
from contest.core.models import Attack, AttackTarget, Award, BoardDecision, Release, Stake, StakeBatch, Team
from contest.core.week_pictures import images_of_week, releasable_images
from contest.core.weeks import week_called
from contest.defenses.models import DefenseEntry
from contest.ledger.models import LedgerEntry
from contest.releases.board_tables import Rows, board_rows, decided_motions, examinations, teams_named_by_board, within
from contest.releases.files import ReleaseFolder
from contest.releases.table_files import by_bytes, stream, write_table
from contest.teams.models import Association, AssociationMistake
from labeling.models import Panel
from policy.calendar import Week
from scoring.enums import RunState, TrialKind
from scoring.models import Trial


def write_contest_tables(folder: ReleaseFolder, week: Week) -> dict[str, int]:
    """Write these files. Returns table -> number of rows, for the manifest."""
    rows = {
        form.PROVENANCE: _provenance_rows(week),
        form.PANELS: _panel_rows(week),
        form.ATTACKS: _attack_rows(week),
        form.TEAMS: _team_rows(week),
        form.ASSOCIATIONS: _association_rows(week),
        form.DECISIONS: _decision_rows(week),
        form.BATCHES: _batch_rows(week),
        form.STAKES: _stake_rows(week),
        form.AWARDS: _award_rows(week),
        form.LEDGER: _ledger_rows(week),
        form.ELIGIBILITY: _eligibility_rows(week),
        form.AUDIT: _audit_rows(week),
        **board_rows(week),
    }
    return {name: write_table(folder, name, found) for name, found in rows.items()}


def first_moment(since: datetime) -> datetime | None:
    """Return when from `since` on the first thing happened that makes its week one to be released; None when nothing
    did.

    These are the pictures, and every row of these tables that is in the release of its own week alone: money that no
    release showed would be missing in every sum.
    """
    asked = (
        (releasable_images(), "received_at"),
        (_attacks(), "received_at"),
        (Team.objects.all(), "merged_at"),
        (BoardDecision.objects.all(), "decided_at"),
        (StakeBatch.objects.all(), "staked_at"),
        *((_stakes(), column) for column in _STAKE_MOMENTS),
        (Award.objects.all(), "awarded_at"),
        (LedgerEntry.objects.all(), "made_at"),
        (decided_motions(), "decided_at"),
        (examinations(), "at"),
    )
    # The first row along its index: of a join, PostgreSQL would look for the least of all of them.
    ordered = ((rows.filter(**{f"{column}__gte": since}).order_by(column), column) for rows, column in asked)
    moments = (rows.values_list(column, flat=True).first() for rows, column in ordered)
    return min((each for each in moments if each is not None), default=None)


def decisions_of(week: Week) -> QuerySet[BoardDecision]:
    """Return what the board decided in the week beside pictures."""
    return BoardDecision.objects.filter(within(week, "decided_at"))


def public_attacks_of_week(week: Week) -> QuerySet[Attack]:
    """Return the attacks of the week that everybody may know of once it is over: not the withdrawn ones (R24)."""
    return _attacks().filter(within(week, "received_at"))


def _attacks() -> QuerySet[Attack]:
    return Attack.objects.filter(withdrawn_at__isnull=True, image__origin__in=RELEASED_ORIGINS)


def _known_by_week_end(week: Week, moment: str, column: str = "") -> Case:
    """A column, or `moment` itself, as it was known when the week was over: nothing where `moment` came later."""
    return Case(When(**{f"{moment}__lt": week.end}, then=F(column or moment)))


# Pictures ------------------------------------------------------------------------------------------------------------


def _provenance_rows(week: Week) -> Rows:
    columns = ("public_id", "pk", "source", "source_id", "licence", "author", "original_sha256", "original_format")
    return images_of_week(week).order_by(by_bytes("public_id")).values_list(*columns, "label_from")


def _panel_rows(week: Week) -> Rows:
    rows = Panel.objects.filter(image__in=images_of_week(week)).order_by(by_bytes("image__public_id"), "number")
    return rows.values_list("image__public_id", "number", "size", "state", "dealt_at", "full_at", "joined", "joined_at")


def _attack_rows(week: Week) -> Rows:
    targets = _targets(week)
    columns = (
        "pk", "public_id", "image__public_id", "team__public_id", "received_at", "of_quota", "copy_of__public_id",
        "policy__version",
    )  # fmt: skip
    for pk, *sent, quota, copy, policy in stream(public_attacks_of_week(week).order_by("pk").values_list(*columns)):
        yield pk, *sent, week.name, quota, copy, targets.get(pk, ()), policy


def _targets(week: Week) -> dict[int, list[str]]:
    """Return the public ids of the defenses that attacks were sent against, for those that named any."""
    rows = AttackTarget.objects.filter(attack__in=public_attacks_of_week(week)).order_by(by_bytes("defense__public_id"))
    return grouped(stream(rows.values_list("attack", "defense__public_id")))


# Teams ---------------------------------------------------------------------------------------------------------------


def _teams_of(week: Week) -> set[int]:
    """Return the teams that other tables of this release name, those that were merged in the week and into which, and
    those whose association was found to be an error."""
    entries = DefenseEntry.objects.filter(defense__published_at__isnull=False)
    named = {
        *public_attacks_of_week(week).values_list("team", flat=True),
        *entries.values_list("team", flat=True),
        *_stakes_of(week).filter(paid_by__isnull=False).values_list("paid_by", flat=True),
        *LedgerEntry.objects.filter(within(week, "made_at")).values_list("source__team", flat=True),
        *LedgerEntry.objects.filter(within(week, "made_at")).values_list("target__team", flat=True),
        *Team.objects.filter(within(week, "merged_at")).values_list("pk", flat=True),
        *AssociationMistake.objects.filter(
            within(week, "declared_at"),
            association__since__lt=week.end,  # as `_association_rows` tells it
        ).values_list("association__team", flat=True),
        *teams_named_by_board(week),
    } - {None}
    while more := _merged_into(named, week) - named:
        named |= more
    return named


def _merged_into(teams: set[int], week: Week) -> set[int]:
    merged = Team.objects.filter(pk__in=teams, merged_at__lt=week.end, merged_into__isnull=False)
    return {into for into in merged.values_list("merged_into", flat=True) if into is not None}


def _team_rows(week: Week) -> Rows:
    merged = (_known_by_week_end(week, "merged_at", "merged_into__public_id"), _known_by_week_end(week, "merged_at"))
    rows = Team.objects.filter(pk__in=_teams_of(week)).order_by(by_bytes("public_id"))
    return rows.values_list("public_id", "pk", "name", "created_at", *merged)


def _association_rows(week: Week) -> Rows:
    rows = Association.objects.filter(team__in=_teams_of(week), since__lt=week.end).order_by("pk")
    until, mistaken = _known_by_week_end(week, "until"), _known_by_week_end(week, "mistake__declared_at")
    return rows.values_list("pk", "team__public_id", "since", until, "declared_at", mistaken)


def _eligibility_rows(week: Week) -> Rows:
    """What the published defenses reached on the private set before the week was over: totals, no picture (R31)."""
    done = Trial.objects.filter(kind=TrialKind.PRIVATE, state=RunState.FINISHED, finished_at__lt=week.end)
    columns = ("pk", "defense__public_id", "number", "private_set__number", "finished_at", "totals")
    return done.filter(defense__published_at__isnull=False).order_by("pk").values_list(*columns)


# Stakes, decisions, money --------------------------------------------------------------------------------------------


def _decision_rows(week: Week) -> Rows:
    return (
        decisions_of(week)
        .order_by("pk")
        .values_list("pk", "kind", "subject", "details", "reason", "policy__version", "decided_at", "case__public_id")
    )


def _batch_rows(week: Week) -> Rows:
    rows = StakeBatch.objects.filter(within(week, "staked_at")).order_by("pk")
    return rows.values_list("pk", "public_id", "decision", "criteria", "staked_at")


_STAKE_MOMENTS = ("staked_at", "clock_from", "ended_at")


def _stakes() -> QuerySet[Stake]:
    return Stake.objects.filter(staked_at__isnull=False, defense__published_at__isnull=False)


def _stakes_of(week: Week) -> QuerySet[Stake]:
    """Return the stakes that began or ended in the week, or whose clock did."""
    happened = reduce(or_, (within(week, column) for column in _STAKE_MOMENTS))
    return _stakes().filter(happened, staked_at__lt=week.end)


def _stake_rows(week: Week) -> Rows:
    return _stakes_of(week).order_by("pk").values_list(
        "pk", "defense__public_id", "kind", "batch__public_id", "paid_by__public_id", "cents", "asked_at", "staked_at",
        _known_by_week_end(week, "clock_from"), _known_by_week_end(week, "ended_at"),
        _known_by_week_end(week, "ended_at", "end"),
    )  # fmt: skip


def _award_rows(week: Week) -> Rows:
    columns = ("pk", "stake", "stake__defense__public_id", "decision", "cents", "statement", "conditions", "awarded_at")
    return Award.objects.filter(within(week, "awarded_at")).order_by("pk").values_list(*columns)


_PLACE = ("kind", "team__public_id", "stake")


def _ledger_rows(week: Week) -> Rows:
    places = [f"{side}__{column}" for side in ("source", "target") for column in _PLACE]
    rows = LedgerEntry.objects.filter(within(week, "made_at")).order_by("pk")
    columns = ("pk", "made_at", "cents", "rule", "why", "causes", "corrects", "decision")
    for pk, at, *moved, kind, team, stake, to, to_team, to_stake in stream(rows.values_list(*columns, *places)):
        yield pk, at, _place(kind, team, stake), _place(to, to_team, to_stake), *moved


def _place(kind: str, team: str | None, stake: int | None) -> str:
    """Name an account: its kind and its owner."""
    if kind == AccountKind.TEAM:
        return f"team:{team}"
    return f"stake:{stake}" if kind == AccountKind.STAKE else kind


# The audit trail -----------------------------------------------------------------------------------------------------


def _audit_rows(week: Week) -> Rows:
    """The rows after those in the releases of earlier weeks, up to the last of this week: public parts, and hashes of
    the private ones. The releases together hold all of the trail.

    A row of a week that is sealed after the week was published is in the next release: errata have the same rows.
    """
    for seal in _audit_seals(week).iterator(chunk_size=1_000):
        entry = seal.entry
        yield (
            seal.number,
            entry.at,
            entry.role,
            entry.action,
            entry.subject if entry.published else None,
            entry.why if entry.published else None,
            public_of(entry)["facts"],
            seal.private_sha256,
            seal.previous,
            seal.sha256,
        )


def last_audit_number(week: Week) -> int:
    """Return the number of the last row of the audit trail in the release of a week, 0 where it has none."""
    last: int | None = _audit_seals(week).aggregate(last=Max("number"))["last"]
    return last or 0


def _audit_seals(week: Week) -> QuerySet[AuditSeal]:
    return seals().filter(number__gt=_last_before(week), number__lte=_last_until(week))


def _last_before(week: Week) -> int:
    """Return the last number in the newest part of the nearest earlier week that has any, as the verifier does."""
    newest = {part.week: part for part in Release.objects.filter(week__lt=week.name).order_by("week", "part")}
    return next((last for part in reversed(newest.values()) if (last := _last_in(part))), 0)


def _last_until(week: Week) -> int:
    """Return the last number in the newest part of the week; for the first part the last one of before its end."""
    newest = Release.objects.filter(week=week.name).order_by("part").last()
    return _last_sealed(week) if newest is None else _last_in(newest)


def _last_in(part: Release) -> int:
    if part.last_audit_number is not None:
        return part.last_audit_number
    # A part of before the number was recorded has no row that was sealed after the one of its own publication.
    own = AuditSeal.objects.filter(entry__action="release.publish", entry__at=part.released_at)
    return _last_sealed(week_called(part.week), before=own.order_by("number").first())


def _last_sealed(week: Week, *, before: AuditSeal | None = None) -> int:
    found = AuditSeal.objects.filter(entry__at__lt=week.end)
    if before is not None:
        found = found.filter(number__lt=before.number)
    last: int | None = found.aggregate(last=Max("number"))["last"]
    return last or 0
