"""What is typed to record a version of the policy, and how it is read; nothing typed is ever lost."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from common.errors import InvalidInput, WrongFields
from common.typed import whole_number
from contest.policy_changes.moments import moment_of
from contest.policy_changes.numbers import NEEDED_OF, NUMBERS, PolicyNumber, Value
from contest.policy_changes.services import PolicyDraft
from policy.numbers import Policy

# More than any field holds: what comes is shown again.
MOST_TYPED = 5_000


@dataclass(frozen=True, slots=True)
class TypedPolicy:
    """The fields as they were typed, numbers by name. `base` is the version they were filled from."""

    base: int
    values: Mapping[str, str]
    since: str = ""
    reason: str = ""

    @classmethod
    def read(cls, data: Mapping[str, str], *, base: int, filled: Policy, since: str) -> "TypedPolicy":
        """Return what was typed; a field that was not sent is as it is in `filled`."""
        clean = {name: value.replace("\x00", "")[:MOST_TYPED] for name, value in data.items()}
        values = {each.name: clean.get(each.name, each.text(each.of(filled))) for each in NUMBERS.values()}
        sent = whole_number(clean.get("base", ""), digits=9)
        return cls(base if sent is None else sent, values, clean.get("since", since), clean.get("reason", ""))

    def rebased(self, base: int, old: Policy, new: Policy) -> "TypedPolicy":
        """Return the same on top of another version: what was not changed is as that version has it."""
        values = {
            name: NUMBERS[name].text(NUMBERS[name].of(new)) if _same(NUMBERS[name], typed, old) else typed
            for name, typed in self.values.items()
        }
        return replace(self, base=base, values=values)

    def draft(self, filled: Policy, *, zone: str) -> PolicyDraft:
        """Return what is meant; WrongFields names all that makes no sense. `filled` is the version `base`."""
        read = {each.name: _value(each, self.values[each.name], filled) for each in NUMBERS.values()}
        wrong = {name: f"Not possible. {NUMBERS[name].range}" for name, value in read.items() if value is None}
        wrong |= _needed_too_many(read)
        try:
            since = moment_of(self.since, zone, field="since")
        except InvalidInput as error:
            wrong["since"] = error.message
        if not self.reason.strip():
            wrong["reason"] = "Give the reason: it is public."
        if wrong:
            raise WrongFields(wrong)
        numbers: dict[str, Any] = dict(read)
        return PolicyDraft(Policy(**numbers), self.base, since, self.reason)


def _value(number: PolicyNumber, typed: str, filled: Policy) -> Value | None:
    # What is in force stays possible, whatever a form would take today.
    held = number.of(filled)
    return held if typed.strip() == number.text(held) else number.read(typed)


def _same(number: PolicyNumber, typed: str, policy: Policy) -> bool:
    return _value(number, typed, policy) == number.of(policy)


def _needed_too_many(read: Mapping[str, Value | None]) -> dict[str, str]:
    """Return what is wrong where more are needed than there are."""
    found = {}
    for name, of in NEEDED_OF.items():
        needed, size = read[name], read[of]
        if isinstance(needed, int) and isinstance(size, int) and needed > size:
            found[name] = f"At most {size:,}: a try has no more pictures."
    return found
