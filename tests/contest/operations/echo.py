"""A WSGI application that says which process answers, after as many seconds as the address asks for.

`/slow` says how many of those requests this process has begun.
"""

import os
import time
from collections.abc import Callable
from typing import Any

_begun: list[str] = []


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    if seconds := environ["QUERY_STRING"]:
        _begun.append(seconds)
        time.sleep(float(seconds))
    start_response("200 OK", [])
    return [str(len(_begun) if environ["PATH_INFO"] == "/slow" else os.getpid()).encode()]
