"""Models: images, taskers, panels, assignments and responses.

What the database refuses, whoever writes: two answers by one tasker on one image, two counted answers in one place
(so never more than the panel has places), a fourth held picture, and any change to a response.

Lock order. A transaction of labeling or adjudication that locks or changes several rows does so in this order, and rows
of one table in the order of their primary keys, so that no two transactions wait for each other:

1. taskers (a pause, a link, leaving; a claim and the return to a lapsed lease lock their own, so that neither passes a
   pause or a link);
2. assignments. Adding a lease or moving one into a slot may wait for another request of the same tasker or person: it
   comes before the panel, whose place is taken last;
3. panels, all those of one picture before its ruling, a fresh panel, gold or a decision on a report;
4. known pictures, reports, and rows that are only added: places, responses, rulings, notices, the audit trail.

Every lock is `no_key`: adding a row that refers to a locked one never waits. A claim's lock of its tasker is one that
claims share. What several requests may still do to each other (an account is deleted while its tasker works; of two
requests of one tasker, one gives a picture back and takes the other's) is decorated with `retry_on_deadlock`.
"""

import uuid
from functools import partial

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from common.choices import choices
from common.ids import random_id
from labeling.enums import Answer, AssignmentState, Origin, PanelState, TaskerState, TieBreak
from policy.numbers import MAX_PANEL_SIZE


class Image(models.Model):
    """One canonical picture (R2): its pixels are its identity; the original bytes are kept beside them."""

    public_id = models.CharField(max_length=16, unique=True, default=partial(random_id, "P", 8))
    pixels_sha256 = models.CharField(max_length=64, unique=True)
    original_sha256 = models.CharField(max_length=64, db_index=True)
    original_format = models.CharField(max_length=8)
    width = models.PositiveIntegerField()
    height = models.PositiveIntegerField()
    origin = models.CharField(max_length=8, choices=choices(Origin))
    source = models.CharField(max_length=200)
    source_id = models.CharField(max_length=200, blank=True)
    licence = models.CharField(max_length=200)
    author = models.CharField(max_length=200, blank=True)
    received_at = models.DateTimeField(db_index=True)
    # From when on a panel may be dealt; empty for pictures that are never labeled (R24, R31).
    label_from = models.DateTimeField(null=True, blank=True)
    dealt_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["label_from"],
                name="image_waiting_for_panel",
                condition=Q(dealt_at__isnull=True, label_from__isnull=False),
            )
        ]
        constraints = [
            models.CheckConstraint(condition=~Q(source="") & ~Q(licence=""), name="image_has_provenance"),
        ]

    def __str__(self) -> str:
        return self.public_id


class Tasker(models.Model):
    """A person who labels, known in public by `public_id` alone (R4); the row outlives the account."""

    public_id = models.CharField(max_length=16, unique=True, default=partial(random_id, "T", 5))
    user = models.OneToOneField(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    state = models.CharField(max_length=12, choices=choices(TaskerState), default=TaskerState.LEARNING.value)
    shuffle_seed = models.BigIntegerField()
    # The likely person: the first of all taskers they are linked with; null without a link.
    person = models.BigIntegerField(null=True, db_index=True)
    # The newest version of the instructions this tasker is qualified under (R5).
    instructions = models.PositiveSmallIntegerField(db_default=1, default=1)
    tutorial_done_at = models.DateTimeField(null=True)
    language = models.CharField(max_length=8, blank=True, default="", db_default="")
    time_zone = models.CharField(max_length=40, blank=True, default="", db_default="")
    # Preferences of the labeling page: {"keys": {action: key}, …}. Only a convenience.
    preferences = models.JSONField(default=dict, db_default={})
    # When the person's account was deleted; ID and answers stay.
    left_at = models.DateTimeField(null=True)
    # This tasker's position in each queue, as {"missing": ISO time}: a hint that keeps a claim cheap for a
    # tasker far ahead of the others (see selectors.claimable_panels). Losing it costs time, never work.
    passed = models.JSONField(default=dict)
    passed_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.public_id


class Panel(models.Model):
    """The set of places for one image (R7). `waiting_since` is when the number of missing answers last changed.

    The board may let more taskers join a panel that was ruled upon, or a fresh one replace it (R19): of the panels of
    an image the newest alone may be unsettled.
    """

    # Here and below: no separate index where a unique constraint begins with the column.
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="panels", db_index=False)
    number = models.PositiveSmallIntegerField(default=1)
    size = models.PositiveSmallIntegerField()
    answered = models.PositiveSmallIntegerField(default=0)
    leased = models.PositiveSmallIntegerField(default=0)
    missing = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=8, choices=choices(PanelState), default=PanelState.OPEN.value)
    dealt_at = models.DateTimeField()
    waiting_since = models.DateTimeField()
    full_at = models.DateTimeField(null=True)
    # Dealt before all others, because the board waits for it (R19).
    urgent = models.BooleanField(db_default=False, default=False)
    # How many of the places were added after a ruling on the panel (R19), and when the last of them was.
    joined = models.PositiveSmallIntegerField(db_default=0, default=0)
    joined_at = models.DateTimeField(null=True)
    # Responses in places up to this number: counted by a ruling before places were added, never voided (R6).
    ruled_through = models.PositiveSmallIntegerField(db_default=0, default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["image", "number"], name="panel_number_once"),
            models.CheckConstraint(
                condition=Q(joined=0, joined_at__isnull=True, ruled_through=0)
                | Q(joined__gt=0, joined_at__isnull=False, ruled_through__gte=3),
                name="panel_joined_at_a_time",
            ),
            models.CheckConstraint(condition=Q(size__gte=F("joined") + 3), name="panel_of_three_or_more"),
            models.CheckConstraint(condition=Q(missing=F("size") - F("answered")), name="panel_missing_adds_up"),
            models.CheckConstraint(condition=Q(answered__lte=F("size") - F("leased")), name="panel_never_over_size"),
            models.CheckConstraint(
                condition=Q(state__in=(PanelState.OPEN, PanelState.HELD), missing__gt=0)
                | (~Q(state__in=(PanelState.OPEN, PanelState.HELD)) & Q(missing=0)),
                name="panel_waits_exactly_while_missing",
            ),
        ]
        indexes = [
            models.Index(
                fields=["missing", "waiting_since", "id"],
                name="panel_queue",
                condition=Q(state=PanelState.OPEN),
            ),
            models.Index(
                fields=["waiting_since", "id"], name="panel_urgent", condition=Q(state=PanelState.OPEN, urgent=True)
            ),
            models.Index(fields=["full_at"], name="panel_full", condition=Q(state=PanelState.FULL)),
            # Serves the query for the newest panels that could become gold (R6).
            models.Index(fields=["-full_at", "-id"], name="panel_settled", condition=Q(state=PanelState.SETTLED)),
        ]

    def __str__(self) -> str:
        return f"panel {self.number} of image {self.image_id}"


class PanelPlace(models.Model):
    """One of a panel's places. A counted response fills exactly one, so a panel counts no more responses than places.

    A place whose response was voided is replaced, once, by another one with a higher number (R6).
    """

    panel = models.ForeignKey(Panel, on_delete=models.PROTECT, related_name="places", db_index=False)
    number = models.PositiveSmallIntegerField()
    replaces = models.OneToOneField("self", null=True, on_delete=models.PROTECT, related_name="replaced_by")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["panel", "number"], name="place_number_once"),
            models.CheckConstraint(
                condition=Q(number__lte=MAX_PANEL_SIZE) | Q(replaces__isnull=False), name="place_beyond_size_replaces"
            ),
        ]

    def __str__(self) -> str:
        return f"place {self.number} of panel {self.panel_id}"


class Assignment(models.Model):
    """An image given to a tasker: a lease while it lasts, a permanent record (R8).

    `slot` numbers the pictures a tasker holds at once, so that two browsers of one person cannot hold more.
    With `known` it is gold: it measures the tasker, belongs to a settled panel, and holds no place (R6).
    Gold `stands_for` the panel of the ordinary picture that the tasker would have got at that moment: that panel and
    the policy of its dealing decide everything, so that no change of the policy reveals gold (R8).
    `person` is the tasker's person at that time, so that linked taskers cannot both get the same image.
    """

    public_id = models.UUIDField(unique=True, default=uuid.uuid4)
    panel = models.ForeignKey(Panel, on_delete=models.PROTECT, related_name="assignments")
    person = models.BigIntegerField()
    known = models.ForeignKey(
        "labeling.KnownPicture", null=True, on_delete=models.PROTECT, related_name="assignments", db_index=False
    )
    stands_for = models.ForeignKey(Panel, null=True, on_delete=models.PROTECT, related_name="+", db_index=False)
    # Whether the receipt of an answer to gold says that it counts; null for all others, where the place says it.
    seems_counted = models.BooleanField(null=True)
    instructions = models.PositiveSmallIntegerField(db_default=1, default=1)
    # Always queried with a tasker or a person: the constraints' indexes serve.
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="+", db_index=False)
    tasker = models.ForeignKey(Tasker, on_delete=models.PROTECT, related_name="assignments", db_index=False)
    lease_token = models.CharField(max_length=32)
    state = models.CharField(max_length=8, choices=choices(AssignmentState), default=AssignmentState.LEASED.value)
    slot = models.PositiveSmallIntegerField()
    tie_break = models.CharField(max_length=9, choices=choices(TieBreak))
    leased_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    # A tasker's report that the picture itself is broken; such an assignment is never offered again.
    problem = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tasker", "image"], name="assignment_once_per_tasker_and_image"),
            models.UniqueConstraint(
                fields=["tasker", "slot"],
                condition=Q(state=AssignmentState.LEASED),
                name="assignment_slot_once",
            ),
            models.CheckConstraint(condition=Q(slot__gte=1, slot__lte=3), name="assignment_slot_range"),
            models.CheckConstraint(
                condition=Q(known__isnull=True, stands_for__isnull=True)
                | Q(known__isnull=False, stands_for__isnull=False),
                name="assignment_of_gold_stands_for_a_panel",
            ),
            models.UniqueConstraint(
                fields=["image", "person"],
                condition=Q(known__isnull=True),
                name="assignment_once_per_person_and_image",
            ),
        ]
        indexes = [
            models.Index(fields=["known"], name="assignment_of_gold", condition=Q(known__isnull=False)),
            models.Index(fields=["expires_at"], name="assignment_lease", condition=Q(state=AssignmentState.LEASED)),
            models.Index(
                fields=["tasker"],
                name="assignment_lapsed",
                condition=Q(state__in=[AssignmentState.EXPIRED, AssignmentState.RELEASED], problem=""),
            ),
            models.Index(fields=["ended_at"], name="assignment_problem", condition=~Q(problem="")),
        ]

    def __str__(self) -> str:
        return str(self.public_id)


class Draft(models.Model):
    """A form that a tasker has filled in and not submitted, so that they can go on in another browser.

    `form` is the JSON object of the page's script, which the server does not interpret. `browser` is a random name of
    the browser that sent it. A draft of a picture that is answered is removed some time later, and so is one that
    nobody has changed for days.
    """

    assignment = models.OneToOneField(Assignment, on_delete=models.PROTECT)
    browser = models.UUIDField()
    revision = models.PositiveIntegerField()
    form = models.TextField()
    saved_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"draft {self.revision} of {self.assignment_id}"


class Response(models.Model):
    """One tasker's answers about one image. Append-only. Without a place it is surplus: kept, not counted (R8).

    `outline` is the published text: JSON rings in image pixels with at most two decimals. The box is in hundredths
    of a pixel, integers. `answers_sha256` tells a repeated submission from a different one.
    """

    assignment = models.OneToOneField(Assignment, on_delete=models.PROTECT)
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="responses", db_index=False)
    panel = models.ForeignKey(Panel, on_delete=models.PROTECT, related_name="responses")
    tasker = models.ForeignKey(Tasker, on_delete=models.PROTECT, related_name="responses", db_index=False)
    place = models.OneToOneField(PanelPlace, null=True, on_delete=models.PROTECT)
    contains_bird = models.CharField(max_length=16, choices=choices(Answer))
    contains_bicycle = models.CharField(max_length=16, choices=choices(Answer))
    outline = models.TextField(blank=True)
    box_xmin = models.IntegerField(null=True)
    box_ymin = models.IntegerField(null=True)
    box_xmax = models.IntegerField(null=True)
    box_ymax = models.IntegerField(null=True)
    complete = models.BooleanField(null=True)
    unoccluded = models.BooleanField(null=True)
    real = models.BooleanField(null=True)
    milliseconds = models.PositiveIntegerField()
    instructions = models.PositiveSmallIntegerField(db_default=1, default=1)
    submitted_at = models.DateTimeField(db_index=True)
    answers_sha256 = models.CharField(max_length=64)
    receipt = models.CharField(max_length=16)

    class Meta:
        indexes = [models.Index(fields=["tasker", "submitted_at"], name="response_of_tasker")]
        constraints = [
            models.UniqueConstraint(fields=["image", "tasker"], name="response_once_per_tasker_and_image"),
            models.CheckConstraint(
                condition=Q(outline="", box_xmin__isnull=True)
                | (~Q(outline="") & Q(box_xmax__gt=F("box_xmin"), box_ymax__gt=F("box_ymin"))),
                name="response_box_goes_with_outline",
            ),
        ]

    def __str__(self) -> str:
        return self.receipt
