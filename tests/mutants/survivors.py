"""Mutants that no test notices, each with the reason why that is right."""

_MARGIN = "_MAX_UTC_OFFSET is a margin: a wider one, or its edge, asks the same in another way, with the same answer"
_POSTGRES = "who else waits for a lock is seen on PostgreSQL alone"
_NUMBER = "no rule: one more or less of them asks for the same in fewer or more steps"
SURVIVORS: dict[str, str] = {
    "policy/calendar.py <module>: 15 is 16": _MARGIN,
    "policy/calendar.py _zone_of_week: about - _MAX_UTC_OFFSET < since <= about + _MAX_UTC_OFFSET: Lt is LtE": _MARGIN,
    "policy/calendar.py _zone_of_week: about - _MAX_UTC_OFFSET < since <= about + _MAX_UTC_OFFSET: LtE is Lt": _MARGIN,
    "policy/calendar.py _week_starting: 6 is 7": "the Saturday after a Friday is in the same ISO week",
    "contest/prizes/differences.py flows: money + advanced: Add is Sub (3)": (
        "money is advanced only where nothing is left over: what returns to the half is 0 in either case"
    ),
    "scoring/leases.py claim_lease: True is False": _POSTGRES,
    "scoring/leases.py Heartbeat._beat: self._lost is None: Is is IsNot": (
        "the thread needs a second connection, which writes beside the first on PostgreSQL alone"
    ),
    "scoring/leases.py Heartbeat._renew: now > self._until: Gt is GtE": "a beat at the very moment is as good as none",
    "scoring/leases.py Heartbeat._renew: not outages.failed(self._thread.name, error): inverted": (
        "whether an outage of the database is logged again; the next beat tries again in either case"
    ),
    "contest/ledger/services.py ledger_check_periodically: last <= now < last + CHECK_EVERY: LtE is Lt": (
        "a second check at the very moment of the last one finds the same"
    ),
    "scoring/leases.py reclaim: filter(state=RunState.RUNNING): left out": "what does not run has no lease",
    "contest/attacks/quota.py lock_team_quota: True is False (2)": (
        "a lock against changes of the key as well: it only makes others wait, on PostgreSQL"
    ),
    "labeling/dealing.py <module>: 500 is 501": _NUMBER,
    "labeling/leases.py <module>: 500 is 501": _NUMBER,
    "labeling/leases.py <module>: True is False (2)": "without slots the class does the same",
    "labeling/leases.py <module>: 5 is 6": _NUMBER,
    "labeling/submission.py <module>: 10 is 11": "a margin, far longer than a transaction stays open",
    "labeling/dealing.py _deal: True is False (2)": _POSTGRES,
    "labeling/dealing.py _deal: True is False (3)": _POSTGRES,
    "labeling/leases.py _of_panel: 1 is 2": "who holds nothing has three free slots",
    "labeling/leases.py _claim: False is True": (
        "gold is asked for once more, where another request was faster: there is none then either"
    ),
    "labeling/leases.py _lease: 16 is 17": "a longer token is as good",
    "labeling/leases.py _next: 1 is 2 (2)": "no panel of this policy misses one more than its size",
    "labeling/leases.py _next: slots.keys() <= set(holding): LtE is Lt": "what is held is read once more",
    "labeling/leases.py _further_offers: policy.panel_size + 1: Add is Sub": "levels that gave nothing are read again",
    "labeling/leases.py _further_offers: 1 is 2 (2)": "no panel misses more than MAX_PANEL_SIZE",
    "labeling/leases.py _held: True is False": _POSTGRES,
    "labeling/leases.py leases_release: True is False": _POSTGRES,
    "labeling/leases.py _lapse: True is False": _POSTGRES,
    "labeling/leases.py _lapse: True is False (2)": _POSTGRES,
    "labeling/leases.py _lapse: filter(pk=pk): left out": "each call then ends another of those that are overdue",
    "labeling/submission.py <module>: if AssignmentState.ANSWERED in following: always": (
        "who submits looks at the state first, under the lock"
    ),
    "labeling/submission.py <module>: filter(state__in=_UNANSWERED): left out": (
        "who submits looks at the state first, under the lock"
    ),
    "labeling/submission.py _receipt: 12 is 13": "the thirteenth digit is not shown",
}
