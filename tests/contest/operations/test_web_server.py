"""What the web server itself has to hold, whatever the application does (decision 34)."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest

from contest.operations.web_server import web_server_command
from tests.processes import wait_for
from tests.services import free_port

ROOT = Path(__file__).resolve().parents[3]
THREADS = 2


class Server:
    """One worker of the web server; `ask` sends a request and returns the status line and the body."""

    def __init__(self) -> None:
        self.port = free_port()
        command = web_server_command(self.port, workers=1, threads=THREADS, module="tests.contest.operations.echo")
        self.process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        wait_for(self.worker, "the web server")

    def ask(self, address: str = "/", headers: str = "") -> tuple[str, str]:
        with closing(self.connect()) as connection:
            connection.sendall(f"GET {address} HTTP/1.1\r\nHost: a\r\n{headers}Connection: close\r\n\r\n".encode())
            answer = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
        return answer.partition("\r\n")[0], answer.rpartition("\r\n")[2]

    def begin(self, pool: ThreadPoolExecutor) -> Future[tuple[str, str]]:
        """A request that takes 0.7 seconds, once the application has it."""
        slow = pool.submit(self.ask, "/?0.7")
        wait_for(lambda: self.ask("/slow")[1] != "0", "the slow request")
        return slow

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

    def worker(self) -> int:
        """The process that answers; 0 while none does."""
        with suppress(OSError):
            status, body = self.ask()
            return int(body) if status == "HTTP/1.1 200 OK" else 0
        return 0


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.process.terminate()
    running.process.wait()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ("", "200 OK"),
        (f"X-Long: {'a' * 8_000}\r\n", "200 OK"),
        (f"X-Long: {'a' * 17_000}\r\n", "431 Request Header Fields Too Large"),
        ("Content-Length: 3\r\nContent-Length: 5\r\n", "400 Bad Request"),
        ("No colon\r\n", "400 Bad Request"),
    ],
)
def test_headers_are_bounded_and_must_be_clear(headers: str, status: str, server: Server) -> None:
    assert server.ask(headers=headers)[0] == f"HTTP/1.1 {status}"


def test_who_sends_headers_slowly_holds_no_thread(server: Server) -> None:
    with ExitStack() as stack:
        for _ in range(10 * THREADS):
            stack.enter_context(closing(server.connect())).sendall(b"GET / HTTP/1.1\r\nHo")
        assert server.worker()


def test_a_worker_that_is_killed_comes_back(server: Server) -> None:
    before = server.worker()
    os.kill(before, signal.SIGKILL)
    assert wait_for(server.worker, "another worker", 20) != before


def test_new_code_is_taken_up_without_losing_a_request(server: Server) -> None:
    """As at a deployment: SIGHUP, while somebody waits for a slow answer."""
    before = server.worker()
    with ThreadPoolExecutor() as pool:
        slow = server.begin(pool)
        server.process.send_signal(signal.SIGHUP)
        answered = {before}
        while len(answered) == 1:
            answered.add(int(server.ask()[1]))
        assert slow.result() == ("HTTP/1.1 200 OK", str(before))


def test_what_is_being_answered_at_the_end_is_answered() -> None:
    server = Server()
    with ThreadPoolExecutor() as pool:
        slow = server.begin(pool)
        server.process.terminate()
        assert slow.result()[0] == "HTTP/1.1 200 OK"
    assert server.process.wait(10) == 0
