"""What depends on the database is shown on PostgreSQL within `make test`, by a test marked `postgres` or `both`.

A module depends on it that sends SQL of its own, has prepared statements (`common.database.lookups`), locks rows, or
makes triggers.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sources import sources

ROOT = Path(__file__).parents[1]
MARKS = {"postgres", "both"}
SIGNS = ("cursor", "select_for_update", "copy_expert", "common.database.lookups", "CREATE TRIGGER")

# module -> the file below tests/ and the marked test in it that runs the statements
SHOWN_BY: dict[str, tuple[str, str]] = {
    "adjudication/services.py": ("adjudication/test_services.py", "TestAtOnce::test_many_at_once_make_one_ruling_each"),
    "adjudication/selectors.py": ("contest/record/test_picture_record.py", "test_how_many_queries_the_page_costs"),
    "contest/core/roles.py": ("contest/record/test_picture_record.py", "test_how_many_queries_the_page_costs"),
    "contest/record/closed_cases.py": ("contest/record/test_picture_record.py", "test_how_many_queries_the_page_costs"),
    "contest/record/timeline/outputs.py": (
        "contest/record/test_picture_record.py",
        "test_how_many_queries_the_page_costs",
    ),
    "common/database/append_only.py": ("contest/prizes/test_awards.py", "test_an_examination_is_never_changed"),
    "accounts/tokens.py": ("common/test_clocks.py", "test_who_is_signed_in_stays_so_and_links_go_on"),
    "common/database/changes.py": ("common/test_database.py", "test_a_commit_of_another_connection_gives_another_mark"),
    "common/clock.py": ("common/test_clocks.py", "test_another_clock_is_noticed"),
    "common/database/forward_clock.py": ("common/test_clocks.py", "test_the_database_refuses_to_turn_the_clock_back"),
    "common/database/lookups.py": (
        "labeling/test_gold.py",
        "test_gold_takes_the_place_of_an_ordinary_picture_once_per_tasker",
    ),
    "common/postgresql/base.py": ("labeling/test_plans.py", "test_the_plan_of_a_prepared_statement_is_kept"),
    "common/rates.py": (
        "common/test_database.py",
        "test_a_count_is_one_statement_so_that_nobody_removes_the_row_halfway",
    ),
    "accounts/second_factor.py": (
        "common/test_sign_in.py",
        "test_a_code_works_once_also_the_one_that_turned_it_on",
    ),
    "accounts/passkeys.py": ("accounts/test_doors.py", "test_an_answer_opens_once"),
    "accounts/session_store.py": ("common/test_clocks.py", "test_who_is_signed_in_stays_so_and_links_go_on"),
    "contest/attacks/letters.py": (
        "contest/attacks/test_uploads.py",
        "test_the_letter_of_an_upload_that_was_cut_off_leaves_a_minute_later",
    ),
    "contest/attacks/quota.py": (
        "contest/attacks/test_services.py",
        "test_two_uploads_at_nine_of_ten_are_not_both_the_tenth",
    ),
    "contest/attacks/services.py": (
        "contest/attacks/test_services.py",
        "test_a_withdrawal_and_the_dealing_at_once_leave_one_of_the_two",
    ),
    "contest/board/examinations.py": ("contest/prizes/test_awards.py", "test_an_examination_is_never_changed"),
    "contest/appeals/services.py": (
        "contest/board/test_at_once.py",
        "test_two_teams_that_appeal_at_once_are_in_one_case_each_once",
    ),
    "contest/board/cases.py": (
        "contest/board/test_deciding.py",
        "test_a_case_is_decided_once_and_the_database_says_so",
    ),
    "contest/board/conflicts.py": (
        "contest/board/test_conflicts.py",
        "test_an_organizer_dismisses_what_is_none_and_it_is_not_found_again",
    ),
    "contest/board/decisions.py": (
        "contest/record/test_contest_release.py",
        "test_nothing_differs_and_the_manifest_counts_the_rows",
    ),
    "contest/board/motions.py": ("contest/board/test_at_once.py", "test_one_confirms_what_changes_at_that_moment"),
    "contest/board/case_sweep.py": (
        "contest/board/test_judging.py",
        "test_the_case_waits_and_organizers_are_told_once_until_there_is_one_again",
    ),
    "contest/core/breaks.py": ("contest/core/test_breaks.py", "test_the_database_keeps_a_break"),
    "contest/demo/clock.py": ("contest/test_demo_clock_and_people.py", "test_two_do_not_move_the_clock_at_once"),
    "contest/releases/snapshot.py": (
        "contest/core/test_publication.py",
        "test_a_snapshot_does_not_see_what_happens_meanwhile",
    ),
    "contest/operations/readiness.py": ("test_reading.py", "test_no_get_writes_or_locks_and_every_page_is_strict"),
    "contest/ledger/triggers.py": ("contest/test_written_once.py", "test_many_at_once_spend_what_is_there_and_no_more"),
    "contest/payments/corrections.py": (
        "contest/ledger/test_correcting.py",
        "test_of_two_who_confirm_at_once_one_does",
    ),
    "contest/ledger/services.py": ("contest/ledger/test_locks.py", "test_an_award_and_a_deposit_at_once"),
    "contest/payments/services.py": ("contest/ledger/test_payments.py", "test_of_two_who_mark_it_at_once_one_does"),
    "contest/prizes/settlement.py": ("contest/ledger/test_locks.py", "test_an_award_and_a_deposit_at_once"),
    "contest/record/rebuild/services.py": ("contest/record/test_rebuild.py", "test_everything_is_as_it_was"),
    "contest/releases/derived_files.py": (
        "contest/releases/test_table_files.py",
        "test_postgresql_writes_the_derived_files_as_python_does",
    ),
    "contest/releases/table_files.py": (
        "contest/releases/test_table_files.py",
        "test_postgresql_writes_every_table_as_python_does",
    ),
    "contest/releases/services.py": (
        "contest/core/test_publication.py",
        "test_only_one_of_two_at_the_same_moment_joins_the_chain",
    ),
    "contest/simulation/isolation.py": (
        "contest/test_simulation.py",
        "test_a_database_that_is_there_already_is_refused",
    ),
    "contest/defenses/stake_ends.py": (
        "contest/ledger/test_locks.py",
        "test_eight_threads_of_mixed_work_meet_no_deadlock",
    ),
    "contest/defenses/entries.py": ("contest/defenses/test_entries.py", "test_a_closed_defense_is_opened_once"),
    "contest/teams/associations.py": (
        "contest/teams/test_unpaid_and_merged.py",
        "test_two_organizers_who_decide_or_declare_at_once_do_it_once",
    ),
    "contest/teams/entitlements.py": ("contest/teams/test_entitlements.py", "test_who_revokes_what"),
    "contest/teams/services.py": (
        "contest/teams/test_members.py",
        "test_handing_over_and_leaving_at_once_leave_one_captain",
    ),
    "accounts/invitations.py": (
        "accounts/test_joining.py",
        "test_of_two_who_use_one_link_at_once_one_joins",
    ),
    "labeling/taskers.py": (
        "accounts/test_account.py",
        "test_answers_stay_and_pictures_at_hand_go_to_others",
    ),
    "labeling/questions/services.py": ("labeling/test_races.py", "test_two_organizers_decide_once"),
    "labeling/gold.py": ("labeling/test_gold.py", "test_gold_takes_the_place_of_an_ordinary_picture_once_per_tasker"),
    "labeling/learning/services.py": (
        "labeling/test_races.py",
        "test_all_pictures_answered_at_once_finish_the_try",
    ),
    "labeling/more_taskers.py": ("adjudication/test_services.py", "TestAtOnce::test_two_ask_for_more"),
    "accounts/one_role.py": ("accounts/test_joining.py", "test_the_database_gives_one_role"),
    "labeling/preferences.py": ("labeling/test_views.py", "test_one_change_leaves_the_others"),
    "labeling/selectors.py": (
        "labeling/test_services.py",
        "test_the_database_refuses_to_replace_a_place_twice_and_to_take_a_voiding_back",
    ),
    "labeling/dealing.py": ("labeling/test_races.py", "test_thousands_of_random_steps"),
    "labeling/leases.py": ("labeling/test_races.py", "test_thousands_of_random_steps"),
    "labeling/submission.py": ("labeling/test_races.py", "test_thousands_of_random_steps"),
    "picture_files/store_transactions.py": (
        "contest/operations/test_unused_files.py",
        "test_who_uploads_while_files_are_removed_waits",
    ),
    "labeling/voiding.py": ("labeling/test_services.py", "test_a_full_panel_waits_again"),
    "monitoring/links.py": (
        "monitoring/test_copying_and_links.py",
        "test_everybody_links_and_unlinks_at_once",
    ),
    "monitoring/check_taskers.py": ("labeling/test_races.py", "test_of_several_sweeps_at_once_one_acts"),
    "scoring/leases.py": ("scoring/test_races.py", "test_of_many_planners_one_queues_a_trial_and_one_scorer_has_it"),
    "scoring/persistence.py": ("scoring/test_reruns.py", "test_applied_it_takes_their_place_all_at_once"),
    "scoring/rerun_preparation.py": (
        "scoring/test_races.py",
        "test_a_rerun_that_somebody_holds_does_not_hold_up_the_others",
    ),
    "scoring/reruns.py": ("scoring/test_races.py", "test_of_two_who_end_it_at_once_one_does"),
    "scoring/services.py": (
        "scoring/test_races.py",
        "test_answers_with_lower_numbers_that_are_on_their_way_are_not_meant",
    ),
    "scoring/trials/private_set.py": ("scoring/trials/test_handed_in.py", "test_a_complete_set_never_changes"),
}


def depends_on_the_database(tree: ast.Module) -> bool:
    """Say whether a module has SQL of its own, prepared statements, locks or triggers."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in ("cursor", "select_for_update", "copy_expert"):
            return True
        if isinstance(node, ast.ImportFrom) and node.module == "common.database.lookups":
            return True
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "CREATE TRIGGER" in node.value:
            return True
    return False


def dependent_modules() -> Iterator[str]:
    for name, path in sources().items():
        text = path.read_text()
        if (
            "migrations" not in path.parts
            and any(sign in text for sign in SIGNS)
            and depends_on_the_database(ast.parse(text))
        ):
            yield name


def is_marked(file: str, test: str) -> bool:
    """Say whether a test, its class or its module has one of the marks; a test that is not there has none."""
    body = ast.parse((ROOT / "tests" / file).read_text()).body
    values = {ast.unparse(node.targets[0]): node.value for node in body if isinstance(node, ast.Assign)}
    marks = [values[name] for name in ("pytestmark",) if name in values]
    for name in test.split("::"):
        named = (node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name)
        found = next(named, None)
        if found is None:
            return False
        marks += found.decorator_list
        body = found.body
    # A mark, or a table of cases with marks, may have a name of its own.
    marks += [values[node.id] for mark in marks for node in ast.walk(mark) if getattr(node, "id", "") in values]
    attributes = (node for mark in marks for node in ast.walk(mark) if isinstance(node, ast.Attribute))
    return any(node.attr in MARKS for node in attributes)


def test_each_module_that_depends_on_the_database_is_shown_on_postgresql() -> None:
    assert set(dependent_modules()) == set(SHOWN_BY)


def test_the_tests_named_are_marked() -> None:
    assert [each for each in SHOWN_BY.values() if not is_marked(*each)] == []


@pytest.mark.parametrize(
    ("text", "depends", "why"),
    [
        ("Team.objects.select_for_update()", True, "it locks rows"),
        ("connection.cursor()", True, "it sends SQL of its own"),
        ("from common.database.lookups import PreparedLookup", True, "it prepares statements"),
        ("SQL = 'CREATE TRIGGER t'", True, "it makes triggers"),
        ("Team.objects.filter(pk=1).update(name='a')", False, "the ORM writes the same for both"),
    ],
)
def test_what_depends_on_the_database(text: str, depends: bool, why: str) -> None:
    assert depends_on_the_database(ast.parse(text)) is depends, why
