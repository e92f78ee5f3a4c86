"""The labeling loop through the HTTP API against the floor: claim, submit, repeat.

Both run on one PostgreSQL cluster with durable settings and each behind a web server of its own; rounds alternate
between them and between the sizes, and every ratio is taken within a round. Ends with an audit of every database.
"""

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from functools import partial
from math import isnan
from statistics import median
from typing import Any, TypeAlias

from bench import rows
from bench.floor.views import SCHEMA
from bench.load import Done, Work
from bench.machine import ROOT, commit
from bench.outcome import Figure, Section, Table, median_ratio, percentiles
from bench.servers import LABELING_THREADS, Cluster, WebServer, environment, python, serve, serve_floor
from tests.services import redis

MIN_FLOOR_RATIO = MAX_FLOOR_RATIO = 1.0
FLOOR_WORDS = "bare Django and SQL, two requests"
MAX_GROWTH = 1.1
JUDGED_SIZE = "5000"
AHEAD = "ahead"
DUE = "now() - interval '1 hour'"
_REFILLED_UP_TO = 20_000
_SCENE_TASKERS = 16
SignIns: TypeAlias = dict[str, list[dict[str, str]]]


@dataclass(frozen=True, slots=True)
class Crowd:
    """Who is at work: so many taskers, in browsers or, on our site, with tokens."""

    taskers: int
    by_token: bool = False

    def __str__(self) -> str:
        who = f"{self.taskers} taskers" if self.taskers > 1 else "1 tasker"
        return f"{who} by token" if self.by_token else who


@dataclass(frozen=True, slots=True)
class LoopPlan:
    """How much of everything: `sizes` in pictures; `ahead` is how many one tasker has answered before the others.

    Growth is over the first size, which is enough for a whole round: what a tasker steps over grows during a round.
    """

    title: str = "The labeling loop"
    sizes: tuple[int, ...] = (5_000,)
    ahead: int = 10_000
    crowds: tuple[Crowd, ...] = (Crowd(16), Crowd(64), Crowd(16, by_token=True), Crowd(1))
    seconds: float = 10  # as long as a tasker's marks are old (`labeling.submission.MARK_AGE`), or more
    rounds: int = 5
    last_pictures: int = 100


AT_SIZE = LoopPlan("The labeling loop at size", (5_000, 100_000, 1_000_000), ahead=0, crowds=(Crowd(16),))


@dataclass(frozen=True, slots=True)
class System:
    """Something that answers the two calls: how its web process starts and its tables are filled."""

    name: str
    settings: str
    serve: Callable[[Mapping[str, str]], AbstractContextManager[WebServer]]
    schema: str
    empty: str
    fill: str
    fill_ahead: str
    tables: tuple[str, ...]
    tables_ahead: tuple[str, ...]
    answers: str
    audit: dict[str, str]


OURS = System(
    "unanimous",
    "config.settings",
    partial(serve, threads=LABELING_THREADS),
    schema="",
    empty=rows.EMPTY,
    fill=rows.PICTURES,
    fill_ahead=rows.AHEAD,
    tables=("labeling_image", "labeling_panel", "labeling_panelplace", "labeling_tasker"),
    tables_ahead=("labeling_assignment", "labeling_response"),
    answers="labeling_response WHERE receipt <> 'bulk'",
    audit=rows.AUDIT,
)
FLOOR = System(
    "floor",
    "bench.floor.settings",
    serve_floor,
    schema=SCHEMA,
    empty=rows.FLOOR_EMPTY,
    fill=rows.FLOOR_ITEMS,
    fill_ahead=rows.FLOOR_AHEAD,
    tables=("floor_item",),
    tables_ahead=("floor_answer",),
    answers="floor_answer WHERE body <> '{}'",
    audit=rows.FLOOR_AUDIT,
)


@dataclass(frozen=True, slots=True)
class LoadRound:
    """One stretch of work on one database, as measured from outside."""

    labels: int
    labels_per_second: float
    next_ms: tuple[float, float, float]
    submit_ms: tuple[float, float, float]
    server_cpu_ms: float
    database_cpu_ms: float
    load_cpu_ms: float
    answers: dict[str, int]

    @property
    def cpu_ms(self) -> float:
        """CPU of server and database per label."""
        return self.server_cpu_ms + self.database_cpu_ms


@dataclass(slots=True)
class Subject:
    """One system over one database of one size, and what it did so far."""

    system: System
    size: str
    pictures: int
    database: str
    cluster: Cluster
    web: WebServer
    sign_ins: SignIns
    ahead: int = 0
    rounds: dict[Crowd, list[LoadRound]] = field(default_factory=dict)
    receipts: set[str] = field(default_factory=set)

    def refill(self) -> None:
        """Put fresh pictures there before the first round, and before each one where that is quick: what the rounds
        before left would count as growth."""
        if not self.receipts or self.pictures <= _REFILLED_UP_TO:
            fill(self.cluster, self.database, self.system, self.pictures, self.ahead)
            self.receipts.clear()

    def measure(self, crowd: Crowd, seconds: float) -> None:
        """Let a crowd work for `seconds` and keep what came of it."""
        self.refill()
        server, database = self.web.cpu_seconds, self.cluster.cpu_seconds
        ours = self.system is OURS
        sign_ins = self.sign_ins["tokens" if ours and crowd.by_token else "cookies"]
        work = Work(self.web.port, sign_ins[: crowd.taskers], seconds, next_with_answer=ours)
        with _load(work) as load:
            before = server(), database()
            done = load()
            after = server(), database()
        self.receipts.update(done.receipts)
        spent = [end - start for start, end in zip(before, after, strict=True)]
        self.rounds.setdefault(crowd, []).append(_round(done, *spent))

    def audit(self) -> dict[str, int]:
        """Count what must not be there, a lost answer included."""
        found = {name: self.count(sql) for name, sql in self.system.audit.items()}
        kept = self.count(f"SELECT count(*) FROM {self.system.answers}")
        return found | {"answers and receipts that do not match": abs(kept - len(self.receipts))}

    def count(self, sql: str) -> int:
        return int(str(self.cluster.execute(sql, self.database)[0][0]))


def _round(done: Done, server: float, database: float) -> LoadRound:
    labels = sum(number for answer, number in done.answers.items() if answer == "submit 201")
    each = 1000 / max(labels, 1)
    return LoadRound(
        labels,
        labels / done.seconds,
        percentiles(done.next_ms),
        percentiles(done.submit_ms),
        server * each,
        database * each,
        done.cpu_seconds * each,
        done.answers,
    )


@contextlib.contextmanager
def _load(work: Work) -> Iterator[Any]:
    """Start the load's process and give a function that lets it begin and returns what it did."""
    command = [sys.executable, "-m", "bench.load"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None

        def tell(line: str) -> str:
            process.stdin.write(line + "\n")  # type: ignore[union-attr]
            process.stdin.flush()  # type: ignore[union-attr]
            return process.stdout.readline()  # type: ignore[union-attr]

        if tell(json.dumps(asdict(work))).strip() != "ready":
            raise RuntimeError("the load did not get ready")
        yield lambda: Done(**json.loads(tell("go")))


def fill(cluster: Cluster, database: str, system: System, pictures: int, ahead: int = 0) -> None:
    """Fill a database with `pictures`, the first `ahead` of them answered by the first tasker alone."""
    cluster.execute(system.empty, database)
    statements = "SET session_replication_role = replica;\n" + system.fill.format(
        pictures=pictures, size=299, received=DUE
    )
    if ahead:
        statements += ";\n" + system.fill_ahead.format(tasker=1, answers=ahead)
    cluster.execute(statements, database)
    # Tables without rows are left out: a plan made in the knowledge that one is empty is a bad one soon.
    tables = [*system.tables, *(system.tables_ahead if ahead else ())]
    cluster.execute(f"VACUUM ANALYZE {', '.join(tables)};\nCHECKPOINT", database)


def migrated(cluster: Cluster, system: System, taskers: int) -> SignIns:
    """Make the system's template database with its taskers and return how they sign in."""
    variables = environment(system.settings, cluster.create_migrated(f"{system.name}-template", system.settings))
    cluster.execute(system.schema, f"{system.name}-template")
    found: SignIns = json.loads(python(["-m", "bench.taskers", str(taskers)], variables))
    return found


@contextlib.contextmanager
def subjects(cluster: Cluster, plan: LoopPlan) -> Iterator[list[Subject]]:
    """Start both systems over a database of every size."""
    sizes = [(str(size), size, 0) for size in plan.sizes]
    if plan.ahead:
        sizes.insert(1, (AHEAD, 2 * plan.ahead, plan.ahead))
    with contextlib.ExitStack() as stack:
        broker = stack.enter_context(redis())
        most = max(crowd.taskers for crowd in plan.crowds)
        sign_ins = {system.name: migrated(cluster, system, most) for system in (OURS, FLOOR)}
        found = []
        for size, pictures, ahead in sizes:
            for system in (OURS, FLOOR):
                database = f"{system.name}-{size}"
                url = cluster.create(database, f"{system.name}-template")
                web = stack.enter_context(system.serve(environment(system.settings, url, broker)))
                found.append(Subject(system, size, pictures, database, cluster, web, sign_ins[system.name], ahead))
        yield found


def run(cluster: Cluster, plan: LoopPlan) -> Section:
    """Measure, audit and judge."""
    with subjects(cluster, plan) as found:
        for crowd in plan.crowds:
            for number in range(plan.rounds):
                # Who comes first takes turns: the second works beside what the first left to be written to the disk.
                for subject in found if number % 2 == 0 else reversed(found):
                    subject.measure(crowd, plan.seconds)
        audits = {f"{each.system.name}, {each.size} pictures": each.audit() for each in found}
        scenes = _scenes(found[0], plan)
    audits |= {scene.name: scene.audit for scene in scenes}
    tables = [_loop_table(found, crowd) for crowd in plan.crowds]
    tables += [_ratio_table(found, plan), _scene_table(scenes), _audit_table(audits)]
    data = {"plan": asdict(plan), "rounds": _raw(found), "audits": audits}
    how = f"{HOW}{_HOW_AHEAD if plan.ahead else ''} Measured at {commit()}."
    return Section(plan.title, how, tables, _figures(found, plan, audits), data)


@dataclass(frozen=True, slots=True)
class Scene:
    """A hundred pictures labeled to the last one, under a kind of mischief, and what was found afterwards."""

    name: str
    seconds: float
    answers: dict[str, int]
    audit: dict[str, int]


def _scenes(subject: Subject, plan: LoopPlan) -> list[Scene]:
    """Work until nothing is left: honestly, with two tabs per tasker, with a fifth of submissions sent twice, both."""
    variants = {"one tab": (1, 0.0), "two tabs": (2, 0.0), "sent twice": (1, 0.2), "two tabs, sent twice": (2, 0.2)}
    return [_scene(subject, plan, name, tabs, twice) for name, (tabs, twice) in variants.items()]


def _scene(subject: Subject, plan: LoopPlan, name: str, tabs: int, sent_twice: float) -> Scene:
    fill(subject.cluster, subject.database, subject.system, plan.last_pictures)
    sign_ins = subject.sign_ins["cookies"][:_SCENE_TASKERS]
    work = Work(subject.web.port, sign_ins, 120, tabs, sent_twice, until_empty=True, next_with_answer=True)
    with _load(work) as load:
        done = load()
    subject.receipts = set(done.receipts)
    usual = {"next 200", "next 204", "submit 201"}
    # A second tab gets the same picture: the same answer again is 200, another one is refused.
    usual |= {"submit 200"} if sent_twice else set()
    usual |= {"submit 200", "submit 409", "next 409"} if tabs > 1 else set()
    audit = subject.audit() | {
        "pictures left unfinished": subject.count("SELECT count(*) FROM labeling_panel WHERE missing > 0"),
        "unexpected answers over HTTP": sum(n for answer, n in done.answers.items() if answer not in usual),
    }
    return Scene(name, done.seconds, done.answers, audit)


HOW = (
    "Each tasker submits (two choices, an outline of 8 to 24 corners, three statements) and repeats without a pause. "
    "The next picture comes with the receipt; on the floor a call of its own brings it. PostgreSQL with fsync, one "
    "cluster for all. The site has 2 processes of 2 threads, as production gives to the labeling calls. The floor is "
    "`bench/floor`: Django's own middleware and session, plain SQL, no form, no lease time, under gunicorn with 2 "
    "workers of 4 threads. Rows are medians over the rounds; ratios are medians "
    "of ratios within a round."
)
_HOW_AHEAD = " `ahead`: one tasker has answered 10,000 pictures that nobody else has."
_LOOP_HEADINGS = [
    "pictures", "system", "labels/s", "next p50/p95/p99 ms", "submit p50/p95/p99 ms", "server CPU ms",
    "database CPU ms", "CPU ms a label", "load CPU ms",
]  # fmt: skip


def _loop_table(found: Sequence[Subject], crowd: Crowd) -> Table:
    title = str(crowd) if crowd.taskers > 1 else f"{crowd} (the one who is ahead, where one is)"
    return Table(title, _LOOP_HEADINGS, [_loop_row(subject, subject.rounds[crowd]) for subject in found])


def _loop_row(subject: Subject, rounds: Sequence[LoadRound]) -> list[Any]:
    def middle(name: str) -> float:
        return float(median(getattr(each, name) for each in rounds))

    def times(name: str) -> str:
        each_share = zip(*(getattr(each, name) for each in rounds), strict=True)
        return "/".join("" if isnan(median(values)) else f"{median(values):.1f}" for values in each_share).strip("/")

    numbers = [middle(name) for name in ("server_cpu_ms", "database_cpu_ms", "cpu_ms", "load_cpu_ms")]
    labels = middle("labels_per_second")
    return [subject.size, subject.system.name, labels, times("next_ms"), times("submit_ms"), *numbers]


def _series(found: Sequence[Subject], system: System, size: str, crowd: Crowd, name: str) -> list[float]:
    subject = next(each for each in found if each.system is system and each.size == size)
    return [getattr(each, name) for each in subject.rounds[crowd]]


def _of_floor(found: Sequence[Subject], size: str, crowd: Crowd, name: str) -> float:
    ours, floor = (_series(found, system, size, crowd, name) for system in (OURS, FLOOR))
    return median_ratio(ours, floor)


def _growth(found: Sequence[Subject], system: System, size: str, crowd: Crowd) -> float:
    smallest = found[0].size
    here, there = (_series(found, system, each, crowd, "cpu_ms") for each in (size, smallest))
    return median_ratio(here, there)


def _slower(found: Sequence[Subject], size: str, crowd: Crowd) -> float:
    """Return how many times longer a label takes at this size than at the first."""
    here, there = (_series(found, OURS, each, crowd, "labels_per_second") for each in (size, found[0].size))
    return median_ratio(there, here)


def _sizes(found: Sequence[Subject]) -> list[str]:
    return list(dict.fromkeys(subject.size for subject in found))


def _ratio_table(found: Sequence[Subject], plan: LoopPlan) -> Table:
    first = found[0].size
    headings = [
        "pictures", "at work", "labels/s over the floor's", "CPU over the floor's", f"CPU over that of {first}",
        f"floor's over that of {first}",
    ]  # fmt: skip
    ratios = [
        [
            size,
            str(crowd),
            _of_floor(found, size, crowd, "labels_per_second"),
            _of_floor(found, size, crowd, "cpu_ms"),
            _growth(found, OURS, size, crowd),
            _growth(found, FLOOR, size, crowd),
        ]
        for size in _sizes(found)
        for crowd in plan.crowds
    ]
    return Table("Ratios", headings, ratios)


def _scene_table(scenes: Sequence[Scene]) -> Table:
    told = [", ".join(f"{n:,} x {answer}" for answer, n in sorted(scene.answers.items())) for scene in scenes]
    lines = [[scene.name, scene.seconds, answers] for scene, answers in zip(scenes, told, strict=True)]
    return Table("Until nothing is left", ["scene", "seconds", "answers over HTTP"], lines)


def _audit_table(audits: dict[str, dict[str, int]]) -> Table:
    wrong = {name: [f"{what}: {n}" for what, n in found.items() if n] for name, found in audits.items()}
    lines = [[name, "; ".join(found) or "nothing"] for name, found in wrong.items()]
    return Table("Audit in SQL", ["after", "found"], lines)


def _figures(found: Sequence[Subject], plan: LoopPlan, audits: dict[str, dict[str, int]]) -> list[Figure]:
    sizes, kept = _sizes(found), []
    for crowd in (crowd for crowd in plan.crowds if JUDGED_SIZE in sizes and crowd.taskers > 1):
        share, cpu = (_of_floor(found, JUDGED_SIZE, crowd, name) for name in ("labels_per_second", "cpu_ms"))
        words = f"5,000 pictures, {crowd}"
        kept.append(Figure.at_least(f"labels/s, {words}", share, MIN_FLOOR_RATIO, floor=FLOOR_WORDS))
        kept.append(Figure.at_most(f"CPU a label, {words}", cpu, MAX_FLOOR_RATIO, floor=FLOOR_WORDS))
    for size in sizes[1:]:
        for crowd in plan.crowds:
            words = f"CPU a label over that of {sizes[0]} pictures, {size}, {crowd}"
            kept.append(Figure.at_most(words, _growth(found, OURS, size, crowd), MAX_GROWTH))
            if size != AHEAD:  # there one tasker steps over 10,000 pictures
                words = f"time a label over that of {sizes[0]} pictures, {size}, {crowd}"
                kept.append(Figure.at_most(words, _slower(found, size, crowd), MAX_GROWTH))
    wrong = sum(sum(audit.values()) for audit in audits.values())
    return [*kept, Figure.at_most("found by the audits", wrong, 0)]


def _raw(found: Sequence[Subject]) -> list[dict[str, Any]]:
    return [
        {"system": each.system.name, "size": each.size, "crowd": str(crowd), **asdict(done)}
        for each in found
        for crowd, rounds in each.rounds.items()
        for done in rounds
    ]
