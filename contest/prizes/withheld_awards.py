"""What of an award is withheld or forfeited (R38), computed from the ledger."""

from collections.abc import Iterable, Iterator, Mapping

from django.db.models import Q, QuerySet

from contest.core.enums import AccountKind
from contest.core.models import Award, BoardDecision, Team
from contest.core.teams import final_team
from contest.ledger.models import Account, LedgerEntry
from contest.ledger.withholding import withheld_amounts


def awards_of(decision: BoardDecision) -> set[int]:
    """Return the numbers of the awards that were given by one decision."""
    return set(Award.objects.filter(decision=decision).values_list("pk", flat=True))


def forfeited_of(decision: BoardDecision) -> dict[int, int]:
    """Return team -> the cents of an award that the board took for good; merged teams count as one."""
    parts = list(_forfeited(awards_of(decision)))
    teams = Team.objects.in_bulk({team for team, _ in parts})
    return _by_team((teams[number], cents) for number, cents in parts)


def forfeited_of_award(award: Award) -> int:
    """Return the cents of one award that the board took for good."""
    return sum(cents for _, cents in _forfeited({award.pk}))


def _forfeited(awards: set[int]) -> Iterator[tuple[int, int]]:
    rows = LedgerEntry.objects.filter(source__kind=AccountKind.WITHHELD, target__kind=AccountKind.DEFENDERS)
    for causes, cents in rows.values_list("causes", "cents"):
        if awards.intersection(causes["award"]):
            yield causes["team"][0], cents


def entries_of(award: Award) -> QuerySet[LedgerEntry]:
    """Return the entries of an award: what was given and went back by its decision, and what was taken aside or
    for good."""
    aside = LedgerEntry.objects.filter(rule="R38").values_list("pk", "causes")
    named = [pk for pk, causes in aside if award.pk in causes.get("award", ())]
    return LedgerEntry.objects.filter(Q(decision=award.decision) | Q(pk__in=named))


def withheld_by_team(decision: BoardDecision) -> dict[int, int]:
    """Return team -> what is withheld of its accounts now that may be of this award; merged teams count as one.

    What names another award is that one's.
    """
    awards = awards_of(decision)
    rows = [each for each in withheld_amounts() if each.award is None or each.award.pk in awards]
    return _by_team((each.account.team, each.cents) for each in rows if each.account.team is not None)


def set_aside_by_award(of: Account) -> Mapping[int, int]:
    """Return award -> what was taken aside of it from an account and not given back: withheld, or gone for good."""
    found: dict[int, int] = {}
    for cents, causes in _moved_aside(of):
        for award in causes.get("award", ()):
            found[award] = found.get(award, 0) + cents
    return found


def _moved_aside(of: Account) -> Iterator[tuple[int, Mapping[str, list[int]]]]:
    out = LedgerEntry.objects.filter(rule="R38", source=of, target__kind=AccountKind.WITHHELD)
    back = LedgerEntry.objects.filter(rule="R38", target=of, source__kind=AccountKind.WITHHELD)
    yield from out.values_list("cents", "causes")
    yield from ((-cents, causes) for cents, causes in back.values_list("cents", "causes"))


def _by_team(parts: Iterable[tuple[Team, int]]) -> dict[int, int]:
    found: dict[int, int] = {}
    for team, cents in parts:
        number = final_team(team).pk
        found[number] = found.get(number, 0) + cents
    return found
