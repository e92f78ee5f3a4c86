"""The labeling page in a real Chromium: how soon the next picture is there, what the page weighs, what it holds on to.

As a program it measures this alone, and puts the section into `bench/results.md` and `bench/results.json`.
"""

import os
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Browser

from bench import label_gold
from bench.label_gold import Calls, chance_of_slower
from bench.label_hand import BrowserMemory, Hand, HandTimings, Traffic, Wire, chromium, memory_of, signed_in
from bench.label_site import Site, Stock, site
from bench.machine import commit
from bench.outcome import Figure, Section, Table, percentiles, record_sections
from bench.servers import Cluster, cluster

TITLE = "The labeling page"
# The types of the scripts are comments in them, a quarter of their weight; the browser caches both.
MAX_MS, MAX_KB = 60, 190
MAX_HEAP_PERCENT, MAX_NODES, MAX_LISTENERS = 10, 20, 5
MAX_APART_MS = 2
# The newest answer can be taken back for five seconds: then it is sent.
_HELD_SECONDS = 6
_OUTLINE_EVERY = 5


@dataclass(frozen=True, slots=True)
class PageLoad:
    """How much of everything: labels at a human pace and without a pause, when memory is looked at, timed calls."""

    paced: int = 320
    pace_seconds: float = 0.6
    hurried: int = 320
    marks: tuple[int, ...] = (50, 250, 500)
    calls: int = 200


QUICK = PageLoad(paced=4, pace_seconds=0.2, hurried=4, marks=(3, 6, 9), calls=6)


@dataclass(frozen=True, slots=True)
class Measurements:
    """Everything measured."""

    paced: HandTimings
    hurried: HandTimings
    cold: Traffic
    warm: Traffic
    memory: list[BrowserMemory]
    gold: Calls
    ordinary: Calls
    kept: int
    load: list[tuple[float, float, float]]


def run(servers: Cluster, plan: PageLoad | None = None) -> Section:
    """Measure and judge."""
    plan = plan or PageLoad()
    load = [os.getloadavg()]
    labels = 2 * max(plan.paced, plan.hurried, max(plan.marks)) + 20
    with site(servers, "label-page", Stock(labels, labels // 10), taskers=4) as page, chromium() as browser:
        cold, warm = _traffic(browser, page)
        paced = _measured(browser, page, 1, plan.paced, plan.pace_seconds)
        hurried = _measured(browser, page, 2, plan.hurried, 0)
        memory = _memory(browser, page, 3, plan.marks)
        kept = int(str(page.rows("SELECT count(*) FROM labeling_response")[0][0]))
    stock = Stock(8 * plan.calls + 200, 4 * plan.calls + 100, gold_percent=50)
    with site(servers, "label-gold", stock) as known:
        gold, ordinary = label_gold.timed(known, plan.calls)
    load.append(os.getloadavg())
    return _section(plan, Measurements(paced, hurried, cold, warm, memory, gold, ordinary, kept, load))


def _traffic(browser: Browser, page: Site) -> tuple[Traffic, Traffic]:
    """Open the page with an empty cache, and once more."""
    with signed_in(browser, page) as context:
        tab = context.new_page()
        wire = Wire(tab)
        Hand(tab, page, instruments=False).rest(2)
        cold = wire.since()
        Hand(tab, page, instruments=False).rest(2)
        return cold, wire.since()


def _measured(browser: Browser, page: Site, tasker: int, labels: int, pace_seconds: float) -> HandTimings:
    with signed_in(browser, page, tasker) as context:
        hand = Hand(context.new_page(), page)
        # The two pictures ahead are there before a person has looked at the first.
        hand.rest(2)
        timings = hand.measured(labels, pace_seconds)
        hand.rest(_HELD_SECONDS)
        return timings


def _memory(browser: Browser, page: Site, tasker: int, marks: Sequence[int]) -> list[BrowserMemory]:
    """Label without a pause, one in five with an outline, and look at the memory after so many labels."""
    found = []
    with signed_in(browser, page, tasker) as context:
        tab = context.new_page()
        hand, session = Hand(tab, page, instruments=False), context.new_cdp_session(tab)
        for mark in marks:
            while hand.labels < mark:
                draw = hand.labels % _OUTLINE_EVERY == _OUTLINE_EVERY - 1
                hand.label_with_outline() if draw else hand.label()
            found.append(memory_of(hand, session))
        hand.rest(_HELD_SECONDS)
    return found


def _section(plan: PageLoad, found: Measurements) -> Section:
    how = (
        "A real Chromium (headless, 1366 x 768) on loopback, 2 processes of 16 threads, PostgreSQL with "
        "fsync, static files as deployed, photographs of 299 x 299. Submit to paint is from the time of the Enter key "
        "that submits (three keys a label) to the frame in which Chromium painted the next picture (its element "
        "timing, in steps of 4 ms). Bytes are those on the network, headers included. Memory is after a forced "
        "collection of garbage, one label in "
        f"{_OUTLINE_EVERY} with an outline; V8 compiles more and more of what runs often, so that is told apart. Gold "
        "is every other picture at random, timed by the client over HTTP; `slower` is the chance that a gold call "
        "takes longer than an ordinary one, and 0.5 tells nothing. "
        f"Measured at {commit()}, load average before and after {_loads(found)}."
    )
    tables = [_paint_table(plan, found), _traffic_table(found), _memory_table(found), _gold_table(found)]
    return Section(TITLE, how, tables, _figures(plan, found), {"plan": asdict(plan), "found": asdict(found)})


def _loads(found: Measurements) -> str:
    return " and ".join("/".join(f"{each:.1f}" for each in load) for load in found.load)


def _paint_table(plan: PageLoad, found: Measurements) -> Table:
    headings = ["pace", "labels", "labels/s", "key to paint p50/p95/p99 ms", "longest ms"]
    paces = [(f"one every {plan.pace_seconds:g} s", found.paced), ("without a pause", found.hurried)]
    return Table("Submit to the next picture painted", headings, [[pace, *_paints(seen)] for pace, seen in paces])


def _paints(seen: HandTimings) -> list[Any]:
    labels = len(seen.key_to_paint)
    return [labels, labels / seen.seconds, _shares(seen.key_to_paint), max(seen.key_to_paint)]


def _shares(values: Sequence[float]) -> str:
    return "/".join(f"{value:.1f}" for value in percentiles(values))


def _traffic_table(found: Measurements) -> Table:
    both = (found.cold, found.warm)
    kinds = sorted({kind for traffic in both for kind in traffic.bytes})
    rows: list[list[Any]] = [
        [kind, *(each for traffic in both for each in (traffic.requests.get(kind, 0), traffic.bytes.get(kind, 0)))]
        for kind in kinds
    ]
    sums = [(traffic.requests_before_picture, traffic.before_picture) for traffic in both]
    rows.append(["all but pictures", *(number for both_numbers in sums for number in both_numbers)])
    return Table("The page on the network", ["kind", "requests", "bytes", "requests, cached", "bytes, cached"], rows)


def _memory_table(found: Measurements) -> Table:
    rows = [
        [each.labels, each.heap_bytes, each.data_bytes, each.nodes, each.listeners, each.documents]
        for each in found.memory
    ]
    headings = ["after labels", "V8 heap bytes", "without compiled code", "nodes", "listeners", "documents"]
    return Table("Memory of the page", headings, rows)


def _gold_table(found: Measurements) -> Table:
    rows = [
        [call, len(gold), _shares(gold), _shares(ordinary), median(gold) - median(ordinary), chance]
        for call, gold, ordinary, chance in _told(found)
    ]
    headings = ["call", "of each", "gold p50/p95/p99 ms", "ordinary p50/p95/p99 ms", "medians apart ms", "slower"]
    return Table("Gold beside the ordinary", headings, rows)


def _told(found: Measurements) -> list[tuple[str, list[float], list[float], float]]:
    gold, ordinary = found.gold, found.ordinary
    pairs = [("claim", gold.claim, ordinary.claim), ("submit", gold.submit, ordinary.submit)]
    return [(call, ones, others, chance_of_slower(ones, others)) for call, ones, others in pairs]


def _figures(plan: PageLoad, found: Measurements) -> list[Figure]:
    first, last = found.memory[0], found.memory[-1]
    growth = (last.data_bytes / first.data_bytes - 1) * 100
    held = f"after {last.labels} labels, over {first.labels}"
    lost = plan.paced + plan.hurried + max(plan.marks) - found.kept
    p95 = percentiles(found.paced.key_to_paint)[1]
    page_kb = found.cold.before_picture / 1000
    return [
        Figure.at_most("submit to paint at a human pace, p95", p95, MAX_MS, " ms"),
        Figure.at_most("the page before the picture, nothing cached", page_kb, MAX_KB, " kB"),
        Figure.at_most(f"growth of the heap, compiled code aside, {held}", growth, MAX_HEAP_PERCENT, " %"),
        Figure.at_most(f"more nodes {held}", last.nodes - first.nodes, MAX_NODES),
        Figure.at_most(f"more listeners {held}", last.listeners - first.listeners, MAX_LISTENERS),
        Figure.at_most("answers given and not kept", abs(lost), 0),
        *(
            Figure.at_most(f"medians of gold and ordinary apart, {call}", _apart(gold, others), MAX_APART_MS, " ms")
            for call, gold, others, _ in _told(found)
        ),
    ]


def _apart(ones: Sequence[float], others: Sequence[float]) -> float:
    return abs(median(ones) - median(others))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure this page alone and put its section where the others are; 1 when something failed."""
    parser = ArgumentParser(prog="python -m bench.label_page", description=str(__doc__).partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a few labels: shows that it runs, measures nothing")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent, help="the folder of the results")
    options = parser.parse_args(arguments)
    with cluster() as servers:
        section = run(servers, QUICK if options.quick else PageLoad())
    return record_sections(options.out, [section])


if __name__ == "__main__":
    sys.exit(main())
