"""Run the whole suite on SQLite, then all that depends on the database on a PostgreSQL of its own, both with Redis.

What depends on it: `tests.statements` says.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from tests.services import Ended, ending_in_order, postgres, redis, run_to_the_end
from tests.statements import cheapest

PYTEST = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadscope", "--no-loadscope-reorder"]


def main(arguments: list[str]) -> int:
    """Return 0 when both runs pass; arguments go to pytest."""
    try:
        with ending_in_order():
            return _both(arguments)
    except Ended as ended:
        return 128 + ended.number


def _both(arguments: list[str]) -> int:
    with redis() as broker, postgres() as database, tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"TEST_REDIS_URL": broker}
        environment.pop("DATABASE_URL", None)
        # Without what Python and pytest keep of a compiled file, each process of both runs would compile every test.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        # While one process of the first run migrates, the other one would only wait for it.
        template = subprocess.Popen(
            [sys.executable, "manage.py", "migrate", "-v0"], env=environment | _of_template(database)
        )
        print("== SQLite", flush=True)
        on_sqlite = _pytest(arguments, environment | {"STATEMENTS": folder})
        if template.wait() != 0:
            raise RuntimeError("The migrations failed on PostgreSQL; their words are above.")
        shown = Path(folder, "shown")
        shown.write_text(json.dumps(cheapest(Path(folder))))
        print("== PostgreSQL", flush=True)
        on_postgres = _pytest(arguments, environment | {"DATABASE_URL": database, "SHOWN": str(shown)})
    return on_sqlite or on_postgres


def _pytest(arguments: list[str], environment: dict[str, str]) -> int:
    """Run pytest; an interrupt lets it take down what its tests have started."""
    return run_to_the_end([*PYTEST, *arguments], environment, ask=signal.SIGINT)


def _of_template(database: str) -> dict[str, str]:
    """Where every database of the cluster is copied from: each one that a test makes is migrated from its beginning."""
    template = urlsplit(database)._replace(path="/template1").geturl()
    return {"DATABASE_URL": template, "DJANGO_SETTINGS_MODULE": "tests.settings"}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
