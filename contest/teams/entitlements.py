"""Services for the entitlement to attack (R25): a member's paper checked by an organizer, or a grant of the board."""

from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from accounts.roles import is_organizer
from common.audit.trail import Subject, audit
from common.errors import Conflict, InvalidInput, NotAllowed, NotFound, required
from common.typed import clean_words
from contest.core.decisions import MotionMandate, record_decision
from contest.core.enums import DecisionKind, EntitlementKind, EntitlementState, EntitlementStepKind
from contest.core.models import Team
from contest.core.teams import final_team, team_of, teams_counted_together
from contest.teams.arxiv import paper_id
from contest.teams.letters import notify_step
from contest.teams.models import Entitlement, EntitlementStep
from contest.teams.selectors import WAITING, entitlement_in_force, entitlements_of, is_entitled
from contest.teams.services import lock_captain, lock_team

MAX_CHARACTERS = 2_000


@transaction.atomic
def entitlement_request(*, by: User, arxiv_id: str, paper_email: str, now: datetime) -> Entitlement:
    """Request that the captain's team is entitled by a paper whose author is a member with this confirmed address.

    InvalidInput (`arxiv_id`, `paper_email`); Conflict while another request waits, or when the team
    is entitled already.
    """
    team = lock_captain(by)
    _check_may_ask(team, now)
    paper = _paper(arxiv_id, now)
    author = _author(team, paper_email)
    asked = Entitlement.objects.create(
        team=team,
        kind=EntitlementKind.PAPER,
        arxiv_id=paper,
        email=author.email,
        author=author,
        asked_by=by,
        asked_at=now,
    )
    _step(asked, EntitlementStepKind.ASKED, "", by, now)
    return asked


def _check_may_ask(team: Team, now: datetime) -> None:
    if is_entitled(team, now):
        raise Conflict("Your team is entitled already.", "entitled_already")
    if entitlements_of(team).filter(state__in=WAITING).exists():
        raise Conflict(
            "A request of your team is being looked at: wait for its answer, or withdraw it.", "asked_already"
        )


def _paper(typed: str, now: datetime) -> str:
    words = "Write the paper's arXiv identifier, for example 1809.08352 or hep-th/9901001."
    return required(paper_id(typed, today=now.date()), InvalidInput(words, "invalid", field="arxiv_id"))


def _author(team: Team, typed: str) -> User:
    author = User.objects.filter(membership__team=team, email__iexact=typed.strip()).exclude(email="").first()
    words = (
        "This has to be the address of a member of your team. Its owner enters it on their account page and "
        "confirms it by the link we send; then ask again."
    )
    return required(author, InvalidInput(words, "not_a_member", field="paper_email"))


@transaction.atomic
def entitlement_answer(*, by: User, words: str, now: datetime) -> Entitlement:
    """Answer the organizers' question; the request waits for them again."""
    asked = _of_team(by, (EntitlementState.QUESTION,))
    said = clean_words(words, field="words", ask="Write your answer.", max_length=MAX_CHARACTERS)
    return _move(asked, EntitlementState.ASKED, EntitlementStepKind.ANSWER, said, by, now)


@transaction.atomic
def entitlement_withdraw(*, by: User, now: datetime) -> Entitlement:
    """Take the team's request back."""
    return _move(_of_team(by, WAITING), EntitlementState.WITHDRAWN, EntitlementStepKind.WITHDRAWN, "", by, now)


@transaction.atomic
def entitlement_accept(*, number: int, by: User, now: datetime) -> Entitlement:
    """Accept a request. Conflict (`author_left`) when the paper's author is no member of the team any more."""
    asked = _for_organizer(number, by)
    author = asked.author
    if author is None or team_of(author) != final_team(asked.team):
        raise Conflict(
            "The member whose paper this is has left the team: refuse the request, or ask the team.", "author_left"
        )
    _record("entitlement.accept", asked, by, now)
    return _move(asked, EntitlementState.ACCEPTED, EntitlementStepKind.ACCEPTED, "", by, now)


@transaction.atomic
def entitlement_question(*, number: int, words: str, by: User, now: datetime) -> Entitlement:
    """Ask the team something before the request is decided."""
    asked = _for_organizer(number, by)
    said = clean_words(words, field="words", ask="Write the question.", max_length=MAX_CHARACTERS)
    _record("entitlement.question", asked, by, now, said)
    return _move(asked, EntitlementState.QUESTION, EntitlementStepKind.QUESTION, said, by, now)


@transaction.atomic
def entitlement_refuse(*, number: int, words: str, by: User, now: datetime) -> Entitlement:
    """Refuse a request with a reason, which the team reads; it may ask again."""
    asked = _for_organizer(number, by)
    said = clean_words(words, field="words", ask="Write the reason: the team reads it.", max_length=MAX_CHARACTERS)
    _record("entitlement.refuse", asked, by, now, said)
    return _move(asked, EntitlementState.REFUSED, EntitlementStepKind.REFUSED, said, by, now)


@transaction.atomic
def entitlement_grant(*, team: Team, reason: str, by: MotionMandate, now: datetime) -> Entitlement:
    """Let the board entitle a team without a paper. Conflict when it was merged or is entitled already.

    NotAllowed without a mandate of the board, InvalidInput (`reason`) without a reason.
    """
    held = lock_team(team.pk)
    grant_check(held, now=now)
    decision = record_decision(DecisionKind.GRANT, subject={"team": [held.pk]}, reason=reason, by=by, now=now)
    row = Entitlement.objects.create(
        team=held,
        kind=EntitlementKind.GRANT,
        state=EntitlementState.ACCEPTED,
        asked_by=by.member,
        asked_at=now,
        decided_by=by.member,
        decided_at=now,
        decision=decision,
    )
    _step(row, EntitlementStepKind.ACCEPTED, decision.reason, by.member, now)
    return row


def grant_check(team: Team, *, now: datetime) -> None:
    """Raise Conflict for a team that the board cannot entitle now: it was merged, or has a grant."""
    if team.merged_into is not None:
        raise Conflict("This team is part of another one: choose that one.", "merged", field="team")
    granted = entitlement_in_force(team, now)
    if granted is not None and granted.kind == EntitlementKind.GRANT:
        raise Conflict("The board has granted this already.", "entitled_already", field="team")


@transaction.atomic
def entitlement_revoke(*, number: int, words: str, by: User, now: datetime) -> Entitlement:
    """Revoke an accepted paper, with a reason that the team reads; attacks sent before stay.

    Conflict (`not_accepted`) for one that is not in force, and for a grant (`a_grant`), which only the board revokes.
    """
    _check_organizer(by)
    said = clean_words(words, field="words", ask="Write the reason: the team reads it.", max_length=MAX_CHARACTERS)
    found = _accepted(Entitlement.objects.select_for_update(of=("self",)), number)
    if found.kind == EntitlementKind.GRANT:
        raise Conflict("The review board granted this: it alone takes it back.", "a_grant")
    _record("entitlement.revoke", found, by, now, said)
    return _revoked(found, said, by, now)


@transaction.atomic
def grant_revoke(*, number: int, reason: str, by: MotionMandate, now: datetime) -> Entitlement:
    """Revoke a grant by a decision of the board, with a public reason.

    NotAllowed without a mandate of the board, InvalidInput (`reason`) without a reason, Conflict (`not_accepted`) for
    what is not in force.
    """
    found = _accepted(Entitlement.objects.select_for_update(of=("self",)), number)
    _refuse_paper(found)
    decision = record_decision(DecisionKind.REVOKE, subject={"team": [found.team_id]}, reason=reason, by=by, now=now)
    return _revoked(found, decision.reason, by.member, now)


def revoke_check(number: int) -> None:
    """Raise what `grant_revoke` would raise now of this grant; nothing is locked or written."""
    _refuse_paper(_accepted(Entitlement.objects.all(), number))


def _refuse_paper(found: Entitlement) -> None:
    if found.kind != EntitlementKind.GRANT:
        raise Conflict("This is no grant: an organizer takes back that a paper was accepted.", "not_a_grant")


def _accepted(rows: QuerySet[Entitlement], number: int) -> Entitlement:
    found = required(rows.filter(pk=number).first(), NotFound("There is no such entitlement.", "not_found"))
    if found.state != EntitlementState.ACCEPTED:
        raise Conflict(f"This is not in force, so that nothing can be revoked: it is {found.state}.", "not_accepted")
    return found


def _revoked(found: Entitlement, words: str, by: User, now: datetime) -> Entitlement:
    # The row keeps who accepted it, and when; the step says who revoked it.
    found.state = EntitlementState.REVOKED
    found.save(update_fields=["state"])
    _step(found, EntitlementStepKind.REVOKED, words, by, now)
    return found


def _of_team(by: User, states: tuple[EntitlementState, ...]) -> Entitlement:
    family = teams_counted_together(lock_captain(by))
    rows = Entitlement.objects.select_for_update(of=("self",)).filter(team__in=family, state__in=states)
    nothing = Conflict("Your team has no request that waits for this now. Look at the page again.", "nothing_waits")
    return required(rows.order_by("asked_at", "pk").first(), nothing)


def _for_organizer(number: int, by: User) -> Entitlement:
    _check_organizer(by)
    rows = Entitlement.objects.select_for_update(of=("self",)).filter(pk=number)
    found = required(rows.first(), NotFound("There is no such request.", "not_found"))
    if found.state not in WAITING:
        raise Conflict(f"This request is {found.state} already: nothing was changed.", "decided_already")
    return found


def _check_organizer(by: User) -> None:
    if not is_organizer(by):
        raise NotAllowed("Only organizers decide about requests.", "not_an_organizer")


def _move(
    asked: Entitlement, state: EntitlementState, kind: EntitlementStepKind, words: str, by: User, now: datetime
) -> Entitlement:
    asked.state = state
    if state not in WAITING:
        asked.decided_by, asked.decided_at = by, now
    asked.save(update_fields=["state", "decided_by", "decided_at"])
    _step(asked, kind, words, by, now)
    return asked


def _record(action: str, of: Entitlement, by: User, now: datetime, why: str = "") -> None:
    subject: Subject = {"team": [of.team.public_id], "entitlement": [of.pk]}
    audit(action, by=by, subject=subject, why=why, now=now)


def _step(of: Entitlement, kind: EntitlementStepKind, words: str, by: User, now: datetime) -> None:
    notify_step(EntitlementStep.objects.create(entitlement=of, kind=kind, words=words, made_by=by, made_at=now))
