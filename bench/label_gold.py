"""What gold costs the server beside an ordinary picture, as a tasker could time it: it must tell nothing (R8)."""

import json
import time
from dataclasses import dataclass, field
from random import Random

from bench.forms import members
from bench.label_site import Site
from bench.load import Connection

_API = "/api/v1/assignments/"


@dataclass(slots=True)
class Calls:
    """Milliseconds of each claim and submit of one kind of picture."""

    claim: list[float] = field(default_factory=list)
    submit: list[float] = field(default_factory=list)


def timed(site: Site, each: int, warm_up: int = 20) -> tuple[Calls, Calls]:
    """Label over HTTP until there are `each` of gold and of ordinary pictures, mixed at random; return both."""
    connection, rng = Connection(site.web.port, site.cookies[0]), Random(6)
    taken: dict[str, tuple[float, float]] = {}
    gold: set[str] = set()
    while min(len(gold), len(taken) - len(gold)) < each + warm_up:
        for _ in range(each):
            assignment, claim, submit = _label(connection, rng)
            taken[assignment] = claim, submit
        gold = {str(name) for (name,) in site.rows(_GOLD)}
    connection.close()
    ordinary = [spent for name, spent in taken.items() if name not in gold]
    known = [spent for name, spent in taken.items() if name in gold]
    return _calls(known[warm_up:][:each]), _calls(ordinary[warm_up:][:each])


_GOLD = "SELECT public_id FROM labeling_assignment WHERE known_id IS NOT NULL"


def _label(connection: Connection, rng: Random) -> tuple[str, float, float]:
    start = time.perf_counter()
    claimed = connection.post(f"{_API}next/", b"{}")
    middle = time.perf_counter()
    if claimed.status != 200:
        raise RuntimeError(f"no picture: {claimed.status} {claimed.body[:200]!r}")
    held = json.loads(claimed.body)
    body = b'{"lease_token":"%b",%b' % (held["lease_token"].encode(), members(rng))
    begin = time.perf_counter()
    answered = connection.post(f"{_API}{held['id']}/response/", body)
    end = time.perf_counter()
    if answered.status != 201:
        raise RuntimeError(f"refused: {answered.status} {answered.body[:200]!r}")
    return held["id"], (middle - start) * 1000, (end - begin) * 1000


def _calls(spent: list[tuple[float, float]]) -> Calls:
    return Calls([claim for claim, _ in spent], [submit for _, submit in spent])


def chance_of_slower(ones: list[float], others: list[float]) -> float:
    """Return the chance that a call of `ones` takes longer than one of `others`; 0.5 tells nothing."""
    wins = sum((one > other) + 0.5 * (one == other) for one in ones for other in others)
    return wins / (len(ones) * len(others))
