"""Simulated organizers and board members: what they do before the first week, and then once a day."""

from datetime import timedelta
from functools import partial

from accounts.roles import TEAMS
from contest.attacks.near_duplicates import pair_review, unreviewed_pairs
from contest.board.motions import award_move, grant_move, stakes_move, withhold_move
from contest.core.enums import AccountKind, EntitlementState
from contest.defenses.models import DefenseEntry
from contest.defenses.selectors import stakeable, stakes_in_force, stakes_requested
from contest.defenses.staking import stake_receive
from contest.demo.stakes import private_set_draw
from contest.demo.voting import award_prepare, vote_through
from contest.ledger.models import Account
from contest.ledger.services import pool_deposit
from contest.payments.payable import payables
from contest.payments.services import payment_pay, payment_request, payments_open
from contest.prizes.checklist import contenders, own_conditions, sharing
from contest.simulation.cast import SimulatedTeam, TeamRole
from contest.simulation.painting import paint
from contest.simulation.pictures import draw_picture
from contest.simulation.teams import hand_in
from contest.simulation.world import SimulationWorld, person
from contest.teams import entitlements
from contest.teams.associations import association_declare
from contest.teams.models import Entitlement
from contest.teams.selectors import requests_waiting
from contest.teams.services import member_add, team_create
from labeling.enums import Label, Origin
from labeling.pictures.intake import import_picture
from scoring.enums import ConditionStatus, EligibilityCondition
from scoring.models import Defense, FrameworkCheck
from scoring.trials.selectors import eligibility_of
from scoring.trials.services import framework_check

MONDAY, TUESDAY, THURSDAY, FRIDAY = 0, 1, 3, 4
MIN_POOL_PRIZES = 12  # attacker prizes
_ASKED_ABOUT = 5  # every so many-th paper is asked about before it is accepted
CAREFUL_AFTER, MAX_CAREFUL_DEFENSES = timedelta(days=6), 3

# Before the first week ------------------------------------------------------------------------------------------------


def prepare(world: SimulationWorld) -> None:
    """Fill the pool, take pictures in to be labeled, and the private set; teams register in the first two days."""
    prizes = max(MIN_POOL_PRIZES, world.plan.teams) * world.policy.attacker_prize_cents
    pool_deposit(cents=prizes + 1, reason="Given for the prizes.", by=world.organizer, now=world.now)
    for number in range(world.plan.taken_in):
        picture = paint(draw_picture(world.rng), 0.0, world.rng)
        image, _, _ = import_picture(
            picture.data,
            size=world.policy.image_size,
            origin=Origin.DATASET,
            source="simulation",
            source_id=f"taken in {number + 1}",
            licence="none: it was drawn",
            now=world.now,
            label_from=world.now,
        )
        world.remember(image.pk, picture)
    note, policy, by = "Drawn for a simulation.", world.policy, world.organizer
    private_set_draw(world.plan.private, partial(_clear, world), note=note, policy=policy, by=by, now=world.now)
    for place, team in enumerate(world.cast):
        world.at(world.begin + timedelta(minutes=20 + place * (22 * 60 // len(world.cast))), _register, world, team)


def _clear(world: SimulationWorld, label: Label) -> bytes:
    truth = draw_picture(world.rng)
    while truth.label is not label or not truth.valid:
        truth = draw_picture(world.rng)
    picture = paint(truth, 0.0, world.rng)
    world.remember(None, picture)
    return picture.data


def _register(world: SimulationWorld, team: SimulatedTeam) -> None:
    """Let a researcher register and make a team, alone or with somebody else."""
    team.captain = captain = person(team.name, TEAMS, email=True)
    team.team = team_create(name=team.name, captain=captain, now=world.now)
    if team.number % 3 == 0:
        member_add(team=team.team, user=person(f"{team.name}-b", TEAMS, email=True), now=world.now)
    world.teams.append(team)
    if team.by_paper:
        paper = f"18{1 + team.number % 12:02d}.{10_000 + team.number}"
        entitlements.entitlement_request(by=captain, arxiv_id=paper, paper_email=captain.email, now=world.now)
    if team.role is TeamRole.UNPAID:
        reason, by = "A member works for the contest.", world.organizer
        association_declare(team=team.team, since=world.now, until=None, reason=reason, by=by, now=world.now)
    if team.defends:
        world.at(world.begin + timedelta(hours=26 + 2 * (team.number % 10)), hand_in, world, team)


# Organizers -----------------------------------------------------------------------------------------------------------


def organizers_day(world: SimulationWorld) -> None:
    """Do the work that waits for the organizers."""
    for request in list(requests_waiting()):
        _decide_request(world, request)
    _check_frameworks(world)
    weekday = world.now.weekday()
    if weekday == THURSDAY:
        for pair in list(unreviewed_pairs(seen=False)):
            pair_review(pair_id=pair.pk, by=world.organizer, now=world.now)
    if weekday == MONDAY:
        for row in payables(now=world.now):
            if row.due:
                payment_request(team=row.team, by=world.organizer, now=world.now)
    _handle_transfers(world, payments=weekday == TUESDAY)


def _handle_transfers(world: SimulationWorld, *, payments: bool) -> None:
    """Let the second organizer confirm what teams paid for stakes, and on some days pay what the first asked for."""
    by, now = world.second_organizer, world.now
    for stake in list(stakes_requested()):
        with world.attempt():
            stake_receive(stake, f"simulated transfer for {stake.defense.name}", by=by, now=now)
    for payment in list(payments_open()) if payments else ():
        with world.attempt():
            payment_pay(payment_id=payment.pk, reference=f"simulated transfer {payment.pk}", by=by, now=now)


def _decide_request(world: SimulationWorld, request: Entitlement) -> None:
    team = next(each for each in world.teams if each.team.pk == request.team_id)
    if request.state == EntitlementState.QUESTION:
        words = "It is the second author's address."
        entitlements.entitlement_answer(by=team.captain, words=words, now=world.now)
    elif team.number % _ASKED_ABOUT == 0 and request.steps.count() <= 1:
        words = "Which of the authors is it?"
        entitlements.entitlement_question(number=request.pk, words=words, by=world.organizer, now=world.now)
    else:
        entitlements.entitlement_accept(number=request.pk, by=world.organizer, now=world.now)


def _check_frameworks(world: SimulationWorld) -> None:
    """Let the board read the source of what passed the trial before it (R31, 4)."""
    checked = FrameworkCheck.objects.values("defense")
    waiting = DefenseEntry.objects.filter(withdrawn_at=None, defense__published_at=None).exclude(defense__in=checked)
    for entry in waiting.select_related("defense").order_by("pk"):
        findings = eligibility_of(entry.defense, world.policy, now=world.now).findings
        passed = {each.condition for each in findings if each.standing is ConditionStatus.PASSED}
        if EligibilityCondition.PRIVATE in passed:
            reason = "Readable Python, as handed in or shown to the board."
            framework_check(entry.defense, passed=True, reason=reason, by=world.board[2], now=world.now)


# The board ------------------------------------------------------------------------------------------------------------


def board_day(world: SimulationWorld) -> None:
    """Do what waits for the board: entitle who has no paper (R25), stake, withhold, award."""
    for team in world.teams:
        if not team.by_paper and not team.entitled:
            reason = "Known for work on robust classifiers."
            vote_through(grant_move(team.team, reason=reason, by=world.board[0], now=world.now), now=world.now)
            team.entitled = True
    if world.now.weekday() == TUESDAY:
        _stake(world)
    if world.now.weekday() == FRIDAY:
        _withhold(world)
    if can_award():
        _award(world)


def _stake(world: SimulationWorld) -> None:
    """In turn: a bold member stakes all that can be staked, a careful one what stood unbroken for days, open first."""
    roles = {team.team.pk: team.role for team in world.teams}
    waiting = [each for each in stakeable() if roles[each.entry.team_id] is not TeamRole.SELF_STAKER]
    chosen, criteria, by = waiting, "Every eligible defense.", world.board[1]
    if (world.now - world.begin).days // 7 % 2:
        chosen, by = _proven(world, waiting), world.board[2]
        criteria = "Published for six days and unbroken, three at most."
    if chosen:
        with world.attempt():
            vote_through(stakes_move(chosen, criteria, "The criteria are met.", by=by, now=world.now), now=world.now)


def _proven(world: SimulationWorld, waiting: list[Defense]) -> list[Defense]:
    old = [each for each in waiting if each.published_at and world.now - each.published_at >= CAREFUL_AFTER]
    return sorted(old, key=lambda each: (each.entry.opened_at is None, each.pk))[:MAX_CAREFUL_DEFENSES]


def _withhold(world: SimulationWorld) -> None:
    """Withhold prizes of a team that wrote messages to taskers on its pictures (R38)."""
    cheats = [each.team.pk for each in world.teams if each.role is TeamRole.CHEAT]
    for row in Account.objects.filter(team__in=cheats, balance_cents__gt=0).select_related("team").order_by("pk"):
        reason = "Its pictures carried words that asked taskers for an answer."
        moved = withhold_move(row, row.balance_cents, reason=reason, by=world.board[0], now=world.now)
        vote_through(moved, now=world.now)


def can_award() -> bool:
    """Say whether there is a prize left for defenders, and a defense at stake that may win it."""
    prize = Account.objects.filter(kind=AccountKind.DEFENDERS, balance_cents__gt=0).exists()
    return prize and stakes_in_force().exists()


def _award(world: SimulationWorld) -> None:
    """Bring the first whose time is over through the checklist, with those of its batch, and move its award (R37)."""
    first = next(iter(contenders(now=world.now)), None)
    if first is None:
        return
    group = sharing(first, now=world.now)
    for stake in group:  # each of them, whatever the others lack
        award_prepare(stake, policy=world.policy, organizer=world.organizer, members=world.board, now=world.now)
    own = [line for stake in group for line in own_conditions(stake, policy=world.policy, now=world.now)]
    if all(line.passed for line in own):
        names, reason = " and ".join(stake.defense.name for stake in group), "Every condition is met."
        statement = f"{names} stood unbroken for {world.plan.stake_days} days, and through every attack run again."
        with world.attempt():
            moved = award_move(first, statement=statement, reason=reason, by=world.board[0], now=world.now)
            vote_through(moved, now=world.now)
