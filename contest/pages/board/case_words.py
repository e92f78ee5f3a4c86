"""Sentences of a case's page: the content of a motion, and the impact of a decision (R19-R22)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from contest.board.case_messages import MOTION_WORDS
from contest.board.impact_preview import ChangedStake, Impact
from contest.board.selectors import (
    grant_of_motion,
    sums_of_motion,
)
from contest.core.decisions import rows_named
from contest.core.enums import DecisionKind, StakeEnd
from contest.core.models import Award, Case, Stake, Team
from contest.defenses.stake_rows import ENDS
from contest.ledger.amounts import money
from contest.ledger.models import LedgerEntry
from contest.payments.statements import account_words
from scoring.models import Defense


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, with a link to its evidence."""

    text: str
    link: str = ""


# Motions --------------------------------------------------------------------------------------------------------------

# The effect of each kind of motion when it is carried.
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
    """Return the context of a motion's page."""
    kind, details = DecisionKind(case.motion), case.details
    does = _ANSWER[details["granted"]] if "granted" in details else DOES[kind]
    return {"moved": MOTION_WORDS[kind], "does": does, "rows": list(_rows(case)), "terms": _terms(case, currency)}


def sums_awarded(case: Case, *, currency: str) -> list[Sentence]:
    """Return the sum that each stake in a motion for an award would get from the present defenders' half."""
    if case.motion != DecisionKind.AWARD:
        return []
    return [
        Sentence(f"{stake.defense.name} is given {money(cents, currency)} of the defenders' half.")
        for stake, cents in sums_of_motion(case)
    ]


def _rows(case: Case) -> Iterator[Sentence]:
    for defense in rows_named(case.subject, Defense).order_by("name"):
        link = reverse("defense", args=[defense.public_id]) if defense.published_at else ""
        yield Sentence(f"Defense {defense.name} ({defense.public_id})", link)
    for team in rows_named(case.subject, Team).order_by("name"):
        yield Sentence(f"Team {team.name} ({team.public_id})", reverse("team-public", args=[team.public_id]))
    for stake in rows_named(case.subject, Stake).select_related("defense").order_by("pk"):
        yield Sentence(f"The stake on {stake.defense.name}", reverse("award", args=[stake.pk]))
    for award in rows_named(case.subject, Award).select_related("stake__defense"):
        yield Sentence(f"The award for {award.stake.defense.name}", reverse("award", args=[award.stake_id]))


def _terms(case: Case, currency: str) -> list[tuple[str, str]]:
    """Return the terms of a motion, without its reason."""
    details = case.details
    terms = [(words, details[name]) for name, words in _TERMS.items() if details.get(name)]
    if "cents" in details:
        terms.append(("Sum", money(details["cents"], currency)))
    grant = grant_of_motion(case)
    if grant is not None and grant.decision is not None:
        terms.append(("Reason of the grant", grant.decision.reason))
    return terms


_TERMS = {"criteria": "Criteria", "statement": "Public statement"}


# Consequences -------------------------------------------------------------------------------------------------------


def impact_sentences(found: Impact, teams: Iterable[Team], *, currency: str) -> list[Sentence]:
    """Return what a decision on a picture changes at once, sentence by sentence (R22)."""
    if found.taskers:
        return [_more_taskers(found), *_notified_teams(teams)]
    if not found.changes:
        return [Sentence("Nothing changes: the ruling holds, and the case is closed."), *_notified_teams(teams)]
    return [*_changed_breaks_and_stakes(found, currency), *_notified_teams(teams)]


def _more_taskers(found: Impact) -> Sentence:
    if found.joins:
        return Sentence(
            f"{found.taskers} more taskers join the panel. They are asked before all others, as blindly as ever; then "
            "all answers together decide, and one that is not sure is enough to reject the picture (R19)."
        )
    return Sentence(
        f"A fresh panel of {found.taskers} taskers is asked before all others, as blindly as ever. Its answers alone "
        "decide; the panel before stays on record (R19)."
    )


def _changed_breaks_and_stakes(found: Impact, currency: str) -> Iterator[Sentence]:
    yield Sentence("A ruling of the board is appended; the answers of the taskers stay as they are (R20).")
    for defense in found.broken:
        yield Sentence(f"The picture breaks {defense.name}: it was confidently wrong.", _defense(defense))
    for defense in found.unbroken:
        yield Sentence(f"The picture breaks {defense.name} no more.", _defense(defense))
    if not found.broken and not found.unbroken:
        yield Sentence("No break comes or goes.")
    if found.to_run:
        names = ", ".join(each.name for each in found.to_run)
        yield Sentence(f"Defenses that never answered to it are run first, and may break then: {names}.")
    yield from map(_stake_change, found.stakes)
    yield from (_ledger_entry_sentence(entry, currency) for entry in found.entries)
    for defense in found.unposted:
        words = f"Money for {defense.name} cannot be settled now, and is missing here."
        yield Sentence(f"{words} Tell the organizers: their log says why.", _defense(defense))
    if found.released is not None:
        link = reverse("release", args=[found.released.name])
        yield Sentence(f"{found.released.name} is published: an errata part corrects it (R39).", link)


def _defense(defense: Defense) -> str:
    return reverse("defense", args=[defense.public_id]) if defense.published_at else ""


def _stake_change(change: ChangedStake) -> Sentence:
    was, now = (ENDS[StakeEnd(end)] if end else "in force" for end in (change.before, change.after))
    return Sentence(f"The stake on {change.stake.defense.name}, {was}, is {now} then.", _defense(change.stake.defense))


def _ledger_entry_sentence(entry: LedgerEntry, currency: str) -> Sentence:
    sides = f"from {account_words(entry.source)} to {account_words(entry.target)}"
    return Sentence(f"{money(entry.cents, currency)} {sides}: {entry.why}")


def _notified_teams(teams: Iterable[Team]) -> Iterator[Sentence]:
    names = ", ".join(f"{team.name}" for team in teams)
    if names:
        yield Sentence(f"A message goes to each team that the case is about: {names}.")
