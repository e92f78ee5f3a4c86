"""Services for cases: opening them, recording the teams they are about, members' votes and their count (R18-R21)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.http import Http404

from accounts.roles import is_on_board
from adjudication.counting import CHOICES, Ballot, agrees, decided_by, is_tie
from adjudication.models import Ruling
from adjudication.rules import REASONS
from common.audit.trail import audit
from common.errors import Conflict, InvalidInput, NotAllowed, ServerBusy, required
from common.typed import MinimumText, validate_text
from contest.board.case_messages import notify_case_opened, retract_messages
from contest.board.conflicts import conflicts_find
from contest.board.models import Appeal, AppealStatement, CaseParty, Disclosure, Vote
from contest.board.recusal import cases_seen_by, disclosed, quorum_of, recused_from, teams_of_case, undisclosed
from contest.core.breaks import all_breaks
from contest.core.conflicts import board_members
from contest.core.embargo import public_attack_condition
from contest.core.enums import CaseKind, CaseState, PartyRole, VoteChoice
from contest.core.models import Attack, Case, Team
from contest.core.teams import final_team
from contest.defenses.selectors import owner_of, stakes_aimed_at
from labeling.enums import Label
from labeling.models import Image
from policy.selectors import policy_in_force
from scoring.models import Defense

# Limits for a member's own words on a vote, and for the reason of a motion.
MIN_TEXT = MinimumText(characters=20, words=4)
MAX_VOTE_CHARACTERS = 4_000
SECONDS_UNTIL_RECORDED = 15

# Opening --------------------------------------------------------------------------------------------------------------


def lock_image(image_id: int) -> Image:
    """Lock a picture: appeals, the opening of a case and its decision on one picture wait for each other."""
    return Image.objects.select_for_update(no_key=True, of=("self",)).get(pk=image_id)


def newest_ruling_of(image: Image) -> Ruling | None:
    """Return the ruling in force on a picture; None without one."""
    return Ruling.objects.filter(image=image).select_related("policy", "panel").order_by("-number").first()


def open_case_of(image: Image) -> Case | None:
    """Return the case of a picture that is not closed yet."""
    return Case.objects.filter(image=image).exclude(state=CaseState.CLOSED).first()


def picture_case(*, image: Image, ruling: Ruling, by: User | None, now: datetime) -> Case:
    """Return the case of a picture that members vote on; open one if there is none. The caller has locked the picture.

    Conflict (`being_decided`) while the additional taskers of the board answer about it.
    """
    case = open_case_of(image)
    if case is not None:
        # Locked before anything is added to it: the sweep adds parties as well.
        Case.objects.select_for_update(of=("self",)).get(pk=case.pk)
    else:
        case = _open(kind=CaseKind.PICTURE, image=image, ruling=ruling, by=by, now=now)
        parties_add(case, now=now)
        notify_case_opened(case, now=now, but=by)
    if case.state == CaseState.PANEL:
        raise Conflict(
            "The board asked more taskers about this picture. Wait for the ruling that follows.", "being_decided"
        )
    return case


def motion_case(
    *,
    motion: str,
    subject: dict[str, list[int]],
    details: dict[str, Any],
    reason: str,
    teams: Iterable[Team],
    by: User,
    now: datetime,
) -> Case:
    """Open the case of a motion about these teams."""
    told = {"motion": motion, "subject": subject, "details": details, "reason": reason}
    case = _open(kind=CaseKind.MOTION, by=by, now=now, **told)
    for team in teams:
        party_add(case, team, PartyRole.CONCERNED, now=now)
    notify_case_opened(case, now=now, but=by)
    return case


def _open(*, by: User | None, now: datetime, **told: Any) -> Case:
    # Locked until the case is open: a conflict declared meanwhile is recorded after it, and deletes its messages.
    list(board_members().select_for_update(of=("self",), no_key=True).values_list("pk", flat=True))
    conflicts_find(now=now)  # before anybody is told of it
    policy = policy_in_force(now)
    due = now + timedelta(days=policy.policy.board_days)
    return Case.objects.create(policy_id=policy.id, opened_at=now, opened_by=by, due_at=due, **told)


@transaction.atomic
def case_open(*, image: Image, by: User, now: datetime) -> Case:
    """Open the case of a picture without an appeal, for a member who doubts its ruling (R37); or return the open one.

    NotAllowed for accounts not on the board, Conflict (`not_ruled`) without a ruling, Http404 for recused members.
    """
    if not is_on_board(by):
        raise NotAllowed("Only members of the review board open a case.", "not_on_board")
    held = lock_image(image.pk)
    ruling = required(newest_ruling_of(held), Conflict("There is no ruling on this picture yet.", "not_ruled"))
    case = open_case_of(held)
    if case is None:
        case = picture_case(image=held, ruling=ruling, by=by, now=now)
        audit("case.open", by=by, subject={"case": [case.public_id]}, now=now)
    return case_seen_by(by, case.public_id)


# Which teams it is about ----------------------------------------------------------------------------------------------


def party_add(case: Case, team: Team, role: PartyRole, *, now: datetime) -> bool:
    """Record that a case is about a team; False if the team is a party of it in any role."""
    final = final_team(team)
    if final in teams_of_case(case):
        return False
    CaseParty.objects.create(case=case, team=final, role=role, added_at=now)
    retract_messages(case)
    return True


def parties_add(case: Case, *, now: datetime) -> int:
    """Record the teams that by now are parties of a picture's case; return how many are new (R21)."""
    if case.image is None:
        return 0
    return sum(party_add(case, team, role, now=now) for team, role in _parties(case.image, now))


def _parties(image: Image, now: datetime) -> Iterator[tuple[Team, PartyRole]]:
    """Yield the teams that sent a picture, owners of defenses at stake that it was aimed at or broke under any ruling
    (the board may return to that one), and teams that appealed it, also in an earlier case.

    An attack under embargo makes no team a party: that would reveal its sender (R24).
    """
    sent = (
        Attack.objects.filter(public_attack_condition(now=now), image=image)
        .select_related("team")
        .order_by("received_at")
    )
    for attack in sent:
        yield attack.team, PartyRole.SENDER
    for defense in _met(image, sent):
        owner = owner_of(defense)
        if owner is not None:
            yield owner, PartyRole.DEFENDER
    for appeal in Appeal.objects.filter(image=image).select_related("team").order_by("pk"):
        yield appeal.team, PartyRole.APPELLANT


def _met(image: Image, sent: Iterable[Attack]) -> Iterator[Defense]:
    for attack in sent:
        for stake in stakes_aimed_at(attack).select_related("defense__entry__team").order_by("pk"):
            yield stake.defense
    broken = all_breaks().filter(image=image, defense__stakes__staked_at__isnull=False)
    for each in broken.select_related("defense__entry__team").order_by("pk"):
        yield each.defense


# Who may look and vote ------------------------------------------------------------------------------------------------


def case_seen_by(member: User, public_id: str) -> Case:
    """Return a case from which a member of the board is not recused; Http404 for every other case (R21)."""
    rows = cases_seen_by(member).select_related("image", "ruling__panel", "ruling__policy", "policy", "result")
    case = rows.filter(public_id=public_id).first() if public_id.isprintable() else None
    if case is None:
        raise Http404("no such case for this member")
    return case


def _misses_parties(case: Case, now: datetime) -> bool:
    """Say whether by now a team is a party of an open case and is not recorded."""
    if case.image is None or case.state != CaseState.OPEN:
        return False
    known = {team.pk for team in teams_of_case(case)}
    return any(final_team(team).pk not in known for team, _ in _parties(case.image, now))


def refuse_missing_parties(case: Case, *, now: datetime) -> None:
    """Raise ServerBusy while a party of a case is missing: nobody opens the case until the sweep records it (R21)."""
    if _misses_parties(case, now):
        raise ServerBusy(
            "Another team has just become part of this case. The case opens again as soon as that is recorded.",
            "parties_change",
            retry_after=SECONDS_UNTIL_RECORDED,
        )


@transaction.atomic
def parties_refresh(public_id: str, *, now: datetime) -> None:
    """Record the parties that an open case has by now, before anybody acts on it: the sweep may come later (R21)."""
    named = Case.objects.filter(public_id=public_id, image__isnull=False).select_related("image")
    case = named.first() if public_id.isprintable() else None
    if case is None or case.image is None or not _misses_parties(case, now):
        return
    lock_image(case.image.pk)
    Case.objects.select_for_update(of=("self",)).get(pk=case.pk)
    parties_add(case, now=now)


@transaction.atomic
def disclose(*, case: Case, teams: Sequence[str], by: User, now: datetime) -> None:
    """Record a member's disclosure of no conflict with the teams (public IDs) of a case, which opens it to them.

    Conflict (`others`) if the page named other teams than those without a disclosure.
    """
    waiting = undisclosed(case_seen_by(by, case.public_id), by)
    if {team.public_id for team in waiting} - set(teams):
        raise Conflict("The case is about another team as well by now. Look at the list again.", "others")
    made = (Disclosure(case=case, member=by, team=team, made_at=now) for team in waiting)
    same = ["case", "member", "team"]
    Disclosure.objects.bulk_create(made, update_conflicts=True, unique_fields=same, update_fields=["made_at"])


def case_opened_by(member: User, public_id: str) -> Case:
    """Return a case whose content is open to a member: they are not recused and made their disclosure (R21).

    Http404 for recused members, Conflict (`disclose_first`) for members without a disclosure.
    """
    case = case_seen_by(member, public_id)
    if undisclosed(case, member):
        raise Conflict("First state any conflict of interest with the teams that this case is about.", "disclose_first")
    return case


@dataclass(frozen=True, slots=True)
class VoteCount:
    """The votes that count now, one of each member, in the order in which they were cast. `waiting` are votes of
    members without a disclosure about a team that became a party later.

    `mark` changes with every vote that counts, every party, every appeal and every statement of the other side: so the
    member who confirms has seen all of them.
    """

    votes: tuple[Vote, ...]
    judges: int
    quorum: int
    recused: int
    decides: Ballot
    tied: bool
    waiting: int
    mark: str

    @property
    def is_enough(self) -> bool:
        """Say whether there is a quorum of votes."""
        return len(self.votes) >= self.quorum

    @property
    def all_voted(self) -> bool:
        """Say whether every member who may vote has a vote that counts: then a tie is final."""
        return len(self.votes) >= self.judges

    @property
    def can_be_enough(self) -> bool:
        """Say whether enough members are left to decide (R21)."""
        return self.judges >= self.quorum


def count_of(case: Case) -> VoteCount:
    """Count the newest vote of each member who is on the board, not recused, and made the disclosure."""
    recused, teams = recused_from(case), {team.pk for team in teams_of_case(case)}
    judges = {member.pk: member for member in board_members().exclude(pk__in=recused)}
    newest = {vote.member_id: vote for vote in Vote.objects.filter(case=case, member__in=judges).order_by("pk")}
    said = [vote for pk, vote in newest.items() if pk is not None and teams <= disclosed([case], judges[pk])[case.pk]]
    votes = tuple(sorted(said, key=lambda vote: vote.pk))
    ballots = [ballot_of(vote) for vote in votes]
    return VoteCount(
        votes=votes,
        judges=len(judges),
        quorum=quorum_of(case),
        recused=len(recused),
        decides=decided_by(ballots, CaseKind(case.kind)),
        tied=is_tie(ballots),
        waiting=len(newest) - len(votes),
        mark=_mark(case, votes),
    )


def _mark(case: Case, votes: Iterable[Vote]) -> str:
    """Return a hash: plain row numbers would reveal how many votes there are in other cases."""
    rows = (Appeal.objects, AppealStatement.objects, CaseParty.objects)
    seen = [[vote.pk for vote in votes]]
    seen += [list(each.filter(case=case).order_by("pk").values_list("pk", flat=True)) for each in rows]
    return sha256(f"{case.public_id} {seen}".encode()).hexdigest()[:16]


def ballot_of(vote: Vote) -> Ballot:
    """Return what a vote is for."""
    return Ballot(VoteChoice(vote.choice), vote.label, tuple(vote.reasons))


@transaction.atomic
def vote_cast(
    *,
    case: Case,
    by: User,
    choice: VoteChoice,
    now: datetime,
    label: str = "",
    reasons: Sequence[str] = (),
    words: str = "",
    public: bool = False,
) -> Vote:
    """Cast or change a vote while the case is open (R19): an overrule with a class, or with the reasons of a rejection.

    Http404 for recused members, Conflict (`disclose_first`, `decided`), InvalidInput for an impossible choice.
    """
    held = lock_case(by, case.public_id, now=now)
    ballot = _ballot(held, choice, label, reasons)
    said = _own_words(words, public)
    told = {"choice": ballot.choice, "label": ballot.label, "reasons": list(ballot.reasons)}
    return Vote.objects.create(case=held, member=by, **told, words=said, public=public, cast_at=now)


def _own_words(typed: str, public: bool) -> str:
    """Return a member's own words on their vote, maybe none; InvalidInput (`words`) for words that say too little."""
    if not public and not typed.replace("\x00", "").strip():
        return ""
    ask = "Write what is to be published, or leave it unpublished." if public else "Say more on your vote, or nothing."
    return validate_text(typed, field="words", ask=ask, minimum=MIN_TEXT, max_length=MAX_VOTE_CHARACTERS)


def lock_case(by: User, public_id: str, *, now: datetime) -> Case:
    """Lock a case that `by` may vote on, and its picture before it; errors as `vote_cast`."""
    case = case_opened_by(by, public_id)
    if case.image_id is not None:
        lock_image(case.image_id)
    Case.objects.select_for_update(of=("self",)).get(pk=case.pk)
    if case.state == CaseState.OPEN:
        parties_add(case, now=now)
    # Checked again under the lock: meanwhile a conflict may have been declared, or another member have decided.
    held = case_opened_by(by, public_id)
    if held.state != CaseState.OPEN:
        raise Conflict("This case was decided meanwhile. Nothing of yours was recorded; look at it again.", "decided")
    return held


def _ballot(case: Case, choice: VoteChoice, label: str, reasons: Sequence[str]) -> Ballot:
    if choice not in CHOICES[CaseKind(case.kind)]:
        raise InvalidInput("Choose what you vote for.", "invalid", field="choice")
    if choice is not VoteChoice.OVERRULE:
        return Ballot(choice)
    if case.ruling is None:
        raise InvalidInput("Choose what you vote for.", "invalid", field="choice")
    if bool(label) == bool(reasons):
        raise InvalidInput("Choose a class, or at least one reason to reject the picture.", "invalid", field="outcome")
    if label and label not in set(Label):
        raise InvalidInput("Choose one of the two classes.", "invalid", field="outcome")
    ordered = tuple(each.value for each in REASONS if each in reasons)
    if len(ordered) != len(set(reasons)):
        raise InvalidInput("Choose reasons from the list.", "invalid", field="outcome")
    if (label, list(ordered)) == (case.ruling.label, case.ruling.reasons):
        raise InvalidInput("That is what the ruling says. Uphold it instead.", "same", field="outcome")
    return Ballot(choice, label, ordered)


def count_fields(count: VoteCount) -> dict[str, Any]:
    """Return the fields of a decision that record a count: without names, with the words that members publish."""
    votes = [
        {
            "choice": vote.choice,
            "label": vote.label,
            "reasons": vote.reasons,
            "words": vote.words if vote.public else "",
            "dissent": not agrees(ballot_of(vote), count.decides),
        }
        for vote in count.votes
    ]
    return {"votes": votes, "quorum": count.quorum, "recused": count.recused}
