"""Per-request cache of reads: a page queries once, and shows one state throughout."""

from collections.abc import Callable
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from django.http import HttpRequest, HttpResponse

P = ParamSpec("P")
T = TypeVar("T")
Answer = Callable[[HttpRequest], HttpResponse]

# Results so far, by function and arguments; None outside read-only requests.
_memory: ContextVar[dict[Any, Any] | None] = ContextVar("request memory", default=None)


def once_per_request(read: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function that reads: within a request that only reads, it runs once for the same arguments.

    Everywhere else it runs each time: in requests that write, in sweeps and commands, while an answer is streamed. Its
    result is shared, so the result and the arguments must be immutable.
    """

    @wraps(read)
    def remembered(*args: P.args, **kwargs: P.kwargs) -> T:
        memory = _memory.get()
        if memory is None:
            return read(*args, **kwargs)
        key = (read, args, tuple(sorted(kwargs.items())))
        if key not in memory:
            memory[key] = read(*args, **kwargs)
        found: T = memory[key]
        return found

    return remembered


@contextmanager
def request_memory() -> Any:
    """Inside, start an empty memory; the context variable separates threads and requests."""
    token = _memory.set({})
    try:
        yield
    finally:
        _memory.reset(token)


def request_memory_middleware(get_response: Answer) -> Answer:
    """Give each request that only reads a memory of its own."""
    reading: Answer = request_memory()(get_response)

    def answer(request: HttpRequest) -> HttpResponse:
        return (reading if request.method in ("GET", "HEAD") else get_response)(request)

    return answer
