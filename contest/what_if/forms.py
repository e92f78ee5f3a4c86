"""What is typed to try a policy: the numbers that a verdict depends on (R7, R10, R14, R15)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from urllib.parse import urlencode

from adjudication.rules import Policy as Rules
from adjudication.what_if import Numbers
from common.errors import WrongFields
from common.typed import whole_number
from labeling.enums import OutlineGate
from labeling.policy import LARGEST_PANEL, SMALLEST_PANEL, Policy

_PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,4})?) ?%?", re.ASCII)
_RATIO = re.compile(r"(\d{1,6}) ?/ ?(\d{1,6})", re.ASCII)
GATES = {
    OutlineGate.BEST_GUESS_YES: "sure, or the best guess is yes",
    OutlineGate.NOT_EXCLUDED: "all who do not exclude it",
}


@dataclass(frozen=True, slots=True)
class Typed:
    """The fields as they were typed, so that a refused form comes back as it was."""

    box: str
    panel: str
    gate: str
    occlusion: bool

    @classmethod
    def of(cls, policy: Policy) -> "Typed":
        """Return the fields as they say what is in force."""
        return cls(
            share(policy.min_box_fraction), str(policy.panel_size), policy.outline_gate, policy.occlusion_allowed
        )

    @classmethod
    def read(cls, query: Mapping[str, str]) -> "Typed":
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

    def numbers(self, policy: Policy) -> Numbers:
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
        return Numbers(Rules(policy.name, box, gate, self.occlusion), panel)


def share(of: Fraction) -> str:
    """Return a share as a percentage where that is exact to four digits, else as a ratio."""
    percent = of * 100
    if (percent * 10_000).denominator != 1:
        return f"{of.numerator}/{of.denominator}"
    whole, digits = divmod(int(percent * 10_000), 10_000)
    return f"{whole}.{digits:04d}".rstrip("0").rstrip(".") + " %"


def share_of(typed: str) -> Fraction | None:
    """Return a share that was typed as a percentage or a ratio: more than 0, at most 1; None for anything else."""
    text = typed.strip()
    if found := _PERCENT.fullmatch(text):
        value = Fraction(found[1]) / 100
    elif (found := _RATIO.fullmatch(text)) and int(found[2]):
        value = Fraction(int(found[1]), int(found[2]))
    else:
        return None
    return value if 0 < value <= 1 else None


def _panel(typed: str) -> int | None:
    size = whole_number(typed.strip(), digits=2) or 0
    return size if SMALLEST_PANEL <= size <= LARGEST_PANEL else None
