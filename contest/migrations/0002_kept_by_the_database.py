"""What the database itself keeps: facts are append-only, members have one role (R8), balances are sums of entries."""

from django.db import migrations

from accounts.one_role import for_members, run, without_members
from common.database.append_only import append_only
from contest.ledger.triggers import moving_balances

FACTS = [
    "contest_appeal",
    "contest_associationmistake",
    "contest_award",
    "contest_boarddecision",
    "contest_break",
    "contest_casedecision",
    "contest_examination",
    "contest_ledgerentry",
    "contest_pastmember",
    "contest_stakechange",
    "contest_statement",
    "contest_teammerge",
    "contest_vote",
]


class Migration(migrations.Migration):
    replaces = [
        ("contest", "0016_messages"),
    ]

    dependencies = [("contest", "0001_tables"), ("labeling", "0002_first_rows")]
    operations = [run(for_members, without_members), moving_balances(), append_only(FACTS)]
