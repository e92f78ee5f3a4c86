"""Simulated board members: motions, votes, examinations, awards and withholding."""

from datetime import timedelta

from adjudication.selectors import newest_rulings
from common.errors import DomainError
from contest.board.examinations import picture_confirm, queue_of
from contest.board.motions import award_move, grant_move, stakes_move, withhold_move
from contest.core.enums import AccountKind
from contest.core.models import Award, Stake
from contest.defenses.selectors import stakeable, stakes_in_force
from contest.demo.voting import vote_through
from contest.ledger.amounts import money
from contest.ledger.models import Account
from contest.prizes.awards import rerun_begin
from contest.prizes.checklist import contenders, own_conditions, sharing
from contest.prizes.conditions import reruns_after
from contest.simulation.cast import TeamRole
from contest.simulation.world import SimulationWorld
from scoring.enums import RerunState
from scoring.models import Defense, Rerun
from scoring.reruns import progress, rerun_apply

TUESDAY, FRIDAY = 1, 4
CAREFUL_AFTER, CAREFUL_MOST = timedelta(days=6), 3
_WEEKS_FIRST = {"weeks", "appeals"}


def day(world: SimulationWorld) -> None:
    """Do what waits."""
    _grant(world)
    if world.now.weekday() == TUESDAY:
        _stake(world)
    if world.now.weekday() == FRIDAY:
        _withhold(world)
    _award(world)


def _grant(world: SimulationWorld) -> None:
    """Entitle who has no paper (R25)."""
    for each in world.teams:
        if not each.character.by_paper and not each.entitled:
            reason = "Known for work on robust classifiers."
            vote_through(grant_move(each.team, reason=reason, by=world.board[0], now=world.now), now=world.now)
            each.entitled = True


# Staking --------------------------------------------------------------------------------------------------------------


def _stake(world: SimulationWorld) -> None:
    """In turn: a bold member stakes all that can be staked, a careful one what stood unbroken for days, open first."""
    waiting = [each for each in stakeable() if _role(world, each) is not TeamRole.SELF_STAKER]
    bold = (world.now - world.begin).days // 7 % 2 == 0
    chosen = waiting if bold else _proven(world, waiting)
    if not chosen:
        return
    criteria = "Every eligible defense." if bold else "Published for six days and unbroken, three at most."
    by = world.board[1] if bold else world.board[2]
    try:
        vote_through(stakes_move(chosen, criteria, "The criteria are met.", by=by, now=world.now), now=world.now)
    except DomainError as error:
        world.note(f"The board staked nothing: {error.message}")
        return
    cents = len(chosen) * world.policy.attacker_prize_cents
    world.note(f"The board staked {_listed(chosen)}, {_money(world, cents)} in all.")


def _proven(world: SimulationWorld, waiting: list[Defense]) -> list[Defense]:
    old = [each for each in waiting if each.published_at and world.now - each.published_at >= CAREFUL_AFTER]
    return sorted(old, key=lambda each: (each.entry.opened_at is None, each.pk))[:CAREFUL_MOST]


def _role(world: SimulationWorld, defense: Defense) -> TeamRole:
    return next(each.character.role for each in world.teams if each.team.pk == defense.entry.team_id)


# Awards ---------------------------------------------------------------------------------------------------------------


def _award(world: SimulationWorld) -> None:
    """Bring the first whose time is over through the checklist, with those of its batch (R37)."""
    if not can_award():
        return
    first = next(iter(contenders(now=world.now)), None)
    if first is None:
        return
    group = sharing(first, now=world.now)
    met = [_brought_on(world, each) for each in group]  # each of them, whatever the others lack
    if all(met):
        _give(world, first, group)


def can_award() -> bool:
    """Say whether there is a prize left for defenders, and a defense at stake that may win it."""
    prize = Account.objects.filter(kind=AccountKind.DEFENDERS, balance_cents__gt=0).exists()
    return prize and stakes_in_force().exists()


def _brought_on(world: SimulationWorld, stake: Stake) -> bool:
    """Do the next step for one defense; says whether all of its own conditions are met."""
    met = {each.name: each.passed for each in own_conditions(stake, policy=world.policy, now=world.now)}
    if not all(met[name] for name in _WEEKS_FIRST):
        return False
    rerun = reruns_after(stake).first()
    if rerun is None:
        rerun_begin(stake=stake, by=world.organizer, now=world.now)
        world.note(f"All attacks are run again against {stake.defense.name}, whose time is over.")
    elif rerun.state == RerunState.RUNNING and _is_done(world, rerun.pk):
        rerun_apply(rerun_id=rerun.pk, by=world.organizer, now=world.now)
    waiting = list(queue_of(stake.defense, world.board[0], now=world.now).mine)
    holds = newest_rulings(each.pk for each in waiting)
    for number, image in enumerate(waiting):
        by, ruling = world.board[number % len(world.board)], holds[image.pk].pk
        picture_confirm(image=image, defense=stake.defense, ruling=ruling, by=by, now=world.now)
    return all(each.passed for each in own_conditions(stake, policy=world.policy, now=world.now))


def _is_done(world: SimulationWorld, rerun_id: int) -> bool:
    left = progress(Rerun.objects.get(pk=rerun_id), now=world.now)
    return not (left.waiting or left.running or left.stopped or left.dead)


def _give(world: SimulationWorld, first: Stake, group: list[Stake]) -> None:
    names = _listed([each.defense for each in group])
    statement = f"{names} stood unbroken for {world.plan.stake_days} days, and through every attack run again."
    try:
        reason = "Every condition is met."
        moved = award_move(first, statement=statement, reason=reason, by=world.board[0], now=world.now)
        vote_through(moved, now=world.now)
    except DomainError as error:
        world.note(f"No award for {names} yet: {error.message}")
        return
    given = sum(Award.objects.filter(stake__in=group).values_list("cents", flat=True))
    world.note(f"The board gave the defenders' half to {names}: {_money(world, given)}.")


# Withholding ----------------------------------------------------------------------------------------------------------


def _withhold(world: SimulationWorld) -> None:
    """Take aside what a team won that wrote to taskers on its pictures (R38)."""
    cheats = [each.team.pk for each in world.teams if each.character.role is TeamRole.CHEAT]
    for row in Account.objects.filter(team__in=cheats, balance_cents__gt=0).select_related("team").order_by("pk"):
        reason = "Its pictures carried words that asked taskers for an answer."
        moved = withhold_move(row, row.balance_cents, reason=reason, by=world.board[0], now=world.now)
        vote_through(moved, now=world.now)
        world.note(f"The board withheld {_money(world, row.balance_cents)} of {row.team}: words to taskers.")


def _listed(defenses: list[Defense]) -> str:
    names = [each.name for each in defenses]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _money(world: SimulationWorld, cents: int) -> str:
    return money(cents, world.policy.currency)
