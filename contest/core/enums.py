"""Enumerations of the contest: kinds and states of cases, stakes, accounts, messages and more."""

from enum import StrEnum

# Enumerations of the board that the verifier of a release uses too.
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
    """The state of a request to be entitled: `question` waits for the team's answer."""

    ASKED = "asked"
    QUESTION = "question"
    ACCEPTED = "accepted"
    REFUSED = "refused"
    WITHDRAWN = "withdrawn"
    REVOKED = "revoked"


class EntitlementStepKind(StrEnum):
    """A step of a request to be entitled: an organizer asks a `question`, the team gives an `answer`."""

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
    """Why a member of the board is recused for a team (R21). `member`: they were a member of the team."""

    COAUTHOR = "coauthor"
    INSTITUTION = "institution"
    ADVISOR = "advisor"
    MEMBER = "member"
    OTHER = "other"


class CaseState(StrEnum):
    """OPEN: members vote; PANEL: decided, more taskers answer about the picture (R19); CLOSED: all is done."""

    OPEN = "open"
    PANEL = "panel"
    CLOSED = "closed"


class PartyRole(StrEnum):
    """Why a case is about a team: it sent the picture, owns a defense that the picture was aimed at or broke, appealed
    on the picture, or is the subject of a motion."""

    SENDER = "sender"
    DEFENDER = "defender"
    APPELLANT = "appellant"
    CONCERNED = "concerned"


class StakeKind(StrEnum):
    """Who put up the money of a stake: the board or a team (R32)."""

    BOARD = "board"
    TEAM = "team"


class StakeEnd(StrEnum):
    """How a stake ended. `void`: a break from a week before the stake began was found later."""

    BROKEN = "broken"
    WON = "won"
    OVERTAKEN = "overtaken"
    WITHDRAWN = "withdrawn"
    VOID = "void"


class DefenseStanding(StrEnum):
    """The state of a defense by the present facts; it can go back, as after an overruled break (R22, R31-R33, R36).

    NOT_ELIGIBLE: a condition failed. It is RECEIVED again when it is tested again: with a new private set if it failed
    on the private set, by a trial that an organizer requests, or by a newer check of the board.
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
    """The kind of a message, which is the name of its text; contest.outbox.kinds describes each."""

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
    """Groups of kinds of messages; a person has one preference for each group."""

    ATTACKS = "attacks"
    DEFENSES = "defenses"
    MONEY = "money"
    CASES = "cases"
    TEAM = "team"
    ORGANIZING = "organizing"


class MessageRate(StrEnum):
    """How messages are sent by e-mail: `app` means no e-mail, only the page."""

    AT_ONCE = "at_once"
    DIGEST = "digest"
    APP = "app"


class BuildState(StrEnum):
    """The state of the build of a release."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class UploadKind(StrEnum):
    """Kinds of uploads of a team; refusals are counted for each kind separately."""

    ATTACK = "attack"
    DEFENSE = "defense"
