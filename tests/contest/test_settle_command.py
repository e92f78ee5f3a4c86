"""`settle` by hand says what it cannot do: what another scorer holds, and that the database is not migrated."""

from datetime import datetime, timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from contest import pipeline
from scoring import services as scoring
from scoring.enums import TrialKind
from scoring.models import Run
from scoring.trials import services as trials
from tests.scoring import cast as scoring_cast
from tests.scoring.trials import cast

pytestmark = pytest.mark.django_db


def test_what_another_scorer_holds_is_said_with_its_end(now: datetime) -> None:
    assert pipeline.held_elsewhere(now=now) == ""
    scoring_cast.publish(now, "always-abstain")
    scoring_cast.valid_pictures(1)
    scoring_cast.plan(now)
    assert pipeline.held_elsewhere(now=now) == "", "what waits is held by nobody"
    run = scoring.run_claim(worker="other", now=now)
    assert run is not None and run.lease_until is not None
    said = pipeline.held_elsewhere(now=now)
    assert said.startswith(f"1 run held by another scorer until {run.lease_until:%a} {run.lease_until.day}")
    assert f"{run.lease_until:%H:%M:%S} UTC at the latest" in said and "settle again then" in said
    cast.ask(cast.container(), TrialKind.SMOKE, now)
    assert trials.trial_claim(worker="other", now=now) is not None
    assert pipeline.held_elsewhere(now=now).startswith("1 run and 1 trial held by another scorer")
    late = Run.objects.get(pk=run.pk).lease_until
    assert late is not None and pipeline.held_elsewhere(now=late + timedelta(days=1)) == "", "silence is no lease"


@pytest.mark.parametrize("command", [("settle",), ("rebuild_from_releases", "/nowhere")], ids=lambda each: each[0])
def test_a_database_that_is_not_migrated_is_one_sentence(command: tuple[str, ...]) -> None:
    ((app, newest),) = MigrationLoader(connection).graph.leaf_nodes("contest")
    MigrationRecorder(connection).record_unapplied(app, newest)
    with pytest.raises(CommandError, match=r"^The database misses 1 migration\. Run \./unanimous migrate first\.$"):
        call_command(*command)


def test_a_database_without_a_table_is_the_same_sentence() -> None:
    MigrationRecorder(connection).migration_qs.all().delete()
    with pytest.raises(CommandError, match=r"^The database misses \d+ migrations\. Run \./unanimous migrate first\.$"):
        call_command("rebuild_from_releases", "/nowhere")
