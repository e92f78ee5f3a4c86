"""Which modules are changed, and the tests of which some must notice it."""

_RUNS = (
    *("tests/scoring/test_rules.py", "tests/scoring/test_services.py", "tests/scoring/test_races.py"),
    "tests/scoring/test_run_work.py",
)
_LABELING = (
    *("tests/labeling/test_services.py", "tests/labeling/test_gold.py", "tests/labeling/test_more_taskers.py"),
    *("tests/labeling/test_views.py", "tests/labeling/test_races.py"),
)
TARGETS = {
    "adjudication/rules.py": ("tests/adjudication/test_rules.py", "tests/scoring/test_rules.py"),
    "policy/calendar.py": ("tests/policy/test_calendar.py",),
    "contest/prizes/shares.py": ("tests/contest/ledger/test_prizes.py", "tests/contest/ledger/test_settlement.py"),
    "contest/prizes/differences.py": ("tests/contest/ledger/test_prizes.py",),
    "contest/ledger/services.py": ("tests/contest/ledger", "tests/contest/defenses"),
    "contest/attacks/quota.py": ("tests/contest/attacks",),
    "scoring/rules.py": _RUNS,
    "scoring/leases.py": _RUNS,
    "labeling/dealing.py": _LABELING,
    "labeling/leases.py": _LABELING,
    "labeling/submission.py": _LABELING,
}
