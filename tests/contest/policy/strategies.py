"""Any policy that can be followed, for property tests."""

from typing import Any

from hypothesis import strategies as st

from labeling.accounts.locale import zone_names
from labeling.enums import GoldFeedback, OutlineGate
from labeling.policy import LIMITS, Policy

_SHARES = st.fractions(min_value=0, max_value=1, max_denominator=10_000).filter(bool)
_ELSE = {
    "name": st.from_regex(r"[a-z0-9][a-z0-9.-]{0,39}", fullmatch=True),
    "currency": st.from_regex(r"[A-Z]{3}", fullmatch=True),
    "time_zone": st.sampled_from(zone_names()),
    "min_box_fraction": _SHARES,
    "outline_gate": st.sampled_from(OutlineGate),
    "gold_feedback": st.sampled_from(GoldFeedback),
    "occlusion_allowed": st.booleans(),
    "eligibility_strict": st.booleans(),
}


def _possible(numbers: dict[str, Any]) -> Policy:
    for kind in ("qualification", "short_qualification"):
        numbers[f"{kind}_needed"] = min(numbers[f"{kind}_needed"], numbers[f"{kind}_size"])
    return Policy(**numbers)


POLICIES = st.fixed_dictionaries(
    _ELSE | {name: st.integers(least, most) for name, (least, most) in LIMITS.items()}
).map(_possible)
