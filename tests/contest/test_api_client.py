"""The API's client in one file, against the site: lists, an attack with its receipt, a release, and refusals."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contest.api import unanimous_client
from contest.api.unanimous_client import Client
from tests import factories
from tests.contest.attacks import cast

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow("a server of its own")]


@pytest.fixture
def server(live_server: Any, transactional_db: None) -> Iterator[str]:
    cast.policy()
    cast.team("red")
    return live_server.url


def token(server: str) -> str:
    captain = cast.captain(cast.Team.objects.get(name="team red"))
    return Client.sign_in(server, captain.username, factories.PASSWORD)


def test_it_runs_under_python_3_10_and_needs_nothing() -> None:
    tree = ast.parse(Path(unanimous_client.__file__).read_text(), feature_version=(3, 10))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    assert {each.partition(".")[0] for each in imported} <= sys.stdlib_module_names
