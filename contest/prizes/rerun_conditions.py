"""Condition of an award: the defense gives the same answers in a re-run (R36)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.urls import reverse

from adjudication.enums import Verdict
from adjudication.models import Ruling
from contest.core.breaks import sent_as_attack
from contest.core.models import Attack, Stake
from contest.core.scoring_words import FINISHED, rerun_words, reruns_to_apply
from contest.defenses.selectors import first_sent_at, unbroken_until
from contest.prizes.condition import AwardCondition, ConditionOwner
from labeling.enums import Label
from scoring.enums import DefenseAnswer, RerunState, RunState
from scoring.models import Prediction, Rerun, RunItem
from scoring.rules import DEFENSE_FAULTS
from scoring.selectors import predictions_in_force, settled_items


def reruns_after(stake: Stake) -> QuerySet[Rerun]:
    """Return the re-runs of the defense begun when its time was over, newest first, without cancelled ones."""
    until = unbroken_until(stake)
    if until is None:
        return Rerun.objects.none()
    rows = Rerun.objects.filter(defense=stake.defense_id, asked_at__gte=until)
    return rows.exclude(state=RerunState.CANCELLED).order_by("-pk")


def valid_attacks(stake: Stake) -> QuerySet[Attack]:
    """Return the attacks of the stake's time, and those before it, whose pictures are valid now."""
    newest = Ruling.objects.filter(image=OuterRef("image")).order_by("-number").values("verdict")[:1]
    rows = Attack.objects.annotate(verdict=Subquery(newest)).filter(verdict=Verdict.VALID, withdrawn_at__isnull=True)
    until = unbroken_until(stake)
    return rows.filter(received_at__lt=until) if until else rows


def rerun_condition(stake: Stake, now: datetime) -> AwardCondition:
    title = "All attacks run again, and failed"
    pictures = valid_attacks(stake).values("image").distinct()
    wanted = pictures.count()
    if not wanted:
        return AwardCondition("run_again", title, True, "No valid attack was sent.")
    reruns = list(reruns_after(stake))
    if not reruns:
        begin = (ConditionOwner.ORGANIZERS, ConditionOwner.BOARD)
        return AwardCondition(
            "run_again", title, False, f"Not begun: {wanted} pictures are to be run again.", who=begin
        )
    link = reverse("rerun", args=[reruns[0].pk])
    applied = [each for each in reruns if each.state == RerunState.APPLIED]
    if not applied:
        return AwardCondition("run_again", title, False, *_under_way(reruns[0], link, now))
    done = _settled_again(stake, applied, pictures).count()
    # Only an attack breaks: a mistake on a picture that nobody sent as one hinders no award (R29).
    again = _in_time(stake, applied).filter(image__in=pictures)
    mistakes = _mistakes(again).values("image").distinct().count()
    figures = f"{done} of {wanted} pictures run again, {mistakes} of them now taken for the other class."
    # A mistake breaks the defense with the next sweep; a picture that the re-run left out is for another one.
    who = (ConditionOwner.TIME,) if mistakes else (ConditionOwner.SCORER, ConditionOwner.ORGANIZERS)
    return AwardCondition("run_again", title, done == wanted and not mistakes, figures, link, who)


def _under_way(rerun: Rerun, link: str, now: datetime) -> tuple[str, str, tuple[ConditionOwner, ...]]:
    """Return what is known of a re-run that is not applied, where it is looked at, and who brings it on."""
    words = rerun_words(rerun, now=now)
    more = ": an organizer applies it" if words == FINISHED else ""
    who = ConditionOwner.ORGANIZERS if reruns_to_apply().filter(pk=rerun.pk).exists() else ConditionOwner.SCORER
    return f"Re-run {rerun.pk} is {words}{more}.", link, (who,)


def _settled_again(stake: Stake, applied: Sequence[Rerun], pictures: QuerySet[Any, Any]) -> QuerySet[Any, Any]:
    """Return those of `pictures` of which nothing is left to run again.

    A fault of the defense itself is no mistake and final (R30): where it gave no answer there is none to be had.
    """
    same = {"image": OuterRef("image"), "round": OuterRef("round"), "rerun__in": applied}
    failed = RunItem.objects.filter(run__state=RunState.DEAD, run__fault__in=DEFENSE_FAULTS, **same)
    answers = predictions_in_force().filter(defense=stake.defense_id)
    left = answers.exclude(rerun__in=applied).filter(~Exists(failed))
    done = settled_items().filter(defense=stake.defense_id)
    return pictures.filter(image__in=done.values("image")).exclude(image__in=left.values("image"))


def _in_time(stake: Stake, applied: Sequence[Rerun]) -> QuerySet[Prediction]:
    """Return the answers of re-runs to what was sent before the stake's time was over: the rest came too late (R36)."""
    answers, until = (
        Prediction.objects.filter(rerun__in=applied).annotate(sent_at=first_sent_at()),
        unbroken_until(stake),
    )
    return answers.filter(sent_at__lt=until) if until else answers


def _mistakes(answers: QuerySet[Prediction]) -> QuerySet[Prediction]:
    """Return the answers to attacks that are the other class than what the ruling of now says (R29)."""
    newest = Ruling.objects.filter(image=OuterRef("image")).order_by("-number").values("label")[:1]
    other = Q(answer=DefenseAnswer.BIRD, label_now=Label.BICYCLE) | Q(
        answer=DefenseAnswer.BICYCLE, label_now=Label.BIRD
    )
    return answers.annotate(label_now=Subquery(newest)).filter(sent_as_attack(), other)
