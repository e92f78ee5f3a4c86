"""Defines the kinds of messages: the group of each, the facts its text needs, and its shape and colour."""

from collections.abc import Mapping
from dataclasses import dataclass

from contest.core.enums import MessageGroup, MessageKind, MessageRate


@dataclass(frozen=True, slots=True)
class MessageType:
    """A kind of message: its group, its default title, and the facts that its text needs.

    `look` names a state of the site: its shape and colour. `urgent` messages are about something that ends within a
    day, so they never wait for a digest.
    """

    group: MessageGroup
    words: str
    facts: tuple[str, ...]
    look: str = "open"
    urgent: bool = False


@dataclass(frozen=True, slots=True)
class GroupWords:
    """A group of kinds: its name for people, what is in it, and the rates a person may choose."""

    words: str
    about: str
    rates: tuple[MessageRate, ...]


_ALL = tuple(MessageRate)
# Deadlines, and decisions about money or a case, are always sent by e-mail, whatever a person chooses.
_ALWAYS = (MessageRate.AT_ONCE, MessageRate.DIGEST)
RATE_WORDS = {
    MessageRate.AT_ONCE: "at once",
    MessageRate.DIGEST: "once a day, in one letter",
    MessageRate.APP: "only here",
}
GROUPS: Mapping[MessageGroup, GroupWords] = {
    MessageGroup.ATTACKS: GroupWords("Your attacks", "receipts, verdicts, and what they broke", _ALL),
    MessageGroup.DEFENSES: GroupWords("Your defenses", "published, at stake, and broken", _ALL),
    MessageGroup.TEAM: GroupWords("Your team", "who joins and leaves, and why it may attack", _ALL),
    MessageGroup.MONEY: GroupWords("Money", "how stakes end, what is posted and what is paid", _ALWAYS),
    MessageGroup.CASES: GroupWords(
        "Appeals and cases", "what can be appealed until when, and what was decided", _ALWAYS
    ),
    MessageGroup.ORGANIZING: GroupWords("Organizing", "requests of teams, and what does not go by itself", _ALL),
}
_A, _D, _M = MessageGroup.ATTACKS, MessageGroup.DEFENSES, MessageGroup.MONEY
_C, _T, _O = MessageGroup.CASES, MessageGroup.TEAM, MessageGroup.ORGANIZING
KINDS: Mapping[MessageKind, MessageType] = {
    MessageKind.ATTACK_RECEIVED: MessageType(
        _A, "Receipts", ("username", "count", "received_at", "week", "ends_at", "left", "receipts"), "embargo"
    ),
    MessageKind.ATTACK_WITHDRAWN: MessageType(
        _A, "A picture was taken back", ("username", "by", "withdrawn_at", "receipt", "own")
    ),
    MessageKind.ATTACK_VERDICTS: MessageType(_A, "Verdicts on your pictures", ("week", "rows", "more")),
    MessageKind.ATTACK_BROKE: MessageType(_A, "Your pictures broke a defense", ("week", "rows", "more"), "broken"),
    MessageKind.NOT_ELIGIBLE: MessageType(
        _D, "A defense is not eligible", ("defense", "failed", "next_step", "own"), "rejected"
    ),
    MessageKind.PUBLISHED: MessageType(
        _D, "A defense is published", ("defense", "at", "price", "page", "own"), "valid"
    ),
    MessageKind.STAKED: MessageType(
        _D,
        "A defense is at stake",
        ("defense", "paid", "amount", "at", "until", "batch", "criteria", "page", "own"),
        "unbroken",
    ),
    MessageKind.DEFENSE_BROKEN: MessageType(_D, "A defense was broken", ("defense", "rows", "more", "own"), "broken"),
    MessageKind.STAKE_CHANGED: MessageType(
        _M,
        "A stake changed",
        ("defense", "end", "why", "begun", "paid", "amount", "at", "week", "by", "more", "told_with", "reason")
        + ("page", "own"),
    ),
    MessageKind.POSTED: MessageType(
        _M, "Money was moved on your account", ("amount", "corrected", "lines", "balance", "page")
    ),
    MessageKind.PAID: MessageType(_M, "A payment was made", ("amount", "reference", "at", "balance", "page"), "valid"),
    MessageKind.TEAM_NEWS: MessageType(_T, "News of your team", ("what",)),
    MessageKind.ASSOCIATION: MessageType(_T, "Association with the contest", ("since", "until", "reason", "mistake")),
    MessageKind.ENTITLEMENT: MessageType(
        _T, "Why your team may attack", ("step", "entitlement", "still_entitled", "attacks")
    ),
    MessageKind.QUESTION_WAITING: MessageType(_C, "A question waits for your team", ("paper", "asked_at", "question")),
    MessageKind.PICTURES_VALID: MessageType(
        _C, "Pictures that can break your defense", ("defenses", "rows", "more", "last_day"), "valid"
    ),
    MessageKind.APPEALS_CLOSING: MessageType(_C, "Appeals close", ("rows", "more", "first"), urgent=True),
    MessageKind.APPEAL_RECEIVED: MessageType(_C, "Your appeal", ("appeal", "case", "picture", "side", "answer_until")),
    MessageKind.APPEAL_AGAINST: MessageType(
        _C, "An appeal that concerns you", ("appeal", "case", "picture", "side", "until")
    ),
    MessageKind.CASE_OPENED: MessageType(_C, "A case was opened", ("case", "what", "due")),
    MessageKind.CASE_DUE: MessageType(_C, "A case is due", ("case", "what", "due"), urgent=True),
    MessageKind.CASE_NO_QUORUM: MessageType(_C, "A case has no quorum", ("case", "what", "needed", "left")),
    MessageKind.CASE_DECIDED: MessageType(
        _C, "A case was decided", ("case", "what", "outcome", "decided_at", "explanation")
    ),
    MessageKind.RULING_CHANGED: MessageType(_C, "A ruling changed", ("picture", "was", "holds", "why", "followed")),
    MessageKind.REQUEST: MessageType(_O, "A team asks to attack", ("step", "entitlement")),
    MessageKind.PANELS_STUCK: MessageType(
        _O, "Pictures that nobody left may finish", ("count", "why", "advice", "rows", "more", "covered"), "rejected"
    ),
    MessageKind.RELEASE_FAILED: MessageType(_O, "A release failed", ("week", "at", "error"), "rejected"),
    MessageKind.LETTERS_GIVEN_UP: MessageType(_O, "Letters were given up", ("count", "error"), "rejected"),
}


def kinds_of(group: MessageGroup) -> list[MessageKind]:
    """Return the kinds of a group."""
    return [kind for kind, made in KINDS.items() if made.group is group]
