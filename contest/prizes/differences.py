"""Computes the movements from what was posted to what is due (R22). Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class MoneyPosition:
    """How the `cents` of a stake or an award lie now.

    `got` is what each team received of it, less what went back; `there` how much of that is on the team's accounts
    still. `hub` is what lies on the stake itself, `withheld` what is aside of it in all (R38); `lendable` what the half
    that stands behind it has. All else is in that half, or was advanced by it. `aside` says how much of `withheld` is
    of each team's share, `decided` how much of it the board withholds at most.
    """

    cents: int
    got: Mapping[int, int]
    there: Mapping[int, int]
    hub: int
    withheld: int
    lendable: int
    aside: Mapping[int, int] = field(default_factory=dict)
    decided: Mapping[int, int] = field(default_factory=dict)

    @property
    def in_half(self) -> int:
        """Return what lies in the half that stands behind it; less than none where it advanced money."""
        return self.cents - sum(self.got.values()) - self.hub - self.withheld


@dataclass(frozen=True, slots=True)
class MoneyFlows:
    """What to post, in this order: `taken` from teams, `released` of what was withheld of them, `advanced` by the half,
    `given` to teams, `withheld` of them, `returned` to the half.

    `owed` is what teams have to give back and have no more: it was paid out, and stays theirs until it is set off.
    """

    taken: Mapping[int, int]
    advanced: int
    given: Mapping[int, int]
    returned: int
    owed: Mapping[int, int]
    released: Mapping[int, int] = field(default_factory=dict)
    withheld: Mapping[int, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Say whether there is anything to post."""
        return any((self.taken, self.released, self.advanced, self.given, self.withheld, self.returned))


def flows(due: Mapping[int, int], held: int, at: MoneyPosition) -> MoneyFlows:
    """Return what brings `at` to `due` (cents by team, in the order in which they are served) and `held`.

    What the board withholds of a team is taken off the share of that team and of no other (R35, R38). Money comes back
    from a team as far as it is there. What is missing the half advances, never more than it holds of this, or than
    teams owe to it; what is left over goes to the half.
    """
    kept_aside = _still_withheld(due, held, at)
    released, withheld = _above(at.aside, kept_aside), _above(kept_aside, at.aside)
    due = {team: cents - kept_aside.get(team, 0) for team, cents in due.items()}
    over, missing = _above(at.got, due), _above(due, at.got)
    taken = {team: min(cents, at.there.get(team, 0)) for team, cents in over.items()}
    owed = {team: cents - taken[team] for team, cents in over.items() if cents > taken[team]}
    kept = max(held - at.withheld, 0)
    money = at.hub + sum(taken.values()) + sum(released.values())
    asked = sum(missing.values()) + sum(withheld.values())
    most = min(at.lendable, at.in_half + sum(owed.values()))
    advanced = max(min(asked + kept - money, most), 0)
    given = _served(missing, money + advanced)
    aside = _served(withheld, money + advanced - sum(given.values()))
    left = money + advanced - sum(given.values()) - sum(aside.values())
    short = asked > sum(given.values()) + sum(aside.values())
    returned = 0 if short else max(left - kept, 0)
    return MoneyFlows(_some(taken), advanced, given, returned, owed, released, aside)


def _still_withheld(due: Mapping[int, int], held: int, at: MoneyPosition) -> Mapping[int, int]:
    """Return what stays withheld of each team: never more than its share. While nobody is due, what is aside stays."""
    if held:
        return at.aside
    return _some({team: min(cents, due.get(team, 0)) for team, cents in at.decided.items()})


def _above(cents: Mapping[int, int], than: Mapping[int, int]) -> dict[int, int]:
    """Return by how much each is more than in `than`."""
    return {team: each - than.get(team, 0) for team, each in cents.items() if each > than.get(team, 0)}


def _served(missing: Mapping[int, int], money: int) -> dict[int, int]:
    given: dict[int, int] = {}
    for team, cents in missing.items():
        given[team] = min(cents, money)
        money -= given[team]
    return _some(given)


def _some(cents: Mapping[int, int]) -> dict[int, int]:
    return {team: each for team, each in cents.items() if each}
