"""The contest's tables of a release: attacks, teams, stakes, decisions, money (R39).

Each states what happened in its week, as it stood when that was over: what is decided later belongs to a later week,
and makes no errata of this one. All functions run inside `contest.releases.snapshot.snapshot`.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import reduce
from operator import or_

from django.db.models import Min, QuerySet

from adjudication.verifier import cells, release_tables
from adjudication.verifier import release_format as form
from contest.core.calendar import Week
from contest.core.enums import RELEASED_ORIGINS, AccountKind
from contest.core.models import Attack, AttackTarget, Award, BoardDecision, Stake, StakeBatch, Team
from contest.core.week_pictures import images_of_week, releasable_images
from contest.defenses.models import DefenseEntry
from contest.ledger.models import LedgerEntry
from contest.releases.audit_table import audit_rows
from contest.releases.board_tables import board_rows, decided_motions, examinations, teams_named_by_board, within
from contest.releases.files import ReleaseFolder
from contest.releases.tables import by_bytes, stream
from contest.teams.models import Association, AssociationMistake
from labeling.models import Panel
from scoring.enums import RunState, TrialKind
from scoring.models import Trial

Rows = Iterator[Sequence[str]]


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
        form.AUDIT: audit_rows(week),
        **board_rows(week),
    }
    return {name: folder.table(name, [release_tables.header(name)], found) for name, found in rows.items()}


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
    moments = (rows.filter(**{f"{column}__gte": since}).aggregate(at=Min(column))["at"] for rows, column in asked)
    return min((each for each in moments if each is not None), default=None)


def decisions_of(week: Week) -> QuerySet[BoardDecision]:
    """Return what the board decided in the week beside pictures."""
    return BoardDecision.objects.filter(within(week, "decided_at"))


def attacks_of(week: Week) -> QuerySet[Attack]:
    """Return the attacks of the week that everybody may know of once it is over: not the withdrawn ones (R24)."""
    return _attacks().filter(within(week, "received_at"))


def _attacks() -> QuerySet[Attack]:
    return Attack.objects.filter(withdrawn_at__isnull=True, image__origin__in=RELEASED_ORIGINS)


def _maybe(value: object) -> str:
    return "" if value is None else str(value)


def _maybe_time(moment: datetime | None) -> str:
    return "" if moment is None else cells.time(moment)


def _until(moment: datetime | None, week: Week) -> str:
    """A time as it was known when the week was over: nothing where it came later."""
    return "" if moment is None or moment >= week.end else cells.time(moment)


# Pictures ------------------------------------------------------------------------------------------------------------


def _provenance_rows(week: Week) -> Rows:
    columns = ("public_id", "pk", "source", "source_id", "licence", "author", "original_sha256", "original_format")
    rows = images_of_week(week).order_by(by_bytes("public_id"))
    for name, pk, *texts, sha256, kind, label_from in stream(rows.values_list(*columns, "label_from")):
        yield name, str(pk), *map(cells.text, texts), sha256, cells.text(kind), cells.time(label_from)


def _panel_rows(week: Week) -> Rows:
    rows = Panel.objects.filter(image__in=images_of_week(week)).order_by(by_bytes("image__public_id"), "number")
    columns = ("image__public_id", "number", "size", "state", "dealt_at", "full_at", "joined", "joined_at")
    for image, number, size, state, dealt, full, joined, joined_at in stream(rows.values_list(*columns)):
        more = (str(joined), _maybe_time(joined_at))
        yield image, str(number), str(size), state, cells.time(dealt), _maybe_time(full), *more


def _attack_rows(week: Week) -> Rows:
    targets = _targets(week)
    columns = (
        "pk", "public_id", "image__public_id", "team__public_id", "received_at", "of_quota", "copy_of__public_id",
        "policy__version",
    )  # fmt: skip
    for pk, name, image, team, at, quota, copy, policy in stream(attacks_of(week).order_by("pk").values_list(*columns)):
        sent = (cells.time(at), week.name, str(quota), copy or "", ";".join(targets.get(pk, ())))
        yield str(pk), name, image, team, *sent, _maybe(policy)


def _targets(week: Week) -> dict[int, list[str]]:
    """Return the public ids of the defenses that attacks were sent against, for those that named any."""
    found: dict[int, list[str]] = {}
    rows = AttackTarget.objects.filter(attack__in=attacks_of(week)).order_by(by_bytes("defense__public_id"))
    for attack, defense in stream(rows.values_list("attack", "defense__public_id")):
        found.setdefault(attack, []).append(defense)
    return found


# Teams ---------------------------------------------------------------------------------------------------------------


def _teams_of(week: Week) -> set[int]:
    """Return the teams that other tables of this release name, those that were merged in the week and into which, and
    those whose association was found to be an error."""
    entries = DefenseEntry.objects.filter(defense__published_at__isnull=False)
    named = {
        *attacks_of(week).values_list("team", flat=True),
        *entries.values_list("team", flat=True),
        *_stakes_of(week).filter(paid_by__isnull=False).values_list("paid_by", flat=True),
        *LedgerEntry.objects.filter(within(week, "made_at")).values_list("source__team", flat=True),
        *LedgerEntry.objects.filter(within(week, "made_at")).values_list("target__team", flat=True),
        *Team.objects.filter(within(week, "merged_at")).values_list("pk", flat=True),
        *AssociationMistake.objects.filter(within(week, "declared_at")).values_list("association__team", flat=True),
        *teams_named_by_board(week),
    } - {None}
    while more := _merged_into(named, week) - named:
        named |= more
    return named


def _merged_into(teams: set[int], week: Week) -> set[int]:
    merged = Team.objects.filter(pk__in=teams, merged_at__lt=week.end, merged_into__isnull=False)
    return {into for into in merged.values_list("merged_into", flat=True) if into is not None}


def _team_rows(week: Week) -> Rows:
    columns = ("public_id", "pk", "name", "created_at", "merged_into__public_id", "merged_at")
    rows = Team.objects.filter(pk__in=_teams_of(week)).order_by(by_bytes("public_id"))
    for name, pk, title, created, into, merged in stream(rows.values_list(*columns)):
        merged_at = _until(merged, week)
        yield name, str(pk), cells.text(title), cells.time(created), into or "" if merged_at else "", merged_at


def _association_rows(week: Week) -> Rows:
    rows = Association.objects.filter(team__in=_teams_of(week), since__lt=week.end).order_by("pk")
    columns = ("pk", "team__public_id", "since", "until", "declared_at", "mistake__declared_at")
    for pk, team, since, until, declared, mistaken in stream(rows.values_list(*columns)):
        yield str(pk), team, cells.time(since), _until(until, week), cells.time(declared), _until(mistaken, week)


def _eligibility_rows(week: Week) -> Rows:
    """What the published defenses reached on the private set before the week was over: totals, no picture (R31)."""
    done = Trial.objects.filter(kind=TrialKind.PRIVATE, state=RunState.FINISHED, finished_at__lt=week.end)
    columns = ("pk", "defense__public_id", "number", "private_set__number", "finished_at", "totals")
    rows = done.filter(defense__published_at__isnull=False).order_by("pk")
    for pk, defense, number, private_set, at, totals in stream(rows.values_list(*columns)):
        yield str(pk), defense, str(number), str(private_set), cells.time(at), cells.json_cell(totals)


# Stakes, decisions, money --------------------------------------------------------------------------------------------


def _decision_rows(week: Week) -> Rows:
    columns = ("pk", "kind", "subject", "details", "reason", "policy__version", "decided_at", "case__public_id")
    for pk, kind, subject, details, reason, policy, at, case in stream(
        decisions_of(week).order_by("pk").values_list(*columns)
    ):
        said = (cells.json_cell(subject), cells.json_cell(details), cells.text(reason))
        yield str(pk), kind, *said, str(policy), cells.time(at), case or ""


def _batch_rows(week: Week) -> Rows:
    rows = StakeBatch.objects.filter(within(week, "staked_at")).order_by("pk")
    columns = ("pk", "public_id", "decision", "criteria", "staked_at")
    for pk, name, decision, criteria, at in stream(rows.values_list(*columns)):
        yield str(pk), name, str(decision), cells.text(criteria), cells.time(at)


_STAKE_MOMENTS = ("staked_at", "clock_from", "ended_at")


def _stakes() -> QuerySet[Stake]:
    return Stake.objects.filter(staked_at__isnull=False, defense__published_at__isnull=False)


def _stakes_of(week: Week) -> QuerySet[Stake]:
    """Return the stakes that began or ended in the week, or whose clock did."""
    happened = reduce(or_, (within(week, column) for column in _STAKE_MOMENTS))
    return _stakes().filter(happened, staked_at__lt=week.end)


def _stake_rows(week: Week) -> Rows:
    columns = (
        "pk", "defense__public_id", "kind", "batch__public_id", "paid_by__public_id", "cents", "asked_at", "staked_at",
        "clock_from", "ended_at", "end",
    )  # fmt: skip
    for pk, defense, kind, batch, team, cents, asked, staked, clock, ended, end in stream(
        _stakes_of(week).order_by("pk").values_list(*columns)
    ):
        times = (cells.time(asked), cells.time(staked), _until(clock, week), _until(ended, week))
        yield str(pk), defense, kind, batch or "", team or "", str(cents), *times, end if times[-1] else ""


def _award_rows(week: Week) -> Rows:
    columns = ("pk", "stake", "stake__defense__public_id", "decision", "cents", "statement", "conditions", "awarded_at")
    rows = Award.objects.filter(within(week, "awarded_at")).order_by("pk")
    for *ids, cents, statement, conditions, at in stream(rows.values_list(*columns)):
        yield *map(str, ids), str(cents), cells.text(statement), cells.json_cell(conditions), cells.time(at)


_PLACE = ("kind", "team__public_id", "stake")


def _ledger_rows(week: Week) -> Rows:
    places = [f"{side}__{column}" for side in ("source", "target") for column in _PLACE]
    rows = LedgerEntry.objects.filter(within(week, "made_at")).order_by("pk")
    columns = ("pk", "made_at", "cents", "rule", "why", "causes", "corrects", "decision")
    for pk, at, cents, rule, why, causes, corrects, decision, *account in stream(rows.values_list(*columns, *places)):
        money = (_place(*account[:3]), _place(*account[3:]), str(cents), cells.text(rule), cells.text(why))
        yield str(pk), cells.time(at), *money, cells.json_cell(causes), _maybe(corrects), _maybe(decision)


def _place(kind: str, team: str | None, stake: int | None) -> str:
    """Name an account: its kind, and whose it is."""
    if kind == AccountKind.TEAM:
        return f"team:{team}"
    return f"stake:{stake}" if kind == AccountKind.STAKE else kind
