"""Queries for trials and eligibility (R31).

Pages get only totals, verdicts and the log of the smoke test from this module, never pictures, hashes, classes or
answers of a trial.
"""

import hashlib
import random
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db.models import Exists, Min, OuterRef, Q, QuerySet

from adjudication.enums import Verdict
from adjudication.models import Ruling
from labeling.enums import Label
from policy.numbers import Policy
from scoring import leases
from scoring.enums import ConditionStatus, EligibilityCondition, RunState, TrialKind
from scoring.models import CopyFlag, Defense, FrameworkCheck, PrivatePicture, PrivateSet, Run, Trial
from scoring.rules import PLATFORM_FAULTS
from scoring.trials import totals
from scoring.trials.order import TrialOrder
from scoring.trials.published import published_attack_pictures, published_pictures

SMOKE_PICTURES = 40
PROBE_PICTURES = 100
IN_ORDER = tuple(TrialKind)
ASKED = "asked"  # where the totals of a trial on attacks keep the fingerprint of its pictures
UNDER_WAY = (RunState.QUEUED, RunState.RUNNING)
_TOLD = (
    *("id", "defense", "kind", "number", "private_set", "state", "totals", "fault", "device"),
    *("created_at", "finished_at"),
)


# Pictures of a trial --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TrialPicture:
    """A picture with its class. `picture` is the number of a PrivatePicture or an Image, by the trial's kind."""

    picture: int
    pixels_sha256: str
    label: Label
    size: int


def private_set_in_force() -> PrivateSet | None:
    """Return the newest complete set; None when there is none."""
    return PrivateSet.objects.filter(completed_at__isnull=False).order_by("-number").first()


def private_questions(private_set: PrivateSet, size: int) -> list[TrialPicture]:
    """Return the pictures of a set, each of which has `size` pixels along a side."""
    # By their hashes: an import goes folder by folder, so that the numbers follow the classes.
    rows = PrivatePicture.objects.filter(private_set=private_set).order_by("pixels_sha256")
    return [TrialPicture(row.pk, row.pixels_sha256, Label(row.label), size) for row in rows]


def earlier_questions(*, now: datetime) -> list[TrialPicture]:
    """Return every attack out of embargo whose newest ruling is valid, the smallest pictures first (R31, 2)."""
    return _ruled(_valid_rulings().filter(image__in=published_attack_pictures(now=now).values("pk")))


def pictures_fingerprint(questions: Iterable[TrialPicture]) -> str:
    """Return a fingerprint of these pictures with their classes, independent of their order."""
    told = sorted(f"{question.picture} {question.label}" for question in questions)
    return hashlib.sha256("\n".join(told).encode()).hexdigest()


def probe_questions(size: int, order: TrialOrder) -> list[TrialPicture]:
    """Return published pictures of one size that are ruled valid, at most PROBE_PICTURES, the first in `order`."""
    published = published_pictures().filter(width=size).values("pk")
    found = _ruled(_valid_rulings().filter(image__in=published))
    return order.of(found, lambda question: question.pixels_sha256)[:PROBE_PICTURES]


def smoke_pictures(size: int, seed: int) -> list[str]:
    """Return the hashes of published pictures of one size, at most SMOKE_PICTURES, drawn by `seed`."""
    published = published_pictures().filter(width=size).order_by("pk")
    found = list(published.values_list("pixels_sha256", flat=True))
    return random.Random(seed).sample(found, SMOKE_PICTURES) if len(found) > SMOKE_PICTURES else found


def _valid_rulings() -> QuerySet[Ruling]:
    newer = Ruling.objects.filter(image=OuterRef("image"), number__gt=OuterRef("number"))
    return Ruling.objects.filter(~Exists(newer), verdict=Verdict.VALID)


def _ruled(rulings: QuerySet[Ruling]) -> list[TrialPicture]:
    rows = rulings.order_by("image__width", "image_id")
    values = rows.values_list("image_id", "image__pixels_sha256", "label", "image__width")
    return [TrialPicture(image, sha, Label(label), width) for image, sha, label, width in values]


# The queue ------------------------------------------------------------------------------------------------------------


def trials_waiting(*, now: datetime, left_out: Collection[int] = ()) -> QuerySet[Trial]:
    """Return the queued trials that may start at `now`, without those of the defenses `left_out`, first come first."""
    return leases.waiting(Trial, now=now, left_out=left_out).order_by("id")


def trial_waits_longest(*, now: datetime, left_out: Collection[int] = ()) -> bool:
    """Say whether a trial waits, and longer than any run; both without the defenses `left_out`."""
    trial = trials_waiting(now=now, left_out=left_out).aggregate(since=Min("created_at"))["since"]
    if trial is None:
        return False
    run = leases.waiting(Run, now=now, left_out=left_out).aggregate(since=Min("created_at"))["since"]
    return run is None or trial <= run


def dead_trials() -> QuerySet[Trial]:
    """Return the dead trials that are the newest of their kind: somebody has to request them again."""
    newer = Trial.objects.filter(defense=OuterRef("defense"), kind=OuterRef("kind"), number__gt=OuterRef("number"))
    dead = Trial.objects.filter(~Exists(newer), state=RunState.DEAD)
    return dead.select_related("defense").defer("answers", "log").order_by("finished_at", "id")


def trials_to_retry() -> QuerySet[Trial]:
    """Return the dead trials that faults of the platform ended, of defenses that are not retired."""
    return dead_trials().filter(fault__in=PLATFORM_FAULTS, defense__retired_at__isnull=True)


# Results --------------------------------------------------------------------------------------------------------------


def defenses_before_publication() -> QuerySet[Defense]:
    """Return the containers that are not published yet."""
    return Defense.objects.filter(~Q(image=""), published_at=None, retired_at=None).order_by("id")


Newest = dict[TrialKind, Trial]


def newest_trials(defenses: Iterable[int]) -> dict[int, Newest]:
    """Return defense -> kind -> its newest trial, without answers and logs."""
    rows = Trial.objects.filter(defense__in=list(defenses)).only(*_TOLD).order_by("number")
    found: dict[int, Newest] = {}
    for row in rows:
        found.setdefault(row.defense_id, {})[TrialKind(row.kind)] = row
    return found


def has_passed(trial: Trial, policy: Policy) -> bool:
    """Say whether a trial is finished and meets its conditions, so that the next one may begin.

    A probe decides nothing: its figures are for the board.
    """
    meets = (_MEETS[each](trial.totals, policy) for each in DECIDES[TrialKind(trial.kind)])
    return trial.state == RunState.FINISHED and all(meets)


def _is_accepted(numbers: dict[str, Any], policy: Policy) -> bool:
    return bool(numbers.get("accepted"))


def _is_right(numbers: dict[str, Any], policy: Policy) -> bool:
    percent, strict = policy.eligibility_percent, policy.eligibility_strict
    return totals.passes_private(totals.read_totals(numbers), percent=percent, strict=strict)


def _is_without_mistake(numbers: dict[str, Any], policy: Policy) -> bool:
    return totals.passes_earlier(totals.read_totals(numbers))


def _is_quick(numbers: dict[str, Any], policy: Policy) -> bool:
    rows, milliseconds = int(numbers.get("rows", 0)), int(numbers.get("milliseconds", 0))
    return totals.is_quick_enough(rows, milliseconds, seconds_per_picture=policy.seconds_per_picture)


# The conditions that each kind of trial decides (R31), and the test for each.
DECIDES: dict[TrialKind, tuple[EligibilityCondition, ...]] = {
    TrialKind.SMOKE: (EligibilityCondition.CONTAINER,),
    TrialKind.PRIVATE: (EligibilityCondition.PRIVATE, EligibilityCondition.SPEED),
    TrialKind.EARLIER: (EligibilityCondition.EARLIER,),
    TrialKind.PROBE: (),
}
_MEETS: dict[EligibilityCondition, Callable[[dict[str, Any], Policy], bool]] = {
    EligibilityCondition.CONTAINER: _is_accepted,
    EligibilityCondition.PRIVATE: _is_right,
    EligibilityCondition.EARLIER: _is_without_mistake,
    EligibilityCondition.SPEED: _is_quick,
}


class TrialSources:
    """The pictures that trials use at `now`; each source is read once, on demand."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    @cached_property
    def private_set(self) -> int | None:
        """The number of the row of the set in force."""
        in_force = private_set_in_force()
        return None if in_force is None else in_force.pk

    @cached_property
    def attacks(self) -> str:
        """The fingerprint of the valid attacks."""
        return pictures_fingerprint(earlier_questions(now=self._now))


def is_outdated(trial: Trial, present: TrialSources) -> bool:
    """Say whether a finished trial has to be repeated because it used other pictures than a trial would use now.

    The attacks themselves are compared, not when they were ruled on: a ruling may be seen later than it was made. A
    failure on the earlier attacks is final: more attacks change nothing.
    """
    if trial.state != RunState.FINISHED:
        return False
    if trial.kind == TrialKind.PRIVATE:
        return trial.private_set_id != present.private_set
    if trial.kind == TrialKind.EARLIER and totals.passes_earlier(totals.read_totals(trial.totals)):
        return bool(trial.totals.get(ASKED) != {"sha256": present.attacks})
    return False


def next_kind(newest: Newest, policy: Policy, present: TrialSources) -> TrialKind | None:
    """Return the trial that is to begin by itself: the first one missing or outdated, when all before it are passed."""
    for kind in IN_ORDER:
        if kind not in newest or is_outdated(newest[kind], present):
            return kind
        if not has_passed(newest[kind], policy):
            return None
    return None


@dataclass(frozen=True, slots=True)
class ConditionFinding:
    """The status of one condition for a defense (R31), with its figures and their time."""

    condition: EligibilityCondition
    standing: ConditionStatus
    figures: dict[str, Any]
    at: datetime | None


@dataclass(frozen=True, slots=True)
class DefenseEligibility:
    """The status of every condition for a defense."""

    findings: tuple[ConditionFinding, ...]

    @property
    def eligible(self) -> bool:
        """Whether all conditions are passed."""
        return all(finding.standing is ConditionStatus.PASSED for finding in self.findings)

    @property
    def failed(self) -> tuple[ConditionFinding, ...]:
        """Return the conditions that failed; with one of them it is not published."""
        return tuple(finding for finding in self.findings if finding.standing is ConditionStatus.FAILED)


def eligibility_of(defense: Defense, policy: Policy, *, now: datetime) -> DefenseEligibility:
    """Return the status of the conditions of R31 for `defense` under `policy` at `now`. Totals only.

    After publication the status stays as it was then: later attacks reach the defense in official runs.
    """
    return eligibilities([defense], policy, now=now)[defense.pk]


def eligibilities(defenses: Iterable[Defense], policy: Policy, *, now: datetime) -> dict[int, DefenseEligibility]:
    """Return defense -> its status of the conditions, in as many queries for a list as for one."""
    rows = list(defenses)
    ids = [row.pk for row in rows]
    newest, present = newest_trials(ids), TrialSources(now)
    checks = {check.defense_id: check for check in FrameworkCheck.objects.filter(defense__in=ids).order_by("pk")}
    return {
        row.pk: _eligibility(
            newest.get(row.pk, {}), checks.get(row.pk), policy, present if row.published_at is None else None
        )
        for row in rows
    }


def _eligibility(
    newest: Newest, check: FrameworkCheck | None, policy: Policy, present: TrialSources | None
) -> DefenseEligibility:
    tried = {condition: newest.get(kind) for kind, decided in DECIDES.items() for condition in decided}
    found = [_finding(each, tried[each], present, policy) for each in EligibilityCondition if each in tried]
    return DefenseEligibility((*found, _framework(check)))


_OF_SPEED = ("rows", "milliseconds", "pictures_per_minute", "device")


def _finding(
    condition: EligibilityCondition, trial: Trial | None, present: TrialSources | None, policy: Policy
) -> ConditionFinding:
    if trial is None:
        return ConditionFinding(condition, ConditionStatus.NOT_YET, {}, None)
    figures = dict(trial.totals)
    if condition is EligibilityCondition.SPEED:
        figures = {name: figures[name] for name in _OF_SPEED if name in figures}
    if trial.fault:
        figures["fault"] = trial.fault
    outdated = present is not None and is_outdated(trial, present)
    standing = ConditionStatus.NOT_YET if outdated else _standing(trial, condition, policy)
    return ConditionFinding(condition, standing, figures, trial.finished_at)


def _standing(trial: Trial, condition: EligibilityCondition, policy: Policy) -> ConditionStatus:
    if trial.state in UNDER_WAY:
        return ConditionStatus.PENDING
    if trial.state == RunState.DEAD:  # the platform's faults, never the defense's failure: it has to be asked again
        return ConditionStatus.NOT_YET
    return ConditionStatus.PASSED if _MEETS[condition](trial.totals, policy) else ConditionStatus.FAILED


def _framework(check: FrameworkCheck | None) -> ConditionFinding:
    if check is None:
        return ConditionFinding(EligibilityCondition.FRAMEWORK, ConditionStatus.NOT_YET, {}, None)
    standing = ConditionStatus.PASSED if check.passed else ConditionStatus.FAILED
    return ConditionFinding(EligibilityCondition.FRAMEWORK, standing, {"reason": check.reason}, check.checked_at)


def framework_checks_of(defense: Defense) -> list[FrameworkCheck]:
    """Return the checks of a defense's framework by people, newest first; the first is in force."""
    return list(FrameworkCheck.objects.filter(defense=defense).select_related("checked_by").order_by("-pk"))


def probe_of(defense: Defense) -> dict[str, Any]:
    """Return the totals of the newest finished memorisation probe, for the board; empty when there is none."""
    done = Trial.objects.filter(defense=defense, kind=TrialKind.PROBE, state=RunState.FINISHED)
    return done.order_by("-number").values_list("totals", flat=True).first() or {}


def smoke_log_of(defense: Defense) -> str:
    """Return the report and log of the newest smoke test, which saw public pictures alone."""
    done = Trial.objects.filter(defense=defense, kind=TrialKind.SMOKE).order_by("-number")
    return done.values_list("log", flat=True).first() or ""


def copy_flags_of(defense: Defense) -> list[CopyFlag]:
    """Return the flags that this defense looks like a copy of another one, oldest first."""
    return list(CopyFlag.objects.filter(defense=defense).select_related("original").order_by("found_at", "id"))
