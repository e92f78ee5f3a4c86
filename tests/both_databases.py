"""Run the whole suite on SQLite, then all that depends on the database on a PostgreSQL of its own, both with Redis."""

import os
import subprocess
import sys
from urllib.parse import urlsplit

from tests.services import postgres, redis

PYTEST = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadscope", "--no-loadscope-reorder"]


def main(arguments: list[str]) -> int:
    """Return 0 when both runs pass; arguments go to pytest."""
    with redis() as broker, postgres() as database:
        environment = os.environ | {"TEST_REDIS_URL": broker}
        environment.pop("DATABASE_URL", None)
        # Without what Python and pytest keep of a compiled file, each process of both runs would compile every test.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        # While one process of the first run migrates, the other one would only wait for it.
        template = subprocess.Popen(
            [sys.executable, "manage.py", "migrate", "-v0"], env=environment | _of_template(database)
        )
        print("== SQLite", flush=True)
        on_sqlite = subprocess.run([*PYTEST, *arguments], env=environment).returncode
        if template.wait() != 0:
            raise RuntimeError("The migrations failed on PostgreSQL; their words are above.")
        print("== PostgreSQL", flush=True)
        on_postgres = subprocess.run(
            [*PYTEST, "-m", "not once", *arguments], env=environment | {"DATABASE_URL": database}
        ).returncode
    return on_sqlite or on_postgres


def _of_template(database: str) -> dict[str, str]:
    """Where every database of the cluster is copied from: each one that a test makes is migrated from its beginning."""
    template = urlsplit(database)._replace(path="/template1").geturl()
    return {"DATABASE_URL": template, "DJANGO_SETTINGS_MODULE": "tests.settings"}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
