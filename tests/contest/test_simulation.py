"""A small month through the real services: who should be found is found, nobody honest is stopped, twice the same."""

import json
import shlex
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from contest.management.commands.simulate import play
from contest.simulation.month import Month, Plan, mornings
from contest.simulation.outcome import Outcome
from contest.simulation.pictures import draw_picture
from contest.simulation.report import render
from labeling.enums import Label
from labeling.models import Assignment, Response, Tasker, TaskerLink
from tests import factories

SMALL = Plan(seed=3, honest=5, careless=0, random=1, copying=2, days=3, pictures_a_day=30, first_gold=30)
TINY = Plan(seed=3, honest=4, careless=1, random=1, copying=0, days=1, pictures_a_day=12, first_gold=5)
REPORT = Path(settings.BASE_DIR) / "docs" / "monitoring-simulation"


def played(plan: Plan) -> dict[str, Any]:
    """Play a month and leave no rows behind, nor numbers used."""
    with transaction.atomic():
        figures = play(plan, lambda _: None)
        transaction.set_rollback(True)
    return figures


@pytest.mark.slow("a month of eight taskers, one by one")
@pytest.mark.django_db
def test_a_small_month() -> None:
    """The random clicker is stopped, those who copy are linked with each other, and nothing befalls the honest."""
    month = Month(SMALL)
    month.play(lambda _: None)
    figures = Outcome(month).to_json()
    clicker = next(each for each in figures["found"] if each["who"] == "random 1")
    assert clicker["found_on_day"] <= 2 and clicker["answers_until_then"] <= 70
    assert [link["between"] for link in figures["links"]] == [["copying 1", "copying 2"]]
    honest = figures["honest"]
    assert (honest["pause"], honest["requalify"], honest["linked"]) == (0, 0, 0)
    # There is gold from the second day on.
    assert 1.0 < figures["gold"]["percent_of_answers"] < 7.0
    assert figures["gold"]["right_percent"]["honest"] > 80
    _linked_taskers_shared_no_panel_afterwards(TaskerLink.objects.get())


def _linked_taskers_shared_no_panel_afterwards(link: TaskerLink) -> None:
    asked = Assignment.objects.filter(tasker__in=(link.first, link.second), known__isnull=True)
    times = Counter(asked.values_list("panel", flat=True))
    later = asked.filter(leased_at__gt=link.linked_at)
    assert later.count() > 20
    assert all(times[panel] == 1 for panel in later.values_list("panel", flat=True))


@pytest.mark.slow("three months of few pictures")
@pytest.mark.django_db
def test_the_same_seed_gives_the_same_month_and_another_one_another() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("numbers of rows that were rolled back are not given again")
    first = played(TINY)
    assert json.dumps(played(TINY)) == json.dumps(first)
    assert played(replace(TINY, seed=4))["months"][0]["rulings"] != first["months"][0]["rulings"]


@pytest.mark.django_db
def test_a_database_with_taskers_is_refused() -> None:
    factories.tasker("tara")
    with pytest.raises(CommandError, match="never runs among them"):
        call_command("simulate", "month", "--in-this-database")
    assert Tasker.objects.count() == 1 and not Response.objects.exists()


@pytest.mark.django_db
def test_the_command_plays_apart_and_writes_both_files(tmp_path: Path) -> None:
    out = tmp_path / "report"
    numbers = "--honest 4 --careless 1 --random 0 --copying 0 --days 1 --pictures-a-day 6"
    call_command("simulate", "month", "--seeds", "1", "--out", str(out), *shlex.split(numbers))
    figures = json.loads(out.with_suffix(".json").read_text())
    assert [month["seed"] for month in figures["months"]] == [1]
    assert figures["months"][0]["answers"] > 20
    assert figures["command"].endswith(f"month {numbers}"), "what is told otherwise than usual"
    assert out.with_suffix(".md").read_text() == render(figures)
    assert not Tasker.objects.exists(), "the database at hand was not touched"


def test_the_report_is_the_page_of_its_figures() -> None:
    figures = json.loads(REPORT.with_suffix(".json").read_text())
    assert REPORT.with_suffix(".md").read_text() == render(figures)


def test_the_report_keeps_what_is_promised() -> None:
    """Five months or more: who should be found is, and no more than one honest tasker in a hundred is stopped."""
    figures = json.loads(REPORT.with_suffix(".json").read_text())
    months, plan = figures["months"], figures["plan"]
    assert len(months) >= 5
    assert (plan["honest"], plan["careless"], plan["random"], plan["copying"]) == (44, 3, 1, 2)
    assert all(each["found_on_day"] for month in months for each in month["found"])
    honest = sum(month["honest"]["taskers"] for month in months)
    stopped = sum(month["honest"][how] for month in months for how in ("pause", "requalify", "linked"))
    assert 100 * stopped <= honest


def test_mornings_leave_out_the_weekends() -> None:
    assert [morning.isoweekday() for morning in mornings(11)] == [1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1]


def test_about_as_many_pictures_are_good_as_there_were() -> None:
    rng = Random(1)
    pictures = [draw_picture(rng) for _ in range(6_000)]
    for label, share in ((Label.BIRD, 0.36), (Label.BICYCLE, 0.22)):
        mine = [picture for picture in pictures if picture.label is label]
        assert sum(picture.valid for picture in mine) / len(mine) == pytest.approx(share, abs=0.03)
