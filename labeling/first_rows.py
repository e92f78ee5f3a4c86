"""The first instructions and monitoring rules, created by the first migration."""

from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext_noop

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
# name, collector, window, minimum, comparison, threshold, action, words
RULES: list[tuple[str, str, int, int, str, float, str, str]] = [
    # R6: the numbers are the policy's, and 1 is its bound.
    (
        "Gold clearly under the policy's share",
        "gold_doubt",
        500,
        1,
        "<",
        1.0,
        "pause",
        gettext_noop(
            "Too many of your answers differed from what is known of the pictures. An organizer looks at your answers."
        ),
    ),
    # A longer window would hide that somebody who was good for months has become careless.
    (
        "Latest gold clearly under the policy's share",
        "gold_doubt",
        30,
        1,
        "<",
        1.0,
        "pause",
        gettext_noop(
            "Too many of your latest answers differed from what is known of the pictures. An "
            "organizer looks at your answers."
        ),
    ),
    (
        "Gold low lately",
        "gold_share",
        20,
        15,
        "<",
        0.7,
        "warn",
        gettext_noop(
            "Several of your latest answers differed from what is known of the pictures. Please "
            "read the instructions again, and take the time you need."
        ),
    ),
    (
        "Another class than everybody, in a row",
        "disagreement_run",
        50,
        8,
        ">=",
        6,
        "pause",
        gettext_noop(
            "Several of your answers in a row named another class than everybody else did. An "
            "organizer looks at your answers."
        ),
    ),
    (
        "Mostly against the panel",
        "agreement",
        60,
        40,
        "<",
        0.65,
        "pause",
        gettext_noop(
            "Most of the people who answered about the same pictures say something else. An "
            "organizer looks at your answers."
        ),
    ),
    (
        "Often against the panel",
        "agreement",
        60,
        40,
        "<",
        0.8,
        "warn",
        gettext_noop(
            "Your answers often differ from those of others about the same pictures. Please read "
            "the instructions again, and take the time you need."
        ),
    ),
    # Among equals the share is one in three; for somebody wrong twice as often as the others, one in two.
    (
        "The odd one out",
        "odd_share",
        80,
        40,
        ">",
        0.7,
        "requalify",
        gettext_noop(
            "Where one of three answered differently, it was mostly you. The qualification shows "
            "what the answers should say."
        ),
    ),
    (
        "Outlines apart",
        "outline_iou",
        40,
        25,
        "<",
        50.0,
        "requalify",
        gettext_noop(
            "Your outlines lie apart from those of others. The qualification shows how close they"
            " should follow the object."
        ),
    ),
    (
        "Outlines loose",
        "outline_iou",
        40,
        25,
        "<",
        70.0,
        "warn",
        gettext_noop(
            "Your outlines are often further from the object than those of others. Please follow its edge more closely."
        ),
    ),
    (
        "Too fast to have looked",
        "fast_share",
        50,
        30,
        ">",
        0.6,
        "pause",
        gettext_noop(
            "Most of your answers came faster than the picture can be looked at. An organizer looks at your answers."
        ),
    ),
    (
        "Often very fast",
        "fast_share",
        50,
        30,
        ">",
        0.3,
        "warn",
        gettext_noop("Many of your answers came very fast. There is no hurry: please look at every picture."),
    ),
    (
        "One answer for everything",
        "same_answer_excess",
        60,
        40,
        ">",
        0.35,
        "pause",
        gettext_noop(
            "You gave the same answer far more often than others did about the same pictures. An "
            "organizer looks at your answers."
        ),
    ),
    (
        "The rhythm of a machine",
        "even_rhythm",
        50,
        40,
        "<",
        0.05,
        "pause",
        gettext_noop("Your answers came in too even a rhythm for a person. An organizer looks at your answers."),
    ),
    (
        "Gives most pictures back",
        "skip_share",
        30,
        20,
        ">",
        0.5,
        "warn",
        gettext_noop(
            "You gave most of your pictures back. If something keeps you from answering, please "
            "ask: an organizer reads it."
        ),
    ),
]


def record_first_rows(apps: Any, _: Any) -> None:
    """Add the rows in their historical form: they must stay as they are when code changes."""
    apps.get_model("labeling", "InstructionVersion").objects.create(
        version=1, summary="The instructions as first written.", in_force_from=BEGIN
    )
    rule = apps.get_model("labeling", "WatchRule")
    columns = ("name", "collector", "window", "minimum", "comparison", "threshold", "action", "words")
    rule.objects.bulk_create(rule(**dict(zip(columns, row, strict=True)), created_at=BEGIN) for row in RULES)
