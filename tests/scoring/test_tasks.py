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

pytestmark = pytest.mark.django_db


def test_a_valid_picture_is_scored_and_a_rerun_prepared_by_the_tasks_alone(olga: User) -> None:
    factories.policy_version()
    (defense,) = cast.publish(timezone.now(), "always-abstain")
    cast.valid_pictures(2)
    tasks.plan_runs()
    lost = Run.objects.order_by("id")[0]
    Run.objects.filter(pk=lost.pk).update(
        state=RunState.RUNNING, attempt=1, lease_until=timezone.now() - timedelta(seconds=1)
    )
    tasks.reclaim_runs()
    tasks.work_runs()
    assert Prediction.objects.count() == 2 * 3
    lost.refresh_from_db()
    assert (lost.state, lost.attempt) == (RunState.FINISHED, 2)
    rerun = reruns.rerun_start(defense=defense, scope=Scope("All answers."), reason="why", by=olga, now=timezone.now())
    tasks.prepare_reruns()
    rerun.refresh_from_db()
    assert (rerun.state, Run.objects.filter(rerun=rerun, state=RunState.QUEUED).count()) == (RerunState.RUNNING, 3)


def test_dead_runs_are_queued_again_by_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    cast.queued(timezone.now(), "always-abstain", pictures=1)
    Run.objects.update(state=RunState.DEAD, fault=Fault.PLATFORM)
    call_command("retry_dead_runs")
    assert "3 runs queued again" in capsys.readouterr().out
    assert set(Run.objects.values_list("state", flat=True)) == {RunState.QUEUED}
