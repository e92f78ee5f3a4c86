"""Mutants that no test notices, each with the reason why that is right."""

_MARGIN = "_FARTHEST is a margin: a wider one, or its edge, asks the same question in another way, with the same answer"
SURVIVORS: dict[str, str] = {
    "contest/rules.py <module>: 15 is 16": _MARGIN,
    "contest/rules.py _zone_of_week: about - _FARTHEST < since <= about + _FARTHEST: Lt is LtE": _MARGIN,
    "contest/rules.py _zone_of_week: about - _FARTHEST < since <= about + _FARTHEST: LtE is Lt": _MARGIN,
    "contest/rules.py _week_starting: 6 is 7": "the Saturday after a Friday is in the same ISO week",
    "contest/money/corrections.py flows: money + advanced: Add is Sub (3)": (
        "money is advanced only where nothing is left over: what returns to the half is 0 in either case"
    ),
    "scoring/leases.py claim: True is False": "who else claims is seen on PostgreSQL alone",
    "scoring/leases.py reclaim: filter(state=RunState.RUNNING): left out": "what does not run has no lease",
    "contest/attacks/quota.py team_held: True is False (2)": (
        "a lock against changes of the key as well: it only makes others wait, on PostgreSQL"
    ),
}
