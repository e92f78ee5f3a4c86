"""The words for each action of the audit trail. Pure: standard library only."""

from collections.abc import Mapping
from types import MappingProxyType

# action -> the words for it; the subject follows them.
DID: Mapping[str, str] = MappingProxyType(
    {
        "account.delete": "deleted",
        "association.declare": "declared as associated with the contest:",
        "association.end": "set the end of the association of",
        "association.mistaken": "took back an association that was declared in error:",
        "board.decide": "confirmed what the board decided:",
        "case.drop": "took a motion back:",
        "case.open": "opened a case:",
        "case.decide": "confirmed what the votes of the board decided:",
        "case.remind": "reminded members of the board of a case:",
        "conflict.declare": "declared a conflict of interest:",
        "conflict.dismiss": "dismissed a conflict of interest:",
        "conflict.end": "ended a conflict of interest:",
        "conflict.find": "found a conflict of interest:",
        "correction.ask": "asked for a correction of the ledger:",
        "correction.cancel": "called off a correction of the ledger:",
        "correction.confirm": "confirmed a correction of the ledger:",
        "defense.import": "took in",
        "defense.publish": "put in force",
        "defense.warmup": "recorded what the warm-up found about",
        "demo_clock.move": "moved the demo's clock",
        "entitlement.accept": "accepted the paper of",
        "entitlement.question": "asked about the paper of",
        "entitlement.refuse": "refused the paper of",
        "entitlement.revoke": "took back the entitlement of",
        "examination.confirm": "confirmed as invalid before an award:",
        "framework.check": "recorded the check of the framework of",
        "gold.add": "made gold:",
        "gold.hold": "held the gold",
        "gold.let_go": "let go the gold",
        "gold.retire": "retired the gold",
        "instructions.publish": "published",
        "invitation.renew": "sent again",
        "invitation.revoke": "revoked",
        "invitation.send": "sent",
        "known_picture.load": "loaded the pictures to learn from",
        "leaderboard.make": "rebuilt every table of the leaderboard",
        "link.end": "ended",
        "link.make": "made",
        "near_duplicate.see": "looked at",
        "payment.ask": "asked for a payment:",
        "payment.cancel": "called off a payment:",
        "payment.pay": "recorded a payment as made:",
        "picture.import": "imported pictures",
        "policy.call_back": "called back",
        "policy.record": "recorded",
        "pool.deposit": "recorded money for the prizes:",
        "private_set.begin": "began",
        "private_set.complete": "put in force",
        "question.answer": "answered",
        "release.build": "asked for the release of",
        "release.publish": "published",
        "release_key.make": "made the key that signs releases",
        "release_key.rotate": "let a new key sign releases",
        "release_key.witness": "added the signature of a witness to",
        "report.decide": "decided a report:",
        "rerun.apply": "applied",
        "rerun.ask": "asked for",
        "rerun.cancel": "cancelled",
        "rerun.go_on": "let go on",
        "rerun.stop": "stopped",
        "response.void": "voided answers of",
        "role.give": "gave a role to",
        "run.retry": "queued again what the platform's faults had ended:",
        "same_person.look": "looked for accounts that are one person",
        "second_factor.off": "switched off the second factor of",
        "stake.cancel": "dropped a stake that was not paid:",
        "stake.receive": "recorded the payment for a stake:",
        "tasker.pause": "paused",
        "tasker.requalify": "asked to qualify again:",
        "tasker.return": "let label again:",
        "tasker.warn": "warned",
        "team.merge": "merged",
        "trial.ask": "asked for a trial:",
        "trial.retry": "queued again what the platform's faults had ended:",
        "unused_file.remove": "removed files that no row names",
        "watch_rule.add": "put in force",
        "watch_rule.retire": "retired",
    }
)
# kind of subject -> its words, where they are not its name in lower case with blanks.
_KINDS = {
    "correction": "correction",
    "instructions": "version of the instructions",
    "ledger_entry": "ledger entry",
    "near_duplicate": "pair of pictures",
    "policy": "version of the policy",
    "private_set": "private set",
    "release": "",
    "rerun": "re-run",
    "watch_rule": "rule of monitoring",
}


def kind_words(kind: str, count: int) -> str:
    """Return the words for a kind of subject, singular or plural."""
    one = _KINDS.get(kind, kind.replace("_", " "))
    if count == 1:
        return one
    return one if one.endswith("s") else one.replace("version of", "versions of") if " of " in one else f"{one}s"


def action_words(action: str) -> str:
    """Return an action in words; an action of another version of the software by its name."""
    return DID.get(action, f"did {action} to")
