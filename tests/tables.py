"""Tables of cases, each with its reason in the last column."""

from typing import Any

import pytest


def cases(columns: str, *rows: tuple[Any, ...]) -> pytest.MarkDecorator:
    """Run a test with each row; its reason is the name of the case."""
    return pytest.mark.parametrize(columns.split(), rows, ids=[row[-1] for row in rows])
