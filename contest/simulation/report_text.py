"""Writes a line for each notable event of a simulated day."""

from typing import TypeVar

from django.db.models import Model, QuerySet

from contest.core.breaks import all_breaks
from contest.core.enums import AccountKind, StakeEnd
from contest.core.models import Attack, Break, Release, Stake
from contest.defenses.models import DefenseEntry
from contest.ledger.amounts import money
from contest.ledger.models import LedgerEntry
from contest.simulation.world import SimulationWorld
from labeling.enums import TaskerState
from labeling.models import StateChange
from scoring.trials.enums import EligibilityCondition
from scoring.trials.selectors import eligibility_of

_FAILED_WORDS = {
    EligibilityCondition.CONTAINER: "did not answer in the smoke test",
    EligibilityCondition.PRIVATE: "was not good enough on the private set",
    EligibilityCondition.EARLIER: "mistook an earlier valid attack",
    EligibilityCondition.SPEED: "was too slow",
    EligibilityCondition.FRAMEWORK: "is not readable",
}
Row = TypeVar("Row", bound=Model)
_PRIZES = ("R35", "R36")
_STOPPED = (TaskerState.PAUSED, TaskerState.LEARNING)


class ProgressReport:
    """Remembers how far it has told."""

    def __init__(self, world: SimulationWorld) -> None:
        self._world = world
        self._published: set[int] = set()
        self._failed: set[int] = set()
        self._ended: dict[int, str] = {}
        self._breaks = self._entries = self._releases = self._changes = 0

    def look(self) -> None:
        """Tell what is new since the last look."""
        self._look_at_entries()
        self._look_at_breaks()
        self._look_at_stakes()
        self._look_at_money()
        self._look_at_taskers()
        self._look_at_releases()

    def _look_at_entries(self) -> None:
        for entry in DefenseEntry.objects.select_related("defense").exclude(defense__in=self._published).order_by("pk"):
            if entry.defense.published_at is not None:
                self._published.add(entry.defense_id)
                self._world.count("published")
                self._world.note(f"{entry.defense.name} is eligible and published.")
            elif entry.pk not in self._failed:
                self._look_at_failed(entry)

    def _look_at_failed(self, entry: DefenseEntry) -> None:
        found = eligibility_of(entry.defense, self._world.policy, now=self._world.now)
        failed = [each.condition for each in found.failed]
        if failed:
            self._failed.add(entry.pk)
            self._world.count("not eligible")
            self._world.note(f"{entry.defense.name} is not eligible: it {_FAILED_WORDS[failed[0]]}.")

    def _look_at_breaks(self) -> None:
        for found in _after(all_breaks().select_related("defense"), self._breaks):
            self._breaks = found.pk
            self._world.count("breaks")
            if not all_breaks().filter(defense=found.defense_id, pk__lt=found.pk).exists():
                self._world.note(f"{found.defense.name} is broken by {self._sender(found)}.")

    def _sender(self, found: Break) -> str:
        attack = Attack.objects.filter(image=found.image_id, withdrawn_at=None).earliest("received_at")
        return f"a picture that {attack.team.name} sent in week {attack.week}"

    def _look_at_stakes(self) -> None:
        for stake in Stake.objects.filter(staked_at__isnull=False).select_related("defense").order_by("pk"):
            before = self._ended.get(stake.pk, "")
            if stake.end == before:
                continue
            self._ended[stake.pk] = stake.end
            words = f"is over: {stake.end}" if stake.end else "is in force again"
            if stake.end != StakeEnd.WON:
                self._world.note(f"The stake on {stake.defense.name} {words}.")

    def _look_at_money(self) -> None:
        shares: dict[tuple[str, str], list[LedgerEntry]] = {}
        for entry in _after(LedgerEntry.objects.select_related("target__team"), self._entries):
            self._entries = entry.pk
            to_team = entry.target.kind == AccountKind.TEAM and entry.rule in _PRIZES
            if to_team or entry.corrects_id is not None:
                shares.setdefault((entry.rule, entry.why), []).append(entry)
        for (rule, why), entries in shares.items():
            self._world.note(f"{why} {self._shared(entries)}, by {rule}.")

    def _shared(self, entries: list[LedgerEntry]) -> str:
        cents = money(sum(entry.cents for entry in entries), self._world.policy.currency)
        teams = [entry.target.team.name for entry in entries if entry.target.team]
        return f"{cents} to {', '.join(teams) or 'the half it came from'}"

    def _look_at_taskers(self) -> None:
        names = {worker.tasker.pk: worker.person.name for worker in self._world.crowd.workers}
        for change in _after(StateChange.objects.all(), self._changes):
            self._changes = change.pk
            if change.after in _STOPPED and change.tasker_id in names:
                how = "paused" if change.after == TaskerState.PAUSED else "sent to a short qualification"
                self._world.note(f"The tasker “{names[change.tasker_id]}” was {how} by a rule.")

    def _look_at_releases(self) -> None:
        for release in _after(Release.objects.all(), self._releases):
            self._releases = release.pk
            self._world.note(f"{release.name} was published.")


def _after(rows: QuerySet[Row], last: int) -> QuerySet[Row]:
    return rows.filter(pk__gt=last).order_by("pk")
