"""The last minute of a week: every team sends all it may, some begin before the end and finish after it.

As a program, `python -m bench.last_minute 50` makes so many teams that may attack in DATABASE_URL and prints a token of
each as one line of JSON.
"""

import http.client
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path
from random import Random
from threading import Event, Thread

from bench.labeling_loop import OURS, migrated
from bench.outcome import Figure, Section, Table, percentiles
from bench.servers import Cluster, WebServer, environment, python, serve
from picture_files.png import encode_png
from policy.calendar import week_of

SIDE = 299
PER_DAY = 10
PAGES = ("/attacks/weeks/2026-W01/", "/defenses/", "/api/docs/", "/sign-in/")
_CALL = "/api/v1/attacks/"
_EDGE = "x-bench-x"
_PAUSE_SECONDS = 0.25

# What is wrong with the record, whatever the answers said.
_AUDIT = {
    "in another week than their time says": """SELECT count(*) FROM core_attack a JOIN labeling_image i
        ON i.id = a.image_id WHERE (a.received_at < '{end}') <> (a.week = '{week}')
        OR (a.received_at < '{end}') <> (i.label_from = '{end}')""",
    "days with another number than were sent": """SELECT count(*) FROM attacks_quotaday q WHERE q.used <>
        (SELECT count(*) FROM core_attack a WHERE a.team_id = q.team_id AND (a.received_at AT TIME ZONE 'UTC')::date
         = q.day) OR q.used > {a_day}""",
    "numbers of a day given twice": """SELECT count(*) FROM (SELECT 1 FROM core_attack
        GROUP BY team_id, (received_at AT TIME ZONE 'UTC')::date, of_quota HAVING count(*) > 1) AS twice""",
}


@dataclass(frozen=True, slots=True)
class UploadPlan:
    """`teams` send PER_DAY pictures each within `seconds` before the end, and one too many; `straddling` more teams
    begin before the end and finish after it."""

    teams: int = 50
    seconds: float = 60.0
    straddling: int = 3


QUICK = UploadPlan(teams=2, seconds=2.0, straddling=1)


@dataclass(slots=True)
class UploadResults:
    """What was answered. Times in milliseconds; `receipts` maps an ID to (before the last byte, answered)."""

    answers: Counter[str] = field(default_factory=Counter)
    upload_ms: list[float] = field(default_factory=list)
    page_ms: dict[str, list[float]] = field(default_factory=dict)
    quiet_ms: dict[str, list[float]] = field(default_factory=dict)
    receipts: dict[str, tuple[datetime, datetime]] = field(default_factory=dict)
    straddled: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Clock:
    """The servers' clock: the real one, set ahead by what the file says."""

    file: Path

    def set_end_in(self, seconds: float, end: datetime) -> None:
        """Let the week end in so many seconds."""
        self.file.write_text(repr((end - _real_now()).total_seconds() - seconds))

    def now(self) -> datetime:
        """Return the servers' time."""
        return _real_now() + timedelta(seconds=float(self.file.read_text()))

    def wait_until(self, moment: datetime) -> None:
        """Sleep until it is `moment` there."""
        time.sleep(max((moment - self.now()).total_seconds(), 0))


def _real_now() -> datetime:
    return datetime.fromtimestamp(time.time(), UTC)


def body_of(seed: int) -> bytes:
    """Return a call's body with a picture of noise, which nothing makes smaller."""
    picture = encode_png(SIDE, SIDE, Random(seed).randbytes(SIDE * SIDE * 3))
    head = f'--{_EDGE}\r\nContent-Disposition: form-data; name="image"; filename="{seed}.png"\r\n'
    return head.encode() + b"Content-Type: image/png\r\n\r\n" + picture + f"\r\n--{_EDGE}--\r\n".encode()


def begin(connection: http.client.HTTPConnection, token: str, length: int) -> None:
    """Send a call's head."""
    connection.putrequest("POST", _CALL)
    connection.putheader("Authorization", f"Token {token}")
    connection.putheader("Content-Type", f"multipart/form-data; boundary={_EDGE}")
    connection.putheader("Content-Length", str(length))
    connection.endheaders()


@dataclass(frozen=True, slots=True)
class Sender:
    """One team at its program."""

    port: int
    token: str
    clock: Clock
    found: UploadResults

    def send(self, moments: Sequence[datetime], bodies: Sequence[bytes]) -> None:
        """Send each body at its moment, or as soon after as the one before was answered."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        for moment, body in zip(moments, bodies, strict=True):
            self.clock.wait_until(moment)
            start = time.perf_counter()
            begin(connection, self.token, len(body))
            connection.send(body[:-1])
            self._finish(connection, body)
            self.found.upload_ms.append((time.perf_counter() - start) * 1000)
        connection.close()

    def straddle(self, end: datetime, body: bytes) -> None:
        """Send all but the last byte before the end, and the last one after it."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        self.clock.wait_until(end - timedelta(seconds=1))
        begin(connection, self.token, len(body))
        connection.send(body[:-1])
        self.clock.wait_until(end + timedelta(milliseconds=20))
        self.found.straddled.append(self._finish(connection, body).get("week", ""))
        connection.close()

    def _finish(self, connection: http.client.HTTPConnection, body: bytes) -> dict[str, str]:
        # Read before the byte leaves: afterwards this thread may rest until long after the server has it.
        sent = self.clock.now()
        connection.send(body[-1:])
        answer = connection.getresponse()
        told: dict[str, str] = json.loads(answer.read())
        self.found.answers[f"{answer.status} {told.get('code', 'received')}"] += 1
        if answer.status == 201:
            self.found.receipts[told["id"]] = (sent, self.clock.now())
        return told


def _look_at_pages(port: int, over: Event, times: dict[str, list[float]]) -> None:
    """Ask for one page after the other, as somebody without an account."""
    for page in cycle(PAGES):
        if over.is_set():
            return
        start = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        connection.request("GET", page)
        connection.getresponse().read()
        connection.close()
        times.setdefault(page, []).append((time.perf_counter() - start) * 1000)
        over.wait(_PAUSE_SECONDS)


def _while_looking(port: int, times: dict[str, list[float]], work: Callable[[], object]) -> None:
    over = Event()
    looking = Thread(target=_look_at_pages, args=[port, over, times])
    looking.start()
    try:
        work()
    finally:
        over.set()
        looking.join()


def run(cluster: Cluster, plan: UploadPlan = UploadPlan()) -> Section:  # noqa: B008 - it is frozen
    """Live through the end of a week, and look at what was recorded."""
    with tempfile.TemporaryDirectory(prefix="unanimous-bench-") as folder:
        clock, end = Clock(Path(folder) / "clock"), week_of(_real_now(), "UTC").end
        clock.set_end_in(3600, end)
        migrated(cluster, OURS, 1)
        variables = environment(OURS.settings, cluster.create("last-minute", f"{OURS.name}-template"))
        count = str(plan.teams + plan.straddling)
        tokens: list[str] = json.loads(python(["-m", "bench.last_minute", count], variables))
        data = Path(folder) / "data"
        python(["-m", "django", "collectstatic", "--noinput", "-v0"], variables | {"DATA_DIR": str(data)})
        with serve(variables | {"BENCH_CLOCK": str(clock.file)}, data, module="bench.shifted") as web:
            found = _last_minute(web, clock, end, tokens, plan)
        return _section(cluster, found, end, plan)


def _last_minute(web: WebServer, clock: Clock, end: datetime, tokens: Sequence[str], plan: UploadPlan) -> UploadResults:
    found, rng = UploadResults(), Random(1)
    senders = [Sender(web.port, token, clock, found) for token in tokens]
    bodies = [[body_of(rng.getrandbits(62)) for _ in range(PER_DAY + 1)] for _ in range(plan.teams)]
    late = [body_of(rng.getrandbits(62)) for _ in range(plan.straddling)]
    # The first time is that of loading, in each of the processes.
    for _ in range(2):
        _while_looking(web.port, found.quiet_ms, lambda: time.sleep(min(plan.seconds / 4, 8)))
        found.quiet_ms, warm_up = {}, found.quiet_ms
    found.quiet_ms = warm_up
    clock.set_end_in(plan.seconds + 1, end)
    with ThreadPoolExecutor(len(senders)) as pool:

        def work() -> None:
            sent = [pool.submit(each.send, _moments(end, plan, rng), mine) for each, mine in zip(senders, bodies)]  # noqa: B905
            sent += [
                pool.submit(each.straddle, end, body) for each, body in zip(senders[plan.teams :], late, strict=True)
            ]
            for each in sent:
                each.result()

        _while_looking(web.port, found.page_ms, work)
    return found


def _moments(end: datetime, plan: UploadPlan, rng: Random) -> list[datetime]:
    """Return when a team sends: at any time of the span, in order; the one too many at once after the others."""
    before = sorted((rng.uniform(0, plan.seconds) for _ in range(PER_DAY)), reverse=True)
    return [end - timedelta(seconds=each) for each in (*before, before[-1])]


def _section(cluster: Cluster, found: UploadResults, end: datetime, plan: UploadPlan) -> Section:
    week = week_of(end - timedelta(seconds=1), "UTC").name
    rows = cluster.execute("SELECT public_id, received_at FROM core_attack", "last-minute")
    recorded = {str(name): moment for name, moment in rows}
    audit = {
        name: int(str(cluster.execute(sql.format(end=end.isoformat(), week=week, a_day=PER_DAY), "last-minute")[0][0]))
        for name, sql in _AUDIT.items()
    }
    # Sent in time and read too late: what had to wait for a free thread. A buffering proxy in front makes these fewer.
    waited = sum(sent < end <= recorded[name] for name, (sent, _) in found.receipts.items())  # type: ignore[operator]
    outside = sum(not sent <= recorded[name] <= answered for name, (sent, answered) in found.receipts.items())  # type: ignore[operator]
    p50, p95, p99 = percentiles(found.upload_ms)
    wanted = plan.teams * PER_DAY + plan.straddling
    tables = [
        Table(
            "Uploads",
            ["answer", "how many"],
            [*sorted(found.answers.items()), ["sent before the end, read after it", waited]],
        ),
        Table("Time of an upload", ["", "ms"], [["p50", p50], ["p95", p95], ["p99", p99]]),
        Table(
            "Pages meanwhile",
            ["page", "quiet p50 ms", "p50 ms", "p95 ms"],
            [_page_row(page, found) for page in PAGES if page in found.page_ms],
        ),
    ]
    figures = [
        Figure.at_least("uploads received, with a row", len(set(recorded) & set(found.receipts)), wanted),
        Figure.at_most("receipts with a time before the last byte or after the answer", outside, 0),
        Figure.at_least("that straddle the end, in the next week", _next_week(found, week), plan.straddling),
        *(Figure.at_most(name, count, 0) for name, count in audit.items()),
    ]
    how = (
        f"{plan.teams} teams send {PER_DAY} pictures of noise each, and one too many, within the last "
        f"{plan.seconds:g} s of a week, each waiting for its answers; {plan.straddling} more begin before the end and "
        "send their last byte after it. 2 processes of 16 threads and PostgreSQL on one machine, together with all who "
        "send; one reader goes through the public pages meanwhile."
    )
    return Section("Last minute of a week", how, tables, figures)


def _page_row(page: str, found: UploadResults) -> list[object]:
    quiet, (p50, p95, _) = found.quiet_ms.get(page, []), percentiles(found.page_ms[page])
    return [page, percentiles(quiet)[0], p50, p95]


def _next_week(found: UploadResults, week: str) -> int:
    return sum(bool(each) and each != week for each in found.straddled)


def teams_make(count: int) -> list[str]:
    """Make teams that the board lets attack, and return a token of each captain."""
    import django

    django.setup()
    from django.contrib.auth.models import User
    from django.utils import timezone

    from accounts.roles import REVIEW_BOARD, role_give
    from accounts.tokens import issue_token
    from contest.board.motions import grant_move
    from contest.demo.voting import vote_through
    from contest.teams.services import team_create

    now, tokens = timezone.now(), []
    board = [User.objects.create(username=f"board{number}") for number in range(2)]
    for member in board:
        role_give(user=member, role=REVIEW_BOARD)
    for number in range(count):
        captain = User.objects.create(username=f"captain{number}")
        team = team_create(name=f"team {number}", captain=captain, now=now)
        reason = f"Team {number} sends pictures in the last minute."
        vote_through(grant_move(team, reason=reason, by=board[0], now=now), now=now)
        tokens.append(issue_token(captain, now=now))
    return tokens


if __name__ == "__main__":
    print(json.dumps(teams_make(int(sys.argv[1]))))
