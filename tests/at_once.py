"""Several acts at once, each in a thread with a database connection of its own."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from django.db import IntegrityError, connections

from common.errors import DomainError

LONG = 30.0


def at_once(*acts: Callable[[], Any]) -> list[str]:
    """Do all of these in threads that begin together; return the code of each one's refusal, or nothing."""
    together = Barrier(len(acts))

    def one(act: Callable[[], Any]) -> str:
        together.wait(LONG)
        try:
            act()
        except DomainError as error:
            return error.code
        except IntegrityError:
            return "refused by the database"
        finally:
            connections.close_all()
        return ""

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(one, acts))
