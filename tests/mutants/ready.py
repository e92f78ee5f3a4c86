"""Not a test: what makes the database of a run before it forks."""

import pytest
from django.db import connection


@pytest.mark.django_db
def test_the_database_is_there() -> None:
    assert connection.introspection.table_names()
