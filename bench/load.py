"""Taskers at work over HTTP: claim, submit, repeat, without a pause.

One process, one thread and one kept-alive connection per browser tab, on bare sockets, so that what the load itself
costs stays small beside what it measures. As a program it reads a `Work` as one line of JSON, says "ready" after every
tab has labeled once, waits for a line, works, and prints a `Done` as one line of JSON.
"""

import json
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from random import Random
from threading import Event, Thread
from typing import NamedTuple

from bench.forms import members

FORMS = 256
_ASK_AGAIN_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Work:
    """What to do: each of `sign_ins` is one tasker with `tabs` browser tabs: the cookies, or the `token` of a program.

    With `next_with_answer` an answer asks for the next picture. A tab sends a submission twice with the chance
    `sent_twice`. With `until_empty` the work ends when nothing is left for anybody, otherwise after `seconds` or as
    soon as somebody finds nothing.
    """

    port: int
    sign_ins: list[dict[str, str]]
    seconds: float
    tabs: int = 1
    sent_twice: float = 0.0
    until_empty: bool = False
    next_with_answer: bool = False


@dataclass(slots=True)
class Done:
    """What came of it. Times in milliseconds; `answers` counts HTTP status per call, `receipts` are of new answers."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    answers: dict[str, int] = field(default_factory=dict)
    next_ms: list[float] = field(default_factory=list)
    submit_ms: list[float] = field(default_factory=list)
    receipts: list[str] = field(default_factory=list)


class HttpAnswer(NamedTuple):
    """The parts of an HTTP answer that are looked at."""

    status: int
    head: bytes
    body: bytes


class Connection:
    """One kept-alive HTTP/1.1 connection of a signed-in tasker.

    Opened with its first request: the floor's server keeps a thread waiting for what a new connection has to say.
    """

    def __init__(self, port: int, sign_in: dict[str, str]) -> None:
        self._port = port
        self._opened: socket.socket | None = None
        headers = {"Host": f"127.0.0.1:{port}", **_signed_in(port, sign_in), "Content-Type": "application/json"}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self._headers = f"{lines}Content-Length: ".encode()

    def post(self, path: str, body: bytes) -> HttpAnswer:
        """Send `body` as JSON and return the answer."""
        if self._opened is None:
            self._opened = socket.create_connection(("127.0.0.1", self._port), timeout=60)
            self._opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        head = b"POST %b HTTP/1.1\r\n%b%d\r\n\r\n" % (path.encode(), self._headers, len(body))
        self._opened.sendall(head + body)
        received = b""
        while (end := received.find(b"\r\n\r\n")) < 0:
            received += self._more()
        status, head, answer = int(received[9:12]), received[:end].lower(), received[end + 4 :]
        length = _content_length(head, status)
        while len(answer) < length:
            answer += self._more()
        return HttpAnswer(status, head, answer)

    def _more(self) -> bytes:
        received = self._opened.recv(65536) if self._opened else b""
        if not received:
            raise ConnectionError("the server closed the connection")
        return received

    def close(self) -> None:
        """Hang up."""
        if self._opened is not None:
            self._opened.close()


def _signed_in(port: int, sign_in: dict[str, str]) -> dict[str, str]:
    if "token" in sign_in:
        return {"Authorization": f"Token {sign_in['token']}"}
    cookie = "; ".join(f"{name}={value}" for name, value in sign_in.items())
    return {"Origin": f"http://127.0.0.1:{port}", "Cookie": cookie, "X-CSRFToken": sign_in["csrftoken"]}


def _content_length(head: bytes, status: int) -> int:
    if status == 204:
        return 0
    start = head.index(b"\r\ncontent-length:") + len(b"\r\ncontent-length:")
    return int(head[start:].split(b"\r\n", 1)[0])


class Tab:
    """One browser tab: claims, submits, and remembers what it was told and how long that took."""

    def __init__(self, work: Work, sign_in: dict[str, str], seed: int, forms: list[bytes]) -> None:
        self._connection = Connection(work.port, sign_in)
        self._rng, self._forms, self._work = Random(seed), forms, work
        self._next: dict[str, str] | None = None  # the assignment that came with the answer before
        self.done, self.answers = Done(), Counter[str]()

    def label(self) -> str:
        """Claim and submit once: "labeled", "wait" (others hold what is left), or "nothing" (is left)."""
        assignment, self._next = self._next, None
        if assignment is None:
            answer = self._post("next", "/api/v1/assignments/next/", b"{}", self.done.next_ms)
            if answer.status != 200:
                return "nothing" if b"\r\nretry-after:" not in answer.head and answer.status == 204 else "wait"
            assignment = json.loads(answer.body)
        self._submit(assignment["id"], assignment["lease_token"])
        return "labeled"

    def _submit(self, assignment: str, token: str) -> None:
        path = f"/api/v1/assignments/{assignment}/response/"
        besides = b'"next":true,' if self._work.next_with_answer else b""
        form = b'{%b"lease_token":"%b",%b' % (besides, token.encode(), self._rng.choice(self._forms))
        for _ in range(2 if self._rng.random() < self._work.sent_twice else 1):
            answer = self._post("submit", path, form, self.done.submit_ms)
            if answer.status in (200, 201):
                told = json.loads(answer.body)
                self._next = told.get("next")
                if answer.status == 201:
                    self.done.receipts.append(told["receipt"])

    def _post(self, call: str, path: str, body: bytes, times: list[float]) -> HttpAnswer:
        start = time.perf_counter()
        answer = self._connection.post(path, body)
        times.append((time.perf_counter() - start) * 1000)
        self.answers[f"{call} {answer.status}"] += 1
        return answer

    def close(self) -> None:
        """Close the tab."""
        self._connection.close()


def work_through(work: Work, ready: Callable[[], None]) -> Done:
    """Do the work in this process; `ready` is called when every tab has labeled once and blocks until the start."""
    forms = [members(Random(seed)) for seed in range(FORMS)]
    browsers = [sign_in for sign_in in work.sign_ins for _ in range(work.tabs)]
    tabs = [Tab(work, sign_in, seed, forms) for seed, sign_in in enumerate(browsers)]
    warmed = [] if work.until_empty else _warmed_up(tabs)
    ready()
    start, cpu = time.perf_counter(), time.process_time()
    _in_threads(tabs, work, start + work.seconds)
    done = _together(tabs)
    done.seconds, done.cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
    done.receipts += warmed
    return done


def _warmed_up(tabs: list[Tab]) -> list[str]:
    """Let every tab label twice, forget the times, and return the receipts."""
    receipts = []
    for tab in (*tabs, *tabs):
        tab.label()
        receipts += tab.done.receipts
        tab.done, tab.answers = Done(), Counter()
    return receipts


def _in_threads(tabs: list[Tab], work: Work, deadline: float) -> None:
    over = Event()

    def walk(tab: Tab) -> None:
        while not over.is_set() and time.perf_counter() < deadline:
            found = tab.label()
            if found == "wait" and work.until_empty:
                time.sleep(_ASK_AGAIN_SECONDS)
            elif found != "labeled":
                break
        if not work.until_empty:
            over.set()
        tab.close()

    threads = [Thread(target=walk, args=[tab]) for tab in tabs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _together(tabs: list[Tab]) -> Done:
    done, answers = Done(), Counter[str]()
    for tab in tabs:
        done.next_ms += tab.done.next_ms
        done.submit_ms += tab.done.submit_ms
        done.receipts += tab.done.receipts
        answers += tab.answers
    done.answers = dict(answers)
    return done


def main() -> None:
    """Take a `Work` from standard input and print what came of it."""
    work = Work(**json.loads(sys.stdin.readline()))

    def ready() -> None:
        print("ready", flush=True)
        sys.stdin.readline()

    print(json.dumps(asdict(work_through(work, ready))), flush=True)


if __name__ == "__main__":
    main()
