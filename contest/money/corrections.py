"""From what was posted to what is due, pure: which cents go where, so that only the difference is posted (R22)."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Position:
    """How the `cents` of a stake or an award lie now.

    `got` is what each team received of it, less what went back; `there` how much of that is on the team's account
    still. `hub` is what lies on the stake itself, `withheld` what the board took aside of it (R38); `lendable` what the
    half that stands behind it has. All else is in that half, or was advanced by it.
    """

    cents: int
    got: Mapping[int, int]
    there: Mapping[int, int]
    hub: int
    withheld: int
    lendable: int

    @property
    def in_half(self) -> int:
        """Return what lies in the half that stands behind it; less than none where it advanced money."""
        return self.cents - sum(self.got.values()) - self.hub - self.withheld


@dataclass(frozen=True, slots=True)
class Flows:
    """What to post, in this order: `taken` from teams, `advanced` by the half, `given` to teams, `returned` to it.

    `owed` is what teams have to give back and have no more: it was paid out, and stays theirs until it is set off.
    """

    taken: Mapping[int, int]
    advanced: int
    given: Mapping[int, int]
    returned: int
    owed: Mapping[int, int]

    def __bool__(self) -> bool:
        """Say whether there is anything to post."""
        return bool(self.taken or self.advanced or self.given or self.returned)


def flows(due: Mapping[int, int], held: int, at: Position) -> Flows:
    """Return what brings `at` to `due` (cents by team, in the order in which they are served) and `held`.

    Money comes back from a team as far as it is there. What is missing the half advances, never more than it holds of
    this, or than teams owe to it; what is left over goes to the half.
    """
    over = {team: got - due.get(team, 0) for team, got in at.got.items() if got > due.get(team, 0)}
    taken = {team: min(cents, at.there.get(team, 0)) for team, cents in over.items()}
    owed = {team: cents - taken[team] for team, cents in over.items() if cents > taken[team]}
    missing = {team: cents - at.got.get(team, 0) for team, cents in due.items() if cents > at.got.get(team, 0)}
    kept = max(held - at.withheld, 0)
    money = at.hub + sum(taken.values())
    most = min(at.lendable, at.in_half + sum(owed.values()))
    advanced = max(min(sum(missing.values()) + kept - money, most), 0)
    given = _served(missing, money + advanced)
    left = money + advanced - sum(given.values())
    short = sum(missing.values()) > sum(given.values())
    returned = 0 if short else max(left - kept, 0)
    return Flows(_some(taken), advanced, given, returned, owed)


def _served(missing: Mapping[int, int], money: int) -> dict[int, int]:
    given: dict[int, int] = {}
    for team, cents in missing.items():
        given[team] = min(cents, money)
        money -= given[team]
    return _some(given)


def _some(cents: Mapping[int, int]) -> dict[int, int]:
    return {team: each for team, each in cents.items() if each}
