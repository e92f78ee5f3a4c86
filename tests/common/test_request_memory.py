"""What is read once a request: by one request alone, by one thread alone, and never by one that writes."""

from collections.abc import Callable
from threading import Thread

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from common.database.request_memory import once_per_request, request_memory_middleware


@pytest.fixture
def read() -> Callable[..., int]:
    """Counts how often it is read."""
    reads: list[tuple[int, ...]] = []

    @once_per_request
    def numbered(*arguments: int, by: int = 0) -> int:
        reads.append((*arguments, by))
        return len(reads)

    return numbered


def asked(method: str, view: Callable[[], object]) -> None:
    def answer(request: HttpRequest) -> HttpResponse:
        view()
        return HttpResponse()

    request_memory_middleware(answer)(RequestFactory().generic(method, "/"))


def test_within_a_request_it_is_read_once_for_each_arguments(read: Callable[..., int]) -> None:
    found: list[int] = []
    asked("GET", lambda: found.extend([read(), read(), read(1), read(1), read(by=2), read(by=2)]))
    assert found == [1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize(("method", "expected"), [("GET", [1, 2]), ("HEAD", [1, 2]), ("POST", [1, 3])])
def test_the_next_request_reads_afresh(read: Callable[..., int], method: str, expected: list[int]) -> None:
    found: list[int] = []
    for _ in range(2):
        asked(method, lambda: found.append(min(read(), read())))
    assert found == expected


def test_outside_of_requests_and_after_one_that_failed_it_is_read_each_time(read: Callable[..., int]) -> None:
    def fail() -> None:
        read()
        raise LookupError

    with pytest.raises(LookupError):
        asked("GET", fail)
    assert [read(), read()] == [2, 3]


def test_another_thread_does_not_see_it(read: Callable[..., int]) -> None:
    found: list[int] = []

    def view() -> None:
        found.append(read())
        other = Thread(target=lambda: found.append(read()))
        other.start()
        other.join()
        found.append(read())

    asked("GET", view)
    assert found == [1, 2, 1]
