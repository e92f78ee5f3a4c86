"""That rows come reversed where no order is asked for, and only there."""

import pytest
from django.contrib.auth.models import Group
from django.db import connection


@pytest.mark.django_db
def test_rows_that_no_order_is_asked_for_come_the_newest_first_on_sqlite() -> None:
    made = [Group.objects.create(name=name) for name in "abc"]
    assert list(Group.objects.order_by("pk")) == made
    assert list(Group.objects.order_by("pk")[:2]) == made[:2]
    if connection.vendor == "sqlite":
        assert list(Group.objects.all()) == made[::-1]
        assert list(Group.objects.values_list("name", flat=True)) == ["c", "b", "a"]
