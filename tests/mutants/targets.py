"""Which modules are changed, and the tests that must notice it: the cheapest first."""

TARGETS = {
    "adjudication/rules.py": ("tests/adjudication/test_rules.py",),
    "contest/rules.py": ("tests/contest/test_rules.py",),
    "contest/money/prizes.py": ("tests/contest/money/test_prizes.py", "tests/contest/money/test_settlement.py"),
    "contest/money/corrections.py": ("tests/contest/money/test_corrections.py",),
    "contest/money/stakes.py": ("tests/contest/money", "tests/contest/stakes"),
    "contest/attacks/quota.py": ("tests/contest/attacks",),
    "scoring/rules.py": ("tests/scoring",),
    "scoring/leases.py": ("tests/scoring",),
    "labeling/services.py": ("tests/labeling/test_services.py", "tests/labeling"),
}
