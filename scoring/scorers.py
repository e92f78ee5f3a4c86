"""The scorer of this process: its device and its runners."""

import atexit
import socket
import time
from datetime import timedelta
from functools import cache, partial
from pathlib import Path

import structlog
from django.conf import settings

from common import clock
from common.domain_clock import domain_now
from common.errors import Conflict
from defense_kit.container import connect
from defense_kit.conversation import ConversationDeadlines
from defense_kit.faults import Fault, RunnerFault
from defense_kit.limits import DefenseLimits
from policy.numbers import Policy
from policy.selectors import policy_in_force
from scoring.arrays import make_room
from scoring.engine import ScoringEngine
from scoring.inference import card_uuid, cards, choose_device, use_card
from scoring.machine import Slot, take_slot
from scoring.models import Defense
from scoring.runner import ReferenceRunner, Runner
from scoring.sealed import ContainerRunner
from scoring.trusted_programs import TrustedPrograms, needs_engine

SEEN_EVERY_SECONDS = 15.0
_ENGINE_ANSWERS_SECONDS = 5.0

log = structlog.get_logger(__name__)


class LocalScorer:
    """Takes a free device at the first call of `work`, and scores there; idle while other processes have them all."""

    def __init__(self, *, folder: Path, device: str, runtime: str) -> None:
        self._folder, self._device, self._runtime = folder, device, runtime
        self._scorer: ScoringEngine | None = None
        self._runners: Runners | None = None
        self._seen, self._apart = float("-inf"), timedelta(0)

    def work(self) -> int:
        """Do the next pieces of work, if any and if a device is free, and return how many.

        None is begun while this machine's clock differs from the database's: leases would end early or late for others.
        """
        scorer = self._scorer or self._start()
        if scorer is None:
            return 0
        if time.monotonic() - self._seen >= SEEN_EVERY_SECONDS:
            self._seen, self._apart = time.monotonic(), clock.clock_difference()
            make_room()
            if self._runners is not None:
                scorer.runtime = self._runners.offered()
                scorer.left_out = self._runners.left_out(scorer.runtime)
            scorer.seen(f"nothing: {clock.clock_difference_words(self._apart)}" if clock.is_apart(self._apart) else "")
        if clock.is_apart(self._apart):
            log.error("clock_apart", scorer=scorer.name, seconds=self._apart.total_seconds())
            return 0
        return scorer.work()

    def close(self) -> None:
        """End the loaded session."""
        if self._scorer is not None:
            self._scorer.close()

    def _start(self) -> ScoringEngine | None:
        runners = self._runners = take_device(self._folder, self._device, self._runtime)
        if runners is not None:
            self._scorer = ScoringEngine(
                name=runners.name,
                clock=domain_now,
                device=runners.device,
                find_runner=runners,
            )
        return self._scorer


def take_device(folder: Path, setting: str, runtime: str) -> "Runners | None":
    """Take a free device of this machine, without leftovers, for this process; None when other processes have all.

    `setting` is auto, cpu or cuda; InvalidInput when there is no such device at all.
    """
    device = choose_device(setting)
    slot = take_slot(folder, device, cards() if device == "cuda" else 1)
    if slot is None:
        return None
    if device == "cuda":
        use_card(slot.number)
    runners = Runners(slot, runtime)
    runners.start_clean()
    return runners


def device_of_command(name: str) -> "Runners":
    """Take a free device of this machine for the command `name`; Conflict where a scorer has it."""
    runners = take_device(settings.SCORER_DIR, settings.SCORING_DEVICE, settings.DEFENSE_RUNTIME)
    if runners is None:
        raise Conflict(
            "A scorer has this machine's device: stop it first, or name another folder: "
            f"SCORER_DIR=var/{name} ./unanimous {name} …",
            "device_taken",
        )
    return runners


class Runners:
    """Finds how a defense is run on a slot, with the limits and the deadlines of the policy that is then in force."""

    def __init__(self, slot: Slot, runtime: str) -> None:
        self.name, self.device = f"{socket.gethostname()}:{slot.name}", slot.device
        self._slot, self._runtime = slot, runtime
        self._bounds: tuple[DefenseLimits, ConversationDeadlines] | None = None  # that `_sealed` was made with
        self._sealed: ContainerRunner | None = None  # keeps its connection to the engine
        self._is_away = False  # the engine, as far as the log says

    def __call__(self, defense: Defense) -> Runner:
        """Return the runner; RunnerFault where this scorer has none for such a defense."""
        if defense.reference:
            return ReferenceRunner()
        if (known := TrustedPrograms.find(defense)) is not None:
            return known
        if self._runtime != "docker":
            raise RunnerFault(Fault.PLATFORM, "this scorer runs no containers: its DEFENSE_RUNTIME is not docker")
        return self._containers()

    def offered(self) -> str:
        """Return the runtime for submitted defenses on this machine; empty while no container engine answers."""
        if self._runtime == "docker":
            try:
                connect(seconds=_ENGINE_ANSWERS_SECONDS).close()
            except RunnerFault as fault:
                self._log_away(fault)
                return ""
            if self._is_away:
                self._is_away = False
                log.info("container_engine_back", scorer=self.name)
        return self._runtime

    def left_out(self, offered: str) -> list[int]:
        """Return the defenses that this scorer leaves to others: those in containers, unless an engine is `offered`.

        Tried without one, their runs would use up all tries within minutes (R30).
        """
        if offered == "docker":
            return []
        return [each.pk for each in Defense.objects.filter(retired_at=None).exclude(image="") if needs_engine(each)]

    def start_clean(self) -> None:
        """Remove what a killed scorer of this slot left behind."""
        if self._runtime != "docker":
            return
        try:
            removed = self._containers().start_clean()
        except RunnerFault as fault:  # without an engine the shipped defenses still run
            self._log_away(fault)
            return
        if removed:
            log.warning("leftovers_removed", scorer=self.name, containers=removed)

    def _log_away(self, fault: RunnerFault) -> None:
        if not self._is_away:
            self._is_away = True
            log.warning("no_container_engine", scorer=self.name, text=fault.text)

    def _containers(self) -> ContainerRunner:
        policy = policy_in_force(domain_now()).policy
        bounds = (limits_of(policy), deadlines_of(policy, rows=1))
        if self._bounds != bounds or self._sealed is None:
            self._bounds = bounds
            self._sealed = ContainerRunner(
                scorer=self._slot.identity,
                folder=self._slot.folder,
                limits=bounds[0],
                deadlines=partial(deadlines_of, policy),
                runtime="" if settings.CONTAINER_RUNTIME == "runc" else settings.CONTAINER_RUNTIME,
                gpu=card_uuid(self._slot.number) if self._slot.device == "cuda" else "",
            )
        return self._sealed


def limits_of(policy: Policy) -> DefenseLimits:
    """Return the resource limits of a defense under a policy (R28)."""
    return DefenseLimits(
        memory_mib=policy.defense_memory_mib,
        cpus=policy.defense_cpus,
        processes=policy.defense_processes,
        scratch_mib=policy.defense_scratch_mib,
    )


def deadlines_of(policy: Policy, rows: int) -> ConversationDeadlines:
    """Return the time limits of a defense under a policy, for batches of this many pictures (R30, R31)."""
    return ConversationDeadlines(policy.start_seconds, policy.hello_seconds, rows * policy.seconds_per_picture)


@cache
def this_scorer() -> LocalScorer:
    """Return the scorer of this process, which keeps a defense loaded from one call to the next."""
    scorer = LocalScorer(folder=settings.SCORER_DIR, device=settings.SCORING_DEVICE, runtime=settings.DEFENSE_RUNTIME)
    atexit.register(scorer.close)
    return scorer
