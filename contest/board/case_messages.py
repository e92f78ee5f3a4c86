"""Sends messages about cases to board members, organizers and teams, never to a recused member (R21).

Members get messages about a case while they may judge it; a conflict recorded later deletes those messages.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse

from accounts.roles import ORGANIZERS
from adjudication.models import Ruling
from common.times import absolute
from contest.board.models import CaseDecision
from contest.board.recusal import judges_for, quorum_of, recused_from
from contest.board.selectors import teams_informed
from contest.core.breaks import all_breaks
from contest.core.enums import CaseKind, CaseOutcome, DecisionKind, MessageKind
from contest.core.models import Attack, Case, Team
from contest.core.publication import released
from contest.core.teams import final_team
from contest.defenses.selectors import owner_of
from contest.outbox.grouped_facts import senders_may_know
from contest.outbox.writing import notify, retract, was_notified
from labeling.models import Image
from policy.selectors import policy_in_force

# A case is called due this long before its deadline.
DUE_SOON = timedelta(days=1)
MOTION_WORDS = {
    DecisionKind.STAKE: "a motion to stake defenses",
    DecisionKind.GRANT: "a motion to let a team attack without a paper",
    DecisionKind.REVOKE: "a motion to take a grant back",
    DecisionKind.WITHHOLD: "a motion to withhold money",
    DecisionKind.AWARD: "a motion to award the prize",
    DecisionKind.RETURN: "a motion about what is returned",
    DecisionKind.END: "a motion to end a stake",
    DecisionKind.FORFEIT: "a motion to take a prize for good",
}
OUTCOME_WORDS = {
    CaseOutcome.UPHOLD: "the ruling is upheld",
    CaseOutcome.MORE_TASKERS: "more taskers are asked",
    CaseOutcome.OVERRULE: "the ruling is overruled",
    CaseOutcome.CARRIED: "the motion is carried",
    CaseOutcome.LOST: "the motion is lost",
    CaseOutcome.DROPPED: "the motion was taken back",
}


def describe_case(case: Case) -> str:
    """Return in words what a case is about, without naming a team."""
    if case.kind == CaseKind.MOTION:
        return MOTION_WORDS[DecisionKind(case.motion)]
    assert case.image is not None, "a picture's case has one"
    return f"the ruling on picture {case.image.public_id}"


def _case_page(case: Case) -> str:
    return reverse("board-case", args=[case.public_id])


def _zone(now: datetime) -> str:
    return policy_in_force(now).policy.time_zone


def notify_case_opened(case: Case, *, now: datetime, but: User | None = None) -> None:
    """Tell the members who may judge a case that it is open, except the one who opened it."""
    _notify_board(case, MessageKind.CASE_OPENED, [each for each in judges_for(case) if each != but], now)


def notify_case_due(case: Case, *, now: datetime) -> None:
    """Tell the members who may judge a case, once, that its deadline is near."""
    _notify_board(case, MessageKind.CASE_DUE, judges_for(case), now)


def notify_case_remind(case: Case, members: Iterable[User], *, all_voted: bool, now: datetime) -> None:
    """Remind these members of a case for an organizer: to vote or, if `all_voted`, to confirm the count."""
    key = f"{case.public_id} {now.isoformat()}"
    _notify_board(case, MessageKind.CASE_DUE, members, now, key=key, reminder="confirm" if all_voted else "vote")


def _notify_board(
    case: Case, kind: MessageKind, members: Iterable[User], now: datetime, *, key: str = "", **more: Any
) -> None:
    about, key, due = _case_page(case), key or case.public_id, absolute(case.due_at, _zone(now))
    notify(members, kind, about=about, now=now, key=key, case=case.public_id, what=describe_case(case), due=due, **more)


def notify_no_quorum(case: Case, *, now: datetime) -> None:
    """Tell organizers that too few members are left to decide a case (R21), naming only the kind of its subject."""
    notify(
        ORGANIZERS,
        MessageKind.CASE_NO_QUORUM,
        about=reverse("organizer-conflicts"),
        now=now,
        case=case.public_id,
        what=describe_case(case),
        needed=quorum_of(case),
        left=len(judges_for(case)),
    )


def retract_messages(case: Case) -> None:
    """Delete the messages about a case to members who are recused from it by now."""
    recused = recused_from(case)
    if recused:
        retract(_case_page(case), users=User.objects.filter(pk__in=recused))


def notify_case_decided(decision: CaseDecision, *, now: datetime, late: Team | None = None) -> int:
    """Tell the parties of a picture's case that may know of it how it was decided, and return how many people get the
    message. A motion needs none: the service that carries it out sends its own.

    `late`: tell this team only, which may know of the case only now, unless it got the message before.
    """
    if decision.case.kind != CaseKind.PICTURE:
        return 0
    return _notify_outcome(
        decision.case,
        decision.case.public_id,
        outcome=OUTCOME_WORDS[CaseOutcome(decision.outcome)],
        decided_at=decision.decided_at,
        explanation=decision.explanation,
        now=now,
        late=late,
    )


def notify_panel_ruled(case: Case, ruling: Ruling, *, now: datetime, late: Team | None = None) -> int:
    """Tell the teams that may know of a case which ruling the additional taskers led to, also if it is the same
    as before (R19); `late` as for `notify_case_decided`. Return how many people get the message."""
    return _notify_outcome(
        case,
        f"{case.public_id} ruled",
        outcome=f"the taskers who were asked in addition have answered, and the ruling is {ruling.words}",
        decided_at=ruling.decided_at,
        explanation="",
        now=now,
        late=late,
    )


def _notify_outcome(
    case: Case, key: str, *, outcome: str, decided_at: datetime, explanation: str, now: datetime, late: Team | None
) -> int:
    return _notify_teams(
        [late] if late else teams_informed(case, now=now),
        MessageKind.CASE_DECIDED,
        key,
        late=late,
        about=reverse("appeal-case", args=[case.public_id]),
        now=now,
        case=case.public_id,
        what=describe_case(case),
        outcome=outcome,
        decided_at=absolute(decided_at, _zone(now)),
        explanation=explanation,
    )


def _notify_teams(teams: Iterable[Team], kind: MessageKind, key: str, *, late: Team | None, **told: Any) -> int:
    """Send a message to teams; to the team `late`, only if it did not get the message before."""
    not_informed = [team for team in teams if late is None or not was_notified(team, kind, key)]
    return sum(notify(team, kind, key=key, **told) for team in not_informed)


def notify_ruling_changed(was: Ruling, holds: Ruling, *, now: datetime, late: Team | None = None) -> int:
    """Tell teams that another ruling is in force: the sender, and owners of the defenses that the picture was aimed at;
    after its release also teams that sent a copy, and owners of defenses that it broke (R22, R24). Effects on stakes
    and money have letters of their own. `late` as for `notify_case_decided`. Return how many people get the message."""
    if (was.label, was.reasons) == (holds.label, holds.reasons):
        return 0
    return _notify_teams(
        [late] if late else _concerned(holds.image, now),
        MessageKind.RULING_CHANGED,
        f"ruling {holds.pk}",
        late=late,
        about=reverse("picture-record", args=[holds.image.public_id]),
        now=now,
        picture=holds.image.public_id,
        was=was.words,
        holds=holds.words,
        why=holds.explanation,
        followed=_followed(was, holds),
    )


def _followed(was: Ruling, holds: Ruling) -> str:
    if holds.label:
        return "Every published defense is run against it, or judged anew by what it answered."
    return "It breaks no defense any more." if was.label else "It stays rejected, for other reasons."


def _concerned(image: Image, now: datetime) -> list[Team]:
    sent = Attack.objects.filter(senders_may_know(now=now), image=image).select_related("team__merged_into")
    parties = [
        team for case in Case.objects.filter(image=image).order_by("pk") for team in teams_informed(case, now=now)
    ]
    broke = all_breaks().filter(released("image__"), image=image, defense__published_at__isnull=False)
    owners = (owner_of(each.defense) for each in broke.select_related("defense__entry__team__merged_into"))
    senders = [final_team(each.team) for each in sent.order_by("received_at")]
    return list({team.pk: team for team in [*senders, *parties, *(each for each in owners if each)]}.values())
