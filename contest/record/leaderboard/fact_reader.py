"""Reads the facts of the leaderboard in a fixed number of queries."""

from collections.abc import Iterator
from functools import cache

from django.db.models import Count, Max, Min, Q, QuerySet

from adjudication.models import Ruling
from common.database.grouping import grouped
from contest.core.breaks import recorded_mistakes
from contest.core.enums import RELEASED_ORIGINS
from contest.core.models import Attack, Release, Stake, Team
from contest.core.weeks import week_called
from contest.defenses.models import StakeChange, WarmupMeasurement
from contest.defenses.selectors import forfeited_stakes, unbroken_until
from contest.ledger.models import LedgerEntry
from contest.record.leaderboard import facts as of
from contest.record.leaderboard.rows import TeamName
from contest.releases.snapshot import snapshot
from contest.teams.models import Association, TeamMerge
from defense_kit.warmup import warning_code
from labeling.enums import Origin
from labeling.models import Image
from policy.calendar import week_of
from policy.selectors import policy_at, time_zones
from scoring.enums import RerunState, RunState, TrialKind
from scoring.models import Defense, Prediction, Trial
from scoring.trials import totals


def read_facts() -> of.LeaderboardFacts:
    """Return everything that the tables of any moment follow from, by one unchanging view of the database."""
    with snapshot():
        return of.LeaderboardFacts(
            releases=tuple(_releases()),
            pictures=tuple(_pictures()),
            attacks=tuple(_attacks()),
            rulings=tuple(_rulings()),
            breaks=tuple(
                of.BreakFacts(*row)
                for row in recorded_mistakes().values_list("pk", "defense", "image", "ruling__label", "found_at")
            ),
            answers=tuple(_answers()),
            varied=tuple(_varied()),
            names={pk: TeamName(*row) for pk, *row in Team.objects.values_list("pk", "public_id", "name")},
            merges=tuple(of.MergeFacts(*row) for row in TeamMerge.objects.values_list("team", "into", "merged_at")),
            associations=tuple(_associations()),
            defenses=tuple(_defenses()),
            stakes=tuple(_stakes()),
            trials=tuple(_trials()),
            warmups=tuple(_warmups()),
            prizes=tuple(_prizes()),
        )


# Pictures -------------------------------------------------------------------------------------------------------------


def _releases() -> Iterator[of.ReleaseFacts]:
    """Yield the released weeks, as contest.core.publication reads them."""
    for name, at in Release.objects.filter(part=0).values_list("week", "released_at"):
        week = week_called(name)
        yield of.ReleaseFacts(week.start, week.end, at)


def _pictures() -> Iterator[of.PictureFacts]:
    """Yield the pictures that count for anything: sent, broke a defense, or answered in different ways."""
    sent = Attack.objects.filter(withdrawn_at__isnull=True).values("image")
    broke, varied = recorded_mistakes().order_by().values("image"), [each.picture for each in _varied()]
    rows = Image.objects.filter(Q(pk__in=sent) | Q(pk__in=broke) | Q(pk__in=varied))
    zones = time_zones()
    for pk, received, origin, label_from in rows.values_list("pk", "received_at", "origin", "label_from"):
        releasable = origin in RELEASED_ORIGINS and label_from is not None
        yield of.PictureFacts(pk, received, week_of(received, zones).name, releasable)


def _attacks() -> Iterator[of.AttackFacts]:
    """Yield what was sent and not taken back, without what is never published (contest.core.embargo)."""
    rows = Attack.objects.filter(withdrawn_at__isnull=True, image__origin__in=RELEASED_ORIGINS)
    columns = ("pk", "image", "team", "received_at", "week", "image__origin", "image__label_from")
    end = cache(lambda name: week_called(name).end)
    for pk, image, team, received, week, origin, label_from in rows.values_list(*columns):
        known = origin != Origin.ATTACK and label_from is not None and label_from <= received
        yield of.AttackFacts(pk, image, team, received, week, end(week), known)


def _rulings() -> Iterator[of.RulingFacts]:
    sent = Attack.objects.filter(withdrawn_at__isnull=True).values("image")
    rows = Ruling.objects.filter(Q(image__in=sent) | Q(image__in=recorded_mistakes().order_by().values("image")))
    return (of.RulingFacts(*row) for row in rows.values_list("image", "number", "decided_at", "label"))


# Answers --------------------------------------------------------------------------------------------------------------


def _counted_predictions() -> QuerySet[Prediction]:
    """Return the answers that count or did until later ones took their place, which the tables of the past know."""
    return Prediction.objects.filter(Q(rerun__isnull=True) | Q(rerun__state=RerunState.APPLIED)).order_by()


def _answers() -> Iterator[of.AnswerFacts]:
    """Yield the attacks that each defense answered in as many rounds as were asked for at the time (R29)."""
    sent = Attack.objects.filter(withdrawn_at__isnull=True).values("image")
    rows = _counted_predictions().filter(image__in=sent).values_list("defense", "image")
    for defense, image, at, rounds in rows.annotate(at=Min("predicted_at"), rounds=Count("round", distinct=True)):
        if rounds >= policy_at(at).evaluation_runs:
            yield of.AnswerFacts(defense, image, at)


def _varied() -> Iterator[of.AnswerFacts]:
    """Yield where a defense answered differently in the rounds of one set of runs: the first of each week is enough."""
    apart = Q(label__gt=0) | Q(bird__gt=0) | Q(bicycle__gt=0)
    rows = (
        _counted_predictions()
        .filter(image__origin__in=RELEASED_ORIGINS, image__label_from__isnull=False)
        .values_list("defense", "image", "image__received_at", "rerun")
        .annotate(
            label=Max("answer") - Min("answer"),
            bird=Max("score_bird") - Min("score_bird"),
            bicycle=Max("score_bicycle") - Min("score_bicycle"),
            at=Max("predicted_at"),
        )
    )
    zones = time_zones()
    first: dict[tuple[int, str], of.AnswerFacts] = {}
    for defense, image, received, at in rows.filter(apart).values_list("defense", "image", "image__received_at", "at"):
        key, found = (defense, week_of(received, zones).name), of.AnswerFacts(defense, image, at)
        first[key] = min(first.get(key, found), found, key=lambda each: (each.at, each.picture))
    return iter(first.values())


# Teams, defenses, money -----------------------------------------------------------------------------------------------


def _associations() -> Iterator[of.AssociationFacts]:
    columns = ("team", "since", "until", "declared_at", "mistake__declared_at")
    return (of.AssociationFacts(*row) for row in Association.objects.values_list(*columns))


def _defenses() -> Iterator[of.DefenseFacts]:
    for row in Defense.objects.filter(published_at__isnull=False).select_related("entry"):
        entry = getattr(row, "entry", None)
        # A shipped defense comes with its source.
        opened = entry.opened_at if entry else row.published_at if row.reference or row.source else None
        team, published = entry.team_id if entry else None, row.published_at
        assert published is not None
        yield of.DefenseFacts(row.pk, row.public_id, row.name, row.demo, published, row.retired_at, team, opened)


def _stakes() -> Iterator[of.StakeFacts]:
    changes, forfeited = _stake_changes(), forfeited_stakes()
    for row in Stake.objects.filter(staked_at__isnull=False).select_related("defense__entry"):
        assert row.staked_at is not None
        told = (row.cents, row.clock_from, unbroken_until(row), row.ended_at, row.end)
        yield of.StakeFacts(row.defense_id, row.staked_at, *told, tuple(changes.get(row.pk, ())), forfeited.get(row.pk))


def _stake_changes() -> dict[int, list[of.StakeChangeFacts]]:
    rows = StakeChange.objects.order_by("pk").values_list("stake", "known_at", "ended_at", "end")
    return grouped((stake, of.StakeChangeFacts(at, ended_at, end)) for stake, at, ended_at, end in rows)


def _trials() -> Iterator[of.TrialFacts]:
    done = Trial.objects.filter(kind=TrialKind.PRIVATE, state=RunState.FINISHED, finished_at__isnull=False)
    for defense, at, numbers in done.values_list("defense", "finished_at", "totals"):
        assert at is not None
        yield of.TrialFacts(defense, at, totals.read_totals(numbers))


def _warmups() -> Iterator[of.WarmupFacts]:
    fields = ("version", "pictures_sha256", "warnings")
    columns = ("defense", "measured_at", "worst_accuracy", *(f"report__{name}" for name in fields))
    rows = WarmupMeasurement.objects.order_by("pk").values_list(*columns)
    for defense, at, accuracy, version, pictures, warnings in rows:
        yield of.WarmupFacts(defense, at, accuracy, int(version), pictures, tuple(map(warning_code, warnings)))


def _prizes() -> Iterator[of.PrizeFacts]:
    """Yield shares of attacker prizes (R35), what went back of them, and what the board took aside of a team's money or
    gave back (R38).

    A defender's award, and a stake that returns to who paid it, are no attacker's prizes; nor is what is withheld of an
    award, which names it. What goes back follows from the breaks of what it corrects too; what
    the board takes aside, unless it names an award, from all that the team got: its sum would tell of them.
    """
    given: dict[int, bool] = {}
    of_entry: dict[int, tuple[int, ...]] = {}
    of_team: dict[int | None, tuple[int, ...]] = {}
    columns = ("pk", "corrects", "rule", "source__team", "target__team", "cents", "made_at", "causes")
    moved = LedgerEntry.objects.filter(Q(source__team__isnull=False) | Q(target__team__isnull=False)).order_by("pk")
    for pk, corrects, rule, source, target, cents, at, causes in moved.values_list(*columns):
        team = target if source is None else source
        breaks = (*causes.get("break", ()), *of_entry.get(corrects, ()))
        aside = rule == "R38" and "award" not in causes
        if aside:
            breaks += of_team.get(team, ())
        of_entry[pk], of_team[team] = breaks, tuple({*of_team.get(team, ()), *breaks})
        given[pk] = corrects is None and target is not None and (rule == "R35" or aside)
        if given[pk]:
            yield of.PrizeFacts(target, cents, at, breaks)
        elif source is not None and (aside or given.get(corrects)):
            yield of.PrizeFacts(source, -cents, at, breaks)
