"""Computes the ledger movements that turn the money posted for a stake or an award into what is due (R22). Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class MoneyPosition:
    """Where the `cents` of a stake or an award are now.

    `got`: what each team received of it, less what went back; `there`: how much of that is still on the team's
    accounts. `hub`: what is on the stake's own account; `withheld`: what is withheld of it in all (R38); `lendable`:
    the balance of the half that it belongs to. The rest is in that half, or was advanced by it. `aside`: how much of
    `withheld` is of each team's share; `decided`: how much of the share the board withholds at most.
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
        """Return what of it is in the half that it belongs to; negative if the half advanced money."""
        return self.cents - sum(self.got.values()) - self.hub - self.withheld


@dataclass(frozen=True, slots=True)
class MoneyFlows:
    """The movements to post, in this order: `taken` from teams, `released` of money withheld of them, `advanced` by the
    half, `given` to teams, `withheld` of them, `returned` to the half.

    `owed` is what teams have to give back and no longer have: it was paid out, and later winnings are set off.
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
    """Return the movements from position `at` to `due` (cents by team, in the order of serving them) and `held`.

    Money that the board withholds of a team is taken off the share of that team only (R35, R38). A team gives money
    back as far as it has it. The half advances the rest, but never more than its balance, nor than what it holds of
    this money plus what teams owe to it; what is left over goes to the half.
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
    """Return what stays withheld of each team, at most its share. While the money stays on the stake, all of it."""
    if held:
        return at.aside
    return _some({team: min(cents, due.get(team, 0)) for team, cents in at.decided.items()})


def _above(cents: Mapping[int, int], than: Mapping[int, int]) -> dict[int, int]:
    """Return by how much each exceeds its value in `than`."""
    return {team: each - than.get(team, 0) for team, each in cents.items() if each > than.get(team, 0)}


def _served(missing: Mapping[int, int], money: int) -> dict[int, int]:
    given: dict[int, int] = {}
    for team, cents in missing.items():
        given[team] = min(cents, money)
        money -= given[team]
    return _some(given)


def _some(cents: Mapping[int, int]) -> dict[int, int]:
    return {team: each for team, each in cents.items() if each}
