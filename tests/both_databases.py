"""Run the whole suite on SQLite, then all that depends on the database on a PostgreSQL of its own, both with Redis."""

import os
import subprocess
import sys

from tests.services import postgres, redis

PYTEST = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadscope", "--no-loadscope-reorder"]


def main(arguments: list[str]) -> int:
    """Return 0 when both runs pass; arguments go to pytest."""
    with redis() as broker:
        environment = os.environ | {"TEST_REDIS_URL": broker}
        environment.pop("DATABASE_URL", None)
        print("== SQLite", flush=True)
        on_sqlite = subprocess.run([*PYTEST, *arguments], env=environment).returncode
        with postgres() as database:
            print("== PostgreSQL", flush=True)
            on_postgres = subprocess.run(
                [*PYTEST, "-m", "not once", *arguments], env=environment | {"DATABASE_URL": database}
            ).returncode
    return on_sqlite or on_postgres


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
