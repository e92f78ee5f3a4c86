"""What the pages of a case say in words: what a motion is about, what would follow, and a decision as the public reads
it (R19-R22)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from contest.board.case_messages import MOTION_WORDS
from contest.board.impact_preview import Follows, StakeTurn
from contest.board.selectors import (
    awards_moved,
    defenses_moved,
    grant_moved,
    stakes_moved,
    sums_moved,
    teams_moved,
)
from contest.core.enums import DecisionKind, StakeEnd
from contest.core.models import Case, Team
from contest.defenses.stake_rows import ENDS
from contest.ledger.amounts import money
from contest.ledger.models import LedgerEntry
from contest.payments.statements import account_words
from scoring.models import Defense


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence, with where its evidence is."""

    words: str
    link: str = ""


# Motions --------------------------------------------------------------------------------------------------------------

# What a motion does when it is carried.
DOES: Mapping[DecisionKind, str] = {
    DecisionKind.STAKE: "The defenses go at stake as one batch, at once, and the prize of each is set aside (R32).",
    DecisionKind.GRANT: "The team may attack without a paper, from then on (R25).",
    DecisionKind.REVOKE: "The grant is taken back: the team attacks no more unless something else entitles it (R25).",
    DecisionKind.WITHHOLD: "The money is set aside and cannot be paid out until the board gives it back (R38).",
    DecisionKind.AWARD: "The prize is given to the stakes named here, and the statement is published (R36).",
    DecisionKind.RETURN: "What was withheld goes back to whom it was taken from (R38).",
    DecisionKind.END: "The stake ends, and its money goes to the attackers' half (R36).",
    DecisionKind.FORFEIT: "What is withheld of the award goes back into the defenders' half for good (R38).",
}
_ANSWER = {
    True: "The team gets its defense back: the stake ends (R32).",
    False: "The team is told that its defense stays at stake (R32).",
}


def motion_content(case: Case, *, currency: str) -> dict[str, Any]:
    """Return what the page of a motion shows."""
    kind, details = DecisionKind(case.motion), case.details
    does = _ANSWER[details["granted"]] if "granted" in details else DOES[kind]
    return {"moved": MOTION_WORDS[kind], "does": does, "rows": list(_rows(case)), "terms": _terms(case, currency)}


def sums_awarded(case: Case, *, currency: str) -> list[Said]:
    """Return what each stake of a motion for an award would be given by what the defenders' half holds now."""
    if case.motion != DecisionKind.AWARD:
        return []
    return [
        Said(f"{stake.defense.name} is given {money(cents, currency)} of the defenders' half.")
        for stake, cents in sums_moved(case)
    ]


def _rows(case: Case) -> Iterator[Said]:
    for defense in defenses_moved(case):
        link = reverse("defense", args=[defense.public_id]) if defense.published_at else ""
        yield Said(f"Defense {defense.name} ({defense.public_id})", link)
    for team in teams_moved(case):
        yield Said(f"Team {team.name} ({team.public_id})", reverse("team-public", args=[team.public_id]))
    for stake in stakes_moved(case):
        yield Said(f"The stake on {stake.defense.name}", reverse("award", args=[stake.pk]))
    for award in awards_moved(case):
        yield Said(f"The award for {award.stake.defense.name}", reverse("award", args=[award.stake_id]))


def _terms(case: Case, currency: str) -> list[tuple[str, str]]:
    """Return what a motion says beside its reason."""
    details = case.details
    terms = [(words, details[name]) for name, words in _TERMS.items() if details.get(name)]
    if "cents" in details:
        terms.append(("Sum", money(details["cents"], currency)))
    grant = grant_moved(case)
    if grant is not None and grant.decision is not None:
        terms.append(("Reason of the grant", grant.decision.reason))
    return terms


_TERMS = {"criteria": "Criteria", "statement": "Public statement"}


# What would follow ----------------------------------------------------------------------------------------------------


def following(found: Follows, teams: Iterable[Team], *, currency: str) -> list[Said]:
    """Return what follows from a decision on a picture at once, sentence by sentence (R22)."""
    if found.asked:
        return [_asked(found), *_told(teams)]
    if not found.changes:
        return [Said("Nothing changes: the ruling holds, and the case is closed."), *_told(teams)]
    return [*_changed(found, currency), *_told(teams)]


def _asked(found: Follows) -> Said:
    if found.joins:
        return Said(
            f"{found.asked} more taskers join the panel. They are asked before all others, as blindly as ever; then "
            "all answers together decide, and one that is not sure is enough to reject the picture (R19)."
        )
    return Said(
        f"A fresh panel of {found.asked} taskers is asked before all others, as blindly as ever. Its answers alone "
        "decide; the panel before stays on record (R19)."
    )


def _changed(found: Follows, currency: str) -> Iterator[Said]:
    yield Said("A ruling of the board is appended; the answers of the taskers stay as they are (R20).")
    for defense in found.broken:
        yield Said(f"The picture breaks {defense.name}: it was confidently wrong.", _defense(defense))
    for defense in found.unbroken:
        yield Said(f"The picture breaks {defense.name} no more.", _defense(defense))
    if not found.broken and not found.unbroken:
        yield Said("No break comes or goes.")
    if found.to_run:
        names = ", ".join(each.name for each in found.to_run)
        yield Said(f"Defenses that never answered to it are run first, and may break then: {names}.")
    yield from map(_turn, found.stakes)
    yield from (_entry(entry, currency) for entry in found.entries)
    for defense in found.unposted:
        words = f"Money for {defense.name} cannot be settled now, and is missing here."
        yield Said(f"{words} Tell the organizers: their log says why.", _defense(defense))
    if found.released is not None:
        link = reverse("release", args=[found.released.name])
        yield Said(f"{found.released.name} is published: an errata part corrects it (R39).", link)


def _defense(defense: Defense) -> str:
    return reverse("defense", args=[defense.public_id]) if defense.published_at else ""


def _turn(turn: StakeTurn) -> Said:
    was, now = (ENDS[StakeEnd(end)] if end else "in force" for end in (turn.before, turn.after))
    return Said(f"The stake on {turn.stake.defense.name}, {was}, is {now} then.", _defense(turn.stake.defense))


def _entry(entry: LedgerEntry, currency: str) -> Said:
    sides = f"from {account_words(entry.source)} to {account_words(entry.target)}"
    return Said(f"{money(entry.cents, currency)} {sides}: {entry.why}")


def _told(teams: Iterable[Team]) -> Iterator[Said]:
    names = ", ".join(f"{team.name}" for team in teams)
    if names:
        yield Said(f"A message goes to each team that the case is about: {names}.")
