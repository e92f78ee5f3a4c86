"""When an association may be declared (R27): after the year 2000, and not twice for one time."""

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User

from common.errors import Conflict, InvalidInput
from contest.models import Association, Team
from contest.teams.associations import association_declare, association_end, association_mistaken

pytestmark = pytest.mark.django_db


def day(year: int, month: int = 1, day: int = 1) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)


def declare(team: Team, by: User, since: datetime, until: datetime | None = None) -> Association:
    return association_declare(team=team, since=since, until=until, reason="Lab.", by=by, now=day(2026, 11))


def test_it_begins_when_there_could_be_a_contest(red: Team, olga: User) -> None:
    for since in (day(1900), day(1999, 12, 31)):
        with pytest.raises(InvalidInput, match="Give a day in 2000 or later"):
            declare(red, olga, since)
    assert declare(red, olga, day(2000)) == Association.objects.get()


@pytest.mark.parametrize(
    ("first", "second", "taken", "why"),
    [
        ((day(2024), day(2025)), (day(2025), None), True, "one begins when the other ends"),
        ((day(2024), day(2025)), (day(2023), day(2024)), True, "one ends when the other begins"),
        ((day(2024), day(2025)), (day(2024, 6), None), False, "it begins within the other"),
        ((day(2024), day(2025)), (day(2023), day(2024, 6)), False, "it ends within the other"),
        ((day(2024), day(2025)), (day(2023), None), False, "it goes on over the other"),
        ((day(2024), None), (day(2030), None), False, "the other has no end"),
        ((day(2024), None), (day(2023), day(2024)), True, "before one without an end"),
    ],
)
def test_two_do_not_cover_the_same_time(
    first: tuple[datetime, datetime | None],
    second: tuple[datetime, datetime | None],
    taken: bool,
    why: str,
    red: Team,
    olga: User,
) -> None:
    declare(red, olga, *first)
    if taken:
        declare(red, olga, *second)
    else:
        with pytest.raises(Conflict, match="associated already since .* 1 Jan 2024") as refused:
            declare(red, olga, *second)
        assert refused.value.code == "overlaps", why
    assert Association.objects.count() == 1 + taken, why


def test_one_in_error_and_one_of_another_team_are_in_nobodys_way(red: Team, blue: Team, olga: User) -> None:
    wrong = declare(red, olga, day(2024))
    association_mistaken(association_id=wrong.pk, reason="Another red.", by=olga, now=day(2026, 11))
    declare(red, olga, day(2024))
    declare(blue, olga, day(2024))
    assert Association.objects.count() == 3


def test_one_does_not_end_within_the_next(red: Team, olga: User) -> None:
    now = day(2026, 11)
    first = declare(red, olga, day(2024), day(2027))
    declare(red, olga, day(2028), day(2029))
    with pytest.raises(Conflict, match="since .* 2028"):
        association_end(association_id=first.pk, until=day(2028, 6), by=olga, now=now)
    assert association_end(association_id=first.pk, until=day(2028), by=olga, now=now).until == day(2028)
