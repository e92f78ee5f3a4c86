"""A WSGI application that says which process answers, after as many seconds as the address asks for."""

import os
import time
from collections.abc import Callable
from typing import Any


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    time.sleep(float(environ["QUERY_STRING"] or 0))
    start_response("200 OK", [])
    return [str(os.getpid()).encode()]
