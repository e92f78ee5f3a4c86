"""Services for conflicts of interest (R21): declared, ended, found by a sweep, or dismissed with a reason."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from accounts.roles import is_on_board, is_organizer
from common.audit.trail import audit
from common.database.deadlocks import retry_on_deadlock
from common.errors import Conflict as Refused
from common.errors import InvalidInput, NotAllowed, NotFound, WrongFields, required
from common.models import AuditEntry
from common.typed import clean_words
from contest.board.case_messages import retract_messages
from contest.board.models import Affiliations
from contest.board.recusal import EVER
from contest.core.conflicts import board_members
from contest.core.enums import CaseState, ConflictKind, EntitlementKind
from contest.core.models import Case, ConflictOfInterest, Member, Team
from contest.core.teams import final_team, teams_counted_together
from contest.teams.arxiv import paper_id
from contest.teams.inboxes import inbox, institution
from contest.teams.models import Entitlement, PastMember

MAX_DISCLOSURE_CHARACTERS = 1_000
MAX_NAMED = 200
_MIN_SPAN = timedelta(microseconds=1)
_END = "conflict.end"
_ASK_WHY = "Give the reason: it stays on record beside the conflict."


@retry_on_deadlock
@transaction.atomic
def conflict_declare(
    *, member: User, team: Team, kind: ConflictKind, since: datetime, words: str, by: User, now: datetime
) -> ConflictOfInterest:
    """Record that `member` does not judge `team` since `since`; they say so themselves, or an organizer does.

    Raises NotAllowed for others, InvalidInput for a moment to come, Conflict (`declared`) for the same once more.
    """
    _check_may(by, member)
    if not is_on_board(member):
        raise InvalidInput("Only members of the review board step aside.", "invalid", field="member")
    if since > now:
        raise InvalidInput("Give a day that has begun: a conflict counts from then on.", "invalid", field="since")
    told = words.replace("\x00", "").strip()
    if len(told) > MAX_DISCLOSURE_CHARACTERS:
        raise InvalidInput(f"Write at most {MAX_DISCLOSURE_CHARACTERS:,} characters.", "invalid", field="words")
    User.objects.select_for_update(no_key=True).get(pk=member.pk)  # simultaneous requests wait for each other
    _refuse_same(member, team, kind)
    held = _hold_cases([team])
    made = {"kind": kind, "since": since, "words": told, "declared_by": by, "declared_at": now}
    conflict = ConflictOfInterest.objects.create(member=member, team=final_team(team), **made)
    _record("conflict.declare", conflict, by, now, why=told)
    for case in held:
        retract_messages(case)
    return conflict


def _check_may(by: User, member: User) -> None:
    if by != member and not is_organizer(by):
        raise NotAllowed("Only the member and organizers declare a conflict.", "not_yours")


def _record(action: str, conflict: ConflictOfInterest, by: User | None, now: datetime, *, why: str = "") -> None:
    """Audit it. Which member is recused for which team is private: only the fact of a record is published."""
    told = {"member": conflict.member_id, "team": conflict.team_id, "kind": conflict.kind, "words": why}
    audit(action, by=by, subject={"conflict": [conflict.pk]}, now=now, private=told)


def _hold_cases(teams: Iterable[Team]) -> list[Case]:
    """Lock the open cases about these teams: so a decision comes before the conflict, or takes it into account."""
    together = {each.pk for team in teams for each in teams_counted_together(team)}
    about = Case.objects.filter(parties__team__in=together).exclude(state=CaseState.CLOSED)
    return list(Case.objects.select_for_update(of=("self",)).filter(pk__in=about.values("pk")).order_by("pk"))


def _refuse_same(member: User, team: Team, kind: ConflictKind) -> None:
    together = teams_counted_together(team)
    same = ConflictOfInterest.objects.filter(member=member, team__in=together, kind=kind, until=None, dismissed_at=None)
    if same.exists():
        raise Refused(f"This conflict with team {final_team(team).name} is on record already.", "declared")


@transaction.atomic
def conflict_end(*, conflict_id: int, reason: str, by: User, now: datetime) -> ConflictOfInterest:
    """Record that a conflict ends now, and why; the member stays recused from cases that are open (R21).

    InvalidInput without a reason, NotAllowed for a member whose conflict an organizer declared: an organizer ends it.
    A conflict found by the sweep is dismissed by an organizer instead. Conflict (`over`) for one that has ended.
    """
    said = clean_words(reason, field="reason", ask=_ASK_WHY, max_length=MAX_DISCLOSURE_CHARACTERS)
    found = _lock_conflict(conflict_id)
    _check_may(by, found.member)
    if found.found:
        raise NotAllowed("The contest found this conflict: an organizer dismisses it, with a reason.", "found")
    if found.declared_by_id != by.pk and not is_organizer(by):
        raise NotAllowed("An organizer declared this conflict. Ask the organizers to end it.", "not_yours")
    _refuse_over(found)
    found.until = max(now, found.since + _MIN_SPAN)
    found.save(update_fields=["until"])
    _record(_END, found, by, now, why=said)
    return found


@dataclass(frozen=True, slots=True)
class ConflictEnd:
    """How a declared conflict was ended: `by` is empty if the account is deleted, `why` if it was ended before
    a reason was required."""

    by: str
    why: str


def conflict_ends(rows: Iterable[ConflictOfInterest]) -> dict[int, ConflictEnd]:
    """Return conflict number -> who ended it and why, from the audit trail, for those of these that were ended."""
    numbers = [each.pk for each in rows if each.until is not None]
    entries = AuditEntry.objects.filter(action=_END, subject__conflict__0__in=numbers).select_related("user")
    return {
        each.subject["conflict"][0]: ConflictEnd(
            each.user.get_username() if each.user is not None else "", each.private.get("words", "")
        )
        for each in entries
    }


@transaction.atomic
def conflict_dismiss(*, conflict_id: int, reason: str, by: User, now: datetime) -> ConflictOfInterest:
    """Dismiss a conflict that the sweep found: it does not count from then on, and is not found again.

    Raises NotAllowed for anybody but organizers and for a declared conflict, InvalidInput without a reason.
    """
    if not is_organizer(by):
        raise NotAllowed("Only organizers dismiss a conflict.", "not_an_organizer")
    said = clean_words(reason, field="reason", ask=_ASK_WHY, max_length=MAX_DISCLOSURE_CHARACTERS)
    found = _lock_conflict(conflict_id)
    if not found.found:
        raise NotAllowed("A declared conflict is not dismissed: whoever declared it ends it.", "declared")
    _refuse_over(found)
    found.dismissed_at, found.dismissed_by, found.dismissed_reason = now, by, said
    found.save(update_fields=["dismissed_at", "dismissed_by", "dismissed_reason"])
    _record("conflict.dismiss", found, by, now, why=said)
    return found


def _lock_conflict(conflict_id: int) -> ConflictOfInterest:
    rows = ConflictOfInterest.objects.select_for_update(of=("self",)).select_related("member", "team")
    return required(rows.filter(pk=conflict_id).first(), NotFound("There is no such conflict.", "not_found"))


def _refuse_over(found: ConflictOfInterest) -> None:
    if found.until is not None or found.dismissed_at is not None:
        raise Refused("This conflict is over already.", "over")


# What the contest finds ----------------------------------------------------------------------------------------------


@transaction.atomic
def declare_ties(
    *, member: User, domains: Iterable[str], people: Iterable[str], papers: Iterable[str], now: datetime
) -> Affiliations:
    """Store a member's affiliations: domains of institutions, addresses of people, arXiv IDs of papers.

    Raises WrongFields for an invalid entry; a conflict found by an entry stays when the entry is removed.
    """
    readers = _readers(now.date())
    told = {"domains": list(domains), "people": list(people), "papers": list(papers)}
    wrong = {name: _wrong(rows, *readers[name]) for name, rows in told.items()}
    if any(wrong.values()):
        raise WrongFields({name: words for name, words in wrong.items() if words})
    clean = {name: sorted({str(readers[name][0](each)) for each in rows}) for name, rows in told.items()}
    made, _ = Affiliations.objects.update_or_create(member=member, defaults={**clean, "told_at": now})
    return made


_Reader = Callable[[str], str | None]


def _readers(today: date) -> dict[str, tuple[_Reader, str]]:
    """Return list name -> the function that parses an entry of the list, and the word for its entries."""
    return {
        "domains": (institution, "the domain of one institution, as in example.edu"),
        "people": (_address, "an e-mail address"),
        "papers": (lambda typed: paper_id(typed, today=today), "the ID of a paper on arXiv, as in 1809.08352"),
    }


def _address(typed: str) -> str | None:
    name, at, domain = typed.strip().partition("@")
    return inbox(typed) if name and at and domain else None


def _wrong(rows: list[str], read: _Reader, what: str) -> str:
    if len(rows) > MAX_NAMED:
        return f"Name at most {MAX_NAMED}."
    bad = [each for each in rows if not read(each)]
    return f"This is not {what}: {', '.join(bad[:3])}." if bad else ""


def conflicts_find(*, now: datetime) -> int:
    """Find and record new conflicts of board members with teams; return how many are new (R21).

    A found conflict counts for all the time before it was found as well. Nothing is locked if none is new.
    """
    return _record_found(now) if _new(board_members()) else 0


@retry_on_deadlock
@transaction.atomic
def _record_found(now: datetime) -> int:
    # Two sweeps wait for each other, as in `conflict_declare`; the second finds nothing new.
    new = _new(board_members().select_for_update(of=("self",), no_key=True))
    held = _hold_cases(Team.objects.filter(pk__in={team for _, team, _ in new}))
    for member, team, kind in new:
        # Found data does not say when the conflict began.
        told = {"since": EVER, "found": True, "declared_at": now}
        conflict = ConflictOfInterest.objects.create(member_id=member, team_id=team, kind=kind, **told)
        _record("conflict.find", conflict, None, now)
    for case in held:
        retract_messages(case)
    return len(new)


_Tie = tuple[int, int, str]


def _new(rows: QuerySet[User]) -> list[_Tie]:
    """Return the (member, team, kind) that are not on record."""
    members = list(rows)
    ties = {each.member_id: each for each in Affiliations.objects.filter(member__in=members)}
    addresses = _addresses()
    papers = set(Entitlement.objects.filter(kind=EntitlementKind.PAPER).values_list("team", "arxiv_id"))
    found = {key for each in members for key in _alike(each, ties.get(each.pk), addresses, papers)}
    past = PastMember.objects.filter(user__in=members).values_list("user", "team")
    found |= {(member, team, ConflictKind.MEMBER.value) for member, team in past if member is not None}
    return sorted(found - set(ConflictOfInterest.objects.filter(found=True).values_list("member", "team", "kind")))


_Said = Collection[tuple[int, str]]


def _alike(member: User, ties: Affiliations | None, addresses: _Said, papers: _Said) -> Iterator[_Tie]:
    """Yield the conflicts of a member with teams by an address or a paper of the team, each with the team's number."""
    domains = {institution(member.email), *(ties.domains if ties else ())} - {""}
    people, own = set(ties.people if ties else ()), set(ties.papers if ties else ())
    for team, address in addresses:
        if institution(address) in domains:
            yield member.pk, team, ConflictKind.INSTITUTION.value
        if inbox(address) in people:
            yield member.pk, team, ConflictKind.COAUTHOR.value
    for team, paper in papers:
        if paper in own:
            yield member.pk, team, ConflictKind.COAUTHOR.value


def _addresses() -> set[tuple[int, str]]:
    """Return the addresses that teams have or had: of their members, and of the authors of their papers."""
    here = Member.objects.exclude(user__email="").values_list("team", "user__email")
    past = PastMember.objects.exclude(user=None).exclude(user__email="").values_list("team", "user__email")
    authors = Entitlement.objects.exclude(email="").values_list("team", "email")
    return {*here, *past, *authors}
