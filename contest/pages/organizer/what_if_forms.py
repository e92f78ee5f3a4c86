"""What is typed to try a policy: the numbers that a verdict depends on (R7, R10, R14, R15)."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from adjudication.rules import VerdictPolicy
from adjudication.what_if import TriedNumbers
from common.errors import WrongFields
from common.typed import whole_number
from contest.policy_changes.number_words import share, share_of
from policy.enums import OutlineGate
from policy.numbers import LARGEST_PANEL, SMALLEST_PANEL, Policy


@dataclass(frozen=True, slots=True)
class TypedNumbers:
    """The fields as they were typed, so that a refused form comes back as it was."""

    box: str
    panel: str
    gate: str
    occlusion: bool

    @classmethod
    def of(cls, policy: Policy) -> "TypedNumbers":
        """Return the fields as they say what is in force."""
        return cls(
            share(policy.min_box_fraction), str(policy.panel_size), policy.outline_gate, policy.occlusion_allowed
        )

    @classmethod
    def read(cls, query: Mapping[str, str]) -> "TypedNumbers":
        """Return what was typed, whether it makes sense or not."""
        return cls(query.get("box", ""), query.get("panel", ""), query.get("gate", ""), "occlusion" in query)

    @property
    def query(self) -> str:
        """Return the fields for an address."""
        fields = {"box": self.box, "panel": self.panel, "gate": self.gate}
        return urlencode(fields | ({"occlusion": "on"} if self.occlusion else {}))

    @property
    def for_policy(self) -> str:
        """Return the fields for the address where a version of the policy is recorded, under their names there."""
        occlusion = "yes" if self.occlusion else "no"
        fields = {"min_box_fraction": self.box, "panel_size": self.panel, "outline_gate": self.gate}
        return urlencode(fields | {"occlusion_allowed": occlusion})

    def numbers(self, policy: Policy) -> TriedNumbers:
        """Return what to try in the place of what `policy` has; WrongFields names what to change."""
        box, panel = share_of(self.box), _panel(self.panel)
        gate = next((each for each in OutlineGate if each == self.gate), None)
        wrong = {
            "box": "" if box else "Give a percentage, as 20 %, or a ratio, as 1/5: more than 0 and at most all of it.",
            "panel": "" if panel else f"Give a whole number from {SMALLEST_PANEL} to {LARGEST_PANEL}.",
            "gate": "" if gate else "Choose who is asked for an outline.",
        }
        if box is None or panel is None or gate is None:
            raise WrongFields({field: words for field, words in wrong.items() if words})
        return TriedNumbers(VerdictPolicy(policy.name, box, gate, self.occlusion), panel)


def _panel(typed: str) -> int | None:
    size = whole_number(typed.strip(), digits=2) or 0
    return size if SMALLEST_PANEL <= size <= LARGEST_PANEL else None
