"""Describes every number of the policy in words: its meaning, its rule, and what a change leaves unaffected.

Pure. `policy.numbers` says which values each may have; this module has their names, groups, formats and parsers.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from accounts.locale import zone_names
from common.typed import whole_number
from contest.ledger.amounts import money
from contest.policy_changes.number_words import GATES, parse_share, share_in_words
from policy.enums import GoldFeedback, OutlineGate
from policy.numbers import LIMITS, Policy

Value = bool | int | str | Fraction
YES_OR_NO = {"yes": "yes", "no": "no"}
FEEDBACK: Mapping[str, str] = {
    GoldFeedback.NONE: "nothing",
    GoldFeedback.SHARE: "the share of right answers",
    GoldFeedback.RETIRED: "the share, and the pictures once they are retired",
}
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,39}", re.ASCII)
_CURRENCY = re.compile(r"[A-Z]{3}", re.ASCII)


@dataclass(frozen=True, slots=True)
class PolicyNumber:
    """One number: its field in Policy, its words, and its rules. `kept` says what a change of it does not touch."""

    name: str
    title: str
    meaning: str
    rules: tuple[str, ...] = ()
    unit: str = ""
    kept: str = ""
    choices: Mapping[str, str] = field(default_factory=dict)

    @property
    def range(self) -> str:
        """Return the allowed range in words."""
        if self.name in LIMITS:
            least, most = LIMITS[self.name]
            return f"A whole number from {least:,} to {most:,}."
        return _RANGES.get(self.name, "")

    def text(self, value: Value) -> str:
        """Return a value as it is typed into its field."""
        if isinstance(value, bool):
            return "yes" if value else "no"
        return share_in_words(value) if isinstance(value, Fraction) else str(value)

    def words(self, value: Value, currency: str) -> str:
        """Return a value for reading, with its unit."""
        if self.choices:
            return self.choices[self.text(value)]
        if self.name == "attacker_prize_cents" and isinstance(value, int):
            return money(value, currency)
        if not isinstance(value, int):
            return self.text(value)
        unit = self.unit.removesuffix("s") if value == 1 else self.unit
        return f"{value:,} {unit}".strip()

    def read(self, typed: str) -> Value | None:
        """Return the typed value; None if it cannot be parsed or is out of range."""
        text = typed.strip()
        if self.name in LIMITS:
            least, most = LIMITS[self.name]
            value = whole_number(text.replace(",", ""))
            return value if value is not None and least <= value <= most else None
        return _READ[self.name](text)

    def of(self, policy: Policy) -> Value:
        """Return its value in a policy."""
        value: Value = getattr(policy, self.name)
        return value


def _matching(pattern: re.Pattern[str], text: str) -> Value | None:
    return text if pattern.fullmatch(text) else None


_READ: Mapping[str, Callable[[str], Value | None]] = {
    "name": lambda text: _matching(_NAME, text),
    "currency": lambda text: _matching(_CURRENCY, text),
    "time_zone": lambda text: text if text in zone_names() else None,
    "min_box_fraction": parse_share,
    "outline_gate": {each.value: each for each in OutlineGate}.get,
    "gold_feedback": {each.value: each for each in GoldFeedback}.get,
    "occlusion_allowed": {"yes": True, "no": False}.get,
    "eligibility_strict": {"yes": True, "no": False}.get,
}
_RANGES = {
    "name": "Up to 40 small letters, digits, points and hyphens.",
    "currency": "Three capital letters, as USD.",
    "time_zone": "A name of the IANA list, as Europe/Berlin, or UTC.",
    "min_box_fraction": "A percentage, as 25 %, or a ratio, as 1/4: more than 0 and at most all of it.",
    "outline_gate": "One of the two.",
    "gold_feedback": "One of the three.",
    "occlusion_allowed": "One of the two.",
    "eligibility_strict": "Yes or no.",
}

_DEALT = "Panels that are dealt before keep what they were dealt with"
_HELD = "Pictures that are held when it changes keep their time until it is renewed."
_RUNS = "Answers of defenses that are recorded stay."
_ROUNDS = "Answers that are recorded stay. With more runs, pictures from before are run as often as is missing."
GROUPS: Mapping[str, tuple[PolicyNumber, ...]] = {
    "Taskers and panels": (
        PolicyNumber(
            "panel_size",
            "Taskers for each picture",
            "How many are asked about a picture.",
            ("R7",),
            "taskers",
            f"{_DEALT}: their taskers, and their verdict (R7).",
        ),
        PolicyNumber(
            "lease_seconds",
            "Time for a picture",
            "How long a picture stays with a tasker who does nothing.",
            ("R8",),
            "seconds",
            _HELD,
        ),
        PolicyNumber(
            "pictures_held", "Pictures held at once", "The one on screen, and those loaded ahead.", ("R8",), "pictures"
        ),
        PolicyNumber(
            "break_minutes", "Time until a break", "A break is suggested after this long without one.", (), "minutes"
        ),
        PolicyNumber(
            "qualification_size",
            "Pictures of the qualification",
            "How many pictures one try has.",
            ("R5",),
            "pictures",
            "Who is qualified stays so. A try that has begun keeps its pictures, and what it needs.",
        ),
        PolicyNumber("qualification_needed", "Needed to qualify", "How many of them fully right.", ("R5",), "pictures"),
        PolicyNumber(
            "short_qualification_size",
            "Pictures of the short qualification",
            "How many pictures a try has after new instructions.",
            ("R5",),
            "pictures",
        ),
        PolicyNumber(
            "short_qualification_needed",
            "Needed for the short qualification",
            "How many of them fully right.",
            ("R5",),
            "pictures",
        ),
        PolicyNumber(
            "free_tries", "Tries without waiting", "How many tries follow each other at once.", ("R5",), "tries"
        ),
        PolicyNumber("retry_hours", "Wait between tries", "How long after those.", ("R5",), "hours"),
        PolicyNumber("gold_percent", "Gold pictures", "Their share of what a tasker gets.", ("R6",), "%"),
        PolicyNumber(
            "gold_pass_percent",
            "Gold threshold",
            "The share of gold pictures that has to be fully right.",
            ("R6",),
            "%",
            "Who is paused already stays paused until an organizer decides.",
        ),
        PolicyNumber(
            "gold_minimum",
            "Gold before judging",
            "How many gold pictures before anybody is judged by them.",
            ("R6",),
            "pictures",
        ),
        PolicyNumber(
            "gold_doubt_percent",
            "Chance of being wronged",
            "The chance that the true share is at the threshold after all.",
            ("R6",),
            "%",
        ),
        PolicyNumber(
            "gold_most_uses",
            "Uses of a gold picture",
            "How many taskers one gold picture is shown to at most.",
            ("R6",),
            "taskers",
        ),
        PolicyNumber(
            "gold_feedback", "What taskers learn of their gold", "How much they are told.", ("R6",), choices=FEEDBACK
        ),
    ),
    "Pictures and the verdict": (
        PolicyNumber("name", "Name of the rules", "What releases and pages call them.", ("R17",)),
        PolicyNumber(
            "image_size",
            "Size of a picture",
            "Pixels along one side.",
            ("R2",),
            "pixels",
            "Pictures that were taken before keep their size.",
        ),
        PolicyNumber(
            "outline_gate",
            "Asked for an outline",
            "Who is asked for an outline and the three statements.",
            ("R10",),
            kept=f"{_DEALT}.",
            choices={gate.value: words for gate, words in GATES.items()},
        ),
        PolicyNumber(
            "min_box_fraction",
            "Smallest box",
            "The least that the smallest box covers of a valid picture.",
            ("R14",),
            kept=f"{_DEALT}, for their verdict.",
        ),
        PolicyNumber(
            "occlusion_allowed",
            "Occluded objects",
            "Whether a picture with an occluded object is valid.",
            ("R15",),
            kept=f"{_DEALT}, for their verdict.",
            choices={"yes": "allowed", "no": "not allowed"},
        ),
    ),
    "Appeals and the board": (
        PolicyNumber(
            "appeal_days",
            "Time for an appeal",
            "From the ruling on.",
            ("R18",),
            "days",
            "For rulings from before the time stays as it was.",
        ),
        PolicyNumber(
            "appeal_taskers", "Taskers asked in an appeal", "They join, or form a fresh panel.", ("R19",), "taskers"
        ),
        PolicyNumber("board_days", "Time for a decision", "In which the board decides a case.", ("R19",), "days"),
        PolicyNumber(
            "board_quorum",
            "Quorum",
            "Votes of members without a conflict that a decision needs.",
            ("R21",),
            "votes",
            "Decisions that were made stay.",
        ),
        PolicyNumber(
            "examination_members",
            "Members for each rejected picture",
            "How many confirm each rejected picture before an award.",
            ("R37",),
            "members",
        ),
    ),
    "Attacks and weeks": (
        PolicyNumber(
            "time_zone",
            "Time zone of the contest",
            "Weeks end at midnight in it, and days of a quota are its days.",
            ("R23", "R25"),
            kept="The running week ends as it would have: a week keeps the zone it began in. The week after it ends at"
            " midnight in the new zone, so it is shorter or longer by the difference, once.",
        ),
        PolicyNumber(
            "attacks_per_day", "Pictures a day", "How many a team may send on one calendar day.", ("R25",), "pictures"
        ),
        PolicyNumber(
            "near_duplicate_bits",
            "Near duplicates",
            "Of 64, by which two perceptual hashes may differ.",
            ("R26",),
            "bits",
            "Pairs that are flagged stay flagged.",
        ),
    ),
    "Defenses": (
        PolicyNumber(
            "defenses_per_week", "Defenses a week", "How many a team may hand in in one week.", ("R31",), "defenses"
        ),
        PolicyNumber(
            "evaluation_runs",
            "Official runs",
            "How often each picture runs against each defense.",
            ("R29",),
            "runs",
            _ROUNDS,
        ),
        PolicyNumber("batch_size", "Batch", "Pictures of one fixed, padded batch.", ("R29",), "pictures", _RUNS),
        PolicyNumber(
            "seconds_per_picture",
            "Time for an answer",
            "A batch has the time of its pictures together.",
            ("R31",),
            "seconds",
            _RUNS,
        ),
        PolicyNumber("start_seconds", "Time to connect", "From the start of the container.", ("R30",), "seconds"),
        PolicyNumber(
            "hello_seconds", "Time to say hello", "From the connection to the first frame.", ("R30",), "seconds"
        ),
        PolicyNumber("defense_memory_mib", "Memory of a container", "Swap included.", ("R28",), "MiB"),
        PolicyNumber("defense_cpus", "Processors of a container", "How many it may use.", ("R28",), "processors"),
        PolicyNumber(
            "defense_processes", "Processes in a container", "Processes and threads together.", ("R28",), "processes"
        ),
        PolicyNumber(
            "defense_scratch_mib", "Scratch space", "Of /tmp, the only place a container may write to.", ("R28",), "MiB"
        ),
        PolicyNumber(
            "eligibility_percent",
            "Right on the private set",
            "The share a defense needs to be eligible.",
            ("R31",),
            "%",
        ),
        PolicyNumber(
            "eligibility_strict",
            "No wrong answer at all",
            "Whether the rest has to be abstained.",
            ("R31",),
            choices=YES_OR_NO,
        ),
    ),
    "Stakes and money": (
        PolicyNumber(
            "stake_hours",
            "Time unbroken to win",
            "From the beginning of the clock of a stake.",
            ("R36",),
            "hours",
            "Clocks that run keep the time they began with.",
        ),
        PolicyNumber(
            "attacker_prize_cents",
            "Attacker prize",
            "For each staked defense, in cents.",
            ("R32", "R35"),
            "cents",
            "Stakes that were made keep their prize.",
        ),
        PolicyNumber(
            "currency",
            "Currency",
            "Of every amount, ISO 4217. It is fixed once the ledger has an entry: amounts are kept in cents of it.",
            ("R34",),
        ),
    ),
}
NUMBERS: Mapping[str, PolicyNumber] = {each.name: each for group in GROUPS.values() for each in group}
# Pairs of numbers of which the first can be at most the second: how many are needed, of how many.
NEEDED_OF = {"qualification_needed": "qualification_size", "short_qualification_needed": "short_qualification_size"}


@dataclass(frozen=True, slots=True)
class NumberChange:
    """A number that differs between a version and the one before it, both values in words."""

    number: PolicyNumber
    old: str
    new: str


def changed_numbers(before: Policy, after: Policy) -> tuple[NumberChange, ...]:
    """Return the numbers that differ in `after`, in the order of the groups."""
    return tuple(
        NumberChange(each, each.words(each.of(before), before.currency), each.words(each.of(after), after.currency))
        for each in NUMBERS.values()
        if each.of(before) != each.of(after)
    )
