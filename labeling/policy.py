"""The policy: every number the rules use, in one frozen value that is recorded as a versioned row.

Pure. A ruling, a run and a release name the version they used; nothing reads a number from anywhere else.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

from labeling.enums import OutlineGate

SMALLEST_PANEL, LARGEST_PANEL = 3, 9
MOST_EVALUATION_RUNS = 9


@dataclass(frozen=True, slots=True)
class Policy:
    """The contest's settings that decide anything (rule numbers beside each)."""

    name: str = "unambiguous-1"
    image_size: int = 299  # R2, pixels along one side
    panel_size: int = 3  # R7, taskers per picture
    outline_gate: OutlineGate = OutlineGate.BEST_GUESS_YES  # R10
    lease_seconds: int = 20 * 60  # R8
    pictures_held: int = 3  # pictures one tasker may hold at once: the one on screen and two loaded ahead
    min_box_fraction: Fraction = Fraction(1, 4)  # R14, inclusive
    evaluation_runs: int = 3  # R29
    batch_size: int = 16  # R29, rows of one fixed, padded batch
    time_zone: str = "UTC"  # R23, IANA name

    def __post_init__(self) -> None:
        """Refuse a policy that cannot be followed, naming the number."""
        checks = {
            "panel_size": SMALLEST_PANEL <= self.panel_size <= LARGEST_PANEL,
            "image_size": 16 <= self.image_size <= 4096,
            "lease_seconds": 60 <= self.lease_seconds <= 24 * 3600,
            "pictures_held": 1 <= self.pictures_held <= 3,
            "min_box_fraction": 0 < self.min_box_fraction <= 1,
            "evaluation_runs": 1 <= self.evaluation_runs <= MOST_EVALUATION_RUNS,
            "batch_size": 1 <= self.batch_size <= 256,
        }
        wrong = [name for name, right in checks.items() if not right]
        if wrong:
            raise ValueError(f"policy out of range: {', '.join(wrong)}")
        ZoneInfo(self.time_zone)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; the fraction as `a/b`, so that no float is ever stored."""
        numbers = asdict(self)
        fraction = self.min_box_fraction
        numbers["min_box_fraction"] = f"{fraction.numerator}/{fraction.denominator}"
        numbers["outline_gate"] = self.outline_gate.value
        return numbers

    @classmethod
    def from_json(cls, numbers: Mapping[str, Any]) -> "Policy":
        """Read what `to_json` wrote; an unknown number is an error, never ignored."""
        unknown = set(numbers) - {field.name for field in fields(cls)}
        if unknown:
            raise ValueError(f"unknown policy numbers: {', '.join(sorted(unknown))}")
        values = dict(numbers)
        values["min_box_fraction"] = Fraction(values["min_box_fraction"])
        values["outline_gate"] = OutlineGate(values["outline_gate"])
        return cls(**values)
