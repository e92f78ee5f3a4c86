"""The sweeps and the work, as the worker calls them."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.utils import timezone

from scoring import reruns, tasks
from scoring.enums import Fault, RerunState, RunState
from scoring.models import Prediction, Run
from scoring.rerun_scope import Scope
from tests import factories
from tests.scoring import cast


@pytest.mark.django_db
def test_a_valid_picture_is_scored_by_the_tasks_alone() -> None:
    factories.policy_version()
    call_command("publish_reference_defenses", verbosity=0)
    cast.valid_pictures(2)
    tasks.plan_runs()
    lost = Run.objects.order_by("id")[0]
    Run.objects.filter(pk=lost.pk).update(
        state=RunState.RUNNING, attempt=1, lease_until=timezone.now() - timedelta(seconds=1)
    )
    tasks.reclaim_runs()
    tasks.work_runs()
    assert Prediction.objects.count() == 2 * 3 * 3
    lost.refresh_from_db()
    assert (lost.state, lost.attempt) == (RunState.FINISHED, 2)


@pytest.mark.django_db
def test_a_rerun_is_prepared_by_the_task(olga: User) -> None:
    now = timezone.now()
    (defense,) = cast.publish(now, "always-abstain")
    cast.valid_pictures(2)
    cast.plan(now)
    cast.work_all(now)
    rerun = reruns.rerun_start(defense=defense, scope=Scope("All answers."), reason="why", by=olga, now=now)
    tasks.prepare_reruns()
    rerun.refresh_from_db()
    assert (rerun.state, Run.objects.filter(rerun=rerun, state=RunState.QUEUED).count()) == (RerunState.RUNNING, 3)


@pytest.mark.django_db
def test_dead_runs_are_queued_again_by_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    now = timezone.now()
    cast.publish(now, "always-abstain")
    cast.valid_pictures(1)
    cast.plan(now)
    Run.objects.update(state=RunState.DEAD, fault=Fault.PLATFORM)
    call_command("retry_dead_runs")
    assert "3 runs queued again" in capsys.readouterr().out
    assert set(Run.objects.values_list("state", flat=True)) == {RunState.QUEUED}
