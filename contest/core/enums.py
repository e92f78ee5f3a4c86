"""Stored choices of the contest."""

from enum import StrEnum

# Words of the board that the verifier of a release reads too.
from adjudication.enums import AppealSide as AppealSide
from adjudication.enums import CaseKind as CaseKind
from adjudication.enums import CaseOutcome as CaseOutcome
from adjudication.enums import DecisionKind as DecisionKind
from adjudication.enums import VoteChoice as VoteChoice
from labeling.enums import RELEASED_ORIGINS as RELEASED_ORIGINS


class EntitlementKind(StrEnum):
    """Why a team may attack (R25)."""

    PAPER = "paper"
    GRANT = "grant"


class EntitlementState(StrEnum):
    """How far a request is: `question` waits for the team's answer."""

    ASKED = "asked"
    QUESTION = "question"
    ACCEPTED = "accepted"
    REFUSED = "refused"
    WITHDRAWN = "withdrawn"
    REVOKED = "revoked"


class EntitlementStepKind(StrEnum):
    """What happened to a request: an organizer asks a `question`, the team gives an `answer`."""

    ASKED = "asked"
    QUESTION = "question"
    ANSWER = "answer"
    ACCEPTED = "accepted"
    REFUSED = "refused"
    WITHDRAWN = "withdrawn"
    REVOKED = "revoked"


class SamePersonBy(StrEnum):
    """What says that two accounts are one person."""

    EMAIL = "email"
    ADDRESS = "address"
    PAPER = "paper"


class ConflictKind(StrEnum):
    """Why a member of the board steps aside for a team (R21). `member`: they were of the team themselves."""

    COAUTHOR = "coauthor"
    INSTITUTION = "institution"
    ADVISOR = "advisor"
    MEMBER = "member"
    OTHER = "other"


class CaseState(StrEnum):
    """OPEN: members vote; PANEL: decided, and more taskers are at it (R19); CLOSED: nothing more comes of it."""

    OPEN = "open"
    PANEL = "panel"
    CLOSED = "closed"


class PartyRole(StrEnum):
    """Why a case is about a team: it sent the picture, holds a defense that it meets, appealed, or is what a motion
    is about."""

    SENDER = "sender"
    DEFENDER = "defender"
    APPELLANT = "appellant"
    CONCERNED = "concerned"


class StakeKind(StrEnum):
    """Who stands for the prize of a staked defense (R32)."""

    BOARD = "board"
    TEAM = "team"


class StakeEnd(StrEnum):
    """How a stake ended. `void`: a break of a week before the stake was found afterwards."""

    BROKEN = "broken"
    WON = "won"
    OVERTAKEN = "overtaken"
    WITHDRAWN = "withdrawn"
    VOID = "void"


class DefenseStanding(StrEnum):
    """How far a defense is, the last that is true of it (R31-R33, R36).

    NOT_ELIGIBLE: a condition failed. It is RECEIVED again when something new is asked about it: by a new private set
    where it failed on the private set, by a trial that an organizer asks for, or by a newer check of the board.
    """

    RECEIVED = "received"
    NOT_ELIGIBLE = "not eligible"
    ELIGIBLE = "eligible"
    PUBLISHED = "published"
    STAKED = "staked"
    BROKEN = "broken"
    WON = "won"
    WITHDRAWN = "withdrawn"


class AccountKind(StrEnum):
    """The accounts of the ledger (R34). Only `outside`, where money comes from and goes to, may be overdrawn."""

    OUTSIDE = "outside"
    POOL = "pool"
    ATTACKERS = "attackers"
    DEFENDERS = "defenders"
    STAKE = "stake"
    TEAM = "team"
    WITHHELD = "withheld"


class MessageKind(StrEnum):
    """What a message tells of; the name of its text. What each is made of is in contest.outbox.kinds."""

    ATTACK_RECEIVED = "attack_received"
    ATTACK_WITHDRAWN = "attack_withdrawn"
    ATTACK_VERDICTS = "attack_verdicts"
    ATTACK_BROKE = "attack_broke"
    NOT_ELIGIBLE = "defense_not_eligible"
    PUBLISHED = "defense_published"
    STAKED = "defense_staked"
    DEFENSE_BROKEN = "defense_broken"
    STAKE_CHANGED = "stake_changed"
    POSTED = "money_posted"
    PAID = "money_paid"
    TEAM_NEWS = "team_news"
    ASSOCIATION = "team_association"
    ENTITLEMENT = "team_entitlement"
    QUESTION_WAITING = "question_waiting"
    PICTURES_VALID = "pictures_valid"
    APPEALS_CLOSING = "appeals_closing"
    APPEAL_RECEIVED = "appeal_received"
    APPEAL_AGAINST = "appeal_against"
    CASE_OPENED = "case_opened"
    CASE_DUE = "case_due"
    CASE_NO_QUORUM = "case_no_quorum"
    CASE_DECIDED = "case_decided"
    RULING_CHANGED = "ruling_changed"
    REQUEST = "organizer_entitlement"
    PANELS_STUCK = "panels_stuck"
    RELEASE_FAILED = "release_failed"
    LETTERS_GIVEN_UP = "letters_given_up"


class MessageGroup(StrEnum):
    """Kinds of messages that a person has one wish for."""

    ATTACKS = "attacks"
    DEFENSES = "defenses"
    MONEY = "money"
    CASES = "cases"
    TEAM = "team"
    ORGANIZING = "organizing"


class MessageRate(StrEnum):
    """How messages go by e-mail: `app` is not at all."""

    AT_ONCE = "at_once"
    DIGEST = "digest"
    APP = "app"


class BuildState(StrEnum):
    """How far a release that is being built is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class UploadKind(StrEnum):
    """What a team uploads, each counted by itself where it is refused."""

    ATTACK = "attack"
    DEFENSE = "defense"
