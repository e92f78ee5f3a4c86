"""What users of other labeling tools complain about, what a walk through this site found, and the tests of each.

The left column is the complaint as a user of Label Studio, CVAT, doccano, Zooniverse or PyBossa put it, or what
somebody found who saw this site for the first time; the right one names tests of this suite. A name that is gone fails.
"""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
COMPLAINTS = {
    "two people get the same task": (
        "test_the_database_refuses_a_second_answer_a_fourth_place_and_counters_beyond_the_panel",
        "test_a_panel_whose_last_place_was_taken_since_it_was_offered",
    ),
    "skipped tasks, drafts and locks disagree about who has what": (
        "test_an_assignment_moves_along_its_table_and_no_other_way",
        "test_services_take_every_step_of_a_lease_that_is_in_the_table_and_no_other",
    ),
    "no more tasks, although others only hold them": (
        "test_what_others_hold_is_told_with_its_time",
        "test_waiting_may_help_while_others_hold",
    ),
    "dozens of tasks were not saved after submit": (
        "test_killed_between_commit_and_answer",
        "test_the_same_again_gives_the_same_receipt_and_another_answer_is_refused",
    ),
    "a draft overwrites what was submitted": ("test_a_draft_replaces_neither_a_newer_one_nor_what_was_submitted",),
    "two seconds between one item and the next": (
        "test_the_next_picture_is_there_at_once_and_nothing_jumps",
        "test_a_label_is_one_call_to_the_server",
    ),
    "lists take a minute at 100,000 images": (
        "test_no_page_grows_with_the_pictures",
        "test_statements_do_not_grow_with_the_pictures",
    ),
    "an export times out in the browser": (
        "test_how_far_it_is_can_be_read_while_it_builds",
        "test_a_build_without_a_sign_of_life_is_taken_up_again",
    ),
    "an export of 50,000 records takes minutes": ("test_memory_grows_little_with_the_responses",),
    "zooming while drawing loses the polygon, and fast clicks are dropped": (
        "test_zoom_pan_and_resize_in_the_middle_of_drawing_lose_nothing",
        "test_clicks_as_fast_as_they_can_be_made_lose_nothing_and_the_page_hears_of_each",
    ),
    "a vertex cannot be moved without another tool, and one key deletes the work": (
        "test_corners_are_dragged_inserted_and_removed",
        "test_steps_are_taken_back_and_escape_gives_up",
    ),
    "nothing works by touch or pen": (
        "test_the_whole_task_on_a_phone_with_one_finger",
        "test_a_label_on_a_phone_by_touch",
    ),
    "annotators see each other's answers": ("test_no_answer_tells_a_secret", "test_the_walk_would_find_a_leak"),
    "several annotators per task cost extra": ("test_a_panel_has_from_three_to_nine_places",),
    "the address of an image ends in the middle of the work": (
        "test_an_address_ends_after_an_hour",
        "test_the_network_is_cut_after_the_answer_went_out_and_the_page_is_left",
    ),
    "outlines lie beside the object because a photo was turned": (
        "test_each_exif_orientation_is_turned_upright",
        "test_the_pixels_on_the_screen_are_the_pixels_of_the_picture",
    ),
    "deleting a user breaks what they annotated": (
        "test_whoever_pauses_or_leaves_gives_back_what_they_hold",
        "test_nothing_leads_from_the_public_id_to_the_person",
    ),
    "days of work are lost by a sign-in that ended": (
        "test_a_sign_in_that_ends_in_the_middle_of_an_outline_costs_nothing",
        "test_each_corner_is_there_after_a_reload_and_in_a_tab_opened_anew",
    ),
    "the last of two windows to save wins": (
        "test_a_second_window_follows_every_stroke",
        "test_of_two_different_answers_one_is_kept",
    ),
    "answers are edited after they were completed": ("test_the_database_refuses_to_change_a_response",),
    "a manager has to hand out the next task": (
        "test_the_next_picture_comes_with_the_receipt",
        "test_twelve_keystrokes_label_four_negative_pictures_and_a_fifth_is_waited_for",
    ),
    "one polygon that crosses itself stops the whole export": (
        "test_bow_ties_are_refused",
        "test_simple_polygons_are_accepted_and_clipped",
    ),
    "an export takes all the memory": (
        "test_memory_grows_little_with_the_responses",
        "test_more_rows_than_memory_holds_are_not_held",
    ),
    "an export lacks rows and nobody is told": (
        "test_nothing_differs_and_the_manifest_counts_the_rows",
        "test_a_row_left_out_or_added_and_a_forged_entry_are_found",
    ),
    "after a pause the answer is refused": (
        "test_a_late_answer_counts_while_a_place_is_free",
        "test_a_surplus_answer_is_kept_and_its_tasker_notified",
    ),
}

FOUND_HERE = {
    "keys of the editor throw an error where the focus is outside of the drawing": ("test_every_key_from_every_place",),
    "what was saved is squeezed to a column, and Submit lies off the screen": (
        "test_the_bar_at_every_size",
        "test_every_page_turns_round_and_fits",
    ),
    "the picture fills half of a tablet": ("test_every_page_turns_round_and_fits",),
    "the instructions have no picture": ("test_the_instructions_have_every_question_in_full",),
    "a page in English says that it is German": (
        "test_translated_pages_alone_offer_the_other_language_by_its_own_name",
        "test_nothing_is_untranslated_or_guessed",
    ),
    "a slip of a key is an answer for ever": ("test_an_answer_can_be_taken_back_for_five_seconds",),
    "a stray click begins a second outline, and nothing says so": (
        "test_a_click_that_draws_nothing_or_too_much_is_answered_in_words",
    ),
    "nobody sees who is careless": ("test_a_careless_tasker_is_seen_on_the_pages_of_taskers",),
    "the outline of gold is typed as JSON": ("test_the_outline_of_gold_is_drawn_on_the_picture",),
    "the overview has 16 sections and no answer": (
        "test_the_oldest_comes_first_and_what_has_no_time_before_it",
        "test_the_band_ends_at_what_the_trials_leave",
    ),
    "what-if tells its result in IDs": (
        "test_a_picture_says_what_it_is_and_what_it_would_be",
        "test_the_smallest_boxes_are_drawn_with_both_limits",
    ),
    "the board starts at links without a number": ("test_states_are_tabs_with_their_counts",),
    "a tail in shadow is judged at 598 px": ("test_the_picture_is_enlarged_moved_and_brightened",),
    "at 200 % pages scroll sideways": ("test_every_page_is_accessible_and_fits",),
    "zoom, light and large keyboard steps are missing or hidden": (
        "test_the_wheel_a_touchpad_keys_and_buttons_zoom",
        "test_light_guides_and_the_map_are_chosen_and_remembered_on_every_device",
        "test_a_whole_ring_by_keyboard_alone",
    ),
    "a reload loses the undo steps, and drafts live on one device": (
        "test_another_device_goes_on_with_the_draft_and_its_steps",
    ),
    "clicks on the picture before the questions are ignored in silence": (
        "test_a_click_that_draws_nothing_or_too_much_is_answered_in_words",
    ),
    "the API has no index, no list of pictures, and refuses Bearer": (
        "test_the_index_names_what_is_there_and_each_number_once",
        "test_a_token_is_sent_as_token_or_bearer_and_as_nothing_else",
    ),
    "a released share is a fraction that no tool reads": ("test_every_ruling_follows",),
    "the address of the upload is an error page of the browser": (
        "test_each_role_is_answered_as_the_table_says_and_every_answer_is_strict",
    ),
    "commands as printed fail, in pages of traceback": (
        "test_the_readme_names_only_commands_that_are_there_and_as_they_are_typed",
        "test_a_command_that_fails_says_one_sentence_and_all_with_traceback",
        "test_help_explains_every_option_and_ends_with_an_example_that_works",
    ),
    "the organizers' navigation is thirteen words in a row": (
        "test_every_page_of_organizers_is_two_steps_away",
        "test_a_page_of_details_stands_in_the_group_of_its_list",
    ),
    "pages are ten screens high": (
        "test_a_long_page_is_folded",
        "test_a_number_is_found_by_its_name_its_rule_and_its_setting",
    ),
    "nothing is free, and nobody says until when": ("test_what_others_hold_is_told_with_its_time",),
    "targets are too small, and a zip announces what is no picture": (
        "test_no_width_scrolls_sideways_and_a_finger_hits_everything",
        "test_what_is_chosen_is_told_before_and_after_it_is_sent",
        "test_receipts_are_listed_newest_first_also_after_a_reload",
    ),
}


@pytest.fixture(scope="module")
def names() -> set[str]:
    trees = (ast.parse(path.read_text()) for path in TESTS.rglob("test_*.py"))
    return {node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_there_are_twenty_five_of_each() -> None:
    assert len(COMPLAINTS) == len(FOUND_HERE) == 25


@pytest.mark.parametrize(("complaint", "tests"), (COMPLAINTS | FOUND_HERE).items())
def test_a_complaint_has_its_test(complaint: str, tests: tuple[str, ...], names: set[str]) -> None:
    assert [each for each in tests if each not in names] == []
