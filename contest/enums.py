"""Words with a meaning that is stored (the contest's part)."""

from enum import StrEnum


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


class DecisionKind(StrEnum):
    """What the board decides about beside pictures."""

    STAKE = "stake"
    GRANT = "grant"
    REVOKE = "revoke"
    WITHHOLD = "withhold"
    AWARD = "award"
    RETURN = "return"
    END = "end"
    FORFEIT = "forfeit"


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
    """How far a defense is, the last that is true of it (R31-R33, R36)."""

    RECEIVED = "received"
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


class LetterKind(StrEnum):
    """What a letter to a team tells of; the name of its text."""

    PUBLISHED = "defense_published"
    STAKED = "defense_staked"
    STAKE_CHANGED = "stake_changed"
    POSTED = "money_posted"
    PAID = "money_paid"


class BuildState(StrEnum):
    """How far a release that is being built is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
