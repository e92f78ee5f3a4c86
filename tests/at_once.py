"""Several things at once, as on a server with several workers."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from django.db import connections

from common.errors import DomainError


def at_once(*acts: Callable[[], Any]) -> list[Any]:
    """Do all at the same moment, each on its own connection; return what each gives, or the code of its refusal."""
    ready = Barrier(len(acts))

    def done(act: Callable[[], Any]) -> Any:
        try:
            ready.wait(30)
            return act()
        except DomainError as error:
            return error.code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(done, acts))
