"""The policy: every number the rules use, in one frozen value that is recorded as a versioned row.

Pure. A ruling, a run and a release name the version they used; nothing reads a number from anywhere else.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from typing import Any

from policy.calendar import zone_info
from policy.enums import GoldFeedback, OutlineGate

MIN_PANEL_SIZE, MAX_PANEL_SIZE = 3, 9
MAX_EVALUATION_RUNS = 9
# The least and the most that each whole number may be, both allowed.
LIMITS: Mapping[str, tuple[int, int]] = {
    "panel_size": (MIN_PANEL_SIZE, MAX_PANEL_SIZE),
    "image_size": (16, 4096),
    "lease_seconds": (60, 24 * 3600),
    "pictures_held": (1, 3),
    "qualification_size": (1, 50),
    "qualification_needed": (1, 50),
    "short_qualification_size": (1, 50),
    "short_qualification_needed": (1, 50),
    "free_tries": (1, 1000),
    "retry_hours": (0, 24 * 31),
    "gold_percent": (0, 50),
    "gold_pass_percent": (1, 100),
    "gold_minimum": (1, 1000),
    "gold_doubt_percent": (1, 50),
    "gold_most_uses": (1, 1_000_000),
    "break_minutes": (10, 480),
    "evaluation_runs": (1, MAX_EVALUATION_RUNS),
    "batch_size": (1, 256),
    "seconds_per_picture": (1, 3600),
    "start_seconds": (1, 3600),
    "hello_seconds": (1, 3600),
    "defense_memory_mib": (64, 1 << 20),
    "defense_cpus": (1, 256),
    "defense_processes": (8, 4096),
    "defense_scratch_mib": (1, 1 << 17),
    "eligibility_percent": (1, 100),
    "attacks_per_day": (1, 10_000),
    "near_duplicate_bits": (0, 32),
    "appeal_days": (0, 365),
    "appeal_taskers": (1, 9),
    "board_days": (1, 365),
    "board_quorum": (1, 9),
    "examination_members": (1, 3),
    "defenses_per_week": (1, 1000),
    "stake_hours": (1, 24 * 3660),
    "attacker_prize_cents": (1, 10**12),
}


@dataclass(frozen=True, slots=True)
class Policy:
    """The contest's settings that decide anything (rule numbers beside each)."""

    name: str = "unambiguous-1"
    image_size: int = 299  # R2, pixels along one side
    panel_size: int = 3  # R7, taskers per picture
    outline_gate: OutlineGate = OutlineGate.BEST_GUESS_YES  # R10
    lease_seconds: int = 20 * 60  # R8
    pictures_held: int = 3  # pictures one tasker may hold at once: the one on screen and two loaded ahead
    qualification_size: int = 10  # R5, pictures of one try
    qualification_needed: int = 8  # R5, fully right, to pass
    short_qualification_size: int = 5  # R5, after new instructions
    short_qualification_needed: int = 4
    free_tries: int = 3  # R5, without waiting
    retry_hours: int = 24  # R5, between tries after those
    gold_percent: int = 5  # R6, of what a tasker gets
    gold_pass_percent: int = 80  # R6, fully right
    gold_minimum: int = 10  # R6, gold pictures before anybody is judged by them
    gold_doubt_percent: int = 1  # R6, chance that the true share is at the threshold after all
    gold_most_uses: int = 200  # R6, taskers one gold picture is shown to
    gold_feedback: GoldFeedback = GoldFeedback.SHARE  # R6
    break_minutes: int = 50  # a break is suggested after this long without one
    min_box_fraction: Fraction = Fraction(1, 4)  # R14, inclusive
    occlusion_allowed: bool = False  # R15, as the dataset rules have it (R17)
    evaluation_runs: int = 3  # R29
    batch_size: int = 16  # R29, rows of one fixed, padded batch
    seconds_per_picture: int = 60  # R31, at least one picture a minute; a batch has its rows' share
    start_seconds: int = 300  # R30, until a defense connects
    hello_seconds: int = 30  # R30, from there until its HELLO
    defense_memory_mib: int = 8192  # R28, memory of a container, swap included
    defense_cpus: int = 2  # R28
    defense_processes: int = 256  # R28, processes and threads in a container
    defense_scratch_mib: int = 1024  # R28, /tmp, the only place a container may write to
    eligibility_percent: int = 80  # R31, right answers on the private set
    eligibility_strict: bool = True  # R31, no wrong answer at all, the rest abstained
    time_zone: str = "UTC"  # R23, IANA name
    attacks_per_day: int = 10  # R25, pictures of one team on one calendar day of the contest's zone
    near_duplicate_bits: int = 6  # R26, of 64, by which two perceptual hashes may differ
    appeal_days: int = 7  # R18, from the ruling on
    appeal_taskers: int = 3  # R19, asked in addition, or anew
    board_days: int = 14  # R19, in which the board decides a case
    board_quorum: int = 2  # R21, votes of members without a conflict that a decision needs
    examination_members: int = 1  # R37, who confirm each rejected picture before an award
    defenses_per_week: int = 3  # R31, handed in by one team in one week; each costs trials on the private set
    stake_hours: int = 90 * 24  # R36, unbroken after staking
    attacker_prize_cents: int = 100_000  # R32, R35, for each staked defense
    currency: str = "USD"  # R34, ISO 4217, of every amount in cents

    def __post_init__(self) -> None:
        """Refuse a policy that cannot be followed, naming the number."""
        wrong = [name for name, (least, most) in LIMITS.items() if not least <= getattr(self, name) <= most]
        checks = {
            "qualification_needed": self.qualification_needed <= self.qualification_size,
            "short_qualification_needed": self.short_qualification_needed <= self.short_qualification_size,
            "min_box_fraction": 0 < self.min_box_fraction <= 1,
            "currency": len(self.currency) == 3 and self.currency.isascii() and self.currency.isupper(),
        }
        wrong += [name for name, right in checks.items() if not right]
        if wrong:
            raise ValueError(f"policy out of range: {', '.join(wrong)}")
        zone_info(self.time_zone)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; the fraction as `a/b`, so that no float is ever stored."""
        numbers = asdict(self)
        fraction = self.min_box_fraction
        numbers["min_box_fraction"] = f"{fraction.numerator}/{fraction.denominator}"
        numbers["outline_gate"] = self.outline_gate.value
        numbers["gold_feedback"] = self.gold_feedback.value
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
        # Versions recorded before there was gold do not name its numbers; those of the rule book hold.
        values["gold_feedback"] = GoldFeedback(values.get("gold_feedback", GoldFeedback.SHARE))
        return cls(**values)
