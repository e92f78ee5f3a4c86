"""What organizers read of taskers' work (R6)."""

from datetime import UTC, date, datetime, timedelta

import pytest

from labeling import voiding
from labeling.models import Tasker
from labeling.watching.figures import (
    Period,
    Share,
    agreement_of_period,
    figures_by_day,
    figures_by_tasker,
    figures_of_spans,
)
from tests import factories
from tests.labeling.cast import statements
from tests.labeling.watching.rows import BICYCLE, BIRD, NEITHER, full_panel, gold_answer

pytestmark = pytest.mark.django_db
SHIFTED = "[[[10,10],[105,10],[105,200],[10,200]]]"  # the left half of the usual outline


@pytest.fixture
def period(now: datetime) -> Period:
    return Period(now - timedelta(days=1), now + timedelta(days=1))


def shares(agreement: dict[str, Share]) -> dict[str, tuple[int, int]]:
    return {question: (share.part, share.whole) for question, share in agreement.items()}


def test_agreement_is_with_each_other_member(tara: Tasker, otto: Tasker, uma: Tasker, period: Period) -> None:
    full_panel([tara, otto, uma], [BIRD | {"complete": False}, BIRD, NEITHER])
    figures = figures_by_tasker(period)
    assert shares(figures[tara.pk].agreement) == {
        "contains_bird": (1, 2),
        "contains_bicycle": (2, 2),
        "complete": (0, 1),  # uma was not asked
        "unoccluded": (1, 1),
        "real": (1, 1),
    }
    assert (figures[uma.pk].agreed.part, figures[uma.pk].agreed.whole) == (2, 4)


def test_outlines_are_compared_with_the_others(tara: Tasker, otto: Tasker, uma: Tasker, period: Period) -> None:
    full_panel([tara, otto, uma], [BIRD, BIRD | {"outline": SHIFTED}, NEITHER])
    figures = figures_by_tasker(period)
    assert [figures[each.pk].mean_iou for each in (tara, otto)] == pytest.approx([50, 50])
    assert figures[uma.pk].mean_iou is None


def test_days_taken_together_say_what_the_whole_says(tara: Tasker, otto: Tasker, uma: Tasker, now: datetime) -> None:
    for days in range(3):
        full_panel([tara, otto, uma], [BIRD, BICYCLE, BIRD | {"outline": SHIFTED}], now=now + timedelta(days=days))
        gold_answer(tara, right=days != 1, now=now + timedelta(days=days))
    spans = [Period(now + timedelta(days=days), now + timedelta(days=days + 1)) for days in range(3)]
    together = figures_of_spans(figures_by_tasker(span) for span in spans)
    whole = figures_by_tasker(Period(spans[0].begin, spans[-1].end))
    assert together.keys() == whole.keys() == {tara.pk, otto.pk, uma.pk}
    for figures in (*together.values(), *whole.values()):
        figures.milliseconds.sort()
        figures.overlaps.sort()
    assert together == whole
    assert (whole[tara.pk].answers, whole[tara.pk].gold) == (3, Share(2, 3))


@pytest.mark.both("own SQL reads the answers of a period")
def test_what_is_counted_and_what_is_not(
    tara: Tasker, otto: Tasker, uma: Tasker, period: Period, now: datetime
) -> None:
    panel = full_panel([tara, otto, uma], [BIRD, BIRD, BIRD])
    late = factories.tasker("late")
    factories.response(late, panel, counted=False)
    for right in (True, False):
        gold_answer(tara, right=right)
    factories.response(otto, factories.panel())
    voiding.responses_void(tasker=uma, since=None, reason="careless", by=None, now=now)
    figures = figures_by_tasker(period)
    found = {who: (f.answers, f.surplus, f.voided, f.gold.part, f.gold.whole) for who, f in figures.items()}
    assert found == {
        tara.pk: (1, 0, 0, 1, 2),
        otto.pk: (2, 0, 0, 0, 0),
        uma.pk: (1, 0, 1, 0, 0),
        late.pk: (1, 1, 0, 0, 0),
    }
    # The voided answer opened the panel again: nobody is compared before it is full.
    assert all(found.agreed.whole == 0 for found in figures.values())


@pytest.mark.both("days of a zone")
def test_days_are_those_of_the_zone(tara: Tasker) -> None:
    for hour in (13, 16):  # 22:00 and 01:00 of the next day in Tokyo
        factories.response(tara, factories.panel(), now=datetime(2026, 11, 18, hour, tzinfo=UTC))
    period = Period.of_days(date(2026, 11, 18), date(2026, 11, 19), "Asia/Tokyo")
    by_day = figures_by_day(period, tara.pk, "Asia/Tokyo")
    assert {day: found.answers for day, found in by_day.items()} == {date(2026, 11, 18): 1, date(2026, 11, 19): 1}
    assert list(figures_by_day(period, tara.pk, "UTC")) == [date(2026, 11, 18)]


def test_a_day_with_a_change_of_the_clock_has_its_own_length() -> None:
    period = Period.of_days(date(2026, 3, 29), date(2026, 3, 29), "Europe/Berlin")
    assert period.end.astimezone(UTC) - period.begin.astimezone(UTC) == timedelta(hours=23)


def test_answers_outside_of_the_period_are_left_out(tara: Tasker, now: datetime) -> None:
    factories.response(tara, factories.panel(), now=now)
    assert figures_by_tasker(Period(now, now + timedelta(seconds=1)))[tara.pk].answers == 1
    assert figures_by_tasker(Period(now - timedelta(days=1), now)) == {}


def test_alpha_of_a_period(tara: Tasker, otto: Tasker, uma: Tasker, period: Period) -> None:
    """Of full panels alone."""
    waiting = factories.panel()
    for tasker in (tara, otto):
        factories.response(tasker, waiting)
    assert [each.units for each in agreement_of_period(period)] == [0] * 5
    full_panel([tara, otto, uma], [BIRD, BIRD, BIRD])
    full_panel([tara, otto, uma], [BICYCLE, BICYCLE, BIRD])
    bird, bicycle, complete, *_ = agreement_of_period(period)
    assert (bird.question, bird.units, bird.values) == ("contains_bird", 2, 6)
    # Two values only: ordinal and nominal are one. Pairs that differ: 2 of the second unit's, 2·4 of all expected.
    assert bird.alpha == pytest.approx(1 - 5 * (4 / 2) / (2 * 4 * 2))
    assert (bicycle.alpha, complete.alpha) == (bird.alpha, None)
    worst = bird.influences[0]
    assert (worst.tasker_id, worst.without) == (uma.pk, 1.0)


def test_many_answers_cost_as_many_statements_as_few(tara: Tasker, otto: Tasker, uma: Tasker, period: Period) -> None:
    for panels in (1, 12):
        for _ in range(panels):
            full_panel([tara, otto, uma], [BIRD, BIRD, BICYCLE])
        assert len(statements(lambda: figures_by_tasker(period))) == 2
